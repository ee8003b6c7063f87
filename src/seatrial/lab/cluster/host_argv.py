"""How to run a program as a host of the lab would, and the process that holds a host's namespaces."""

from collections.abc import Sequence
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import SPACES, call, start_ticks
from seatrial.lab.cluster.sysroot import search_path, sees
from seatrial.model.errors import UsageError

NAMESPACES = "ns"
"""Folder of a lab with a program for each host, which executes its arguments in the host's namespaces."""
ENTER = """\
# Process {pid}, which started {ticks} ticks after the boot, holds the namespaces of {host}. Its number may be that of
# another process by now: what was opened belongs to the holder if the start is the same afterwards.
ticks() {{ shift 19 2>/dev/null && echo "$1"; }}
{{
    read -r stat </proc/{pid}/stat
    if [ "$(ticks ${{stat##*) }})" = {ticks} ]; then
        exec nsenter --net={net} --uts=/proc/self/fd/7 --ipc=/proc/self/fd/8 --mount=/proc/self/fd/9 -- \
            sh -c 'exec "$@" 7<&- 8<&- 9<&-' sh "$@"
    fi
}} 7</proc/{pid}/ns/uts 8</proc/{pid}/ns/ipc 9</proc/{pid}/ns/mnt
echo "seatrial: {host} has lost its namespaces. Start the lab again: seatrial lab down --name {lab}" >&2
exit 125
"""
"""POSIX sh. The start of a process is the 20th field after its name in /proc/PID/stat (proc(5))."""
HOLD = """unshare --uts --ipc --mount --propagation=private sh -c '
    nsenter --net="$1" sh -c "$2" && { setsid sleep infinity </dev/null >/dev/null 2>&1 & echo $!; }' sh "$@"
"""
"""POSIX sh: run a script ($2) in new namespaces and a network namespace ($1), and leave a process in the new ones.

By the IPC namespace UCX, which MPICH uses, knows that nodes are different: else data would go through shared memory.

Not `unshare --mount=FILE`: Linux permits a bind mount of a mount namespace only in one with a smaller number, and since
6.18 each processor gives out numbers of its own. The holder keeps the machine's network, so that whatever is done to
the processes of a node, which are found by their network, spares it.
"""


def hold(plan: LabPlan, host: str, script: str) -> None:
    """Make all namespaces of a host but that of its network by a script. Raises SeatrialError with its last words."""
    pid = int(call(["sh", "-c", HOLD, "sh", str(SPACES / plan.space(host)), script]))
    program = ENTER.format(host=host, pid=pid, ticks=start_ticks(pid), lab=plan.name, net=SPACES / plan.space(host))
    (state.folder(plan.name) / NAMESPACES / host).write_text(program, encoding="ascii")


def in_space(space: str, argv: Sequence[str]) -> list[str]:
    """`argv` within a network namespace, with this machine's own mounts and hostname."""
    return ["nsenter", f"--net={SPACES / space}", "--", *argv]


def inside(plan: LabPlan, host: str, argv: Sequence[str]) -> list[str]:
    """`argv` within the network, hostname and mounts of a host."""
    return ["sh", str(state.folder(plan.name) / NAMESPACES / host), *argv]


def as_user(plan: LabPlan, argv: Sequence[str], *, host: str = LOGIN, cwd: str | None = None) -> list[str]:
    """`argv` as someone logged in on `host` would run it: Slurm configured, in the same folder as here.

    Raises UsageError for an unknown host, or a folder under /tmp that the lab does not keep visible.
    """
    if host not in plan.hosts:
        raise UsageError(f"The lab {plan.name!r} has no host {host!r}.", f"It has {', '.join(plan.hosts)}.")
    folder = cwd or str(Path.cwd())
    if not sees(plan.folders, folder):
        raise UsageError(
            f"{folder} is not visible inside the lab, whose hosts have their own /tmp.",
            f"Start the lab with --share {folder}, or change to another folder.",
        )
    return inside(plan, host, ["env", "-C", folder, *settings(plan), *argv])


def configured(plan: LabPlan, host: str, argv: Sequence[str]) -> list[str]:
    """`argv` within a host, from its root folder, with the environment of a user of the lab."""
    return inside(plan, host, ["env", "-C", "/", *settings(plan), *argv])


def settings(plan: LabPlan) -> list[str]:
    """The environment of a user of the lab; Open MPI's mpirun refuses root without both variables.

    Nodes share the cores of this machine: bound ranks of all nodes would share the first one.
    """
    return [
        f"SLURM_CONF={state.folder(plan.name)}/slurm.conf",
        f"SEATRIAL_LAB={plan.name}",
        f"SEATRIAL_SYSROOT={search_path(plan)}",
        "SEATRIAL_MPIRUN_OPTIONS=--bind-to none",
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ]
