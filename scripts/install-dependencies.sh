#!/usr/bin/env bash
# Installs the Debian packages that building attn needs and that are not there yet.
#   scripts/install-dependencies.sh [--tests]      --tests: also what only the tests need
set -euo pipefail

packages=(g++ cmake ninja-build ccache libeigen3-dev libhdf5-dev libfmt-dev libcli11-dev libyaml-cpp-dev
          nlohmann-json3-dev zlib1g-dev libicu-dev pkg-config libcairo2-dev libpango1.0-dev librsvg2-dev
          libsentencepiece-dev libssl-dev)
# Pictures show text in whatever fonts are installed: fonts-noto-core has Arabic, Devanagari, Thai and most other
# scripts, fonts-noto-cjk Chinese, Japanese and Korean.
if [ "${1:-}" = "--tests" ]; then
  # Without an optimised BLAS, LibTorch's products run in plain loops.
  packages+=(catch2 python3 git curl libtorch-dev libopenblas0-openmp
             fonts-noto-core fonts-noto-cjk chromium python3-h5py python3-xarray python3-h5netcdf python3-websocket)
fi

missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
    missing+=("$package")
  fi
done
if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "these packages are missing, and neither root rights nor sudo are there to install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
