#!/bin/sh
# Collects seatrial and all that it needs as wheels, for a machine without internet access.
# usage: [PYTHON=/path/to/python3] wheelhouse.sh [FOLDER]
# The wheels fit machines with the same Python version and architecture, and an equal or newer C library.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build/wheelhouse}
. scripts/find_python.sh
python=$(find_python)
if [ -z "$python" ]; then
    echo "wheelhouse: Python 3.11 or newer with venv is needed; name one by PYTHON=/path/to/python3" >&2
    exit 1
fi

mkdir -p "$folder"
# The versions that are tested, without their hashes: pip would want one for seatrial itself
sed -n 's/^\([a-z0-9_.-]*==.*\) \\$/\1/p' requirements.txt >"$folder/constraints.txt"
"$python" -m pip wheel --quiet --disable-pip-version-check --wheel-dir "$folder" \
    --constraint "$folder/constraints.txt" '.[all]'

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
cat >&2 <<END
wheelhouse: $(find "$folder" -name '*.whl' | wc -l) wheels for Python $version on $(uname -m) in $folder. Copy this folder, then type there:
    python$version -m venv ~/seatrial
    ~/seatrial/bin/pip install --no-index --find-links $(basename "$folder") seatrial
END
