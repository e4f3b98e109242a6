#!/usr/bin/env bash
# attn-translate as its users meet it: trains two tiny models with attn-train, then translates all kinds of
# input with them. Usage: translate_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
train=$programs/attn-train
translate=$programs/attn-translate
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

# run STATUS WHAT ARGUMENTS...: translates standard input to the file stdout, with messages in stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    local threads=(--threads 1)
    [[ " $* " != *" --threads "* ]] || threads=()
    timeout 120 "$translate" --backend "$backend" "${threads[@]}" "$@" >stdout 2>stderr || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
}

lines() {
    wc -l <"$1" | tr -d ' '
}

# ---- two models

: >pairs.tsv
for who in "i:je" "you:tu" "we:nous"; do
    for verb in "run:cours" "win:gagnes" "sing:chantons" "sleep:dors"; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
        printf 'now %s %s !\tmaintenant %s %s !\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
    done
done
cut -f1 pairs.tsv >source.txt
cut -f2 pairs.tsv >target.txt
pairs=$(lines source.txt)

write_config() {
    cat >"$1.yaml" <<YAML
name: $1
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, max_length: 8}
model: {type: $2, embedding_size: 16, hidden_size: 16, encoder_layers: 1, decoder_layers: 1, dropout: 0.0, heads: 2, feed_forward_size: 32}
training: {epochs: $3, batch_size: 8, optimizer: adam, learning_rate: 0.01}
validation: {every_epochs: 0}
report: {sample_count: 0}
YAML
}

for model in attentive:transformer:60 plain:seq2seq:2; do
    IFS=: read -r name type epochs <<<"$model"
    write_config "$name" "$type" "$epochs"
    if ! "$train" "$name.yaml" --quiet >train.out 2>train.err; then
        complain "attn-train $name.yaml: $(cat train.err)"
        exit 1
    fi
done
model=runs/attentive

# ---- lines in, lines out

run 0 "training sentences" $model <source.txt
same "$(lines stdout)" "$pairs" "lines of the training sentences"
right=$(paste -d'\n' stdout target.txt | awk 'NR % 2 {a = $0; next} a == $0 {n++} END {print n + 0}')
((right * 2 > pairs)) || complain "only $right of $pairs training sentences are translated right"
[[ ! -s stderr ]] || complain "messages without need: $(cat stderr)"
cp stdout greedy.txt

run 0 "files" $model --input source.txt --output out.txt
cmp -s out.txt greedy.txt || complain "--input and --output give another translation than < and >"
[[ ! -s stdout ]] || complain "--output writes to standard output as well"
gzip -k source.txt
run 0 "gzip" $model --input source.txt.gz
cmp -s stdout greedy.txt || complain "gzipped input gives another translation"

printf 'i run .\n\ni run .\r\n   \n\xc2\xa0\nyou win .' >mixed.txt
run 0 "blank lines, CRLF, no line feed at the end" $model <mixed.txt
same "$(lines stdout)" 6 "lines with blank ones"
for blank in 2 4 5; do same "$(sed -n ${blank}p stdout)" "" "blank line $blank"; done
same "$(sed -n 3p stdout)" "$(sed -n 1p stdout)" "a line that ends in CRLF"
[[ -n $(sed -n 6p stdout) ]] || complain "the last line without a line feed is lost"

run 0 "empty input" $model </dev/null
same "$(lines stdout)" 0 "lines of empty input"

printf 'i\0 run .\nyou\xc2\x85win .\ni \xe2\x80\xa8 run .\n' >control.txt
run 0 "NUL, NEL and line separator" $model <control.txt
same "$(lines stdout)" 3 "lines with control characters"

printf 'i run .\nyou \xff\xfe win .\nwe sing .\n' >invalid.txt
run 7 "invalid UTF-8" $model <invalid.txt
same "$(lines stdout)" 3 "lines with invalid UTF-8"
says "line 2" "the warning about invalid UTF-8"

printf 'i run .\nyou win .\n%s\nwe sing .\n' "$(printf 'run %.0s' {1..20})" >long.txt
for batch in 1 100; do
    run 7 "an over-long line" $model --input long.txt --batch-size $batch
    same "$(lines stdout)" 4 "lines with an over-long one"
    says "long.txt:3:" "the warning about an over-long line"
    says "20 tokens" "the warning about an over-long line"
    says "cropped to 7" "the warning about an over-long line"
done
run 7 "an over-long line, quietly" $model --quiet --input long.txt
[[ ! -s stderr ]] || complain "--quiet is not quiet: $(cat stderr)"

# ---- batches

