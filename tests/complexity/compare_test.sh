#!/usr/bin/env bash
# attn-compare as its users meet it. Usage: compare_test.sh FOLDER_OF_THE_PROGRAMS SOURCE_FOLDER
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
source=$(cd "${2:?name the folder of the sources}" && pwd)
compare=$programs/attn-compare
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1

failures=0
complain() {
    printf 'FAILED: %s\n' "$1" >&2
    failures=$((failures + 1))
}

same() {
    [[ $1 == "$2" ]] || complain "$3: found '$1', expected '$2'"
}

says() {
    grep -qF -- "$1" "$2" || complain "$3: $2 does not say '$1' but: $(head -c 2000 "$2")"
}

# run STATUS WHAT ARGUMENTS...: output in the file stdout, messages in stderr
run() {
    local status=$1 what=$2 found=0
    shift 2
    timeout 120 "$compare" "$@" >stdout 2>stderr || found=$?
    same "$found" "$status" "exit status: $what ($(head -c 1000 stderr))"
}

# refused WORDS ARGUMENTS...: a wrong configuration is named, and nothing is printed
refused() {
    local words=$1
    shift
    run 3 "$*" "$@"
    says "$words" stderr "$*"
    same "$(wc -c <stdout | tr -d ' ')" 0 "output of $*"
}

backend=reference
compgen -G "$programs/../lib/attn/backends/libattn-backend-eigen*.so" >/dev/null && backend=eigen
small=(--backends "$backend" --lengths 8,16,32 --widths 8 --windows 4 --repeats 2)

# ---- the textbook's example

run 0 "the example" --example --backends "$backend"
says "10000" stdout "the example"
says "300" stdout "the example"
run 0 "the example as JSON" --example --backends reference --json
says '"layer_type":"self_attention","interactions":10000' stdout "the example as JSON"
says '"layer_type":"convolution","interactions":300' stdout "the example as JSON"

# ---- tables and records

run 0 "a table" "${small[@]}"
for words in "of peak" "Exponents in n" "O(n^2 d)" "Crossover" "attention_gradient" "windowed_attention r=4"; do
    says "$words" stdout "a table"
done
run 0 "Markdown" "${small[@]}" --passes forward --markdown --quiet
says "| layer type | n | flops |" stdout "Markdown"
same "$(wc -c <stderr | tr -d ' ')" 0 "messages of a quiet run"

run 0 "CSV" "${small[@]}" --passes forward --csv
same "$(wc -l <stdout | tr -d ' ')" 22 "lines of CSV: a header, seven layer types of three lengths"
same "$(awk -F, '{print NF}' stdout | sort -u)" 26 "fields of every line of CSV"
# 16 steps of width 8 with a kernel of 3: 16 * 8 * (2 * 3 * 8 + 1) floating-point operations
same "$(awk -F, '$3 == "convolution" && $4 == 16 {print $12}' stdout)" 6272 "flops of a convolution"

run 0 "JSON" "${small[@]}" --layer-types gru,self_attention --json
if command -v python3 >/dev/null; then
    python3 - <<'PY' || complain "the JSON is not what it should be"
import json
report = json.load(open("stdout"))
assert [d["backend"] for d in report["devices"]] and len(report["cells"]) == 12, report["devices"]
assert all(c["flops"] == sum(o["flops"] for o in c["operations"]) for c in report["cells"])
assert {c["path_length"] for c in report["cells"] if c["layer_type"] == "self_attention"} == {1}
assert [c["path_length"] for c in report["cells"] if c["layer_type"] == "gru"] == [8, 16, 32] * 2
assert len(report["fits"]) == 4 and len(report["crossovers"]) == 2
PY
fi

# ---- files

run 0 "files" "${small[@]}" --passes forward --output results
for file in complexity.csv complexity.json complexity.md complexity.h5 "time-$backend-forward-d8.svg" \
    "flops-$backend-forward-d8.svg" "time-$backend-forward-d8.png"; do
    [[ -s results/$file ]] || complain "results/$file is missing or empty"
done
says "slope" "results/flops-$backend-forward-d8.svg" "a plot"
touch plain
run 5 "an output folder that is a file" "${small[@]}" --output plain
if [[ $(id -u) != 0 ]]; then
    mkdir locked && chmod a-w locked
    run 5 "an output folder that cannot be written" "${small[@]}" --output locked
fi

# ---- the configuration that comes with it, and one of the user's own

run 0 "the default grid is valid" "$source/configs/complexity.yaml" --dump-config
says "lengths: [64, 128, 256, 512, 1024, 2048, 4096]" stdout "the default grid"
run 0 "all keys" --list-keys
says "measurement.time_limit: a number, above 0" stdout "all keys"
printf 'lengths: [4, 8]\nwidths: [4]\nlayer_types: [gru]\nbackends: [reference]\n' >own.yaml
run 0 "a configuration" own.yaml --csv
same "$(grep -c gru stdout)" 4 "combinations of a configuration"
printf 'lengths: [4, 8]\nwidth: [4]\n' >wrong.yaml
run 3 "an unknown key" wrong.yaml
says "wrong.yaml:2:1: unknown key 'width'" stderr "an unknown key"
run 5 "a file that is missing" missing.yaml

# ---- limits

run 0 "cells that would take too long" "${small[@]}" --layer-types rnn --time-limit 0.000000001
says "skipped: rnn n=8: one run would take about" stdout "cells that would take too long"
run 0 "a backend without fused operations" --backends reference --lengths 8,16 --widths 8 --windows 4 \
    --layer-types self_attention,gru
says "backend 'reference' has no attention, attention_gradient, gru_sequence" stderr "what is decomposed"
says "reference decomposes attention, attention_gradient of self_attention" stdout "what is decomposed"
if [[ $backend == eigen ]]; then
    run 0 "two backends" --backends eigen,reference --lengths 8,16 --widths 8 --layer-types convolution --csv
    same "$(cut -d, -f1 stdout | sort -u | paste -sd ' ')" "backend eigen reference" "backends of a comparison"
fi
refused "GB are free" --backends reference --layer-types gru --lengths 64,1000000000

# ---- bad input

refused "lengths" --lengths 0
refused "lengths" --lengths=-8
refused "widths" --widths 0
refused "kernels" --kernels=-1
refused "a kernel of 9 is longer than the shortest sequence, 8 steps" --lengths 8,16 --windows 4 --kernels 9
refused "a window of 64 is longer than the shortest sequence" --lengths 8,16
refused "8 heads do not divide the width 12" --widths 12
refused "an empty list leaves nothing to compare" --lengths ""
refused "an empty list leaves nothing to compare" --set 'layer_types=[]'
refused "lengths" --lengths 64,many
refused "layer_types" --layer-types transformer
refused "the values must ascend" --lengths 256,64
refused "measurement.time_limit" --time-limit 0
run 6 "a backend that is not there" --backends nowhere
run 2 "an unknown option" --lenghts 8
run 2 "two formats at once" --json --csv

if ((failures > 0)); then
    printf '%d checks failed\n' "$failures" >&2
    exit 1
fi
