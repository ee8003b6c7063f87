#!/bin/sh
# Collects seatrial and all that it needs as wheels, for a machine without internet access.
# usage: [PYTHON=/path/to/python3] [PYTHON_VERSIONS="3.12 3.13"] [MACHINE=aarch64] wheelhouse.sh [FOLDER]
# The wheels fit the Python versions and the architecture that are named, else those of this machine, and a C library
# that is equal or newer: than this machine's own, or for others than that of EL8 (glibc 2.28).
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build/wheelhouse}
versions=${PYTHON_VERSIONS:-}
machine=${MACHINE:-$(uname -m)}
. scripts/find_python.sh
python=$(find_python)
if [ -z "$python" ]; then
    echo "wheelhouse: Python 3.11 or newer with venv is needed; name one by PYTHON=/path/to/python3" >&2
    exit 1
fi
own=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
[ -n "$versions" ] || [ "$machine" = "$(uname -m)" ] || versions=$own
for version in $versions; do
    case $version in
        3.1[1-9] | 3.[2-9][0-9]) ;;
        *)
            echo "wheelhouse: PYTHON_VERSIONS names '$version': give versions from 3.11 on, like '3.12 3.13'" >&2
            exit 1
            ;;
    esac
done

mkdir -p "$folder"

# collect FILE COMMAND...: a connection that delivers nothing is tried again by pip itself after 30 s. One that trickles
# is not: each attempt gets ten minutes, and the second begins with what pip's cache has of the first.
attempts=2
collect() {
    log=$folder/$1
    shift
    attempt=1
    until timeout 600 "$python" -m pip "$@" --disable-pip-version-check --progress-bar off --timeout 30 --retries 5 \
        >"$log" 2>&1; do
        if [ "$attempt" -ge "$attempts" ]; then
            echo "wheelhouse: pip could not collect the wheels; its last lines (all are in $log):" >&2
            tail -n 5 "$log" | sed 's/^/    /' >&2
            exit 1
        fi
        attempt=$((attempt + 1))
        echo "wheelhouse: pip failed, or took more than 10 minutes; attempt $attempt of $attempts" >&2
    done
}

# The versions that are tested with this Python, without their hashes: pip would want one for seatrial itself
constraints() {
    "$python" scripts/constraints.py "$1" "$machine" >"$folder/constraints-$1.txt"
}

echo "wheelhouse: collecting wheels in $folder (about 65 MB to download for each version of Python)" >&2
if [ -z "$versions" ]; then
    constraints "$own"
    collect pip.log wheel --wheel-dir "$folder" --constraint "$folder/constraints-$own.txt" '.[all]'
else
    collect pip.log wheel --no-deps --wheel-dir "$folder" .
    for version in $versions; do
        constraints "$version"
        # pip takes wheels for another machine only if every name of a C library that fits is given
        collect "pip-$version.log" download --dest "$folder" --find-links "$folder" --only-binary=:all: \
            --python-version "$version" --implementation cp --platform "manylinux_2_28_$machine" \
            --platform "manylinux_2_27_$machine" --platform "manylinux_2_17_$machine" \
            --platform "manylinux2014_$machine" --constraint "$folder/constraints-$version.txt" 'seatrial[all]'
    done
fi

set -- ${versions:-$own}
cat >&2 <<END
wheelhouse: $(find "$folder" -name '*.whl' | wc -l) wheels for Python $* on $machine in $folder. Copy this folder, then type there:
    python$1 -m venv ~/seatrial
    ~/seatrial/bin/pip install --no-index --find-links $(basename "$folder") seatrial
END
