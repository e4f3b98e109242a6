#!/usr/bin/env bash
# attn-dump attention, validate, parameters and positions as their users meet them, with two tiny models of
# attn-train and one without attention. Usage: dump_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/checks.sh
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
train=$programs/attn-train
dump=$programs/attn-dump
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

source "$checks"

says() {
    grep -qF -- "$1" stderr stdout || complain "$2 does not say '$1' but: $(cat stderr stdout)"
}

# run STATUS WHAT ARGUMENTS...: output in the files stdout and stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$dump" "$@" >stdout 2>stderr || found=$?
    same "$found" "$status" "exit status: $what ($(cat stderr))"
}

# attention STATUS WHAT ARGUMENTS...
attention() {
    local status=$1 what=$2
    shift 2
    run "$status" "$what" attention --backend "$backend" --threads 1 "$@"
}

# absent WHAT FILE: neither the file nor its part was left
absent() {
    [[ ! -e $2 && ! -e $2.part ]] || complain "$1: $2 or $2.part is left behind"
}

# ---- three models

: >pairs.tsv
for who in "i:je" "you:tu" "we:nous"; do
    for verb in "run:cours" "win:gagnes" "sing:chantons" "sleep:dors"; do
        printf '%s %s .\t%s %s .\n' "${who%%:*}" "${verb%%:*}" "${who##*:}" "${verb##*:}" >>pairs.tsv
    done
done
cut -f1 pairs.tsv >source.txt
cut -f2 pairs.tsv >target.txt

write_config() {
    cat >"$1.yaml" <<YAML
name: $1
run_root: runs
seed: 5
backend: {name: $backend, threads: 1}
data: {train: pairs.tsv, max_length: 8}
model: {type: $2, embedding_size: 16, hidden_size: 16, encoder_layers: 2, decoder_layers: 2, dropout: 0.0, heads: 2, feed_forward_size: 32$3}
training: {epochs: 2, batch_size: 8, optimizer: adam, learning_rate: 0.01}
validation: {every_epochs: 0}
report: {sample_count: 0}
YAML
}

for model in "transformer:transformer:, positions: learned, max_length: 12" "recurrent:seq2seq-attention:" "plain:seq2seq:"; do
    IFS=: read -r name type rest <<<"$model"
    write_config "$name" "$type" "$rest"
    if ! "$train" "$name.yaml" --quiet >train.out 2>train.err; then
        complain "attn-train $name.yaml: $(cat train.err)"
        exit 1
    fi
done

# ---- archives that are as specified

printf 'i run .\n\nyou win .\n   \nwe  sleep unknown .\n' >input.txt
for model in transformer recurrent; do
    attention 0 "$model" runs/$model --input input.txt --output $model.h5
    [[ ! -s stdout ]] || complain "attention writes to standard output"
    says "attention of 5 lines" "attention"
    run 0 "validate $model" validate $model.h5
    says "valid, format attn.attention, 5 sentences" "validate"
done
attention 0 "forced" runs/transformer --input source.txt --target target.txt --reference target.txt --output forced.h5 --quiet
[[ ! -s stderr ]] || complain "--quiet is not quiet: $(cat stderr)"
run 0 "validate forced" validate forced.h5
attention 0 "a part, in half precision, by beam search" runs/transformer --kinds cross,decoder_self --layers 1 --heads 0 \
    --precision f16 --beam 3 --input source.txt --output half.h5
run 0 "validate half" validate half.h5
says "attention cross, decoder_self" "validate"
attention 0 "standard input" runs/transformer --output piped.h5 <input.txt
attention 0 "no lines" runs/transformer --input /dev/null --output none.h5
run 0 "validate no lines" validate none.h5

# ---- the documentation's examples read them, and another program finds the same numbers

python=""
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import h5py, xarray, h5netcdf' 2>/dev/null && python=$candidate && break
done
if [[ -n $python ]]; then
    "$python" "$project/tests/attn_dump/read_archive.py" "$project/docs/attention-archive.md" \
        transformer.h5 recurrent.h5 forced.h5 half.h5 >python.out 2>&1 ||
        complain "reading with Python: $(tail -5 python.out)"
else
    echo "skipped: reading with Python, since h5py, xarray or h5netcdf is missing"