for options in "" "--beam 4" "--n-best 3" "--sample --seed 3 --top-k 4"; do
    run 0 "options '$options'" $model --scores --input source.txt --batch-size 1 $options
    cp stdout alone.txt
    for batch in "--batch-size 2" "--batch-size 7" "--batch-tokens 11" "--batch-tokens 100000"; do
        run 0 "options '$options $batch'" $model --scores --input source.txt $options $batch
        cmp -s stdout alone.txt || complain "'$options': $batch changes the translations"
    done
    "$translate" $model --backend "$backend" --scores $options < <(while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line == now* ]] && sleep 0.02
    done <source.txt) >stdout 2>stderr
    cmp -s stdout alone.txt || complain "'$options': lines that come slowly are translated differently"
done

# ---- a conversation

coproc conversation { "$translate" $model --backend "$backend" 2>/dev/null; }
conversation_process=$conversation_PID
for number in 1 2; do
    printf '%s\n' "$(sed -n ${number}p source.txt)" >&"${conversation[1]}"
    answer=
    IFS= read -r -t 20 answer <&"${conversation[0]}" || complain "no answer to line $number before the end of input"
    same "$answer" "$(sed -n ${number}p greedy.txt)" "answer $number of a conversation"
done
eval "exec ${conversation[1]}>&-"
wait "$conversation_process" || complain "a conversation ends with status $?"

mkfifo pipe
"$translate" $model --backend "$backend" --output never.txt <pipe >stdout 2>stderr &
process=$!
exec 3>pipe
printf 'i run .\n' >&3
sleep 1
kill -TERM "$process"
wait "$process"
same $? 130 "exit status after SIGTERM"
exec 3>&-
[[ ! -e never.txt ]] || complain "an interrupted run leaves its output file"
[[ -e never.txt.part && -e never.txt.part.json ]] || complain "an interrupted run leaves nothing to resume"

# ---- what is printed

run 0 "n-best" $model --n-best 3 --input mixed.txt
grep -qE '^0 \|\|\| .+ \|\|\| LogProbability= -?[0-9.]+ Length= [0-9]+ \|\|\| -?[0-9.]+$' stdout || complain "n-best is not in Moses' format: $(head -1 stdout)"
same "$(cut -d' ' -f1 stdout | uniq | tr '\n' ' ')" "0 1 2 3 4 5 " "line numbers of n-best"
same "$(grep -c '^0 |||' stdout)" 3 "translations of the first line"

run 0 "alignments" $model --alignments --input source.txt
grep -qvE ' \|\|\|( [0-9]+-[0-9]+)*$' stdout && complain "alignments are not in Pharaoh's format"
awk -F' \\|\\|\\| ' 'split($1, words, " ") != split($2, links, " ") {bad = 1} END {exit bad}' stdout ||
    complain "not every target token has its link"
run 2 "alignments of a model without attention" runs/plain --alignments --input source.txt
says "no attention" "a model without attention"

run 7 "JSON Lines" $model --json --n-best 2 --alignments --input long.txt
same "$(lines stdout)" 4 "JSON objects"
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' || complain "JSON Lines are not as documented"
import json
objects = [json.loads(line) for line in open("stdout", encoding="utf-8")]
assert [o["line"] for o in objects] == [1, 2, 3, 4]
assert [o["cropped"] for o in objects] == [False, False, True, False]
assert objects[2]["source_tokens_found"] == 20 and len(objects[2]["source_tokens"]) == 7
assert objects[0]["source"] == "i run ." and len(objects[0]["n_best"]) == 2
assert objects[0]["translation"] == objects[0]["n_best"][0]["translation"]
assert len(objects[0]["alignment"]) == len(objects[0]["tokens"])
PYTHON
fi

# ---- constraints, prefixes, sampling, ensembles

run 0 "a coverage penalty" $model --beam 3 --n-best 2 --coverage-penalty 0.2 --input source.txt
grep -qE ' Coverage= -?[0-9.]+ \|\|\|' stdout || complain "no coverage among the features: $(head -1 stdout)"
run 2 "a coverage penalty without attention" runs/plain --coverage-penalty 0.2 --input source.txt
says "no attention" "a coverage penalty without attention"
run 0 "at most two tokens" $model --max-length 2 --no-repeat-ngram 1 --min-length 2 --input source.txt
awk 'NF > 2 || $1 == $2 {bad = 1} END {exit bad}' stdout || complain "lengths and repetitions are not limited"
run 2 "a shortest length above the longest" $model --min-length 5 --max-length 3 --input source.txt

head -2 source.txt >two.txt
cut -d' ' -f1 target.txt | head -1 >prefix.txt
echo >>prefix.txt
for options in "" "--beam 3" "--sample"; do
    run 0 "a prefix $options" $model $options --prefix prefix.txt --input two.txt
    same "$(head -1 stdout | cut -d' ' -f1)" "$(head -1 prefix.txt)" "the first word after a prefix $options"
