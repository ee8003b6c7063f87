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

# A connection that delivers nothing is tried again by pip itself after 30 s. One that trickles is not: each attempt
# gets ten minutes, and the second begins with what pip's cache has of the first.
attempts=2
attempt=1
echo "wheelhouse: collecting wheels in $folder (about 40 MB to download)" >&2
until timeout 600 "$python" -m pip wheel --disable-pip-version-check --progress-bar off --timeout 30 --retries 5 \
    --wheel-dir "$folder" --constraint "$folder/constraints.txt" '.[all]' >"$folder/pip.log" 2>&1; do
    if [ "$attempt" -ge "$attempts" ]; then
        echo "wheelhouse: pip could not collect the wheels; its last lines (all are in $folder/pip.log):" >&2
        tail -n 5 "$folder/pip.log" | sed 's/^/    /' >&2
        exit 1
    fi
    attempt=$((attempt + 1))
    echo "wheelhouse: pip failed, or took more than 10 minutes; attempt $attempt of $attempts" >&2
done

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
cat >&2 <<END
wheelhouse: $(find "$folder" -name '*.whl' | wc -l) wheels for Python $version on $(uname -m) in $folder. Copy this folder, then type there:
    python$version -m venv ~/seatrial
    ~/seatrial/bin/pip install --no-index --find-links $(basename "$folder") seatrial
END