fi

# ---- lines that do not fit

printf 'i i i i i i i i i i i i i run .\nwe run .\n' >long.txt
attention 7 "a line that is too long" runs/transformer --input long.txt --output long.h5
says "long.txt:1: this source line of 15 tokens is longer than the model takes" "cropping"
run 0 "validate cropped" validate long.h5
printf 'i run .\ni \xff win .\n' >invalid.txt
attention 7 "invalid UTF-8" runs/transformer --input invalid.txt --output invalid.h5
printf 'je cours .\n\n' >short.txt
printf 'i run .\nwe run .\n' >two.txt
attention 7 "a blank target" runs/transformer --input two.txt --target short.txt --output skipped.h5
says "short.txt:2: the target line is blank" "skipping"

# ---- what cannot be done says so and leaves nothing

attention 4 "another number of lines" runs/transformer --input two.txt --target target.txt --output no.h5
says "two.txt has 2 lines and target.txt has 12" "line counts"
attention 4 "fewer lines" runs/transformer --input target.txt --target two.txt --output no.h5
says "target.txt has 12 lines and two.txt has 2" "line counts"
attention 2 "no attention" runs/plain --input two.txt --output no.h5
says "has no attention" "a model without attention"
attention 2 "kind" runs/recurrent --kinds cross --input two.txt --output no.h5
says "no attention of kind cross; it has rnn_cross" "a missing kind"
attention 2 "layer" runs/transformer --layers 2 --input two.txt --output no.h5
says "no layer 2; it has layers 0 to 1" "a missing layer"
attention 2 "unknown kind" runs/transformer --kinds sideways --input two.txt --output no.h5
says "no attention of kind 'sideways'" "an unknown kind"
attention 2 "beam with target" runs/transformer --beam 2 --target two.txt --input two.txt --output no.h5
attention 5 "missing folder" runs/transformer --input two.txt --output missing/no.h5
says "missing" "a missing folder"
attention 5 "missing input" runs/transformer --input missing.txt --output no.h5
cp two.txt same.txt
attention 2 "output onto input" runs/transformer --input same.txt --output same.txt
cmp -s two.txt same.txt || complain "the input was overwritten"
absent "failures" no.h5

# A file may not grow beyond 32 KiB: what a full disk does, without a disk.
(
    trap '' XFSZ
    ulimit -f 32
    timeout 120 "$dump" attention --backend "$backend" runs/transformer --input source.txt --output full.h5 >stdout 2>stderr
    echo $? >status
)
same "$(cat status)" 5 "exit status: a file that cannot grow ($(cat stderr))"
absent "a file that cannot grow" full.h5
if mkdir disk && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
    attention 5 "a full disk" runs/transformer --input source.txt --output disk/full.h5
    says "full.h5" "a full disk"
    absent "a full disk" disk/full.h5
    umount disk
else
    echo "skipped: a full disk, since nothing can be mounted here"
fi

# ---- files that are damaged or of another kind

head -c 20000 transformer.h5 >cut.h5
run 5 "truncated" validate cut.h5
says "cut.h5" "a truncated file"
run 4 "another format" validate runs/transformer/checkpoints/"$(ls runs/transformer/checkpoints | tail -1)"
says "attn.checkpoint" "another format"
run 5 "text" validate input.txt
run 5 "missing" validate missing.h5
if [[ -n $python ]]; then
    cp transformer.h5 spoilt.h5
    "$python" - <<'PYTHON'
import h5py
with h5py.File("spoilt.h5", "r+") as file:
    file["attention/cross/weights"][3] = 0.75
    file["attention/cross"].attrs["query_row"] = "follows"
PYTHON
    run 4 "spoilt" validate spoilt.h5
    says "/attention/cross/weights: sentence 0, layer 0, head 0, query" "a spoilt weight"
    says "/attention/cross@query_row: is 'follows'; expected consumes|predicts" "a spoilt attribute"
    "$python" - <<'PYTHON'
import h5py
with h5py.File("spoilt.h5", "r+") as file:
    del file.attrs["complete"]
PYTHON
    run 4 "incomplete" validate spoilt.h5
    says "not complete" "an incomplete file"
    # A writer holds the file's lock, and a reader would see half of it.
    "$python" - "$dump" <<'PYTHON'
