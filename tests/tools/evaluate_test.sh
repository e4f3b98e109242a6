#!/usr/bin/env bash
# Scores against references as users of attn-translate meet them: of files, and of what a model translates.
# Usage: evaluate_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
train=$programs/attn-train
translate=$programs/attn-translate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

prints() {
    grep -qF -- "$1" stdout || complain "$2 does not print '$1' but: $(cat stdout)"
}

# run STATUS WHAT ARGUMENTS...: results in the file stdout, messages in stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$translate" "$@" >stdout 2>stderr || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
}

# ---- a file of translations: sacrebleu's own example

printf 'The dog bit the man.\nIt was not surprising.\nThe man had just bitten him.\n' >baseline.txt
printf "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n" >system.txt
printf 'The dog bit the man.\nIt was not unexpected.\nThe man bit him first.\n' >one.txt
printf 'The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.\n' >two.txt

run 0 "one file" --evaluate system.txt --reference one.txt --reference two.txt
same "$(cut -d'|' -f1 stdout | tr '\n' ' ')" "BLEU chrF2 chrF2++ TER " "names of the metrics"
prints "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|impl:attn|version:" "the signature of BLEU"
prints " = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)" "BLEU"
prints " = 59.73" "chrF"
prints "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|impl:attn|version:" "the signature of TER"
[[ ! -s stderr ]] || complain "messages without need: $(cat stderr)"

run 0 "chosen metrics" --evaluate system.txt --reference one.txt --metrics ter,bleu --bleu-tokenizer char \
    --bleu-smoothing add-k --bleu-smoothing-value 0.5 --bleu-lowercase --ter-case-sensitive --ter-normalized
same "$(cut -d'|' -f1 stdout | tr '\n' ' ')" "TER BLEU " "names of the chosen metrics"
prints "case:lc|eff:no|tok:char|smooth:add-k[0.50]" "the signature of chosen settings"
prints "case:mixed|tok:tercom|norm:yes|punct:yes|asian:no" "the signature of chosen settings"

run 0 "itself" --evaluate one.txt --reference one.txt
same "$(grep -c ' = 100\.00' stdout)" 3 "scores of the reference itself"
prints "TER|" "TER of the reference itself"
same "$(sed -n 's/^TER.* = //p' stdout)" 0.00 "TER of the reference itself"

run 0 "standard input" --evaluate - --reference one.txt --metrics bleu <system.txt
cp stdout streamed.txt
run 0 "a file again" --evaluate system.txt --reference one.txt --metrics bleu
cmp -s stdout streamed.txt || complain "standard input is scored differently"

# ---- intervals and comparisons

run 0 "confidence" --evaluate system.txt --reference one.txt --confidence --bootstrap-samples 50 --bootstrap-seed 7
prints "nrefs:1|bs:50|seed:7|" "a signature with bootstrap"
grep -qE 'BLEU.* = [0-9.]+ \(μ = [0-9.]+ ± [0-9.]+\) ' stdout || complain "no interval: $(cat stdout)"
cp stdout first.txt
run 0 "confidence again" --evaluate system.txt --reference one.txt --confidence --bootstrap-samples 50 --bootstrap-seed 7
cmp -s stdout first.txt || complain "the same seed gives another interval"

run 0 "a comparison" --evaluate system.txt --reference one.txt --compare-with baseline.txt
same "$(grep -c 'p = [01]\.[0-9]*' stdout)" 4 "p-values"
prints "  baseline.txt  " "a comparison"
run 0 "a comparison with itself" --evaluate system.txt --reference one.txt --compare-with system.txt --metrics bleu
prints "+0.00  p = 0.0010*" "a comparison with itself, which chance never gives"

run 0 "JSON" --evaluate system.txt --reference one.txt --compare-with baseline.txt --json
same "$(wc -l <stdout | tr -d ' ')" 1 "lines of JSON"
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' || complain "JSON is not as documented: $(cat stdout)"
import json
report = json.load(open("stdout", encoding="utf-8"))
assert report["translations"] == "system.txt" and report["baseline"] == "baseline.txt"
assert report["references"] == ["one.txt"] and report["segments"] == 3
assert [m["name"] for m in report["metrics"]] == ["BLEU", "chrF2", "chrF2++", "TER"]
for metric in report["metrics"]:
    assert {"score", "signature", "confidence_mean", "confidence_half_width", "p_value"} <= metric.keys()
    assert {"score", "confidence_mean", "confidence_half_width"} == metric["baseline"].keys()
