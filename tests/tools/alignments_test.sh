#!/usr/bin/env bash
# Word alignments as users meet them: a tiny Transformer with subwords, every kind of links in every place that
# they go to, and the alignment error rate. Usage: alignments_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

# run STATUS WHAT ARGUMENTS...: output in the files stdout and stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$programs/attn-translate" "$@" >stdout 2>stderr || found=$?
    same "$found" "$status" "exit status: $what ($(tail -3 stderr))"
}

# align STATUS WHAT ARGUMENTS...: with the model, from source.txt
align() {
    local status=$1 what=$2
    shift 2
    run "$status" "$what" runs/aligned --backend "$backend" --threads 1 --input source.txt "$@"
}

# The fields behind the last ' ||| ' of each line.
links() {
    sed -E 's/.* \|\|\| ?//' stdout
}

for who in "i:je" "you:tu" "we:nous"; do
    for verb in "run:cours" "win:gagnes" "sing:chantons" "sleep:dors"; do
        printf '%s %s.\t%s %s.\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}"
        printf 'now %s %s!\tmaintenant %s %s!\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}"
    done
done >pairs.tsv
cat >aligned.yaml <<YAML
name: aligned
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, max_length: 30, source_tokenizer: sentencepiece, target_tokenizer: sentencepiece, shared_vocabulary: true}
subwords: {vocabulary_size: 40}
model: {type: transformer, hidden_size: 16, encoder_layers: 1, decoder_layers: 2, dropout: 0.0, heads: 2, feed_forward_size: 32}
training: {epochs: 20, batch_size: 8, optimizer: adam, learning_rate: 0.01}
validation: {every_epochs: 0}
report: {sample_count: 0}
YAML
if ! "$programs/attn-train" aligned.yaml --quiet >train.out 2>train.err; then
    complain "attn-train aligned.yaml: $(cat train.err)"
    exit 1
fi
{
    printf 'we sing.\n\n  now   you run!  \n'
    head -5 pairs.tsv | cut -f1
} >source.txt

# ---- where links go

align 0 "bare --alignments" --alignments
cp stdout bare.txt
align 0 "--alignments hard" --alignments hard
cmp -s stdout bare.txt || complain "--alignments is not --alignments hard"
same "$(sed -n 2p stdout)" " ||| " "the links of a blank line"
align 0 "words" --alignments --alignment-unit word
awk -F' \\|\\|\\| ?' '{n = split($1, words, " "); if (n != split($2, links, " ")) bad = 1} END {exit bad}' stdout ||
    complain "not every target word has one link: $(cat stdout)"
links >words.txt
for batch in "--batch-size 1" "--batch-size 3"; do
    align 0 "words, $batch" --alignments --alignment-unit word $batch
    links | cmp -s - words.txt || complain "$batch changes the links"
done
align 0 "a file of links" --alignment-unit word --alignments-output links.txt --output out.txt
cmp -s links.txt words.txt || complain "--alignments-output has other links than the output"
grep -q '|||' out.txt && complain "--alignments-output leaves links behind the translations"
same "$(sed -n 2p links.txt)" "" "the line of links of a blank line"
align 0 "a file of links for n-best lists" --n-best 2 --alignments-output links.txt --output out.txt
same "$(wc -l <links.txt)" "$(wc -l <out.txt)" "lines of links for n-best lists"
printf 'kept\n' >kept.txt
run 5 "a missing input" runs/aligned --backend "$backend" --input nowhere.txt --alignments-output kept.txt
same "$(cat kept.txt)" kept "a file of links after a failure"

# ---- kinds, layers and heads

align 0 "threshold 0" --alignments threshold --alignment-threshold 0 --alignment-unit word
paste -d'\t' source.txt stdout | awk -F'\t' '{split($2, parts, " \\|\\|\\| ?")
    if (split($1, s, " ") * split(parts[1], t, " ") != split(parts[2], links, " ")) bad = 1} END {exit bad}' ||
    complain "threshold 0 does not give all pairs: $(cat stdout)"
