#!/bin/sh
# usage: beside.sh PROGRAM [ARGUMENT...]
#        beside.sh --weight NICENESS
# Runs a program with little weight beside measurements, and prints what it said when it ends. The measurements set the
# weight again, also of what begins later, when less depends on them, and to 0 at their end: on a busy machine it would
# wait for others that nothing measures.
# Linux divides the time among sessions first (sched(7), "The autogroup feature"), whatever the niceness of their tasks:
# in the session of its caller the program would take as much as a lab's daemon. So it has one of its own. Its niceness
# of 5 is a third of the weight of each simulated node, whose ranks poll, so that it ends in time on a busy machine, too.
running=build/beside
mkdir -p "$running"
if [ "$1" = --weight ]; then
    echo "$2" >"$running/weight"
    for program in "$running"/[0-9]*; do
        echo "$2" 2>/dev/null >"/proc/${program##*/}/autogroup"
    done
    exit 0
fi
weight=$(cat "$running/weight" 2>/dev/null || echo 5)
log=$(mktemp)
setsid sh -c 'echo "$0" 2>/dev/null >/proc/self/autogroup; exec nice -n 10 "$@"' "$weight" "$@" >"$log" 2>&1 &
program=$!
touch "$running/$program"
trap 'kill -- "-$program"' HUP INT TERM
wait "$program"
status=$?
rm "$running/$program"
cat "$log"
rm "$log"
exit "$status"
