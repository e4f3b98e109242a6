#!/usr/bin/env bash
# Sweeps, comparisons of runs and TensorBoard as users of attn-train meet them.
# Usage: sweep_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
train=$programs/attn-train
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$tools/checks.sh"

prints() {
    grep -qF -- "$1" stdout || complain "$2 does not print '$1' but: $(cat stdout)"
}

# run STATUS WHAT ARGUMENTS...
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$train" "$@" >stdout 2>stderr </dev/null || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
    if grep -qaE 'terminate called|Aborted|internal error|std::' stderr; then complain "$what: $(cat stderr)"; fi
}

# states OPTIONS...: the states of a sweep's runs, in order
states() {
    "$train" "$@" --list --json | sed 's/.*"state":"\([^"]*\)".*/\1/' | tr '\n' ' '
}

: >pairs.tsv
for who in i:je you:tu we:nous they:ils; do
    for verb in run:cours win:gagnes sing:chantons sleep:dors; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
    done
done
head -4 pairs.tsv >valid.tsv
cat >base.yaml <<YAML
name: grid
seed: 5
backend: {name: $backend}
data: {train: pairs.tsv, valid: valid.tsv}
model: {type: seq2seq-attention, embedding_size: 8, hidden_size: 8, encoder_layers: 1, decoder_layers: 1}
training: {epochs: 2, batch_size: 8, learning_rate: 0.01}
validation: {bleu: false}
checkpoints: {every_epochs: 1}
report: {sample_count: 0, tensorboard: true}
YAML
cat >sweep.yaml <<YAML
sweep:
  data.valid: [valid.tsv, missing/valid.tsv]
  seed: [1, 2]
YAML
sweep=(base.yaml sweep.yaml)

# ---- one after another, with runs that fail

same "$(states "${sweep[@]}")" "new new new new " "states before a sweep"
run 5 "a sweep with failing runs" "${sweep[@]}" --threads 1 --json
same "$(wc -l <stdout | tr -d ' ')" 2 "results of a sweep with failing runs"
says "4 runs: 2 finished, 2 failed" "a sweep with failing runs"
says "attn-train: error: grid/valid=missing_valid.tsv,seed=2 failed: " "a sweep with failing runs"
same "$(states "${sweep[@]}")" "finished finished failed failed " "states after a sweep"
run 0 "the list" "${sweep[@]}" --list
prints "grid/valid=missing_valid.tsv,seed=1" "the list"
grep -qE '^run +state +data.valid +seed$' stdout || complain "the list has another header: $(head -1 stdout)"
prints "failed: " "the list"
run 5 "the sweep once more" "${sweep[@]}"
says "4 of the 4 run directories of the sweep are not empty" "the sweep once more"
mkdir missing && cp valid.tsv missing/
stamp=$(stat -c %Y%s "runs/grid/valid=valid.tsv,seed=1/report.json")
run 0 "the sweep resumed" "${sweep[@]}" --threads 1 --json --resume
same "$(wc -l <stdout | tr -d ' ')" 4 "results of a resumed sweep"
says "4 runs: 2 finished, 2 finished before" "the sweep resumed"
same "$(stat -c %Y%s "runs/grid/valid=valid.tsv,seed=1/report.json")" "$stamp" "time of a report that was finished before"
cp stdout sequential.json
run 0 "resumed with more epochs" "${sweep[@]}" --threads 1 --epochs 3 --resume --quiet
same "$(cat runs/grid/*/metrics.jsonl | wc -l | tr -d ' ')" 12 "epochs after resuming with more of them"

# ---- several at once

run 0 "jobs" "${sweep[@]}" --name jobs --jobs 3 --json
same "$(wc -l <stdout | tr -d ' ')" 4 "results of jobs"
same "$(sed 's/.*"name":"jobs\([^"]*\)".*/\1/' stdout | tr '\n' ' ')" \
    "$(sed 's/.*"name":"grid\([^"]*\)".*/\1/' sequential.json | tr '\n' ' ')" "order of the results of jobs"
says "4 runs: 4 finished" "jobs"
for seed in 1 2; do
    point=valid=valid.tsv,seed=$seed
    [[ -s runs/jobs/$point.log ]] || complain "jobs write no $point.log"
    same "$(sed 's/,"seconds.*//;s/"seconds":[^,]*,"tokens_per_second":[^,]*//' "runs/jobs/$point/metrics.jsonl" | cut -c1-60)" \
        "$(head -2 "runs/grid/$point/metrics.jsonl" | cut -c1-60)" "metrics of a job and of the same run"
done
rm -r missing "runs/jobs/valid=missing_valid.tsv,seed=1" runs/jobs/valid=missing_valid.tsv,seed=2
run 5 "jobs that fail" "${sweep[@]}" --name jobs --jobs 2 --resume --json
same "$(wc -l <stdout | tr -d ' ')" 2 "results of jobs that fail"
says "4 runs: 0 finished, 2 finished before, 2 failed" "jobs that fail"
says "error: jobs/valid=missing_valid.tsv,seed=1 failed: " "jobs that fail"
says "missing/valid.tsv" "jobs that fail"
same "$(states "${sweep[@]}" --name jobs)" "finished finished failed failed " "states after jobs"
run 2 "jobs without a sweep" base.yaml --jobs 2
run 2 "jobs of a dry run" "${sweep[@]}" --jobs 2 --dry-run
run 2 "no such run" "${sweep[@]}" --only seed=3
says "--list" "no such run"
run 0 "one run of a sweep" "${sweep[@]}" --name one --only valid=valid.tsv,seed=2 --quiet
same "$(cd runs/one && echo *)" "valid=valid.tsv,seed=2" "folders after one run of a sweep"

