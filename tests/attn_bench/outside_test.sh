#!/usr/bin/env bash
# Installs attn, builds a plugin in plain C with the installed headers alone, and lets the installed attn-bench check it.
# Usage: outside_test.sh CMAKE BUILD_FOLDER C_COMPILER
set -euo pipefail

cmake=${1:?name cmake} build=${2:?name the build folder} compiler=${3:?name the C compiler}
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/outside_plugin" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/installed" >"$work/install.log" || { cat "$work/install.log" >&2; exit 1; }
mkdir "$work/plugin"
cp "$sources"/*.c "$sources"/*.h "$work/plugin"
cd "$work/plugin"
"$compiler" -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -fvisibility=hidden -DATTN_BUILDING_PLUGIN \
    -I"$work/installed/include" ./*.c -o libattn-backend-outside.so -lm

bench=$work/installed/bin/attn-bench
"$bench" check --quiet --quick --backend ./libattn-backend-outside.so

# by name, from a folder of its own
ATTN_BACKEND_PATH=$work/plugin "$bench" list >list.txt
grep -q '^outside .*CPU' list.txt || { printf 'FAILED: the list lacks the plugin:\n' >&2; cat list.txt >&2; exit 1; }
ATTN_BACKEND_PATH=$work/plugin "$bench" check --quiet --quick --backend outside --filter matmul | tail -1
