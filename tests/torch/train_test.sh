#!/usr/bin/env bash
# The LibTorch plugin in the real programs, whose process brings its own libraries: trains and translates with it,
# and with the reference plugin. Usage: train_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

failures=0
complain() {
    printf 'FAILED: %s\n' "$1" >&2
    failures=$((failures + 1))
}

for who in "i:je" "you:tu" "we:nous" "they:ils"; do
    for verb in "run:cours" "win:gagnes" "sing:chantons" "sleep:dors"; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}"
        printf 'now %s %s !\tmaintenant %s %s !\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}"
    done
done >pairs.tsv
cut -f1 pairs.tsv >source.txt

for type in transformer seq2seq-attention; do
    cat >config.yaml <<YAML
run_root: runs
seed: 5
data: {train: pairs.tsv, max_length: 8}
model: {type: $type, embedding_size: 16, hidden_size: 16, encoder_layers: 1, decoder_layers: 1, dropout: 0.1, heads: 2, feed_forward_size: 32}
training: {epochs: 1, batch_size: 8, optimizer: adam, learning_rate: 0.01}
validation: {every_epochs: 0}
report: {sample_count: 0}
YAML
    for backend in torch reference; do
        name=$type-$backend
        if ! "$programs/attn-train" config.yaml --name "$name" --backend $backend --threads 1 --quiet --json >"$name.json" 2>stderr; then
            complain "attn-train with $backend and $type: $(cat stderr)"
            continue
        fi
        [[ ! -s stderr ]] || complain "attn-train with $backend writes messages: $(cat stderr)"
    done
    python3 - "$type" <<'PYTHON' || complain "the losses of $type differ"
import json, sys
torch, reference = (json.load(open(f"{sys.argv[1]}-{name}.json"))["loss"] for name in ("torch", "reference"))
print(f"{sys.argv[1]}: loss {torch} with torch, {reference} with reference")
sys.exit(abs(torch - reference) > 1e-4 * reference)
PYTHON
    for backend in torch reference; do  # the checkpoint of the one, read by the other
        "$programs/attn-translate" "runs/$type-torch" --backend $backend --beam 2 <source.txt >$backend.txt 2>stderr ||
            complain "attn-translate with $backend and $type: $(cat stderr)"
    done
    cmp -s torch.txt reference.txt || complain "torch and reference translate differently with $type"
    [[ $(wc -l <torch.txt) -eq $(wc -l <source.txt) ]] || complain "lines are missing with $type"
done

status=0
"$programs/attn-translate" runs/transformer-torch --backend torch --device 99 <source.txt >/dev/null 2>stderr || status=$?
[[ $status -eq 6 ]] || complain "a device that does not exist ends with status $status"
grep -q "device 99" stderr || complain "a device that does not exist is not named: $(cat stderr)"

((failures == 0))
