#!/usr/bin/env bash
# Installs what is missing, builds attn for this machine, and runs the main job on the bundled data: a GRU model without
# attention, one with Bahdanau attention and a Transformer learn English-French; a text file is translated.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-dependencies.sh
cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DATTN_BUILD_TESTS=OFF -DATTN_EIGEN_ISAS=host \
      -DATTN_BACKEND_TORCH=OFF -DATTN_BACKEND_CUDA=OFF >/dev/null
cmake --build build/quickstart --target attn-train attn-translate attn-backend-eigen

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
paste -d '\n' datasets/small-world/test.en runs/quickstart/test.translated.fr | head -n 10
echo
echo "translations of all $(wc -l < runs/quickstart/test.translated.fr) lines: runs/quickstart/test.translated.fr"
echo "learning curves: runs/*/plots/learning-curve.svg; running took $((SECONDS - started)) s"
