#!/usr/bin/env bash
# What attn-train says about its data, and corpora that stay on disk.
# Usage: data_test.sh FOLDER_OF_THE_PROGRAMS CHECKPOINT_DIGESTS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/checks.sh
digests=$(realpath "${2:?name the program checkpoint-digests}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

# run STATUS WHAT ARGUMENTS...: trains, with what it prints in the files stdout and stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$programs/attn-train" "$@" >stdout 2>stderr </dev/null || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
}

# prints FILE PART WHAT
prints() {
    grep -qF -- "$2" "$1" || complain "$3 does not print '$2' but: $(cat "$1")"
}

for i in $(seq 1 60); do
    printf 'a%d b%d c%d .\tx%d y%d .\n' $((i % 7)) $((i % 5)) $((i % 3)) $((i % 7)) $((i % 5))
done >train.tsv
printf 'a1 b1 c1 .\tx1 y1 .\na2 b3 c9 .\tx2 y3 .\n' >valid.tsv
cat >base.yaml <<YAML
name: base
backend: {name: $backend, threads: 1}
data: {train: train.tsv, valid: valid.tsv, source_tokenizer: whitespace, target_tokenizer: whitespace}
model: {hidden_size: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward_size: 8}
training: {epochs: 3, batch_size: 0, batch_tokens: 100, sort_by_length: true}
report: {sample_count: 0}
YAML

# ---- findings

run 0 "--lint" base.yaml --lint
prints stdout "pair that is a training pair, too" "--lint"
prints stdout "unknown source tokens: <unk>" "--lint"
[[ ! -e runs ]] || complain "--lint writes"
run 4 "--lint --strict" base.yaml --lint --strict
run 0 "--lint --json" base.yaml --lint --json
same "$(wc -l <stdout | tr -d ' ')" 1 "lines of --lint --json"
prints stdout '"check":"overlap"' "--lint --json"
run 0 "--lint without the validation data" base.yaml --set 'data.valid=""' --lint --json
run 2 "--strict alone" base.yaml --strict
run 4 "data.lint: error" base.yaml --set data.lint=error
prints stderr "data.lint: error" "data.lint: error"
[[ ! -e runs ]] || complain "data.lint: error comes after something was written"
awk 'NR <= 7 { print $1 " q" NR "\t" $1 " r" NR }' train.tsv >clean.tsv
run 0 "--lint --strict of clean data" base.yaml --set data.train=clean.tsv --set 'data.valid=""' --lint --strict
prints stdout "data: nothing found in 7 training pairs" "--lint of clean data"

run 0 "training" base.yaml
prints stderr "pair that is a training pair, too" "training"
prints runs/base/lint.json '"check": "overlap"' "lint.json"
"$digests" runs/base/checkpoints/best.h5 >base.digests || complain "no digests of a checkpoint"
run 0 "data.lint: off" base.yaml --name off --set data.lint=off
grep -qF "training pair, too" stderr && complain "data.lint: off still reports"
[[ ! -e runs/off/lint.json ]] || complain "data.lint: off writes lint.json"

# ---- corpora on disk

for name in streaming found-again; do
    run 0 "data.streaming, $name" base.yaml --name $name --set data.streaming=true
    "$digests" runs/$name/checkpoints/best.h5 >found.digests || complain "$name: no digests"
    cmp -s found.digests base.digests || complain "$name: other parameters, moments or progress"
    cmp -s runs/$name/lint.json runs/base/lint.json || complain "$name: other findings"
    same "$(find runs/.cache -name '*.ids' | wc -l | tr -d ' ')" 1 "files of encoded pairs, $name"
    same "$(find runs/.cache -name '*.part' | wc -l | tr -d ' ')" 0 "unfinished files, $name"
done
cp -r runs/streaming runs/more
run 0 "resuming from memory what began on disk" base.yaml --name more --epochs 5 --resume
run 0 "five epochs" base.yaml --name five --epochs 5
"$digests" runs/more/checkpoints/best.h5 >found.digests
"$digests" runs/five/checkpoints/best.h5 >base.digests
cmp -s found.digests base.digests || complain "a run that goes on from memory is another"
run 3 "a pipe cannot be read several times" base.yaml --set data.train=- --set data.streaming=true

# ---- dry runs

run 0 "--dry-run" base.yaml --name dry --dry-run
for row in "parameters" "padding" "device memory" "measured batches" "time of a validation" "checkpoints"; do
    prints stdout "$row" "--dry-run"
done
prints stderr "pair that is a training pair, too" "--dry-run"
[[ ! -e runs/dry ]] || complain "--dry-run writes"

exit $((failures > 0))