import os, subprocess, sys
import h5py
with h5py.File("spoilt.h5", "r+"):
    environment = dict(os.environ, HDF5_USE_FILE_LOCKING="TRUE")
    found = subprocess.run([sys.argv[1], "validate", "spoilt.h5"], capture_output=True, text=True, env=environment)
    assert found.returncode == 5 and "HDF5_USE_FILE_LOCKING" in found.stderr, (found.returncode, found.stderr)
PYTHON
    [[ $? == 0 ]] || complain "a locked file is not reported"
fi

# ---- parameters

run 0 "list of parameters" parameters --backend "$backend" runs/transformer
says "encoder.embedding.positions" "parameters"
run 0 "parameters to a file" parameters --backend "$backend" runs/transformer --output parameters.h5
for model in transformer recurrent plain; do
    run 0 "activations of $model" parameters --backend "$backend" runs/$model --activations 'we run .' --output $model-activations.h5
done
run 0 "activations of a given translation" parameters --backend "$backend" runs/transformer \
    --activations 'we run .' --target 'nous cours .' --output given.h5
run 4 "activations of nothing" parameters --backend "$backend" runs/transformer --activations '  ' --output no.h5
run 2 "activations to nowhere" parameters --backend "$backend" runs/transformer --activations 'we run .'
absent "activations of nothing" no.h5
if [[ -n $python ]]; then
    checkpoint=$(ls runs/transformer/checkpoints/*.h5 | tail -1)
    "$python" - "$checkpoint" >python.out 2>&1 <<'PYTHON' || complain "activations: $(tail -3 python.out)"
import sys
import h5py
import numpy as np
with h5py.File("given.h5") as file, h5py.File(sys.argv[1]) as checkpoint:
    stored = checkpoint["model/encoder/blocks/0/attention/W_q/weight"][:]
    assert np.array_equal(stored, file["parameters/encoder/blocks/0/attention/W_q/weight"][:])
    tokens = list(file["activations/source_tokens"].asstr()[:])
    assert tokens == ["we", "run", ".", "<eos>"], tokens
    fed = list(file["activations/decoder_input_tokens"].asstr()[:])
    assert fed == ["<bos>", "nous", "cours", "."], fed
    assert file["activations/encoder/output"].shape == (4, 16)
    assert file["activations/encoder/blocks/1"].shape == (4, 16)
    assert file["activations/attention/cross"].shape == (2, 2, 4, 4)
    logits = file["activations/decoder/logits"][:]
    hidden = file["activations/decoder/blocks/1"][:]
    dense = file["parameters/decoder/dense/weight"][:]
    bias = file["parameters/decoder/dense/bias"][:]
    assert np.allclose(hidden @ dense.T + bias, logits, atol=1e-5)
for name, kinds in (("recurrent", ["rnn_cross"]), ("plain", [])):
    with h5py.File(f"{name}-activations.h5") as file:
        assert list(file["activations"].get("attention", {})) == kinds
        assert file["activations/encoder/output"].shape == (4, 16)
PYTHON
fi

# ---- positions

run 0 "sinusoidal positions" positions --length 100 --width 33 --similarity --output positions.h5
run 0 "validate positions" validate positions.h5
says "100 sinusoidal positions of width 33" "validate"
run 0 "learned positions" positions --backend "$backend" --model runs/transformer --similarity --output learned.h5
run 0 "validate learned positions" validate learned.h5
says "12 learned positions of width 16" "validate"
run 0 "pictures" positions --plot figure --format svg
grep -q '</svg>' figure-columns.svg && grep -q '</svg>' figure-heat-map.svg || complain "no pictures of positions"
run 2 "nothing to do" positions
run 2 "no learned positions" positions --backend "$backend" --model runs/recurrent --output no.h5
run 2 "width of a model" positions --backend "$backend" --model runs/transformer --width 8 --output no.h5
run 2 "no such column" positions --width 8 --columns 9 --plot no
run 2 "no width" positions --width 0 --output no.h5
absent "positions" no.h5

((failures == 0)) || printf '%d checks failed\n' "$failures" >&2
exit $((failures > 0))
