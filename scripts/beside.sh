#!/bin/sh
# usage: beside.sh PROGRAM [ARGUMENT...]
# Runs a program with little weight beside measurements, and prints what it said when it ends.
# Linux divides the time among sessions first (sched(7), "The autogroup feature"), whatever the niceness of their tasks:
# in the session of its caller the program would take as much as a lab's daemon. So it has one of its own. Its niceness
# of 10 is a ninth of a lab's weight, so that a test that waits for its own programs ends in time on a busy machine, too.
log=$(mktemp)
setsid sh -c 'echo 10 2>/dev/null >/proc/self/autogroup; exec nice -n 10 "$@"' sh "$@" >"$log" 2>&1 &
program=$!
trap 'kill -- "-$program"' HUP INT TERM
wait "$program"
status=$?
cat "$log"
rm "$log"
exit "$status"
