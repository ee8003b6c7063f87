#!/bin/sh
# Installs from a wheelhouse without an index, as on a machine without internet access, and measures there.
# usage: wheelhouse_test.sh PYTHON...
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for python in "$@"; do
    if ! command -v "$python" >/dev/null 2>&1 || ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        echo "wheelhouse-test: skipped, not installed: $python"
        continue
    fi
    name=$(basename "$python")
    here=$scratch/$name
    PYTHON=$python sh scripts/wheelhouse.sh "$here/wheelhouse" 2>/dev/null
    "$python" -m venv "$here/venv"
    # neither an index nor a folder of wheels that this machine's own configuration names
    env PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS= "$here/venv/bin/python" -m pip install --quiet \
        --disable-pip-version-check --no-index --find-links "$here/wheelhouse" seatrial
    (cd "$here" && "$here/venv/bin/seatrial" check --launcher local --ranks 2 --budget 20s --json --archive runs) \
        >"$here/report.json" || [ $? -le 2 ]
    verdict=$("$here/venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["verdict"])' "$here/report.json")
    megabytes=$(du -sm "$here/venv" | cut -f 1)
    echo "wheelhouse-test: $name: $verdict, $megabytes MB installed, $(du -sm "$here/wheelhouse" | cut -f 1) MB to copy"
done
