#!/usr/bin/env bash
# attn-train as its users meet it: all kinds of bad input, configurations, signals and resuming.
# Usage: train_test.sh FOLDER_OF_THE_PROGRAMS CHECKPOINT_DIGESTS FOLDER_OF_TEST_PLUGINS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
digests=$(realpath "${2:?name the program checkpoint-digests}")
plugins=$(realpath "${3:?name the folder of the test plugins}")
train=$programs/attn-train
work=$(mktemp -d)
mounted=
trap '[[ -n $mounted ]] && umount "$work/tiny"; chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
export SOURCE_DATE_EPOCH=1700000000

source "$checks"

# run STATUS WHAT ARGUMENTS...: trains, with what it prints in the files stdout and stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$train" "$@" >stdout 2>stderr </dev/null || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
    if grep -qaE 'terminate called|Aborted|core dumped|internal error|HDF5:|std::' stderr; then
        complain "$what: $(cat stderr)"
    fi
}

# refused STATUS WHAT PART ARGUMENTS...: ends with one sentence that has this part, and leaves no partial file
refused() {
    local status=$1 what=$2 part=$3
    shift 3
    run "$status" "$what" "$@"
    says "$part" "$what"
    same "$(grep -c '^attn-train: ' stderr)" 1 "sentences of: $what ($(cat stderr))"
    same "$(wc -l <stderr | tr -d ' ')" 1 "lines of: $what ($(cat stderr))"
    [[ ! -s stdout ]] || complain "$what prints results: $(cat stdout)"
    local partial
    partial=$(find . -name '*.part' -print)
    [[ -z $partial ]] || complain "$what leaves $partial"
}

status_of() {
    sed -n 's/.*"state": "\([^"]*\)".*/\1/p' "runs/$1/status.json"
}

# trained_like CHECKPOINT WHAT: its parameters, moments and progress are those of the run `base`
trained_like() {
    "$digests" "$1" >found.digests || complain "$2: no digests"
    cmp -s found.digests "${3:-base.digests}" || complain "$2: other parameters, moments or progress"
}

# ---- data and configurations

: >pairs.tsv
for who in i:je you:tu we:nous they:ils; do
    for verb in run:cours win:gagnes sing:chantons sleep:dors read:lis; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
    done
done
head -4 pairs.tsv >valid.tsv
tail -3 pairs.tsv >test.tsv

