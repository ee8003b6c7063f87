"""Rules about memory: errors, missing and slow modules, the limit of locked memory, huge pages."""

import math
import re
from collections.abc import Iterator, Mapping
from operator import lt

from seatrial.drift.peer_groups import growth, usual
from seatrial.limits.microarchitectures import recognise
from seatrial.model.facts import Dimm, NodeFacts
from seatrial.model.hca import PortState
from seatrial.model.units import memory, size
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, verb
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.peers import compare_values, designed_peers, differs, items_differ, peers_with_same

SAME_SIZE = 0.98
"""The kernel reserves a different few MiB on each boot; the smallest module of a large node is 3 % of its memory."""

SAME_PART = 0.95
"""What the kernel reserves lies in few NUMA nodes; a module is at least a twelfth of one."""

SAME_SPEED = 0.99
"""Firmwares report the same speed as 2933 or 2934 MT/s."""

ENOUGH_LOCKED_BYTES = 1 << 30
"""A window of 64 messages of 4 MiB in both directions (osu_bibw) pins 512 MiB: reported to Open MPI's developers to
hang at a limit of 128 MiB and to pass at 512 MiB. The other half is for the library's own buffers and queues."""

HUGE_PAGES = ("vm.nr_hugepages", "vm.nr_overcommit_hugepages", "vm.nr_hugepages_mempolicy")


def memory_errors(readings: Readings) -> Iterator[Violation]:
    """Uncorrected errors count since the kernel started; corrected ones between the two readings."""
    for node, facts in () if readings.during else readings.facts.items():
        after = readings.after.get(node, facts)
        if after.boot_id != facts.boot_id:
            after = facts
        lost = max(facts.memory.uncorrected_errors or 0, after.memory.uncorrected_errors or 0)
        if lost > 0:
            clause = f"{lost} uncorrected memory errors since the kernel was started"
            yield Violation(node=node, clause=clause, key="uncorrected", details=lost)
    for node, before, after in readings.read_twice():
        if grown := growth(before.memory.corrected_errors, after.memory.corrected_errors):
            clause = f"{grown} memory errors were corrected during the run"
            yield Violation(node=node, clause=clause, key="corrected", details=grown)


def less_memory(readings: Readings) -> Iterator[Violation]:
    """Sizes within 2 % count as the same. Nodes with as much memory are compared NUMA node by NUMA node."""
    for group in designed_peers(readings):
        sizes = {name: total for name in group if (total := readings.facts[name].memory_bytes)}
        steps = stepped(set(sizes.values()))
        values = {name: steps[total] for name, total in sizes.items()}
        yield from compare_values(values, "its memory", show=memory, worse=lt)
        for total in dict.fromkeys(values.values()):
            yield from _uneven_memory({name: readings.facts[name] for name, own in values.items() if own == total})


def _uneven_memory(facts: Mapping[str, NodeFacts]) -> Iterator[Violation]:
    """NUMA nodes that have less than on the peers, where the sum is the same: another NUMA node has the modules."""
    tables: dict[int, dict[str, dict[int, int]]] = {}
    for name, of_node in facts.items():
        parts = of_node.topology.numa_nodes
        tables.setdefault(len(parts), {})[name] = {each.index: each.memory_bytes or 0 for each in parts}
    for of_nodes in tables.values():
        for index in dict.fromkeys(index for table in of_nodes.values() for index in table):
            sizes = {name: size for name, table in of_nodes.items() if (size := table.get(index, 0))}
            steps = stepped(set(sizes.values()), SAME_PART)
            values = {name: steps[size] for name, size in sizes.items()}
            if usual(values):
                yield from compare_values(values, f"the memory of NUMA node {index}", show=memory, worse=lt)


def stepped(sizes: set[int], same: float = SAME_SIZE) -> dict[int, int]:
    """Size -> the greatest of the sizes that count as the same."""
    steps: dict[int, int] = {}
    greatest = 0
    for total in sorted(sizes, reverse=True):
        if total < same * greatest or not greatest:
            greatest = total
        steps[total] = greatest
    return steps


