#!/usr/bin/env bash
# Runs viewer_test.py with a Python that has what it needs: the first one in PATH need not be the distribution's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import h5py, numpy, websocket' 2>/dev/null; then
    exec "$candidate" -B "$here/viewer_test.py" "$@"
  fi
done
echo "skipped: no python3 with h5py and websocket (packages python3-h5py, python3-websocket)"
exit 77