done
printf '%s\n\n' "qwertyuiop" >unknown.txt
run 7 "an unknown prefix" $model --prefix unknown.txt --input two.txt
says "unknown.txt:1:" "an unknown prefix"
run 4 "a prefix that is too long" $model --max-length 1 --prefix target.txt --input source.txt
says "target.txt:1:" "a prefix that is too long"
run 4 "fewer prefixes than lines" $model --prefix prefix.txt --input source.txt
says "fewer lines" "fewer prefixes than lines"

run 0 "a tiny nucleus" $model --sample --top-p 0.000001 --input source.txt
same "$(cat stdout)" "$(cat greedy.txt)" "a nucleus of one token"
run 2 "a nucleus of nothing" $model --sample --top-p 0 --input source.txt

run 0 "an ensemble of a model with itself" $model --ensemble $model --input source.txt
same "$(cat stdout)" "$(cat greedy.txt)" "an ensemble of a model with itself"
run 0 "an ensemble, with copies" $model --ensemble runs/plain --beam 3 --threads 2 --input source.txt
mv stdout ensemble.txt
run 0 "an ensemble" $model --ensemble runs/plain --beam 3 --threads 1 --input source.txt
same "$(cat stdout)" "$(cat ensemble.txt)" "an ensemble with another number of threads"

# ---- scoring

run 0 "scores of tokens" $model --score target.txt --score-tokens --input source.txt
awk -F' \\|\\|\\| ' '{n = split($2, tokens, " "); sum = 0
    for (i = 1; i <= n; ++i) {sub(/.*\|/, "", tokens[i]); sum += tokens[i]}
    if (sum - $1 > 0.01 || $1 - sum > 0.01 || $2 !~ /<eos>\|-?[0-9.]+$/) bad = 1} END {exit bad}' stdout ||
    complain "the scores of tokens do not add up: $(head -1 stdout)"
run 2 "--score-tokens without --score" $model --score-tokens --input source.txt
run 0 "perplexity" $model -v --score target.txt --input source.txt
says "perplexity" "scoring with -v"

run 0 "scoring" $model --score target.txt --input source.txt
same "$(lines stdout)" "$pairs" "lines of scores"
run 0 "log-probabilities" $model --json --input source.txt
sed -E 's/.*"log_probability":([-0-9.e]+).*/\1/' stdout >found.txt
sed -E 's/.*"finished":(true|false).*/\1/' stdout >finished.txt
run 0 "scoring of its own translations" $model --score greedy.txt --input source.txt
paste finished.txt found.txt stdout | awk '$1 == "true" && ($2 - $3 > 0.001 || $3 - $2 > 0.001) {bad = 1} END {exit bad}' ||
    complain "the score of a translation is not the one that it was found with"
head -3 target.txt >short.txt
run 4 "unequal line counts" $model --score short.txt --input source.txt
says "$pairs lines" "unequal line counts"
says "3;" "unequal line counts"

# ---- failures

run 5 "no such model" runs/nobody --input source.txt
says "runs/nobody" "a missing model"
run 5 "not a checkpoint" pairs.tsv --input source.txt
says "pairs.tsv" "a file that is no checkpoint"
run 5 "no such input" $model --input nowhere.txt
says "nowhere.txt" "a missing input"
run 5 "a folder as input" $model --input runs
run 5 "no such output folder" $model --input source.txt --output nowhere/out.txt
if [[ -e /dev/full ]]; then
    "$translate" $model --backend "$backend" <source.txt >/dev/full 2>stderr
    same $? 5 "exit status on a full disk"
    run 5 "--output on a full disk" $model --input source.txt --output /dev/full
fi
"$translate" $model --backend "$backend" --input source.txt 2>stderr | true
same "${PIPESTATUS[0]}" 0 "exit status after a broken pipe"
[[ ! -s stderr ]] || complain "a broken pipe is not quiet: $(cat stderr)"
backend=nobody run 6 "unknown backend" $model --input source.txt
run 2 "unknown option" $model --input source.txt --beans 3
run 2 "more translations than hypotheses" $model --input source.txt --beam 2 --n-best 3
run 2 "--top-k without --sample" $model --input source.txt --top-k 3
run 2 "no model"
printf 'kept\n' >kept.txt
run 5 "a missing input with an output file" $model --input nowhere.txt --output kept.txt
same "$(cat kept.txt)" kept "an output file after a failure"

"$translate" --help >stdout 2>stderr || complain "--help fails"
same "$(head -1 stdout)" "Examples:" "first line of --help"
grep -qF "Exit codes:" stdout || complain "--help does not list the exit codes"

((failures == 0)) || exit 1
echo "all well, on $backend"