cat >base.yaml <<YAML
name: base
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, valid: valid.tsv, test: test.tsv}
model: {type: seq2seq-attention, embedding_size: 8, hidden_size: 8, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
training: {epochs: 4, batch_size: 8, learning_rate: 0.01}
checkpoints: {every_epochs: 1}
report: {sample_count: 2, samples: ["i run ."]}
YAML

# ---- a run that goes well

run 0 "a run" base.yaml
same "$(status_of base)" finished "state of a run"
for file in config.yaml command.txt environment.json log.txt metrics.jsonl report.json samples/samples.tsv \
    checkpoints/best.h5 checkpoints/update-00000012.h5 plots/learning-curve.svg; do
    [[ -s runs/base/$file ]] || complain "a run writes no $file"
done
same "$(wc -l <runs/base/metrics.jsonl | tr -d ' ')" 4 "lines of metrics.jsonl"
same "$(cd runs/base/checkpoints && echo *)" "best.h5 update-00000009.h5 update-00000012.h5" "checkpoints kept"
same "$(wc -l <runs/base/samples/samples.tsv | tr -d ' ')" 4 "lines of samples.tsv"
same "$(head -1 runs/base/samples/samples.tsv)" $'source\ttranslation\treference' "first line of samples.tsv"
same "$(sed -n 2p runs/base/samples/samples.tsv | cut -f1,3)" $'i run .\tje cours .' "a sample and its reference"
grep -q $'\r' stderr && complain "messages in a pipe have carriage returns"
grep -q $'\x1b' stderr && complain "messages in a pipe have escape sequences"
grep -qF "loss" stdout || complain "the result does not name the loss"
"$digests" runs/base/checkpoints/update-00000012.h5 >base.digests || complain "no digests of a checkpoint"

run 0 "the same run again" base.yaml --name again
trained_like runs/again/checkpoints/update-00000012.h5 "the same run"
run 0 "two threads" base.yaml --name threads --threads 2
trained_like runs/threads/checkpoints/update-00000012.h5 "two threads"

run 0 "quiet" base.yaml --name quiet --quiet
[[ ! -s stderr ]] || complain "--quiet is not quiet: $(cat stderr)"

run 0 "JSON" base.yaml --name json --json --quiet
same "$(wc -l <stdout | tr -d ' ')" 1 "lines of --json"
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' || complain "JSON is not as documented"
import json
result = json.load(open("stdout", encoding="utf-8"))
assert result["outcome"] == "finished" and result["epochs"] == 4 and result["updates"] == 12
assert result["loss"] > result["book_loss"] > 0 and "bleu" in result["test"] and len(result["samples"]) == 3
report = json.load(open("runs/json/report.json", encoding="utf-8"))
assert report["loss"] == result["loss"] and report["samples"] == result["samples"]
epochs = [json.loads(line) for line in open("runs/json/metrics.jsonl", encoding="utf-8")]
assert [e["epoch"] for e in epochs] == [1, 2, 3, 4] and all(e["valid_loss"] > 0 for e in epochs)
assert json.load(open("runs/json/environment.json", encoding="utf-8"))["threads"] == 1
PYTHON
fi

# ---- configurations

run 0 "--dump-config" base.yaml --set training.learning_rate=0.002 --epochs 3 --dump-config
cp stdout dumped.yaml
run 0 "--dump-config of a dumped configuration" dumped.yaml --dump-config
diff <(sed 's/ *# .*//' dumped.yaml) <(sed 's/ *# .*//' stdout) >/dev/null || complain "a dumped configuration loads differently"
grep -q "learning_rate: 0.002  # --set" dumped.yaml || complain "--dump-config does not say where a value comes from"
run 0 "config.yaml of a run" runs/base/config.yaml --dump-config
diff <(sed 's/ *# .*//' runs/base/config.yaml) <(sed 's/ *# .*//' stdout) >/dev/null || complain "config.yaml loads differently"

run 0 "--dry-run" base.yaml --name dry --dry-run
[[ ! -e runs/dry ]] || complain "--dry-run writes"
grep -qF "parameters" stdout || complain "--dry-run does not count parameters"
run 0 "--dry-run --json" base.yaml --name dry --dry-run --json
grep -q '"updates_per_epoch":3' stdout || complain "--dry-run --json: $(cat stdout)"

printf 'sweep:\n  training.learning_rate: [0.01, 0.02]\n  seed: [1, 2]\n' >sweep.yaml
run 0 "a sweep" base.yaml sweep.yaml --name grid --epochs 1 --json --quiet
same "$(wc -l <stdout | tr -d ' ')" 4 "results of a sweep"
same "$(cd runs/grid && echo *)" \
    "learning_rate=0.01,seed=1 learning_rate=0.01,seed=2 learning_rate=0.02,seed=1 learning_rate=0.02,seed=2" "runs of a sweep"
run 0 "config.yaml of a point of a sweep" "runs/grid/learning_rate=0.02,seed=1/config.yaml" --dump-config
grep -q '^name: .*grid/learning_rate=0.02,seed=1' stdout || complain "config.yaml of a sweep has another name: $(head -1 stdout)"

rm -r "runs/grid/learning_rate=0.02,seed=1/checkpoints" "runs/grid/learning_rate=0.02,seed=2"
run 0 "--resume of a sweep" base.yaml sweep.yaml --name grid --epochs 1 --json --quiet --resume
same "$(wc -l <stdout | tr -d ' ')" 4 "results of a resumed sweep"
[[ -s runs/grid/learning_rate=0.02,seed=2/report.json ]] || complain "--resume of a sweep leaves runs out"

refused 2 "no configuration" "no configuration given"
refused 5 "a configuration that is missing" "nowhere.yaml" nowhere.yaml
refused 5 "a folder as configuration" "runs" runs
printf 'training:\n  learning_rte: 0.1\n' >key.yaml
refused 3 "an unknown key" "key.yaml:2:3: unknown key 'training.learning_rte' (did you mean 'training.learning_rate'?)" base.yaml key.yaml
printf 'training:\n  epochs: many\n' >type.yaml
refused 3 "a wrong type" "type.yaml:2:11: training.epochs: expected an integer" base.yaml type.yaml
printf 'training:\n  epochs: 3\n  epochs: 4\n' >twice.yaml
refused 3 "a key given twice" "twice.yaml:3:3:" base.yaml twice.yaml
printf 'training: [1, 2\n' >broken.yaml
refused 3 "broken YAML" "broken.yaml:" base.yaml broken.yaml
printf 'seed: 1\nmodel:\n  heads: 3\n  type: transformer\n' >heads.yaml
refused 3 "heads that do not divide the width" "model.heads" base.yaml heads.yaml
refused 3 "a wrong value of --set" "training.epochs" base.yaml --set training.epochs=-1
refused 3 "an unknown key of --set" "did you mean 'model.dropout'?" base.yaml --set model.dropot=0
printf 'training:\n  learning_rte: 0.1\n  epochs: many\n' >both.yaml
run 3 "two mistakes" base.yaml both.yaml
says "both.yaml:2:3:" "the first of two mistakes"
says "both.yaml:3:11:" "the second of two mistakes"

# ---- data

refused 5 "missing training data" "nowhere.tsv" base.yaml --name bad --set data.train=nowhere.tsv
refused 5 "a folder as training data" "runs" base.yaml --name bad --set data.train=runs
refused 5 "missing validation data" "nowhere.tsv" base.yaml --name bad --set data.valid=nowhere.tsv
: >empty.tsv
printf '\n\n  \t\n' >blank.tsv
refused 4 "an empty corpus" "empty.tsv" base.yaml --name bad --set data.train=empty.tsv
refused 4 "a corpus of blank lines" "blank.tsv" base.yaml --name bad --set data.train=blank.tsv
refused 4 "an empty validation set" "empty.tsv" base.yaml --name bad --set data.valid=empty.tsv
refused 4 "an empty test set" "empty.tsv" base.yaml --name bad --set data.test=empty.tsv
refused 4 "a vocabulary that covers nothing" "pairs.tsv" base.yaml --name bad --set data.min_frequency=1000
printf 'i run .\tje cours .\nonly one column\n' >column.tsv
refused 4 "a line of one column" "column.tsv:2" base.yaml --name bad --set data.train=column.tsv
cut -f1 pairs.tsv >source.txt
cut -f2 pairs.tsv | head -7 >target.txt
refused 4 "unequal line counts" "20" base.yaml --name bad --set 'data.train=""' --set data.train_source=source.txt --set data.train_target=target.txt
gzip -c pairs.tsv | head -c 60 >cut.tsv.gz
refused 5 "truncated gzip" "cut.tsv.gz" base.yaml --name bad --set data.train=cut.tsv.gz
refused 3 "an unknown tokenizer" "word" base.yaml --name bad --set data.source_tokenizer=wrd
[[ ! -e runs/bad ]] || complain "bad data leaves a run directory"

head -1 pairs.tsv >one.tsv
run 0 "a corpus of one line" base.yaml --name one --set data.train=one.tsv --set data.valid=one.tsv --set data.test=one.tsv
{ cat pairs.tsv; printf 'i \xff\xfe run .\tje cours .\n'; } >invalid.tsv
run 0 "text that is not UTF-8" base.yaml --name invalid --set data.train=invalid.tsv
grep -q '^! training  *not UTF-8: .* line 21$' stderr || complain "bytes that are not UTF-8 are not reported: $(cat stderr)"
grep -qF "invalid.tsv" runs/invalid/lint.json || complain "lint.json does not name the file that is not UTF-8"
grep -qF "line 21" runs/invalid/log.txt || complain "the warning is not in log.txt"

# ---- backends

refused 6 "an unknown backend" "nobody" base.yaml --name bad --backend nobody
refused 6 "a plugin file that is missing" "nowhere.so" base.yaml --name bad --backend ./nowhere.so
refused 6 "a plugin file that is text" "base.yaml" base.yaml --name bad --backend ./base.yaml
refused 6 "a plugin of another ABI version" "built for version 2 of the backend boundary" base.yaml --name bad --backend "$plugins/other_major.so"
refused 6 "a plugin without its entry" "no_entry.so" base.yaml --name bad --backend "$plugins/no_entry.so"
refused 6 "a plugin without a device" "no_device" base.yaml --name bad --backend "$plugins/no_device.so"
[[ ! -e runs/bad ]] || complain "a bad backend leaves a run directory"

# ---- the run directory

cp -r runs/base kept
refused 5 "a run directory that is not empty" "--resume" base.yaml
diff -r runs/base kept >/dev/null || complain "a refused run changes the run directory"
run 0 "--force" base.yaml --force --epochs 1
same "$(wc -l <runs/base/metrics.jsonl | tr -d ' ')" 1 "lines of metrics.jsonl after --force"
[[ ! -e runs/base/checkpoints/update-00000012.h5 ]] || complain "--force keeps an old checkpoint"
rm -r runs/base && cp -r kept runs/base
: >runs/file
refused 5 "a file where the run directory belongs" "is a file" base.yaml --name file
refused 5 "a file above the run directory" "runs/file" base.yaml --name file/below
refused 5 "nothing to resume from" "no checkpoint to resume from" base.yaml --name never --resume
[[ ! -e runs/never ]] || complain "a refused --resume makes a folder"
run 2 "--resume with --force" base.yaml --resume --force
says "--resume excludes --force" "--resume with --force"
if [[ -d /proc/self ]]; then
    refused 5 "a folder that cannot be made" "/proc/attn" base.yaml --set run_root=/proc/attn
fi
if ((EUID != 0)); then
    mkdir -p readonly && chmod a-w readonly
    refused 5 "a read-only folder" "readonly" base.yaml --set run_root=readonly
fi

# A disk that is full: first by a limit on the size of files, then a real one where mounting is allowed.
(trap '' XFSZ && ulimit -f 8 && exec timeout 120 "$train" base.yaml --name full --set model.hidden_size=64) >stdout 2>stderr </dev/null
same $? 5 "exit status when a checkpoint cannot be written"
same "$(grep -c '^attn-train: ' stderr)" 1 "sentences when a checkpoint cannot be written: $(cat stderr)"
grep -qF ".h5" stderr || complain "a full disk does not name the checkpoint: $(cat stderr)"
[[ -z $(find runs/full -name '*.part') ]] || complain "a full disk leaves a partial file"
[[ -z $(find runs/full -name '*.h5') ]] || complain "a full disk leaves a checkpoint"
mkdir -p tiny
if mount -t tmpfs -o size=64k attn-test tiny 2>/dev/null; then
    mounted=yes
    run 5 "a full disk" base.yaml --set run_root=tiny --set model.hidden_size=64
    says "tiny/base" "a full disk"
    [[ -z $(find tiny -name '*.part') ]] || complain "a full disk leaves a partial file: $(find tiny -name '*.part')"
    umount tiny
    mount -t tmpfs -o ro,size=64k attn-test tiny && refused 5 "a read-only disk" "tiny" base.yaml --set run_root=tiny
    umount tiny
    mounted=
else
    echo "skipped: a full and a read-only file system (mounting is not allowed here)"
fi

# ---- resuming

run 0 "resuming a finished run" base.yaml --resume --json --quiet
grep -q '"updates":12,"loss":0,' stdout && complain "resuming a finished run forgets its loss: $(cat stdout)"
trained_like runs/base/checkpoints/update-00000012.h5 "resuming a finished run"
run 0 "the first two epochs" base.yaml --name two --epochs 2
run 0 "two more epochs" base.yaml --name two --resume
trained_like runs/two/checkpoints/update-00000012.h5 "resuming with more epochs"
run 0 "seven updates" base.yaml --name seven --set training.max_updates=7
same "$(wc -l <runs/seven/metrics.jsonl | tr -d ' ')" 3 "lines of metrics.jsonl when max_updates ends an epoch"
run 0 "all further updates" base.yaml --name seven --resume
trained_like runs/seven/checkpoints/update-00000012.h5 "resuming after max_updates"
same "$(sed 's/.*"epoch":\([0-9]*\).*/\1/' runs/seven/metrics.jsonl | tr '\n' ' ')" "1 2 3 4 " "epochs of metrics.jsonl after resuming"

refuse_resume() {
    local status=$1 what=$2 part=$3
    shift 3
    rm -rf before && cp -r runs/base before
    refused "$status" "$what" "$part" "$@" --resume
    diff -r runs/base before >/dev/null || complain "$what changes the run directory: $(diff -rq runs/base before)"
}
sed 's/je cours/je dors/' pairs.tsv >changed.tsv
sed 's/cours/courent/' pairs.tsv >words.tsv
refuse_resume 4 "resuming with changed data" "other data" base.yaml --set data.train=changed.tsv
refuse_resume 4 "resuming with other words" "target vocabulary" base.yaml --set data.train=words.tsv
refuse_resume 4 "resuming with another width" "model.hidden_size=8 in the file" base.yaml --set model.hidden_size=16
refuse_resume 4 "resuming with another optimizer" "adam" base.yaml --set training.optimizer=sgd
last=runs/base/checkpoints/update-00000012.h5
cp "$last" intact.h5
head -c 5000 intact.h5 >"$last"
refuse_resume 5 "resuming from a truncated checkpoint" "update-00000012.h5" base.yaml
: >"$last"
refuse_resume 5 "resuming from an empty checkpoint" "update-00000012.h5" base.yaml
cp pairs.tsv "$last"
refuse_resume 5 "resuming from what is no checkpoint" "not an HDF5 file" base.yaml
size=$(wc -c <intact.h5)
for place in 3 11 50; do # per cent of the file
    cp intact.h5 "$last"
    printf '\xa5\x5a\xa5\x5a\xa5\x5a\xa5\x5a' | dd of="$last" bs=1 seek=$((size * place / 100)) conv=notrunc status=none
    rm -rf before && cp -r runs/base before
    found=0
    timeout 120 "$train" base.yaml --resume --quiet >stdout 2>stderr || found=$?
    case $found in
    0) trained_like "$last" "a damaged checkpoint that resumes" ;;
    4 | 5)
        same "$(wc -l <stderr | tr -d ' ')" 1 "lines about a damaged checkpoint ($(cat stderr))"
        diff -r runs/base before >/dev/null || complain "a damaged checkpoint changes the run directory"
        ;;
    *) complain "a checkpoint damaged at $place per cent: exit status $found, $(cat stderr)" ;;
    esac
