"""Faults that the facts of a node show: overlaid files that the collector reads, a lost mount, a kernel setting."""

from collections.abc import Callable, Mapping

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import in_space, inside
from seatrial.lab.cluster.node_groups import NodeGroup, dissolve, form
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import call, end_marked
from seatrial.lab.cluster.sysroot import (
    BASE_SLICE_FILE,
    DMI,
    LINK_WIDTH,
    MILLICELSIUS,
    SCRATCH,
    SETTINGS,
    ZONE,
    below,
    bus_links,
    clear_facts,
    governor_files,
    mount_scratch,
    own,
    plant_facts,
    processors,
    width_files,
)
from seatrial.lab.faults.base import LabFault, Parameters
from seatrial.process.process import python_program

Files = Callable[[LabPlan], Mapping[str, str]]
"""Path -> content, or path -> target of a symbolic link."""

HOTTER_MILLICELSIUS = 6_000

TCP_MEMORY = "net/ipv4/tcp_rmem"
UNTUNED_TCP_MEMORY = "4096 131072 6291456"
"""The former default of Linux (net/ipv4/tcp.c), which still suffices to fill 1gbit here."""
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


def overlay(
    kind: str, description: str, files: Files, links: Files = lambda _plan: {}, *, slows: bool = False
) -> LabFault:
    """A fault whose files replace those of the peers on one node.

    `slows`: with a percentage the lab makes the node as slow as such a kernel would, while the first file says so.
    """

    def plant(plan: LabPlan, node: str, parameters: Parameters) -> None:
        plant_facts(plan, node, files(plan), links(plan))
        if parameters.percent is not None:
            path, content = next(iter(files(plan).items()))
            follow(plan, node, path, content, parameters.percent)

    def clear(plan: LabPlan, node: str) -> None:
        clear_facts(plan, node, [*files(plan), *links(plan)])
        if slows:
            leave(plan, node)

    return LabFault(
        kind=kind,
        description=description,
        marks=kind,
        plant=plant,
        clear=clear,
        may=("percent",) if slows else (),
        has_substitute=slows,
    )


def remount(plan: LabPlan, node: str) -> None:
    """Mount it again, unless it is mounted."""
    call(inside(plan, node, ["sh", "-c", f"mountpoint -q {SCRATCH} || {{ {mount_scratch()}; }}"]))


def set_tcp_memory(plan: LabPlan, node: str, value: str) -> None:
    """Set the memory that a TCP connection of the node may fill."""
    call(in_space(plan.space(node), ["tee", f"/proc/sys/{TCP_MEMORY}"]), stdin=f"{value}\n")


FACTS = (
    overlay(
        kind="governor",
        description="The frequency governor of every processor of the node is powersave instead of performance, as "
        "after an update of the operating system. By overlay: nothing becomes slower, unless --percent gives the share "
        "of its processors that the lab leaves the node while the file of the first one says powersave.",
        files=lambda _plan: governor_files(processors(), "powersave"),
        slows=True,
    ),
    overlay(
        kind="pcie-width",
        description="The PCIe link of the node's network card has trained to 4 lanes where card and slot have 8: a "
        "badly seated card, dirt in the slot. By overlay: 4 lanes are still far above the network's rate.",
        files=lambda plan: width_files(LINK_WIDTH // 2, plan.rails),
        links=lambda plan: bus_links(plan.rails),
    ),
    overlay(
        kind="firmware",
        description="The node's BIOS is older than its peers': a board that was replaced, an update that the node "
        "missed. By overlay.",
        files=lambda _plan: {f"{DMI}/bios_version": "2.1.8\n", f"{DMI}/bios_date": "06/02/2021\n"},
    ),
    overlay(
        kind="heat",
        description=f"The hottest thermal zone of the node is {HOTTER_MILLICELSIUS // 1000} °C above those of its "
        "peers: a weak fan, dust, dry paste. By overlay: nothing becomes slower.",
        files=lambda _plan: {f"{ZONE}/temp": f"{MILLICELSIUS + HOTTER_MILLICELSIUS}\n"},
    ),
    LabFault(
        kind="mount",
        description=f"The node's scratch file system, {SCRATCH}, is not mounted: a line lost from fstab, a server that "
        "did not answer when the node was started. For real: what is written there goes to the file system below.",
        marks="mount",
        plant=lambda plan, node, _: call(inside(plan, node, ["umount", "-l", SCRATCH])),
        clear=remount,
    ),
    overlay(
        kind="scheduler-granularity",
        description="The kernel's scheduler gives slices of 24 ms where the peers' gives 2.8 ms: a tuning profile "
        "meant for another kernel. By overlay, since the nodes share one kernel. With --percent the lab leaves the "
        "node that share of its processors while the file says so: a substitute for the wait of ranks for their cores.",
        files=lambda _plan: {BASE_SLICE_FILE: "24000000\n"},
        slows=True,
    ),
    LabFault(
        kind="sysctl",
        description="net.ipv4.tcp_rmem, the memory that a TCP connection may fill with received data, is at the "
        "6 MiB of an untuned kernel where the peers have 32 MiB: a file lost from /etc/sysctl.d. For real, in the "
        "node's network namespace.",
        marks="sysctl",
        plant=lambda plan, node, _: set_tcp_memory(plan, node, UNTUNED_TCP_MEMORY),
        clear=lambda plan, node: set_tcp_memory(plan, node, SETTINGS[TCP_MEMORY]),
    ),
)


def follow(plan: LabPlan, node: str, file: str, bad: str, percent: float) -> None:
    """Begin: while the node's `file` contains `bad`, its processes get that share of the processors.

    Nobody reads the files of a virtual node. So a program of the lab takes the part of the kernel: it reads one of them
    and limits the node's processes until somebody writes another value back. The facts of the node do not show the
    quota with which it does that: a file of the overlay hides it.
    """
    group = form(plan, node)
    plant_facts(plan, node, hidden(group))
    slow_and_fast = group.limit_texts(len(processors()) * percent / 100)
    watched = below(own(state.folder(plan.name), node), file)
    marks = [f"{MARK}={plan.name}:{node}", state.raised(plan.name)]
    program = [*python_program("-c", PROGRAM), str(watched), bad, str(group.quota_file)]
    program += [*slow_and_fast, str(LOOKS_S)]
    script = 'exec setsid --fork "$@" </dev/null >/dev/null 2>&1'
    call(["env", *marks, "sh", "-c", script, "sh", *program])


def leave(plan: LabPlan, node: str) -> None:
    """End, if it was begun: all processors, and no group of the node's own."""
    if not below(own(state.folder(plan.name), node), GROUPS).exists():
        return
    end_marked(f"{MARK}={plan.name}:{node}", node)
    root = own(state.folder(plan.name), node)
    files = [path for path in below(root, GROUPS).rglob("*") if path.is_file()]
    clear_facts(plan, node, [f"/{path.relative_to(root)}" for path in files])
    dissolve(plan, node)


def hidden(group: NodeGroup) -> dict[str, str]:
    """Files that say that the group has no quota, as the node is to see it."""
    if group.version == 1:
        return {str(group.quota_file): "-1\n", str(group.cpu / "cpu.cfs_period_us"): "10000\n"}
    return {str(group.quota_file): "max 10000\n"}
