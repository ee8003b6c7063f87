"""Faults of processors and memory: a quota, and programs that use them while the node works."""

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.node_groups import dissolve, form
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import call, end_marked
from seatrial.lab.cluster.sysroot import processors
from seatrial.lab.faults.base import LOAD as OF_LOAD
from seatrial.lab.faults.base import LabFault, Parameters
from seatrial.process.process import python_program

HOG_PERCENT, HOG_PERIOD_S = 1.0, 0.1
"""The usual disturbance of a monitoring daemon: 1 ms, ten times a second."""
MARK = "LAB_HOG"
PROGRAM = """
import os, sys, time
usage, kind, percent, period = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
def used():
    text = open(usage).read().split()
    return int(text[0]) / 1e9 if len(text) == 1 else int(text[1]) / 1e6
def burn(seconds, clock):
    end = clock() + seconds
    while clock() < end:
        pass
if kind != "memory":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
source = bytes(32 << 20) if kind == "memory" else b""
target = bytearray(source)
before, at = used(), time.monotonic()
due = at
while True:
    now, moment = used(), time.monotonic()
    works = now - before > 0.1 * (moment - at)
    before, at = now, moment
    if works and kind == "rare":
        burn(percent / 100 * period, time.thread_time)
    elif works and kind == "core":
        burn(0.02, time.monotonic)
    elif works:
        for _ in range(4):
            target[:] = source
    if kind == "rare":
        due = max(due + period, time.monotonic() - period)
        time.sleep(max(due - time.monotonic(), 0))
    elif not works:
        time.sleep(0.01)
"""
"""Uses a processor only while the processes of its node do: the nodes share this machine's, and its peers must not
notice it. It runs outside the node's control group, whose use of the processors it reads."""


def end_hog(plan: LabPlan, node: str) -> None:
    """Kill the program that uses the processors, and remove the node's group."""
    end_marked(_mark(plan, node), node)
    dissolve(plan, node)


def _mark(plan: LabPlan, node: str) -> str:
    return f"{MARK}={plan.name}:{node}"


def _hog(kind: str, description: str, work: str, may: tuple[str, ...] = ()) -> LabFault:
    def plant(plan: LabPlan, node: str, parameters: Parameters) -> None:
        group = form(plan, node)
        marks = [_mark(plan, node), state.raised(plan.name)]
        percent, period = str(parameters.percent or HOG_PERCENT), str(HOG_PERIOD_S)
        program = [*python_program("-c", PROGRAM), str(group.usage), work, percent, period]
        into = group.cpu.parent / "cgroup.procs"
        script = 'echo $$ > "$0"; exec setsid --fork "$@" </dev/null >/dev/null 2>&1'
        call(inside(plan, node, ["env", *marks, "sh", "-c", script, str(into), *program]))

    return LabFault(kind=kind, description=description, marks=OF_LOAD, plant=plant, clear=end_hog, may=may)


LOAD = (
    LabFault(
        kind="cpu-quota",
        description="All processes of the node together get only that share of its processors, 10 ms by 10 ms: a "
        "forgotten limit of a container, or a processor that throttles.",
        marks=OF_LOAD,
        plant=lambda plan, node, given: form(plan, node).limit(len(processors()) * (given.percent or 100) / 100),
        clear=dissolve,
        needs=(("percent",),),
    ),
    _hog(
        "cpu-hog",
        "A program uses one core of the node for 1 ms, ten times a second, while the node works: a monitoring daemon. "
        "--percent changes its share.",
        "rare",
        may=("percent",),
    ),
    _hog(
        "core-hog",
        "A program uses one core of the node all the time while the node works: a process that a job left behind.",
        "core",
    ),
    _hog(
        "memory-hog",
        "A program copies memory all the time while the node works: another user's program on the same node.",
        "memory",
    ),
)
