"""The lab in the part of a kernel: while a simulated file of a node has a bad value, its processors are slow.

The files of a virtual node are read by nobody. So a program of the lab reads one of them and gives the node's processes
a share of the processors as long as it has the value that the fault wrote there, and all of them as soon as somebody
writes another one back. The facts of the node do not show the quota with which it does that: a file of the overlay
hides it.
"""

from seatrial.lab.cluster import state
from seatrial.lab.cluster.node_groups import NodeGroup, dissolve, form
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import call, kill_until_none, pids_marked
from seatrial.lab.cluster.sysroot import clear_facts, inside, own, plant_facts, processors
from seatrial.model.errors import SeatrialError
from seatrial.process.process import python_program

MARK = "LAB_SUBSTITUTE"
LOOKS_S = 0.05
GROUPS = "/sys/fs/cgroup"
"""No other fault has files of control groups."""
PROGRAM = """
import sys, time
file, bad, quota, slow, fast, every = sys.argv[1:]
before = None
while True:
    try:
        with open(file, encoding="utf-8") as stream:
            now = stream.read().split() == bad.split()
    except OSError:
        now = False
    if now is not before:
        with open(quota, "w", encoding="ascii") as stream:
            stream.write(slow if now else fast)
        before = now
    time.sleep(float(every))
"""


def follow(plan: LabPlan, node: str, file: str, bad: str, percent: float) -> None:
    """Begin: while the node's `file` contains `bad`, its processes get that share of the processors."""
    group = form(plan, node)
    plant_facts(plan, node, hidden(group))
    slow_and_fast = group.limit_texts(len(processors()) * percent / 100)
    watched = inside(own(state.folder(plan.name), node), file)
    marks = [f"{MARK}={plan.name}:{node}", state.raised(plan.name)]
    program = [*python_program("-c", PROGRAM), str(watched), bad, str(group.quota_file)]
    program += [*slow_and_fast, str(LOOKS_S)]
    script = 'exec setsid --fork "$@" </dev/null >/dev/null 2>&1'
    call(["env", *marks, "sh", "-c", script, "sh", *program])


def leave(plan: LabPlan, node: str) -> None:
    """End, if it was begun: all processors, and no group of the node's own."""
    if not inside(own(state.folder(plan.name), node), GROUPS).exists():
        return
    mark = f"{MARK}={plan.name}:{node}"
    left = kill_until_none(lambda: pids_marked(mark))
    if left:
        raise SeatrialError(f"The processes {', '.join(map(str, left))} on {node} could not be ended.")
    root = own(state.folder(plan.name), node)
    files = [path for path in inside(root, GROUPS).rglob("*") if path.is_file()]
    clear_facts(plan, node, [f"/{path.relative_to(root)}" for path in files])
    dissolve(plan, node)


def hidden(group: NodeGroup) -> dict[str, str]:
    """Files that say that the group has no quota, as the node is to see it."""
    if group.version == 1:
        return {str(group.quota_file): "-1\n", str(group.cpu / "cpu.cfs_period_us"): "10000\n"}
    return {str(group.quota_file): "max 10000\n"}
