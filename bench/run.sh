#!/bin/sh
# Installs what the benchmarks compare with, then runs them all.
set -eu
cd "$(dirname "$0")/.."
status=0
.venv/bin/python bench/facts_of_1000_nodes.py || status=$?
.venv/bin/python bench/matrix_of_5000_nodes.py || status=$?
.venv/bin/python bench/gate_calls.py || status=$?
.venv/bin/python bench/job_lines.py || status=$?
.venv/bin/python bench/metrics_call.py || status=$?
.venv/bin/python bench/locate_grid.py || status=$?
.venv/bin/python bench/change_points.py || status=$?
.venv/bin/python bench/fleet_errors.py || status=$?
.venv/bin/python bench/peer_suspects.py --draws 100 || status=$?
.venv/bin/python bench/growing_run.py 1000 || status=$?
.venv/bin/python -m bench.planted_map_faults 10 || status=$?
.venv/bin/python bench/verification.py || status=$?
.venv/bin/python bench/simulate_series.py --few || status=$?
.venv/bin/python bench/simulated_check.py || status=$?
if ! command -v NPopenmpi >/dev/null 2>&1; then
    apt-get update -q >/dev/null && apt-get install -q -y --no-install-recommends netpipe-openmpi >/dev/null
fi
if [ ! -f build/bench/.installed ] || [ requirements-bench.txt -nt build/bench/.installed ]; then
    .venv/bin/python -m venv build/bench
    build/bench/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-bench.txt
    touch build/bench/.installed
fi
.venv/bin/python bench/pairs_beside_all.py || status=$?
.venv/bin/python bench/probe_beside_others.py "$@"
exit "$status"
