#!/usr/bin/env bash
# The chapters' items as their users meet them: attention pooling, small examples, bad input, and the gallery.
# Usage: chapters_test.sh FOLDER_OF_THE_PROGRAMS SOURCE_FOLDER
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
source=$(cd "${2:?name the source folder}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export SOURCE_DATE_EPOCH=1700000000

backend=reference
compgen -G "$programs/../lib/attn/backends/libattn-backend-eigen*.so" >/dev/null && backend=eigen

failures=0
complain() {
  printf 'FAILED: %s\n' "$1" >&2
  failures=$((failures + 1))
}

# run STATUS WHAT PROGRAM ARGUMENTS...: with what it prints in the files stdout and stderr
run() {
  local status=$1 what=$2 program=$3 found=0
  shift 3
  timeout 120 "$programs/$program" "$@" >stdout 2>stderr </dev/null || found=$?
  [[ $found == "$status" ]] || complain "$what: status $found instead of $status ($(cat stderr))"
  if grep -qaE 'terminate called|Aborted|internal error|std::' stderr; then complain "$what: $(cat stderr)"; fi
}
prints() { grep -qF -- "$1" stdout || complain "$2 does not print '$1' but: $(cat stdout)"; }
says() { grep -qF -- "$1" stderr || complain "$2 does not say '$1' but: $(cat stderr)"; }

# ---- attention pooling
pooling=(attn-train "$source/configs/d2l/nadaraya-watson-parametric.yaml" --backend "$backend" -q)
run 0 "learned width" "${pooling[@]}"
prints "epoch 5: loss" "learned width"
prints "gaussian, width 1: mean squared error" "learned width"
folder=runs/d2l-nadaraya-watson-parametric
for file in regression.h5 metrics.jsonl report.json config.yaml status.json plots/fit.svg plots/weights.svg \
  plots/learning-curve.svg; do
  [[ -s $folder/$file ]] || complain "learned width leaves no $file"
done
[[ $(wc -l <"$folder/metrics.jsonl") -eq 5 ]] || complain "not five epochs in metrics.jsonl"
cp "$folder/regression.h5" first.h5
run 5 "a run directory in use" "${pooling[@]}"
says "not empty" "a run directory in use"
run 0 "the same again" "${pooling[@]}" --force
run 2 "resuming" "${pooling[@]}" --resume
run 0 "another seed as JSON" "${pooling[@]}" --force --seed 2 --json
prints '"learned":true' "JSON"
run 0 "a dry run" "${pooling[@]}" --dry-run --name dry
[[ ! -e runs/dry ]] || complain "a dry run leaves a folder"
run 0 "a narrow kernel" attn-train "$source/configs/d2l/nadaraya-watson.yaml" --backend "$backend" -q --name swept \
  --set model.kernels='[boxcar]' --set model.widths='[0.01]'
prints "without prediction" "a narrow kernel"
run 3 "a key of translation models" attn-train "$source/configs/d2l/nadaraya-watson.yaml" --set model.heads=2
says "unknown key 'model.heads'" "a key of translation models"
run 0 "the dumped configuration" attn-train "$source/configs/d2l/nadaraya-watson-kernels.yaml" --dump-config
cp stdout dumped.yaml
run 0 "the dumped configuration again" attn-train dumped.yaml --dump-config
diff <(sed 's/  # .*//' dumped.yaml) <(sed 's/  # .*//' stdout) >/dev/null || complain "a dump changes when it is read"
run 0 "the list of keys" attn-train --list-keys
prints "model.learn_width" "the list of keys"

# The file as another program reads it.
if /usr/bin/python3 -c 'import h5py, numpy' 2>/dev/null; then
  /usr/bin/python3 - first.h5 <<'PYTHON' || complain "h5py reads other numbers"
import sys, h5py, numpy
with h5py.File(sys.argv[1]) as file:
    x, y = file["x_train"][:], file["y_train"][:]
    for curve in range(file["weights"].shape[0]):
        distance = (file["x_test"][:][:, None] - x[None]) / file["width"][curve]
        weights = numpy.exp(-distance**2 / 2)
        weights /= weights.sum(1, keepdims=True)
        assert numpy.abs(weights - file["weights"][curve]).max() < 1e-4
        assert numpy.abs(weights @ y - file["prediction"][curve]).max() < 1e-4
    assert file["weights"].dims[1][0].name == "/x_test"
    assert file.attrs["complete"] == 1
PYTHON
fi

# ---- examples
if [[ -x $programs/attn-dump ]]; then
  run 0 "the worked example" attn-dump example --backend "$backend"
  prints "0.3302 0.6698" "the worked example"
  prints "0.8349 1.8349" "the worked example"
  prints "0.9022 1.9022" "the worked example"
  prints "0.27, 0.73 is row 1 of the unscaled weights" "the worked example"
  run 0 "a changed number" attn-dump example --backend "$backend" --set 'queries=[[0, 0], [2, 0]]'
  prints "0.5000 0.5000" "a changed number"
  run 0 "the list" attn-dump example --list
  [[ $(wc -l <stdout) -ge 13 ]] || complain "the list has only $(wc -l <stdout) examples"
  for name in $(cut -d' ' -f1 stdout); do
    run 0 "example $name" attn-dump example "$name" --backend "$backend"
    [[ $name == worked-self-attention ]] || ! grep -q "differs from" stdout || complain "$name: $(tail -3 stdout)"
    [[ -f $source/configs/d2l/$name.yaml ]] || complain "$name is no file of configs/d2l"
    run 0 "$name from its file" attn-dump example "$source/configs/d2l/$name.yaml" --backend "$backend" --json
    if command -v python3 >/dev/null; then
      python3 -c 'import json, sys; json.load(open("stdout"))["steps"][0]["values"]' || complain "$name: no JSON"
    fi
  done
  for format in svg png pdf; do
    run 0 "a picture as $format" attn-dump example self-attention --backend "$backend" --plot "maps.$format"
    [[ -s maps.$format ]] || complain "no maps.$format"
  done
  run 0 "steps as HDF5" attn-dump example masked-softmax --backend "$backend" --output steps.h5
  [[ -s steps.h5 ]] || complain "no steps.h5"
  run 2 "no such example" attn-dump example additive-atention
  says "did you mean 'additive-attention'" "no such example"
  run 5 "no such file" attn-dump example missing.yaml
  run 2 "a picture of no weights" attn-dump example layer-and-batch-norm --backend "$backend" --plot no.svg
  run 2 "a picture of no known kind" attn-dump example --plot weights.jpeg
  run 3 "sizes that do not fit" attn-dump example --backend "$backend" --set 'keys=[[1], [2]]'
  says "a dot product needs as many" "sizes that do not fit"
  run 5 "a missing folder" attn-dump example --backend "$backend" --plot missing/weights.svg
fi

# ---- the gallery
if [[ -x $programs/attn-dump && $backend == eigen ]]; then
  "$source/scripts/reproduce.sh" --bin "$programs" --output "$work/gallery" --only attention >gallery.log 2>&1 ||
    complain "the gallery: $(cat gallery.log)"
  [[ $(grep -c '<section' gallery/index.html) -ge 6 ]] || complain "the gallery has too few items: $(cat gallery.log)"
  grep -q 'src="self-attention.svg"' gallery/index.html || complain "the gallery lacks a picture"
  status=0
  "$source/scripts/reproduce.sh" --bin "$programs" --output "$work/none" --only nothing >gallery.log 2>&1 || status=$?
  [[ $status -eq 2 ]] || complain "an item that does not exist: status $status"
fi

[[ $failures -eq 0 ]] && echo "all as expected"
exit $((failures > 0))
