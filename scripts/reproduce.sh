#!/usr/bin/env bash
# Runs what the attention chapters of Dive into Deep Learning show, one command an item, and writes a page with every
# command, its output, its picture, and its number beside the book's.
#
#   scripts/reproduce.sh                    the quick items, about a minute
#   scripts/reproduce.sh --full             with the book's three trainings as well
#   scripts/reproduce.sh --bin FOLDER       folder of the programs (default: build/release/bin, build/dev/bin)
#   scripts/reproduce.sh --output FOLDER    default: out/gallery
#   scripts/reproduce.sh --only WORD        only the items whose name has this word
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

programs= output=out/gallery full=no only=
while [ $# -gt 0 ]; do
  case $1 in
    --full) full=yes ;;
    --bin) programs=${2:?--bin needs a folder}; shift ;;
    --output) output=${2:?--output needs a folder}; shift ;;
    --only) only=${2:?--only needs a word}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "reproduce.sh: unknown option '$1'; see --help" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$programs" ]; then
  for folder in build/release/bin build/dev/bin; do
    if [ -x "$folder/attn-train" ]; then programs=$folder && break; fi
  done
fi
if [ ! -x "$programs/attn-train" ]; then
  echo "reproduce.sh: no attn-train in '${programs:-build/release/bin, build/dev/bin}'; build first, or name --bin" >&2
  exit 2
fi
PATH=$(cd "$programs" && pwd):$PATH
mkdir -p "$output"
runs=$output/runs
page=$output/index.html
items=0
failed=0

