#!/usr/bin/env bash
# What a training offers for real corpora: validations and checkpoints by updates, metrics, averages, memory that
# does not suffice; and the settings that it refuses.
# Usage: training_options_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
train=$programs/attn-train
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

says() {
    grep -qF -- "$1" "$3" || complain "$2 does not say '$1' but: $(cat "$3")"
}

# run STATUS WHAT ARGUMENTS...: with what it prints in the files stdout and stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$train" "$@" >stdout 2>stderr </dev/null || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
}

refused() {
    local status=$1 what=$2 part=$3
    shift 3
    run "$status" "$what" "$@"
    says "$part" "$what" stderr
}

: >pairs.tsv
for who in i:je you:tu we:nous they:ils; do
    for verb in run:cours win:gagnes sing:chantons sleep:dors read:lis; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
    done
done
head -4 pairs.tsv >valid.tsv
cat >base.yaml <<YAML
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, valid: valid.tsv, test: valid.tsv}
model: {type: transformer, hidden_size: 16, heads: 2, feed_forward_size: 16, encoder_layers: 1, decoder_layers: 1, dropout: 0}
training: {epochs: 3, batch_size: 2, learning_rate: 0.01}
report: {sample_count: 1}
YAML

# ---- by updates, the best, averages: 10 updates an epoch

run 0 "a run by updates" base.yaml --name updates --set validation.every_updates=4 --set validation.metric=chrf \
    --set checkpoints.every_updates=6 --set checkpoints.keep_last=3 --set checkpoints.keep_best=2 \
    --set checkpoints.average=3
same "$(cd runs/updates/checkpoints && ls | grep -v '^best-' | tr '\n' ' ')" \
    "averaged.h5 best.h5 update-00000018.h5 update-00000024.h5 update-00000030.h5 " "checkpoints by updates"
same "$(find runs/updates/checkpoints -name 'best-*.h5' | wc -l | tr -d ' ')" 2 "checkpoints kept for their validation"
same "$(grep -c '"epoch":[0-9]*\.' runs/updates/metrics.jsonl)" 6 "validations inside epochs" # 20 ends an epoch
same "$(sed -n 's/.*"epoch":\(0.4\),"update":\([0-9]*\),.*/\1 \2/p' runs/updates/metrics.jsonl)" "0.4 4" "the first validation"
same "$(grep -c '"valid_chrf":' runs/updates/metrics.jsonl)" 8 "validations with chrF"
says "update 4 (epoch 0.40): loss" "the log" runs/updates/log.txt
says "chrF" "the log" runs/updates/log.txt
says "averaged.h5, from 3 checkpoints: validation chrf" "the report" stdout
says '"members"' "report.json" runs/updates/report.json
says '"checkpoint"' "report.json" runs/updates/report.json

run 0 "an average of the best" base.yaml --name best --set validation.every_updates=4 --set checkpoints.keep_best=3 \
    --set checkpoints.average=3 --set checkpoints.average_of=best --set training.ema_decay=0.9 --set training.accumulate=2
says "averaged.h5, from 3 checkpoints: validation loss" "the report" stdout
refused 4 "resuming without the moving average" "training.ema_decay: 0.9" base.yaml --name best --resume
run 0 "more checkpoints than there are" base.yaml --name few --epochs 2 --set checkpoints.every_epochs=1 \
    --set checkpoints.keep_last=5 --set checkpoints.average=5
says "asks for 5 checkpoints, there are 2" "the warning" stderr

# ---- attn-train --average

cd runs/updates/checkpoints || exit 1
refused 2 "an average of one" "at least two" --average out.h5 update-00000030.h5
refused 2 "an output that is an input" "cannot be the output" --average update-00000030.h5 update-00000024.h5 update-00000030.h5
refused 5 "an input that is missing" "nowhere.h5" --average out.h5 update-00000030.h5 nowhere.h5
refused 5 "an input that is text" "pairs.tsv" --average out.h5 update-00000030.h5 ../../../pairs.tsv
[[ ! -e out.h5 ]] || complain "a refused average writes a file"
run 0 "an average" --average out.h5 update-00000018.h5 update-00000024.h5 update-00000030.h5
says "the average of 3 checkpoints" "an average" stdout
run 0 "an average as JSON" --average out.h5 update-00000018.h5 update-00000030.h5 --json --quiet
says '"averaged":["update-00000018.h5","update-00000030.h5"]' "an average as JSON" stdout
if [[ -x $programs/attn-translate ]]; then
    "$programs/attn-translate" out.h5 --backend "$backend" <<<"i run ." >stdout 2>stderr ||
        complain "an average does not translate: $(cat stderr)"
    same "$(wc -l <stdout | tr -d ' ')" 1 "lines translated by an average"
fi
cd "$work" || exit 1
run 0 "a wider model" base.yaml --name wide --epochs 1 --set model.feed_forward_size=24
refused 4 "an average of two models" "tensor 'encoder.blocks.0." --average out.h5 runs/updates/checkpoints/best.h5 runs/wide
says "runs/wide/checkpoints/best.h5" "an average of two models" stderr

# ---- memory

cp pairs.tsv long.tsv
printf '%s\t%s\n' "$(printf 'run %.0s' {1..3000})" "$(printf 'cours %.0s' {1..3000})" >>long.tsv
run 0 "a line that does not fit into memory" base.yaml --name memory --set data.train=long.tsv --set backend.memory_limit=4
says "memory does not suffice for a batch of lines" "the log" runs/memory/log.txt
says "line 21 of the training data does not fit into memory and was left out" "the log" runs/memory/log.txt
same "$(grep -c 'line 21 of the training data' runs/memory/log.txt)" 1 "warnings about one line"
says '"skipped_sentences": 3' "report.json" runs/memory/report.json
says '"split_batches":' "report.json" runs/memory/report.json
says "left out 3 times" "the report" stdout
refused 6 "memory that does not even hold the model" "backend.memory_limit" base.yaml --name tiny \
    --set backend.memory_limit=1 --set model.hidden_size=256 --set model.feed_forward_size=1024

# ---- settings that contradict each other

refused 3 "chrF without translations" "validation.metric: chrf needs validation.bleu: true" base.yaml \
    --set validation.metric=chrf --set validation.bleu=false
for key in validation.every_updates validation.patience checkpoints.keep_best; do
    refused 3 "$key without data" "data.valid" base.yaml --set 'data.valid=""' --set "$key=2"
done
refused 3 "patience without validations" "validation.every_updates above 0" base.yaml --set validation.patience=2 \
    --set validation.every_epochs=0
refused 3 "an average of one" "give 2 or more" base.yaml --set checkpoints.average=1
refused 3 "an average of more than is kept" "checkpoints.keep_last: 4 or more" base.yaml --set checkpoints.average=4
refused 3 "an average of more than is kept as best" "checkpoints.keep_best: 2 or more" base.yaml \
    --set checkpoints.average=2 --set checkpoints.average_of=best
refused 3 "an average of the last one" "checkpoints.every_updates above 0" base.yaml --set checkpoints.average=2 \
    --set checkpoints.every_epochs=0
refused 3 "no batch an update" "training.accumulate" base.yaml --set training.accumulate=0
refused 3 "an average that stands still" "training.ema_decay" base.yaml --set training.ema_decay=1

((failures == 0)) || exit 1
echo "all well, on $backend"
