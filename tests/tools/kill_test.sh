#!/usr/bin/env bash
# A training that SIGKILL ends again and again, also while it writes checkpoints, and that is resumed each time,
# ends in the checkpoints of one that ran through.
# Usage: kill_test.sh FOLDER_OF_THE_PROGRAMS CHECKPOINT_DIGESTS [KILLS]
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
digests=$(realpath "${2:?name the program checkpoint-digests}")
kills=${3:-5}
train=$programs/attn-train
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

: >pairs.tsv
for who in i:je you:tu we:nous they:ils; do
    for verb in run:cours win:gagnes sing:chantons sleep:dors read:lis; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
    done
done
head -4 pairs.tsv >valid.tsv

# Checkpoints, validations and epochs end at different updates; dropout, accumulation and the moving average have
# a state of their own.
cat >small.yaml <<YAML
name: whole
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, valid: valid.tsv}
model: {type: transformer, hidden_size: 16, heads: 2, feed_forward_size: 16, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
training: {epochs: 60, batch_size: 2, accumulate: 3, ema_decay: 0.95, learning_rate: 0.01, clip_norm: 1}
validation: {every_updates: 7, metric: chrf}
checkpoints: {every_updates: 5, keep_best: 3, keep_last: 2, average: 2}
report: {sample_count: 0}
YAML
updates=240 # 10 batches an epoch, 3 of them an update: 4 updates

found=0
"$train" small.yaml --quiet >stdout 2>stderr </dev/null || found=$?
same "$found" 0 "exit status of the whole run ($(cat stderr))"
start=$(date +%s%N)
"$train" small.yaml --name timed --quiet >stdout 2>stderr </dev/null
milliseconds=$((($(date +%s%N) - start) / 1000000))

# What a run leaves: files, and in them all that training changed.
state_of() {
    local file
    (cd "runs/$1/checkpoints" && printf '%s\n' *)
    for file in "runs/$1"/checkpoints/*.h5; do
        "$digests" "$file" || complain "no digests of $file"
    done
    # Measured times differ from run to run.
    sed -E 's/,"(seconds|tokens_per_second|tokens)":[^,}]*//g' "runs/$1/metrics.jsonl"
}
state_of whole >whole.state
state_of timed >timed.state
cmp -s whole.state timed.state || complain "two whole runs differ"
[[ -e runs/whole/checkpoints/update-00000$updates.h5 ]] || complain "the whole run has no checkpoint of update $updates"

seed=${KILL_SEED:-$RANDOM}
RANDOM=$seed
killed=0
resumes=0
for ((attempt = 0; attempt < 20 * kills && killed < kills; ++attempt)); do
    mode=--force
    compgen -G 'runs/killed/checkpoints/update-*.h5' >/dev/null && mode=--resume
    "$train" small.yaml --name killed "$mode" --quiet >stdout 2>stderr </dev/null &
    process=$!
    if ((killed % 2)); then
        # While a checkpoint is being written, if one is met.
        for ((look = 0; look < 400; ++look)); do
            compgen -G 'runs/killed/checkpoints/*.part' >/dev/null && break
            kill -0 "$process" 2>/dev/null || break
        done
    else
        sleep "$(printf '0.%03d' $((30 + RANDOM % (milliseconds < 900 ? milliseconds : 900))))"
    fi
    kill -KILL "$process" 2>/dev/null
    found=0
    wait "$process" 2>/dev/null || found=$?
    if ((found == 0)); then # it was faster: once more from the beginning, unless enough was seen
        rm -rf runs/killed
        continue
    fi
    same "$found" 137 "exit status after SIGKILL ($(cat stderr))"
    killed=$((killed + 1))
    [[ $mode == --resume ]] && resumes=$((resumes + 1))
done
same "$killed" "$kills" "kills (seed $seed)"

mode=--force
compgen -G 'runs/killed/checkpoints/update-*.h5' >/dev/null && mode=--resume
found=0
"$train" small.yaml --name killed "$mode" --quiet >stdout 2>stderr </dev/null || found=$?
same "$found" 0 "exit status of the last run ($(cat stderr))"
state_of killed >killed.state
if ! cmp -s whole.state killed.state; then
    complain "after $killed kills (seed $seed) the state differs: $(diff whole.state killed.state | head -20)"
fi
[[ -z $(find runs/killed -name '*.part') ]] || complain "a partial file stays: $(find runs/killed -name '*.part')"
same "$(sed -n 's/.*"state": "\([^"]*\)".*/\1/p' runs/killed/status.json)" finished "state of the run at last"

((failures == 0)) || exit 1
echo "all well, on $backend: $killed kills, $resumes of them after a resume, a whole run takes $milliseconds ms"
