#!/usr/bin/env bash
# attn-bench check --quick of a plugin file, skipped (77) where this machine lacks the instruction set or the device.
# Usage: check_if_possible.sh ATTN_BENCH PLUGIN
set -uo pipefail
bench=${1:?name the program} plugin=${2:?name the plugin}

why=$("$bench" list --json | python3 -c '
import json, os, sys
for one in json.load(sys.stdin):
    if os.path.samefile(one["file"], sys.argv[1]) and (not one["loaded"] or not one["devices"]):
        print(one["why_not"])
' "$plugin") || exit 1
if [[ -n $why ]]; then
    printf 'skipped: %s\n' "$why"
    exit 77
fi
"$bench" check --quiet --quick --backend "$plugin"
