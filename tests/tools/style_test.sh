#!/usr/bin/env bash
# scripts/check-style.sh accepts a clean tree and finds each fault that is put into it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
for program in python3 clang-format; do
    if ! command -v "$program" >/dev/null; then
        echo "skipped: $program is not installed"
        exit 77
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# clean_tree: a small source tree without fault in $work/tree
clean_tree() {
    rm -rf "$work/tree"
    mkdir -p "$work"/tree/{scripts,libattn/include/attn/{ops,runtime},libattn/src/ops,backends/{common,one,two}/src,apps/attn-tool}
    cd "$work/tree"
    cp "$root"/scripts/check-style.sh "$root"/scripts/check-includes.py scripts
    cp "$root/.clang-format" .
    echo '#include <stdint.h>' >libattn/include/attn/backend_abi.h
    printf '#pragma once\n#include "attn/backend_abi.h"\n' >libattn/include/attn/runtime/tensor.h
    printf '#pragma once\n#include "attn/runtime/tensor.h"\n' >libattn/include/attn/ops/ops.h
    printf '#include "attn/ops/ops.h"\n' >libattn/src/ops/sum.cpp
    printf '#pragma once\n' | tee libattn/src/ops/rules.h backends/common/guard.h backends/one/src/one.h >/dev/null
    printf '#include "one.h"\n\n#include "attn/backend_abi.h"\n#include "common/guard.h"\n' >backends/one/src/one.cpp
    printf '#include "attn/ops/ops.h"\n' >apps/attn-tool/main.cpp
}

# found WORDS: the check fails and names the fault
found() {
    local output
    if output=$(scripts/check-style.sh 2>&1); then
        printf 'FAILED: not found: %s\n' "$1" >&2
        exit 1
    fi
    if [[ $output != *"$1"* ]]; then
        printf "FAILED: no '%s' in: %s\n" "$1" "$output" >&2
        exit 1
    fi
    clean_tree
}

clean_tree
scripts/check-style.sh || { status=$?; [ "$status" -eq 77 ] && exit 77; echo "FAILED: the clean tree"; exit 1; }

echo '#include "attn/ops/ops.h"' >>libattn/include/attn/runtime/tensor.h
found "libattn/include/attn/runtime/tensor.h:3: runtime must not include attn/ops/ops.h"
echo '#include "ops/rules.h"' >>libattn/include/attn/ops/ops.h
found "a public header must not include ops/rules.h"
mkdir libattn/src/nn && echo '#include "ops/rules.h"' >libattn/src/nn/linear.cpp
found "nn must not include ops/rules.h, which is private to another folder"
mkdir libattn/src/new && echo '#include <vector>' >libattn/src/new/new.cpp
found "folder 'new' is new"
echo '#include "attn/runtime/tensor.h"' >>libattn/include/attn/backend_abi.h
found "the boundary to the backends must not include attn/runtime/tensor.h"
echo '#include "attn/runtime/tensor.h"' >backends/one/src/one.cpp
found "a backend must not include attn/runtime/tensor.h"
echo '#include "../../one/src/one.h"' >backends/two/src/two.cpp
found "a backend must not include ../../one/src/one.h, which is another backend's"
echo '#include "ops/rules.h"' >apps/attn-tool/main.cpp
found "a tool must not include ops/rules.h"
echo 'int  sum( );' >>libattn/src/ops/sum.cpp
found "libattn/src/ops/sum.cpp:2:4: error: code should be clang-formatted"
printf '//%.0s\n' {1..501} >libattn/src/ops/long.cpp
found "libattn/src/ops/long.cpp: 501 lines"
echo '// TO''DO: the rest' >>libattn/src/ops/sum.cpp
found "these words mark unfinished work"