done
cp intact.h5 "$last"

# ---- a loss that is no longer finite

run 3 "a learning rate that is too large" base.yaml --name diverged --set training.learning_rate=1e38
says "update 2" "a loss that is not finite"
says "lines of the batch" "a loss that is not finite"
same "$(status_of diverged)" failed "state after a loss that is not finite"

# ---- signals

for model in seq2seq transformer; do
    options=(base.yaml --set "model.type=$model" --set model.heads=2 --epochs 400 --set validation.every_epochs=0
        --set checkpoints.every_epochs=0 --set 'data.test=""' --set report.sample_count=0)
    run 0 "an uninterrupted run" "${options[@]}" --name "whole-$model"
    "$digests" "runs/whole-$model/checkpoints/update-00001200.h5" >whole.digests
    for signal in INT TERM; do
        name=$signal-$model
        # A shell starts background processes with SIGINT ignored; env gives it back.
        env --default-signal=INT "$train" "${options[@]}" --name "$name" >stdout 2>stderr </dev/null &
        process=$!
        for _ in {1..200}; do
            [[ -s runs/$name/metrics.jsonl ]] && break
            sleep 0.01
        done
        kill -"$signal" "$process"
        wait "$process"
        found=$?
        if ((found == 0)); then
            echo "skipped: the run ended before SIG$signal"
            continue
        fi
        same "$found" 130 "exit status after SIG$signal ($(cat stderr))"
        says "--resume" "the message after SIG$signal"
        same "$(status_of "$name")" interrupted "state after SIG$signal"
        same "$(find "runs/$name" -name '*.h5' | wc -l | tr -d ' ')" 1 "checkpoints after SIG$signal"
        run 0 "resuming after SIG$signal" "${options[@]}" --name "$name" --resume
        trained_like "runs/$name/checkpoints/update-00001200.h5" "SIG$signal and --resume" whole.digests
        same "$(wc -l <"runs/$name/metrics.jsonl" | tr -d ' ')" 400 "lines of metrics.jsonl after SIG$signal and --resume"
        same "$(wc -l <"runs/$name/command.txt" | tr -d ' ')" 2 "lines of command.txt after --resume"
        same "$(status_of "$name")" finished "state after --resume"
    done
done

((failures == 0)) || exit 1
echo "all well, on $backend"
