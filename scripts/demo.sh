#!/bin/sh
# The demo: a virtual Slurm cluster of four nodes, one slow link planted, found and named.
# Without root, or without Slurm, it measures this machine's own MPI instead.
set -eu
cd "$(dirname "$0")/.."
seatrial=.venv/bin/seatrial
archive=${SEATRIAL_ARCHIVE:-seatrial-runs}
page=seatrial-demo.html
say() { printf '\n== %s\n' "$*"; }

if [ "$(id -u)" != 0 ] || ! command -v slurmctld >/dev/null 2>&1; then
    say "No root or no Slurm here, so no virtual cluster and no planted fault: measuring this machine's own MPI"
    code=0
    "$seatrial" check --launcher local --ranks 2 --archive "$archive" --html "$page" || code=$?
    say "seatrial check exited with $code (0 nothing found, 1 findings, 2 incomplete). Report: $page"
    [ "$code" -le 2 ]
    exit
fi

lab=demo$$
trap '"$seatrial" lab down --name "$lab" >/dev/null 2>&1 || true' EXIT
trap 'exit 130' INT TERM
say "Raising a virtual Slurm cluster: 4 nodes on 2 leaf switches, 1 Gb/s links"
"$seatrial" lab up --name "$lab" --node-count 4
say "Planting a fault: the link of n3 at 60 % of its rate. seatrial check does not know."
"$seatrial" lab fault add link-rate n3 --percent 60 --name "$lab"
say "seatrial check"
code=0
"$seatrial" lab run --name "$lab" -- "$PWD/$seatrial" check --archive "$archive" --html "$page" || code=$?
say "seatrial check exited with $code, as documented for findings (1). Report: $page"
[ "$code" -eq 1 ]
