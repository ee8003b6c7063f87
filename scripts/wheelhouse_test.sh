#!/bin/sh
# Installs from a wheelhouse without an index, as on a machine without internet access, and measures there.
# usage: wheelhouse_test.sh PYTHON...
# Exit code 1 if anything fails, the installation is too large, or none of the Pythons is installed.
set -eu
cd "$(dirname "$0")/.."
most_megabytes=150
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say() { echo "wheelhouse-test: $*"; }
fail() {
    say "$1"
    [ ! -s "$2" ] || tail -n 10 "$2" | sed 's/^/    /'
    exit 1
}

installed=""
versions=""
for python in "$@"; do
    if ! command -v "$python" >/dev/null 2>&1 || ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        say "$python: skipped, not installed"
        continue
    fi
    installed="$installed $python"
    versions="$versions $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
done
[ -n "$installed" ] || fail "none of $* is installed; name others with PYTHONS" /dev/null

# The first alone collects for all: wheels for itself as it makes them, and for the others as they are downloaded.
set -- $installed
first=$(basename "$1")
say "$first: collecting wheels for$versions"
PYTHON=$1 PYTHON_VERSIONS= MACHINE= sh scripts/wheelhouse.sh "$scratch/wheelhouse" 2>"$scratch/collect.log" ||
    fail "$first: the wheels could not be collected" "$scratch/collect.log"
if [ $# -gt 1 ]; then
    PYTHON=$1 PYTHON_VERSIONS=${versions#* * } MACHINE= sh scripts/wheelhouse.sh "$scratch/wheelhouse" 2>"$scratch/collect.log" ||
        fail "$first: the wheels for other versions could not be collected" "$scratch/collect.log"
fi

for python in "$@"; do
    name=$(basename "$python")
    here=$scratch/$name
    mkdir "$here"
    say "$name: installing without an index"
    # neither an index nor a folder of wheels that this machine's own configuration names
    { "$python" -m venv "$here/venv" &&
        env PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS= timeout 300 "$here/venv/bin/python" -m pip install \
            --quiet --disable-pip-version-check --no-index --find-links "$scratch/wheelhouse" seatrial; } \
        >"$here/install.log" 2>&1 || fail "$name: pip could not install from the wheelhouse" "$here/install.log"
    megabytes=$(du -sm "$here/venv" | cut -f 1)
    [ "$megabytes" -lt "$most_megabytes" ] ||
        fail "$name: $megabytes MB are installed, and the most is $most_megabytes MB" /dev/null
    say "$name: measuring with it"
    code=0
    # a busy machine may leave two ranks without a core for longer than the usual 10 s
    (cd "$here" && timeout 240 "$here/venv/bin/seatrial" check --launcher local --ranks 2 --budget 60s --json \
        --round-timeout 60s --archive runs) >"$here/report.json" 2>"$here/check.log" || code=$?
    [ "$code" -le 2 ] || fail "$name: seatrial check ended with exit code $code" "$here/check.log"
    headline=$("$here/venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["headline"])' \
        "$here/report.json") || fail "$name: seatrial check printed no report" "$here/check.log"
    case $headline in NOT_RUN* | DOWN*) fail "$name: $headline" "$here/check.log" ;; esac
    say "$name: $headline"
    say "$name: $megabytes MB installed"
done
say "$(du -sm "$scratch/wheelhouse" | cut -f 1) MB to copy for$versions"
say "passed with$(for python in "$@"; do printf ' %s' "$(basename "$python")"; done)"
