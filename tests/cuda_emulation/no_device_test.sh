#!/usr/bin/env bash
# The CUDA plugin where there is no GPU: it loads without a driver, is listed with the reason, and ends a program that asks
# for it with exit code 6. Usage: no_device_test.sh ATTN_BENCH PLUGIN. Skipped (77) where there is a GPU.
set -u
bench=$1
plugin=$2

complain() {
  printf '%s\n' "$1" >&2
  exit 1
}

message=$("$bench" check --quick --filter fill --backend "$plugin" 2>&1 >/dev/null)
code=$?
if [ "$code" -eq 0 ]; then
  echo "there is a CUDA device"
  exit 77
fi
[ "$code" -eq 6 ] || complain "exit code $code, expected 6: $message"
case $message in
*"no CUDA device: "*) ;;
*) complain "no reason is given: $message" ;;
esac

listing=$(ATTN_BACKEND_PATH=$(dirname "$plugin") "$bench" list) || complain "attn-bench list fails"
case $listing in
*"cuda: no CUDA device: "*) ;;
*) complain "the list does not say why the plugin has no device: $listing" ;;
esac