align 0 "threshold 1" --alignments threshold --alignment-threshold 1
same "$(links | tr -d '\n')" "" "links with a threshold of 1"
align 0 "soft" --alignments=soft --alignment-layer 1 --alignment-head 0
links | grep -qvE '^([0-9]+-[0-9]+:[01]\.[0-9]{4}( |$))*$' && complain "soft links are not i-j:weight: $(cat stdout)"
align 0 "layer 0" --alignments soft --alignment-layer 0 --alignment-head 0
cp stdout layer0.txt
align 0 "layer 0, head 1" --alignments soft --alignment-layer 0 --alignment-head 1
cmp -s stdout layer0.txt && complain "another head has the same weights"
align 0 "shift" --alignments soft --alignment-layer 0 --alignment-head 0 --alignment-shift
cmp -s stdout layer0.txt && complain "--alignment-shift changes nothing"
if command -v python3 >/dev/null; then
    align 0 "JSON" --alignments soft --alignment-unit word --json
    python3 - <<'PYTHON' || complain "JSON Lines are not as documented"
import json
objects = [json.loads(line) for line in open("stdout", encoding="utf-8")]
for o in objects:
    words = o["translation"].split()
    assert len(o["alignment"]) == len(o["alignment_weights"]) == len(words), o
    for row, (source, target) in zip(o["alignment_weights"], o["alignment"]):
        assert len(row) == len(o["source"].split()) and sum(row) <= 1.0001
        assert row[source] == max(row)
PYTHON
fi

# ---- given translations

align 0 "translations" --output given.txt
align 0 "alignments of given translations" --score given.txt --alignments --alignment-unit word
links >scored.txt
# A blank pair is scored as well, but has nothing to align.
cmp -s scored.txt words.txt || complain "given translations are aligned differently: $(diff scored.txt words.txt)"
same "$(head -1 stdout | grep -cE '^-[0-9.]+ \|\|\| ([0-9]+-[0-9]+ ?)+$')" 1 "score and links"
align 0 "a file of links of given translations" --score given.txt --alignment-unit word --alignments-output links.txt
cmp -s links.txt words.txt || complain "--score writes other links to a file"

# ---- mistakes

align 2 "no such layer" --alignments --alignment-layer 2
says "layers 0 to 1" "a layer that is not there"
align 2 "no such head" --alignments --alignment-head 7
says "heads 0 to 1" "a head that is not there"
align 2 "a threshold above 1" --alignments threshold --alignment-threshold 1.5
align 2 "a threshold for hard links" --alignments --alignment-threshold 0.5
align 2 "a layer without alignments" --alignment-layer 0
says "--alignments" "a layer without alignments"
run 2 "the model after a bare --alignments" --alignments runs/aligned --input source.txt
says "put MODEL before" "the model after a bare --alignments"
align 2 "--resume with a file of links" --alignments-output links.txt --output out.txt --resume

# ---- alignment error rate, by hand: A = 5, S = 5, A and S = 3, A and P = 4

printf '0-0 1-1 2-3 4-4\n\n0-0\n' >hypothesis.txt
printf '0-0 1-1 3-3 2p3 2?2\n\n0-0 1-1\n' >reference.txt
printf '1-1 2-2 4-4 3p4 3p3\n\n1-1 2-2\n' >from_one.txt
printf 'a b c d e\n\na b\n' >five.txt
evaluate=(--evaluate-alignments hypothesis.txt)
run 0 "alignment error rate" "${evaluate[@]}" --alignment-reference reference.txt
same "$(cat stdout)" "AER = 30.00 (precision = 80.00 recall = 60.00 sentences = 3 links = 5 sure = 5 possible = 7)" "AER"
run 0 "a reference from 1" "${evaluate[@]}" --alignment-reference from_one.txt --alignment-reference-first 1 \
    --alignment-source five.txt --alignment-target five.txt
same "$(cut -d' ' -f1-3 stdout)" "AER = 30.00" "AER with a reference from 1"
run 0 "AER as JSON" "${evaluate[@]}" --alignment-reference reference.txt --json
grep -qF '"links_in_possible":4' stdout || complain "AER as JSON: $(cat stdout)"
run 4 "a link outside the sentence" "${evaluate[@]}" --alignment-reference from_one.txt --alignment-source five.txt \
    --alignment-target source.txt
says "from_one.txt:1:" "a link outside the sentence"
printf '0-0\n' >short.txt
run 4 "unequal line counts" "${evaluate[@]}" --alignment-reference short.txt
says "has 3 lines" "unequal line counts"
run 2 "no reference" "${evaluate[@]}"
run 2 "a model as well" runs/aligned "${evaluate[@]}" --alignment-reference reference.txt

"$programs/attn-translate" --help | grep -qF -- "--alignment-unit" || complain "--help does not have --alignment-unit"

((failures == 0)) || exit 1
echo "all well, on $backend"