assert report["metrics"][0]["details"].endswith("ref_len = 17)")
PYTHON
fi

# ---- what cannot be scored

head -2 one.txt >short.txt
run 4 "fewer references" --evaluate system.txt --reference short.txt
says "system.txt has 3 lines and short.txt has 2;" "fewer references than translations"
run 4 "unequal references" --evaluate system.txt --reference one.txt --reference short.txt
says "short.txt has 2 lines and one.txt has 3;" "references of unequal length"
run 4 "a shorter baseline" --evaluate system.txt --reference one.txt --compare-with short.txt
says "short.txt has 2 lines" "a shorter baseline"
: >empty.txt
run 4 "nothing" --evaluate empty.txt --reference empty.txt
run 5 "no such file" --evaluate nowhere.txt --reference one.txt
says "nowhere.txt" "a missing file"
run 5 "no such reference" --evaluate system.txt --reference nowhere.txt
printf 'The dog\nIt \xff was\nHim\n' >invalid.txt
run 7 "invalid UTF-8" --evaluate invalid.txt --reference one.txt
says "line 2" "the warning about invalid UTF-8"
run 2 "no reference" --evaluate system.txt
run 2 "an unknown metric" --evaluate system.txt --reference one.txt --metrics bleu,meteor
run 2 "an unknown tokenizer" --evaluate system.txt --reference one.txt --bleu-tokenizer moses
run 2 "a value that the smoothing has not" --evaluate system.txt --reference one.txt --bleu-smoothing-value 1
run 2 "a model and a file" runs/model --evaluate system.txt --reference one.txt
run 2 "a search without a model" --evaluate system.txt --reference one.txt --beam 3
run 2 "standard input twice" --evaluate - --reference -
run 2 "a comparison without reference" runs/model --compare-with one.txt
run 2 "neither model nor file"
says "MODEL" "neither model nor file"

# ---- what a model translates

: >pairs.tsv
for verb in "run:cours" "win:gagnes" "sing:chante" "sleep:dors"; do
    printf 'i %s .\tje %s .\nyou %s .\ttu %s .\n' "${verb%%:*}" "${verb##*:}" "${verb%%:*}" "${verb##*:}" >>pairs.tsv
done
cut -f1 pairs.tsv >source.txt
cut -f2 pairs.tsv >target.txt
cat >model.yaml <<YAML
name: model
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, max_length: 8}
model: {type: transformer, embedding_size: 16, hidden_size: 16, encoder_layers: 1, decoder_layers: 1, dropout: 0.0, heads: 2, feed_forward_size: 32}
training: {epochs: 30, batch_size: 8, optimizer: adam, learning_rate: 0.01}
validation: {every_epochs: 0}
report: {sample_count: 0}
YAML
"$train" model.yaml --quiet >train.out 2>train.err || complain "attn-train: $(cat train.err)"
model="runs/model --backend $backend --threads 1"

run 0 "translations" $model --input source.txt
cp stdout translations.txt
run 0 "scores of translations" $model --input source.txt --reference target.txt --output kept.txt
cp stdout scores.txt
cmp -s kept.txt translations.txt || complain "--reference changes the translations"
run 0 "scores alone" $model --reference target.txt <source.txt
cmp -s stdout scores.txt || complain "scores without --output are others: $(cat stdout)"
run 0 "scores of the file" --evaluate kept.txt --reference target.txt
cmp -s stdout scores.txt || complain "scores of a model and of its translations differ: $(cat stdout)"
run 0 "scores of the best of a list" $model --input source.txt --reference target.txt --n-best 2 --beam 2 --metrics bleu
run 0 "a comparison of translations" $model --input source.txt --reference target.txt --compare-with target.txt
prints "  target.txt  " "a comparison of translations"
head -3 target.txt >short.txt
run 4 "fewer references than input" $model --input source.txt --reference short.txt --output kept2.txt
says "source.txt has 8 lines and short.txt has 3;" "fewer references than input"
[[ ! -e kept2.txt ]] || complain "translations that cannot be scored are made"
run 4 "fewer references than standard input" $model --reference short.txt --output kept3.txt <source.txt
says "has 8 lines and short.txt has 3;" "fewer references than standard input"
cmp -s kept3.txt translations.txt || complain "translations are lost because the references are too few"
run 2 "--score with --reference" $model --input source.txt --score target.txt --reference target.txt

((failures == 0)) || exit 1
echo "all well, on $backend"
