#!/usr/bin/env bash
# Installs what is missing, builds attn for this machine, and runs the main job on the bundled data: a GRU model without
# attention, one with Bahdanau attention and a Transformer learn English-French; a text file is translated; what the
# Transformer attends to is written to HDF5, drawn and put on a page; positional encodings and the cost of layers are shown.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-dependencies.sh
cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DATTN_BUILD_TESTS=OFF -DATTN_EIGEN_ISAS=host \
      -DATTN_BACKEND_TORCH=OFF -DATTN_BACKEND_CUDA=OFF >/dev/null
cmake --build build/quickstart --target attn-train attn-translate attn-dump attn-compare attn-backend-eigen

bin=build/quickstart/bin
started=$SECONDS
for model in seq2seq seq2seq-attention; do
  echo
  echo "== configs/small-world/$model.yaml"
  "$bin/attn-train" "configs/small-world/$model.yaml" --force
done

echo
echo "== configs/quickstart.yaml: a Transformer on the small-world corpus"
"$bin/attn-train" configs/quickstart.yaml --force

echo
echo "== attn-translate: the test file, line for line"
"$bin/attn-translate" runs/quickstart --input datasets/small-world/test.en --output runs/quickstart/test.translated.fr --beam 4
# Not `paste | head`: where head ends first, paste dies of the broken pipe, and with it this script.
paste -d '\n' <(head -n 5 datasets/small-world/test.en) <(head -n 5 runs/quickstart/test.translated.fr)

echo
echo "== attn-dump: every attention map of the translations, as HDF5, picture and page"
inside=runs/quickstart/inside
mkdir -p "$inside"
head -n 20 datasets/small-world/test.en > "$inside/sentences.en"
"$bin/attn-dump" attention runs/quickstart --input "$inside/sentences.en" --output "$inside/attention.h5"
"$bin/attn-dump" validate "$inside/attention.h5"
"$bin/attn-dump" plot "$inside/attention.h5" --sentence 4 --kind cross --layer 1 --output "$inside/cross.png"
"$bin/attn-dump" html "$inside/attention.h5" --output "$inside/attention.html"
"$bin/attn-dump" positions --output "$inside/positions.h5" --plot "$inside/positions"

echo
echo "== attn-compare: convolution, recurrence and self-attention, counted and measured"
"$bin/attn-compare" --layer-types convolution,gru,self_attention --lengths 64,256,1024 --widths 64 --passes forward \
                    --output "$inside/complexity"

echo
echo "translations of all $(wc -l < runs/quickstart/test.translated.fr) lines: runs/quickstart/test.translated.fr"
echo "learning curves: runs/*/plots/learning-curve.svg"
echo "what the model attends to: $inside/attention.html, $inside/cross.png; more pictures beside them"
echo "running took $((SECONDS - started)) s"