# ---- two processes, and interruptions

long=(base.yaml sweep.yaml --name long --set 'data.valid=valid.tsv' --epochs 100000 --set checkpoints.every_epochs=0)
env --default-signal=INT "$train" "${long[@]}" --jobs 2 >long.out 2>long.err </dev/null &
process=$!
first=runs/long/valid=valid.tsv,seed=1
second=runs/long/valid=valid.tsv,seed=2
for _ in {1..400}; do
    [[ -s $first/metrics.jsonl && -s $second/metrics.jsonl ]] && break
    sleep 0.05
done
same "$(states "${long[@]}")" "running running new new " "states of a sweep that goes on"
run 5 "a second process" "${long[@]}" --only valid=valid.tsv,seed=1 --force
says "is in use by another attn-train (process " "a second process"
run 0 "a summary meanwhile" --summary runs/long --no-over-seeds
prints "running" "a summary meanwhile"
kill -INT "$process"
wait "$process"
same $? 130 "exit status of jobs after SIGINT ($(cat long.err))"
grep -qF "4 left; go on with --resume" long.err || complain "jobs after SIGINT say: $(cat long.err)"
same "$(states "${long[@]}")" "interrupted interrupted new new " "states after SIGINT"
for run in "$first" "$second"; do
    compgen -G "$run/checkpoints/update-*.h5" >/dev/null || complain "no checkpoint in $run after SIGINT"
done

# ---- summaries and curves

# A run as if it had been killed, and one of which only scraps are left.
cp -r "$first" runs/grid/killed
sed -i 's/interrupted/running/' runs/grid/killed/status.json
mkdir runs/grid/scraps && echo '{' >runs/grid/scraps/status.json
run 0 "a summary" --summary runs/grid
prints "valid=valid.tsv,seed=1" "a summary"
prints "killed: interrupted: killed before it had ended" "a summary"
prints "scraps: damaged: " "a summary"
for unchanged in model.type run_root name; do
    grep -qF " $unchanged " stdout && complain "a summary shows $unchanged"
done
rm -r runs/grid/killed runs/grid/scraps
run 0 "a summary of a glob" --summary runs/grid/* --sort-by valid_loss --format csv
same "$(head -1 stdout | cut -d, -f1-4)" "run,data.valid,seed,valid_loss" "columns of CSV"
run 0 "over seeds" --summary runs/grid --over-seeds --format markdown
same "$(grep -c '±.*| 2 finished |$' stdout)" 2 "rows over seeds ($(cat stdout))"
run 0 "seeds alone" --summary runs/grid/valid=valid.tsv,seed=* --json
prints '"groups"' "seeds alone"
prints '"n": 2' "seeds alone"
run 0 "a file" --summary runs/grid --format markdown --output summary.md
[[ ! -s stdout ]] || complain "--output prints as well"
grep -q '^| run | data.valid | seed |' summary.md || complain "--output writes $(cat summary.md)"
run 5 "no run" --summary nowhere
run 5 "no run in a folder" --summary "$tools"
run 2 "no path" --summary
run 2 "an unknown metric" --summary runs/grid --sort-by blue
says "valid_loss" "an unknown metric"
for format in svg png pdf; do
    run 0 "curves as $format" --curves "curves.$format" runs/grid
    [[ -s curves.$format ]] || complain "no curves.$format"
done
same "$(grep -c 'stroke-width="2"' curves.svg)" 8 "lines and legend of curves" # four runs, each in both
run 0 "curves over seeds" --curves seeds.svg runs/grid --over-seeds --metric loss
grep -q 'fill-opacity' seeds.svg || complain "curves over seeds have no band"
run 2 "curves of nothing" --curves curves.svg runs/grid --metric valid_ter
run 2 "curves as something else" --curves curves.jpeg runs/grid

# ---- TensorBoard

events="runs/grid/valid=valid.tsv,seed=1/tensorboard/events.out.tfevents.attn"
[[ -s $events ]] || complain "no events for TensorBoard"
if command -v python3 >/dev/null; then
    python3 "$tools/read_events.py" "$events" >events.txt || complain "events that cannot be read"
    # Two epochs of two updates, and a third one after resuming.
    same "$(sed -n 's# loss/train .*##p' events.txt | tr '\n' ' ')" "2 4 6 " "steps in TensorBoard"
    for tag in loss/valid perplexity/valid learning_rate gradient_norm tokens_per_second; do
        same "$(grep -c " $tag " events.txt)" 3 "values of $tag in TensorBoard"
    done
    later=("${sweep[@]}" --name later --only valid=valid.tsv,seed=1 --threads 1 --quiet)
    run 0 "without events" "${later[@]}" --set report.tensorboard=false
    [[ ! -e runs/later/valid=valid.tsv,seed=1/tensorboard ]] || complain "events that nobody asked for"
    run 0 "events turned on later" "${later[@]}" --epochs 3 --resume
    python3 "$tools/read_events.py" "${events/grid/later}" >later.txt || complain "later events that cannot be read"
    cmp -s <(grep -v per_second events.txt) <(grep -v per_second later.txt) || complain "later events are others: $(cat later.txt)"
fi

((failures == 0)) || exit 1
echo "all well, on $backend"
