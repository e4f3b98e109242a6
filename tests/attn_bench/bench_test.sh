#!/usr/bin/env bash
# attn-bench as its users meet it. Usage: bench_test.sh FOLDER_OF_THE_PROGRAMS BROKEN_PLUGINS TEST_PLUGINS SOURCE_FOLDER
set -uo pipefail

bench=$(cd "${1:?name the folder of the programs}" && pwd)/attn-bench
broken=$(cd "${2:?name the folder of the broken plugins}" && pwd)
plugins=$(cd "${3:?name the folder of the test plugins}" && pwd)
source=$(cd "${4:?name the source folder}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# A Python that reads HDF5; another one may come first in PATH.
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import h5py' 2>/dev/null && python=$candidate && break
done
[[ -n $python ]] || { python=true; echo "no h5py: what is in the HDF5 files is not checked"; }

failures=0
complain() {
    printf 'FAILED: %s\n' "$1" >&2
    failures=$((failures + 1))
}

# run STATUS ARGUMENTS...
run() {
    local status=$1 found=0
    shift
    timeout 300 "$bench" "$@" >stdout 2>stderr </dev/null || found=$?
    [[ $found == "$status" ]] || complain "exit status $found of 'attn-bench $*', expected $status: $(cat stderr)"
}
says() {
    grep -qF -- "$1" stderr || complain "no '$1' in: $(cat stderr)"
}
prints() {
    grep -qF -- "$1" stdout || complain "no '$1' in: $(tail -30 stdout)"
}

# ---- each fault of a plugin is found, by its name

finds() { # FAULT ASPECT OPERATION
    run 6 check --quick -q --backend "$broken/broken-$1.so"
    prints "FAILED $2, $3: "
}
finds mask result masked_softmax
finds tail unwritten unary
finds sign result masked_softmax_gradient
prints "masked_softmax_gradient"
finds sum determinism reduce
finds guard "guard zone" affine
finds input "input changed" log_sum_exp
finds promise promise permute
# the wrong sign also shows in a gradient against differences
run 6 check --quick -q --backend "$broken/broken-sign.so" --filter "gradient: softmax"
prints "FAILED gradient"

# a failure can be repeated alone, and in JSON
run 6 check -q --json --seed 7 --backend "$broken/broken-tail.so" --filter "unary: relu"
python3 - <<'PYTHON' || complain "JSON of a check"
import json
report = json.load(open("stdout"))
assert report["backend"] == "broken-tail" and report["seed"] == 7 and not report["passed"]
assert [row["operation"] for row in report["operations"]] == ["unary"]
assert all(failure["aspect"] == "unwritten" and "unary: relu" in failure["name"] for failure in report["failures"])
name = report["failures"][0]["name"]
open("name", "w").write(name)
PYTHON
run 6 check -q --seed 7 --backend "$broken/broken-tail.so" --filter "$(cat name)"
cp stdout first
run 6 check -q --seed 7 --backend "$broken/broken-tail.so" --filter "$(cat name)"
diff <(sed 's/, [0-9.]* s$//' first) <(sed 's/, [0-9.]* s$//' stdout) >/dev/null || complain "the same seed gives another report"

# ---- bad input

run 6 check --backend "$work/none.so"
says "does not exist"
printf 'hello' >text.so
run 6 check --backend ./text.so
says "cannot be loaded"
run 6 check --backend "$plugins/no_entry.so"
says "does not export attn_backend_get"
run 6 check --backend "$plugins/other_major.so"
says "rebuild the plugin"
run 6 check --backend "$broken/needs-missing.so"
says "libmissing-dependency.so"
says "needs-missing.so"
run 6 check --backend nobody
says "unknown backend 'nobody'"
run 6 check --backend reference --device 3
says "has no device 3"
run 6 check --backend "$plugins/no_device.so"
says "there is no driver"
run 2 check --backend reference --filter "no such case"
says "no case contains"
run 2 check
says "--backend"
run 2 frobnicate
run 2

# ---- list

mkdir a b
cp "$plugins/accepts_all.so" a/libattn-backend-twice.so
cp "$plugins/long_table.so" b/libattn-backend-twice.so
cp "$plugins/no_device.so" a/libattn-backend-idle.so
cp text.so a/libattn-backend-text.so
export ATTN_BACKEND_PATH=$work/a:$work/b
run 0 list
prints "reference"
prints "idle: there is no driver"
prints "text: backend plugin"
[[ $(grep -c '^twice ' stdout) == 2 ]] || complain "two plugins of one name are not both listed"
prints "twice: hidden by $work/a/libattn-backend-twice.so"
run 0 list --json
python3 -c '
import json
all = json.load(open("stdout"))
assert [one["file"] for one in all if one["name"] == "twice"][0].endswith("/a/libattn-backend-twice.so")
assert any(one["name"] == "reference" and one["devices"] == ["CPU"] for one in all)
' || complain "JSON of the list"
unset ATTN_BACKEND_PATH

# ---- model

cat >tiny.yaml <<YAML
name: tiny
data: {train: $source/datasets/small-world/train.tsv, test: $source/datasets/small-world/test.tsv, limit: 100}
model: {type: transformer, hidden_size: 8, encoder_layers: 1, decoder_layers: 1, heads: 2, feed_forward_size: 8, dropout: 0.1}
training: {epochs: 1, batch_size: 4}
YAML
run 0 model tiny.yaml --backends eigen,reference --updates 5 --lines 4 --trace --tolerance 1e-4 --output out.h5 --plot out.svg
prints "largest difference"
prints "no operation and no gradient differs"
grep -q '</svg>' out.svg || complain "no plot"
"$python" - <<'PYTHON' || complain "HDF5 of a comparison"
import h5py
file = h5py.File("out.h5")
assert file.attrs["format"] == "attn.benchmark" and file.attrs["kind"] == "model" and file.attrs["complete"] == 1
assert file["loss"].shape == (2, 5) and file["loss"].dims[0][0][:].tolist() == [b"eigen", b"reference"]
assert abs(file["loss"][0] / file["loss"][1] - 1).max() < 1e-4
PYTHON
# a plugin that computes something else is found, and so is the operation
run 6 model tiny.yaml --backends "reference,$broken/broken-sign.so" --updates 5 --lines 0 --trace --tolerance 1e-4 -q
says "broken-sign differs from reference"
prints "the first that differs by more than"
prints "is gradient of"
run 6 model tiny.yaml --backends "reference,$broken/broken-mask.so" --updates 3 --lines 0 --trace --tolerance 1e-4 -q
prints "(attention), output"
run 3 model tiny.yaml --backends eigen --set model.heads=3
run 5 model none.yaml --backends eigen
run 6 model tiny.yaml --backends eigen,nobody -q
says "unknown backend 'nobody'"

# ---- a backend that fails in the midst of training: what was saved stays good

# train STATUS ARGUMENTS...
train() {
    local status=$1 found=0
    shift
    timeout 300 "$(dirname "$bench")/attn-train" tiny.yaml -q --name broken --set training.epochs=4 \
        --set checkpoints.every_epochs=1 --set validation.every_epochs=0 --set report.sample_count=1 "$@" \
        >stdout 2>stderr </dev/null || found=$?
    [[ $found == "$status" ]] || complain "exit status $found of 'attn-train $*', expected $status: $(cat stderr)"
}
if [[ -x $(dirname "$bench")/attn-train ]]; then
    ATTN_BROKEN_AFTER=30000 train 6 --backend "$broken/broken-late.so"
    says "backend 'broken-late'"
    says "the device fell off"
    compgen -G "runs/broken/checkpoints/*" >/dev/null || complain "nothing was saved before the device fell off"
    [[ -z $(find runs/broken -name '*.part') ]] || complain "a part of a file is left"
    grep -q '"failed"' runs/broken/status.json || complain "the status is not 'failed'"
    train 0 --backend reference --resume
    grep -q '"finished"' runs/broken/status.json || complain "the run does not go on after the device fell off"
    train 6 --backend "$broken/broken-memory.so" --force
    says "cannot allocate"
    says "in use"
    says "the device has 300000 bytes"
fi

# ---- ops

cat >ops.yaml <<YAML
name: tiny
type: f32
shapes:
  - {operation: matmul, batch: 1, m: 32, n: 16, k: 8}
  - {operation: attention, batch: 2, queries: 8, keys: 8, heads: 2, size: 4}
  - {operation: gru_sequence, steps: 3, batch: 2, hidden: 4}
YAML
run 0 ops ops.yaml --backend eigen --seconds 0.01 --output ops.h5 --plot ops.svg
prints "attention_gradient"
prints "GFLOP/s"
run 0 ops ops.yaml --backend eigen --seconds 0.01 --json -q
"$python" - <<'PYTHON' || complain "results of ops"
import h5py, json
report = json.load(open("stdout"))
rows = {row["operation"]: row for row in report["rows"]}
assert set(rows) == {"matmul", "attention", "attention_gradient", "gru_sequence", "gru_sequence_gradient"}, rows.keys()
assert rows["matmul"]["flops"] == 2 * 32 * 16 * 8 and rows["matmul"]["seconds_median"] > 0
assert report["peak_gflops"] > 0 and 0 < rows["matmul"]["share_of_peak"] <= 1.5
file = h5py.File("ops.h5")
assert file.attrs["format"] == "attn.benchmark" and file.attrs["kind"] == "ops" and len(file["seconds_median"]) == 5
PYTHON
grep -q '</svg>' ops.svg || complain "no plot of ops"
printf 'name: x\nshapes:\n  - {operation: matmul, batch: 1, m: 2, n: 2, k: 2, q: 3}\n' >bad.yaml
run 3 ops bad.yaml --backend eigen
says "bad.yaml:3:"
says "q"
printf 'name: x\nshapes:\n  - {operation: matmull, m: 2, n: 2, k: 2}\n' >bad.yaml
run 3 ops bad.yaml --backend eigen
says "matmull"
for file in "$source"/configs/bench/*.yaml; do
    run 0 ops "$file" --backend eigen --seconds 0 --quiet
done

[[ $failures == 0 ]] && echo "all passed" || exit 1