def empty_channels(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Socket by socket; a socket with a slot of unknown content is skipped."""
    for package, channels in channels_by_package(facts).items():
        empty = tuple(name for name, dimms in channels.items() if not any(dimm.size_bytes for dimm in dimms))
        unknown = any(dimm.size_bytes is None for dimms in channels.values() for dimm in dimms)
        if empty and len(empty) < len(channels) and not unknown:
            socket = "" if package is None else f" of socket {package}"
            clause = f"{len(empty)} of {len(channels)} memory channels{socket} are empty ({', '.join(empty)})"
            yield Violation(node=node, clause=clause, key=(package, len(channels), empty))


def unfilled_channels(readings: Readings) -> Iterator[Violation]:
    """Empty channels, and fewer filled ones than on the peers: not every source lists slots without a module."""
    empty = list(on_each_node(empty_channels)(readings))
    yield from empty
    named = {violation.node for violation in empty}
    for violation in differs(
        "the number of its filled memory channels",
        filled_channels,
        worse=lt,
        groups=peers_with_same(lambda facts: facts.memory.source),
    )(readings):
        if violation.node not in named:
            yield violation


def filled_channels(facts: NodeFacts) -> int | None:
    """Channels with a module; None where a module's channel or a slot's content is unknown."""
    installed = [dimm for dimm in facts.memory.dimms if dimm.size_bytes != 0]
    if not installed or not all(dimm.channel and dimm.size_bytes for dimm in installed):
        return None
    return len({(dimm.package, dimm.channel) for dimm in installed})


def channels_by_package(facts: NodeFacts) -> dict[int | None, dict[str, list[Dimm]]]:
    """Socket -> channel -> its slots; slots of an unknown channel are left out."""
    packages: dict[int | None, dict[str, list[Dimm]]] = {}
    for dimm in facts.memory.dimms:
        if dimm.channel:
            packages.setdefault(dimm.package, {}).setdefault(dimm.channel, []).append(dimm)
    return packages


def slow_memory(readings: Readings) -> Iterator[Violation]:
    """The modules against their own rating, and the slowest of them against the peers'."""
    for node, facts in readings.facts.items():
        below_rating = [dimm for dimm in facts.memory.dimms if is_slow(dimm)]
        able = supported_speed(facts) if below_rating else math.inf
        if slow := [dimm for dimm in below_rating if is_slow(dimm, able)]:
            configured, rated = slow[0].configured_transfers_per_s, slow[0].rated_transfers_per_s
            modules = f"{count(len(slow), 'memory module')} {verb(len(slow), 'runs', 'run')}"
            most = f" (of which the processor supports {transfers(able)})" if able < (rated or 0) else ""
            clause = f"{modules} at {transfers(configured)}, rated {transfers(rated)}{most}"
            yield Violation(node=node, clause=clause, key=(configured, rated), details=len(slow))
    what = "the speed of its slowest memory module"
    yield from differs(what, slowest, show=transfers, worse=is_below)(readings)


def supported_speed(facts: NodeFacts) -> float:
    """The highest speed of modules that any processor of the node's line supports; infinite where it is unknown."""
    line = recognise(facts)
    speeds = [memory.transfers_per_s for memory in line.memory if not memory.on_package] if line else []
    return max(speeds, default=math.inf)


def is_slow(dimm: Dimm, able: float = math.inf) -> bool:
    """Whether an installed module runs below its rating and below what its processor is able to."""
    rated, configured = dimm.rated_transfers_per_s, dimm.configured_transfers_per_s
    return bool(dimm.size_bytes != 0 and rated and configured and is_below(configured, min(rated, able)))


def is_below(speed: float, reference: float) -> bool:
    """Whether a speed is less than the reference by more than rounding."""
    return speed < SAME_SPEED * reference


def slowest(facts: NodeFacts) -> float | None:
    """Transfers per second of the slowest module; None if none reports its speed."""
    dimms = facts.memory.dimms
    return min(
        (d.configured_transfers_per_s for d in dimms if d.size_bytes != 0 and d.configured_transfers_per_s),
        default=None,
    )


def transfers(per_s: float | None) -> str:
    """3200 MT/s."""
    return "unknown" if per_s is None else f"{per_s / 1e6:.0f} MT/s"


def small_memlock(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Nodes with an RDMA adapter and a finite limit; -1 is unlimited."""
    limit = facts.system.limits.locked_memory_bytes
    if limit is not None and 0 <= limit < ENOUGH_LOCKED_BYTES and has_rdma(facts):
        clause = (
            f"a process of the job may lock {size(limit)} of memory, and RDMA locks every buffer that it sends from"
        )
        brief = f"a process may lock {size(limit)} of memory, too little for RDMA"
        yield Violation(node=node, clause=clause, key=limit, brief=brief)


def has_rdma(facts: NodeFacts) -> bool:
    """Whether a port of an adapter is active."""
    return any(port.state is PortState.ACTIVE for port in facts.ports.values())


def huge_pages(facts: NodeFacts) -> dict[str, str | None]:
    """The setting of transparent huge pages, and the numbers of reserved ones."""
    reserved = {name: facts.settings.sysctls.get(name) for name in HUGE_PAGES}
    return {"the setting of transparent huge pages": facts.settings.transparent_huge_pages, **reserved}


INTERLEAVING = {"nps0": "NPS0", "interleaved": "node interleaving"}
"""Cluster modes in which memory alternates between the sockets -> what the BIOS calls it."""
INTERLEAVING_SETTING = re.compile(r"node[ _-]?interleav|socket[ _-]?interleav", re.IGNORECASE)
ENABLED = ("enabled", "enable", "on")


def interleaved_sockets(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Several sockets with one NUMA node; a kernel that was started to ignore NUMA shows the same."""
    mode = facts.system.firmware.cluster_mode
    if mode in INTERLEAVING and (facts.sockets or 0) > 1:
        line = facts.settings.command_line
        off = "numa=off" in line.split()
        why = "the kernel was started with numa=off" if off else f"{INTERLEAVING[mode]} is on in the BIOS"
        why += "" if line else ", or the kernel was started with numa=off"
        clause = f"{facts.sockets} sockets share one NUMA node: {why}"
        brief = f"{facts.sockets} sockets share one NUMA node"
        yield Violation(node=node, clause=clause, key=(mode, off), brief=brief)
        return
    for name, value in facts.system.firmware.settings.items():
        if INTERLEAVING_SETTING.search(name) and value.lower() in ENABLED:
            yield Violation(node=node, clause=f"the BIOS setting {name} is {value}", key=name)


MEMORY_ERRORS = Rule(
    kind=FindingKind.MEMORY_ERRORS,
    order=170,
    look=memory_errors,
    knows=lambda facts: {facts.memory.uncorrected_errors, facts.memory.corrected_errors} != {None},
    remedy="Find the module (ras-mc-ctl --error-count, the BMC's log), reseat it, then replace it. Correcting costs "
    "time under load, and a module that is corrected often will soon fail.",
)

MEMORY = (
    MEMORY_ERRORS,
    Rule(
        kind=FindingKind.MEMORY_INTERLEAVED,
        order=185,
        look=on_each_node(interleaved_sockets),
        remedy="Switch node interleaving off in the BIOS (AMD: NPS1 or more), or start the kernel without numa=off. "
        "Every second access goes to the other socket, at its latency and through the links between the sockets, "
        "whatever the binding of ranks.",
    ),
    Rule(
        kind=FindingKind.MEMORY_DIFFERS,
        order=190,
        look=less_memory,
        remedy="Find the module that is missing or switched off (dmidecode -t 17, the BMC's log), reseat it or replace "
        "it. Check also for huge pages, crashkernel= and mem= on the kernel's command line.",
    ),
    Rule(
        kind=FindingKind.MEMORY_CHANNEL_EMPTY,
        order=200,
        look=unfilled_channels,
        knows=lambda facts: bool(channels_by_package(facts)),
        remedy="Check whether a module is missing, badly seated, or switched off by the BIOS after an error "
        "(dmidecode -t 17, the BMC's log). Each empty channel takes its share of the socket's bandwidth with it.",
    ),
    Rule(
        kind=FindingKind.MEMORY_SLOW,
        order=210,
        look=slow_memory,
        knows=lambda facts: slowest(facts) is not None,
        remedy="Check the BIOS's memory speed and power profile, and which speed the processor supports with this "
        "number of modules in a channel; one slow module slows down all of its socket. If the processor allows no "
        "more, all nodes show it alike.",
    ),
    Rule(
        kind=FindingKind.MEMLOCK_TOO_SMALL,
        order=240,
        look=on_each_node(small_memlock),
        knows=lambda facts: facts.system.limits.locked_memory_bytes is not None and has_rdma(facts),
        remedy="Set it to unlimited for all users on all nodes (memlock in /etc/security/limits.d), and for slurmd "
        "itself, whose jobs inherit it (LimitMEMLOCK=infinity in its unit; PropagateResourceLimitsExcept=MEMLOCK in "
        "slurm.conf).",
    ),
    Rule(
        kind=FindingKind.HUGE_PAGES_DIFFER,
        order=390,
        look=items_differ(huge_pages),
        remedy="Set it as on the other nodes (/sys/kernel/mm/transparent_hugepage/enabled, sysctl vm.nr_hugepages, and "
        "transparent_hugepage= and hugepages= on the kernel's command line). Programs limited by memory differ by "
        "tenths.",
    ),
)
