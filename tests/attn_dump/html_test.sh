#!/usr/bin/env bash
# attn-dump plot and html from the command line: what they write, and what they say when they cannot.
#   html_test.sh ATTN_DUMP
# Ends with status 77 (skipped) where no Python with h5py is there to make an archive.
set -euo pipefail

program=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python=""
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import h5py, numpy' 2>/dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  echo "skipped: python3-h5py is not installed"
  exit 77
fi
"$python" "$here/make_archive.py" a.h5

failed() {
  echo "FAILED: $1" >&2
  exit 1
}
# expect CODE WORDS COMMAND...: the command ends with this code and says these words on standard error.
expect() {
  local code=$1 words=$2 found=0
  shift 2
  "$@" > out.txt 2> err.txt || found=$?
  [ "$found" -eq "$code" ] || failed "'$*' ended with $found, expected $code: $(cat err.txt)"
  grep -qF -- "$words" err.txt || failed "'$*' does not say '$words': $(cat err.txt)"
}

expect 0 "wrote cross.svg" "$program" plot a.h5 --sentence 2 --kind cross --layer 1 --output cross.svg
grep -q '</svg>' cross.svg || failed "cross.svg is no SVG"
cp cross.svg again.svg
"$program" plot a.h5 --sentence 2 --kind cross --layer 1 --output cross.svg --quiet
cmp cross.svg again.svg || failed "the same picture has other bytes"
expect 0 "wrote m.png" "$program" plot a.h5 --head mean --output m.png
[ "$(head -c 4 m.png | tail -c 3)" = PNG ] || failed "m.png is no PNG"
"$program" plot a.h5 --head 0,2 --kind decoder_self --format pdf --output - > heads.pdf
[ "$(head -c 5 heads.pdf)" = "%PDF-" ] || failed "heads.pdf is no PDF"
expect 0 "wrote attention.svg" "$program" plot a.h5 --sentence 5 --head 1
[ "$(stat -c %s attention.svg)" -lt 3000000 ] || failed "a picture of 150 tokens is too large"

expect 2 "it has encoder_self, decoder_self, cross" "$program" plot a.h5 --kind rnn_cross
expect 2 "no layer 2 in this archive; there are 0, 1" "$program" plot a.h5 --layer 2
expect 2 "--layer takes one layer" "$program" plot a.h5 --layer 0,1
expect 2 "no head 7 in this archive; there are 0, 1, 2" "$program" plot a.h5 --head 7
expect 2 "'-1' is neither a number nor a range" "$program" plot a.h5 --head=-1
expect 2 "has 6 sentences, counted from 0" "$program" plot a.h5 --sentence 6
expect 4 "sentence 1 (line 2) has no tokens" "$program" plot a.h5 --sentence 1
expect 2 "there are svg, png, pdf" "$program" plot a.h5 --format gif
expect 2 "does not say which picture format" "$program" plot a.h5 --output picture.gif
expect 2 "needs --format" "$program" plot a.h5 --output -
expect 5 "missing" "$program" plot a.h5 --output missing/a.svg
expect 5 "none.h5" "$program" plot none.h5
[ ! -e picture.gif ] || failed "picture.gif was written"

expect 0 "wrote a.html" "$program" html a.h5
for part in "Content-Security-Policy" "default-src 'none'"; do
  grep -qF "$part" a.html || failed "a.html has no $part"
done
[ "$(grep -o '<script' a.html | wc -l)" -eq "$(grep -o '</script' a.html | wc -l)" ] || failed "scripts do not end"
! grep -qE "(src|href)=[\"']?(https?:)?//" a.html || failed "a.html refers to a network"
expect 0 "wrote small.html" "$program" html a.h5 --sentences 0,2-3 --kinds cross --layers 1 --heads 0-1 -o small.html
[ "$(stat -c %s small.html)" -lt 100000 ] || failed "small.html is not small"
grep -qF '"layers":[1]' small.html || failed "small.html has not layer 1 alone"

expect 2 "--sentences, --kinds, --layers or --heads" "$program" html a.h5 --max-html-mb 1 -o large.html
[ -z "$(ls large.html* 2>/dev/null)" ] || failed "a page that is refused was begun"
expect 2 "it has encoder_self, decoder_self, cross" "$program" html a.h5 --kinds cross,rnn_cross -o x.html
expect 2 "no sentence 6; they are counted from 0 to 5" "$program" html a.h5 --sentences 4-6 -o x.html
expect 2 "no layer 3" "$program" html a.h5 --layers 3 -o x.html
expect 2 "no head 9" "$program" html a.h5 --heads 0,9 -o x.html
expect 2 "is neither a number nor a range" "$program" html a.h5 --sentences 3-1 -o x.html
expect 5 "missing" "$program" html a.h5 -o missing/x.html
[ -z "$(ls x.html* 2>/dev/null)" ] || failed "a page that cannot be was begun"
head -c 20000 a.h5 > cut.h5
expect 5 "cut.h5" "$program" html cut.h5
# A full disk: what was begun goes away.
if [ -w /dev/full ]; then
  expect 5 "/dev/full" "$program" html a.h5 -o /dev/full
fi
echo "all as expected"