escape() { sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g'; }

# item NAME TITLE BOOK PICTURE... -- COMMAND...: runs a command and adds it to the page. BOOK says what the book has;
# pictures are files in the output folder. A command that is not built is left out with a note.
item() {
  local name=$1 title=$2 book=$3 pictures=() status=0
  shift 3
  while [ "$1" != -- ]; do pictures+=("$1") && shift; done
  shift
  if [ -n "$only" ] && [[ $name != *$only* ]]; then return 0; fi
  if ! command -v "$1" >/dev/null; then
    echo "reproduce.sh: $name is left out, $1 is not built" >&2
    return 0
  fi
  echo "$name: $*"
  items=$((items + 1))
  "$@" >"$output/$name.txt" 2>"$output/$name.log" || status=$?
  {
    printf '<section id="%s">\n<h2>%s</h2>\n' "$name" "$(escape <<<"$title")"
    printf '<p><code>%s</code></p>\n<p>The book: %s</p>\n' "$(printf '%q ' "$@" | escape)" "$(escape <<<"$book")"
    if [ "$status" -ne 0 ]; then
      printf '<p class="failed">Ended with status %s.</p>\n<pre>%s</pre>\n' "$status" "$(escape <"$output/$name.log")"
    fi
    printf '<pre>%s</pre>\n' "$(head -n 100 "$output/$name.txt" | escape)"
    for picture in "${pictures[@]}"; do
      if [ -f "$output/$picture" ]; then
        printf '<p><img src="%s" alt="%s"></p>\n' "$picture" "$(escape <<<"$title")"
      else
        printf '<p class="failed">%s was not drawn.</p>\n' "$picture"
        status=1
      fi
    done
    printf '</section>\n'
  } >>"$page.part"
  if [ "$status" -ne 0 ]; then
    failed=$((failed + 1))
    echo "reproduce.sh: $name failed, see $output/$name.log" >&2
  fi
}

pooling() { # CONFIG TITLE BOOK [MORE PICTURES]
  local run=runs/d2l-$1 more=${4:-}
  item "$1" "$2" "$3" "$run/plots/fit.svg" "$run/plots/weights.svg" ${more:+"$run/plots/$more"} -- \
    attn-train "configs/d2l/$1.yaml" --set "run_root=$runs" --force --quiet
}

example() { # NAME TITLE BOOK [plot]
  if [ "${4:-}" = plot ]; then
    item "$1" "$2" "$3" "$1.svg" -- attn-dump example "$1" --plot "$output/$1.svg"
  else
    item "$1" "$2" "$3" -- attn-dump example "$1"
  fi
}

cat >"$page.part" <<'HTML'
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The attention chapters, reproduced</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
pre { background: #f4f4f4; padding: .7em; overflow: auto; max-height: 30em }
code { background: #f4f4f4; padding: .2em .4em }
img { max-width: 100% }
.failed { color: #b00 }
</style></head><body>
<h1>The attention chapters, reproduced</h1>
HTML

pooling average-pooling "Average pooling" "a horizontal line, the mean of the training outputs, far from the truth"
pooling nadaraya-watson "Attention pooling with a Gaussian kernel" \
  "smooth and closer to the truth; the nearer a training point, the larger its weight"
pooling nadaraya-watson-kernels "The four kernels" "three similar curves, and a flat one with the constant kernel"
pooling nadaraya-watson-widths "Widths 0.1, 0.2, 0.5 and 1" "the narrower the kernel, the rougher the curve and the sharper the weights"
pooling nadaraya-watson-parametric "Attention pooling with a learned width" \
  "rougher than without learning, with sharper weights" learning-curve.svg

example attention-heat-map "Attention weights as a heat-map" "the diagonal of a 10 x 10 identity matrix" plot
example masked-softmax "Masked softmax" "weights of 0 from the third (first sentence) and fourth key (second) on" plot
example batch-matrix-product "Weighted mean as a batch matrix product" "4.5 and 14.5"
example batch-matrix-product-shapes "Shapes of a batch matrix product" "(2, 3, 6)"
example additive-attention "Additive attention" "(2, 3, 4, 5) and (10, 11, 12, 13); even weights over 2 and 6 keys" plot
example dot-product-attention "Scaled dot-product attention" "the same outputs and weights" plot
example worked-self-attention "Self-attention, worked by hand" "0.27 and 0.73 is often copied, which leaves the scaling out" plot
example multi-head-attention "Multi-head attention" "the shape (2, 4, 100)" plot
example self-attention "Self-attention" "the shape (2, 4, 100)" plot
item positions "Positional encoding" "columns 6 to 9 over 60 positions of width 32, and the heat-map" \
  positions-columns.svg positions-heat-map.svg -- attn-dump positions --plot "$output/positions"
item cnn-rnn-self-attention "Convolution, recurrence and self-attention" \
  "O(k n d^2), O(n d^2), O(n^2 d) operations; O(1), O(n), O(1) sequential ones; paths of O(n / k), O(n), O(1)" \
  -- attn-compare --layer-types convolution,rnn,self_attention --lengths 64,128,256,512 --widths 64 \
  --passes forward --repeats 3 --time-limit 0.2
example position-wise-ffn "Position-wise feed-forward network" "the shape (2, 3, 8), with equal rows"
example layer-and-batch-norm "Layer norm and batch norm" "-1 and 1 along rows, and along columns"
example transformer-blocks "Blocks of the Transformer" "the shape (2, 100, 24)"
example masked-loss "Loss with padding masked" "2.3026, 1.1513, 0"

training() { # CONFIG TITLE BOOK
  item "$1" "$2" "$3" "runs/d2l-$1/plots/learning-curve.svg" -- \
    attn-train "configs/d2l/$1.yaml" --set "run_root=$runs" --force --quiet
}
attention_maps() { # CONFIG TITLE KIND: the maps of one sentence under the model that training() has left
  local name=$1-maps-$3
  if [ -n "$only" ] && [[ $name != *$only* ]]; then return 0; fi
  if [ ! -d "$runs/d2l-$1" ] || ! command -v attn-dump >/dev/null; then
    echo "reproduce.sh: $name is left out, it needs the model of $1 and attn-dump" >&2
    return 0
  fi
  printf "i'm home .\n" >"$output/sentence.txt"
  # Where this fails, the plot says that there is no archive.
  rm -f "$output/$1.h5"
  attn-dump attention "$runs/d2l-$1" --quiet --input "$output/sentence.txt" --output "$output/$1.h5" >/dev/null || true
  item "$name" "$2" "weights of every head of the first layer for \"i'm home .\"" "$1-$3.svg" -- \
    attn-dump plot "$output/$1.h5" --sentence 0 --kind "$3" --output "$output/$1-$3.svg"
}
if [ "$full" = yes ]; then
  training seq2seq "Sequence to sequence" "loss 0.020 on its data (the bundled phrases are others)"
  training seq2seq-attention "Sequence to sequence with Bahdanau attention" "loss 0.020 on its data (the bundled phrases are others)"
  attention_maps seq2seq-attention "Weights of Bahdanau attention" rnn_cross
  training transformer "Transformer" "loss 0.030 on its data (the bundled phrases are others)"
  for kind in encoder_self decoder_self cross; do
    attention_maps transformer "Weights of the Transformer, $kind" "$kind"
  done
fi

if [ "$items" -eq 0 ]; then
  rm -f "$page.part"
  echo "reproduce.sh: no item has '$only' in its name" >&2
  exit 2
fi
printf '</body></html>\n' >>"$page.part"
mv "$page.part" "$page"
echo "$items items, $failed failed: $page"
[ "$failed" -eq 0 ]
