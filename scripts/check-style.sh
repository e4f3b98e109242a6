#!/usr/bin/env bash
# What a compiler does not check: include directions, layout, lengths of files, words that mark unfinished work.
# Ends with status 77 (skipped) where nothing is wrong but clang-format 14 or python3 is not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

longest=500     # lines a file of the program may have
words='TO''DO|FIX''ME|XX''X'
wrong=0
missing=()

complain() {
  printf '%s\n' "$1" >&2
  wrong=1
}

# Tracked files, or all files where this is not a checkout.
files=()
while IFS= read -r -d '' file; do
  if [ -f "$file" ]; then files+=("$file"); fi
done < <(if [ -e .git ]; then git ls-files -z; else find . -type f -not -path './build/*' -printf '%P\0'; fi)

sources=() # in C, C++ or CUDA
program=() # of these: what is not a test
for file in "${files[@]}"; do
  case $file in libattn/* | backends/* | apps/* | tests/*) ;; *) continue ;; esac
  case $file in *.h | *.cpp | *.c | *.cu | *.cuh) ;; *) continue ;; esac
  sources+=("$file")
  if [[ $file != tests/* ]]; then program+=("$file"); fi
done
if [ "${#program[@]}" -eq 0 ]; then
  complain "no sources found in $PWD"
  exit 1
fi

if command -v python3 >/dev/null; then
  python3 scripts/check-includes.py || wrong=1
else
  missing+=(python3)
fi

# Another version lays out some lines in another way.
format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -n "$format" ] && "$format" --version | grep -q 'version 14\.'; then
  printf '%s\0' "${sources[@]}" | xargs -0 -n 32 -P 2 "$format" --dry-run -Werror || wrong=1
else
  missing+=("clang-format 14")
fi

while read -r lines file; do
  if [ "$file" != total ] && [ "$lines" -gt "$longest" ]; then
    complain "$file: $lines lines, at most $longest are allowed: split it"
  fi
done < <(wc -l "${program[@]}")

if printf '%s\0' "${files[@]}" | xargs -0 grep -nwIE "$words" /dev/null >&2; then
  complain "these words mark unfinished work: finish it, or take the words away"
fi

if [ "$wrong" -ne 0 ]; then exit 1; fi
if [ "${#missing[@]}" -ne 0 ]; then
  printf 'skipped in part: not installed:'
  printf ' %s' "${missing[@]}"
  printf '\n'
  exit 77
fi
