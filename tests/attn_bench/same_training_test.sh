#!/usr/bin/env bash
# The same training on every backend that is there: a Transformer and a model with Bahdanau attention, 50 updates with
# dropout. Losses agree at every update, checkpoints go from one backend to another, translations are the same.
# Usage: same_training_test.sh FOLDER_OF_THE_PROGRAMS SOURCE_FOLDER [MORE_PLUGIN_FILES...]
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
data=$(cd "${2:?name the source folder}" && pwd)/datasets/small-world
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

failures=0
complain() {
    printf 'FAILED: %s\n' "$1" >&2
    failures=$((failures + 1))
}

# Every plugin that can be used here, the reference left out, and those that were named.
mapfile -t backends < <("$programs/attn-bench" list --json | python3 -c '
import json, sys
names = []
for one in json.load(sys.stdin):
    if one["devices"] and one["name"] not in names and one["name"] != "reference":
        names.append(one["name"])
print("\n".join(names))')
for plugin; do
    if [[ -e $plugin ]]; then backends+=("$plugin"); else printf 'not built, left out: %s\n' "$plugin"; fi
done
printf 'reference and: %s\n' "${backends[*]}"
[[ ${#backends[@]} -gt 0 && -n ${backends[0]} ]] || { echo "no other backend"; exit 1; }

write_config() { # NAME TYPE MORE
    cat >"$1.yaml" <<YAML
name: $1
run_root: runs
seed: 3
backend: {threads: 2}
data: {train: $data/train.tsv, test: $data/test.tsv, limit: 400, max_length: 20}
model: {type: $2, hidden_size: 16, encoder_layers: 1, decoder_layers: 1, dropout: 0.1, $3}
training: {epochs: 1000, max_updates: 50, batch_size: 6, optimizer: adam, learning_rate: 0.01, clip_norm: 1}
validation: {every_epochs: 0}
checkpoints: {every_epochs: 0}
report: {sample_count: 1}
YAML
}
write_config transformer transformer "heads: 2, feed_forward_size: 32, tying: output"
write_config bahdanau seq2seq-attention "embedding_size: 12"

all=$(IFS=,; echo "reference,${backends[*]}")
for model in transformer bahdanau; do
    "$programs/attn-bench" model "$model.yaml" --backends "$all" --updates 50 --lines 20 --tolerance 1e-4 --json \
        >"$model.json" 2>stderr || complain "$model: $(cat stderr)"
    python3 - "$model.json" <<'PYTHON' || complain "$model: the report"
import json, sys
runs = json.load(open(sys.argv[1]))["backends"]
first = runs[0]
assert len(first["losses"]) == 50 and first["losses"][-1] < 0.8 * first["losses"][0], first["losses"]
for run in runs[1:]:
    worst = max(abs(a - b) / b for a, b in zip(run["losses"], first["losses"]))
    print(f'{sys.argv[1]}: {run["backend"]}: largest relative difference {worst:.1e}, same lines {run["identical_lines"]:.2f}')
    assert worst <= 1e-4 and run["identical_lines"] >= 0.95, run["backend"]
PYTHON
done

# train MODEL NAME BACKEND UPDATES ARGUMENTS...
train() {
    local model=$1 name=$2 backend=$3 updates=$4
    shift 4
    "$programs/attn-train" "$model.yaml" -q --name "$name" --backend "$backend" --set "training.max_updates=$updates" "$@" \
        >/dev/null 2>stderr || complain "attn-train $model on $backend: $(cat stderr)"
}
loss_of() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["loss"])' "runs/$1/report.json"
}

# begun on one backend, ended on the other
for model in transformer bahdanau; do
    for other in "${backends[@]}"; do
        train "$model" whole reference 50 --force
        train "$model" mixed reference 25 --force
        train "$model" mixed "$other" 50 --resume
        python3 -c '
import sys
a, b = map(float, sys.argv[1:])
print(f"begun on the reference, ended on another: loss {b:.6f}, on the reference alone {a:.6f}")
sys.exit(abs(a - b) > 1e-4 * a)' "$(loss_of whole)" "$(loss_of mixed)" || complain "$model: a checkpoint of the reference on $other"
    done
done

# translations of a model that has learnt something
have() { printf '%s\n' "${backends[@]}" | grep -qx "$1"; }
if have eigen && have torch; then
    cut -f1 "$data/test.tsv" >source.txt
    train transformer learnt eigen 1000 --force --set data.limit=0 --set training.batch_size=32 --set model.hidden_size=64
    for backend in eigen torch; do
        "$programs/attn-translate" runs/learnt --backend "$backend" --beam 4 --input source.txt --output "$backend.txt" -q ||
            complain "attn-translate on $backend"
    done
    lines=$(wc -l <source.txt) same=$(paste -d '\n' eigen.txt torch.txt | awk 'NR % 2 { a = $0; next } a == $0 { n++ } END { print n + 0 }')
    printf 'eigen and torch: %s of %s translations are the same\n' "$same" "$lines"
    ((same * 100 >= lines * 99)) || complain "eigen and torch translate $((lines - same)) of $lines lines differently"
    [[ $(sort -u eigen.txt | wc -l) -gt $((lines / 4)) ]] || complain "the translations are all alike"
else
    echo "skipped: translations on eigen and torch, which are not both here"
fi

[[ $failures == 0 ]] && echo "all passed" || exit 1
