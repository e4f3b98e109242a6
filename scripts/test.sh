#!/usr/bin/env bash
# Installs what is missing, builds everything, and runs all tests.   scripts/test.sh [ctest options]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-dependencies.sh --tests
cmake -S . -B build/test -G Ninja -DCMAKE_BUILD_TYPE=Release -DATTN_BUILD_TESTS=ON >/dev/null
cmake --build build/test
ctest --test-dir build/test --output-on-failure --parallel "$(nproc)" "$@"
