#!/bin/sh
# usage: beside.sh PROGRAM [ARGUMENT...]
#        beside.sh --over
# Runs a program with little weight beside measurements, and prints what it said when it ends. After --over, which the
# measurements call at their end, it has the usual weight, and so has what begins later: on a busy machine it would
# wait for others that nothing measures.
# Linux divides the time among sessions first (sched(7), "The autogroup feature"), whatever the niceness of their tasks:
# in the session of its caller the program would take as much as a lab's daemon. So it has one of its own. Its niceness
# of 10 is a ninth of a lab's weight, so that a test that waits for its own programs ends in time on a busy machine, too.
running=build/beside
mkdir -p "$running"
if [ "$1" = --over ]; then
    touch "$running/over"
    for program in "$running"/[0-9]*; do
        echo 0 2>/dev/null >"/proc/${program##*/}/autogroup"
    done
    exit 0
fi
weight=10
[ ! -e "$running/over" ] || weight=0
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
