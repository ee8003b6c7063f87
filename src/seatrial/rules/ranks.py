"""Rules about the ranks of a launch: which cores they may use, how many threads, how far from the adapter."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from seatrial.model.facts import Core, NodeFacts
from seatrial.model.measurement import RankPlace
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count, ranges
from seatrial.node.rank_places import (
    Adapters,
    Cores,
    Distance,
    adapters_of,
    cores_of,
    crowds,
    distance,
    known_cores,
    rank_names,
    usable_cores,
)
from seatrial.rules.base import PLACEMENT_HINT, Readings, Rule, Violation, findings_of

REMEDY = (
    f"Give each rank as many cores as it has threads ({PLACEMENT_HINT}): srun -c N, mpirun --map-by slot:PE=N; or "
    "start fewer threads, or fewer ranks a node. Messages do not show it: compare the program's own times."
)


def readings_of_ranks(facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]]) -> Readings:
    """What rules about ranks look at; nodes whose facts could not be read count, too."""
    of_nodes = {node: facts.get(node) or NodeFacts(hostname=node, complete=False) for node in ranks}
    return Readings(facts=of_nodes, ranks=ranks, groups=(tuple(of_nodes),))


def threads_findings(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], threads: int | None
) -> list[Finding]:
    """`threads`: of one rank; None where that is not known. Nodes whose ranks have too few processors without any
    thread have another finding.
    """
    if not threads or threads < 2:
        return []
    rule = Rule(kind=FindingKind.THREADS_SHARE_CORE, order=295, look=partial(_look, threads), remedy=REMEDY)
    return findings_of(rule, readings_of_ranks(facts, ranks))


def _look(threads: int, readings: Readings) -> Iterator[Violation]:
    for node, ranks in readings.ranks.items():
        if crowds([frozenset(rank.cpus) for rank in ranks]):
            continue
        for members in _together(ranks):
            have = sorted({cpu for rank in members for cpu in rank.cpus})
            if len(have) >= threads * len(members):
                continue
            what = f"only {count(len(have), 'processor')} ({ranges(have)})" if have else "no processor"
            apart = "" if len(members) == 1 else " between them"
            many = f"{threads} threads" if len(members) == 1 else f"{threads} threads each"
            verb = "is" if len(members) == 1 else "are"
            clause = f"{rank_names(members)} {verb} to start {many} and may use {what}{apart}"
            details = (tuple(rank.rank for rank in members), tuple(have))
            yield Violation(node=node, clause=clause, key=(len(members), threads, len(have)), details=details)


def _together(ranks: Sequence[RankPlace]) -> list[list[RankPlace]]:
    """Ranks whose masks overlap, directly or through others; groups of one shape are reported as one."""
    groups: list[tuple[set[int], list[RankPlace]]] = []
    for rank in ranks:
        mine, members = set(rank.cpus), [rank]
        for other in [one for one in groups if one[0] & mine]:
            mine |= other[0]
            members = other[1] + members
            groups.remove(other)
        groups.append((mine, members))
    alike: dict[tuple[int, int], list[RankPlace]] = {}
    for mine, members in groups:
        alike.setdefault((len(mine), len(members)), []).extend(members)
    return [sorted(members, key=lambda rank: rank.rank) for members in alike.values()]


NEARER = (Distance.NEAR, Distance.SOCKET)
BIND_NEAR = (
    f"Give these ranks cores of the adapter's socket ({PLACEMENT_HINT}). Otherwise every message "
    "of theirs crosses the link between the sockets."
)


def shared_cores(readings: Readings) -> Iterator[Violation]:
    """Whatever the scheduler does, these ranks cannot each have one of these processors."""
    for node, ranks in readings.ranks.items():
        for crowd in crowds([frozenset(rank.cpus) for rank in ranks]):
            members = [ranks[member] for member in crowd.members]
            many = "processor" if len(crowd.have) == 1 else "processors"
            clause = f"{rank_names(members)} share only {many} {ranges(crowd.have)}"
            yield Violation(node=node, clause=clause, key=(len(members), crowd.have), details=_numbers_of(members))


def shared_siblings(readings: Readings) -> Iterator[Violation]:
    """Each rank has a processor of its own, but not a core; with more ranks than cores there is no other way."""
    for node, ranks in readings.ranks.items():
        cores = known_cores(readings.facts.get(node), ranks)
        processors = crowds([frozenset(rank.cpus) for rank in ranks])
        if processors or len(usable_cores(readings.facts.get(node), ranks)) < len(ranks):
            continue
        for crowd in crowds([cores_of(cores, rank.cpus) for rank in ranks]):
            members = [ranks[member] for member in crowd.members]
            threads = ranges(cpu for member in members for cpu in member.cpus)
            what = "one core" if len(crowd.have) == 1 else f"{len(crowd.have)} cores"
            clause = f"{rank_names(members)} share the threads {threads} of {what}, while other cores are free"
            key = (len(members), threads, len(crowd.have))
            yield Violation(node=node, clause=clause, key=key, details=_numbers_of(members))


def unbound_ranks(readings: Readings) -> Iterator[Violation]:
    """One rank alone may migrate without disturbing another. More ranks than cores are the subject of another rule."""
    for node, ranks in readings.ranks.items():
        facts = readings.facts.get(node)
        cores, usable = known_cores(facts, ranks), usable_cores(facts, ranks)
        loose = loose_ranks(ranks, cores, usable)
        if len(loose) >= 2 and len(ranks) <= len(usable):
            choice = len(cores_of(cores, loose[0].cpus))
            clause = f"{rank_names(loose)} are not bound: each may run on any of {choice} cores"
            yield Violation(node=node, clause=clause, key=len(loose), details=(_numbers_of(loose), choice))


def loose_ranks(ranks: tuple[RankPlace, ...], cores: tuple[Core, ...], usable: Cores) -> list[RankPlace]:
    """Ranks whose mask has several cores and is all that the job has of the node (`usable`), or several sockets."""
    loose = []
    for rank in ranks:
        own = cores_of(cores, rank.cpus)
        if len(own) < 2:
            continue
        sockets = {cores[core].package for core in own}
        if own >= usable or len(sockets) > 1:
            loose.append(rank)
    return [
        rank
        for rank in loose
        if len(ranks) == 1 or any(set(rank.cpus) & set(other.cpus) for other in loose if other is not rank)
    ]


def split_ranks(readings: Readings) -> Iterator[Violation]:
    """A rank with cores of its own on several sockets, if the job's cores suffice for all ranks on one socket each."""
    for node, ranks in readings.ranks.items():
        cores = known_cores(readings.facts.get(node), ranks)
        cores_by_socket = Counter(cores[core].package for core in usable_cores(readings.facts.get(node), ranks))
        across = []
        for rank in ranks:
            own = cores_of(cores, rank.cpus)
            sockets = {cores[core].package for core in own}
            room = sum(available // len(own) for available in cores_by_socket.values()) if own else 0
            shared = any(own & cores_of(cores, other.cpus) for other in ranks if other is not rank)
            if None not in sockets and len(sockets) > 1 and room >= len(ranks) and not shared:
                across.append(rank)
        if across:
            masks = ranges(across[0].cpus)
            clause = f"{rank_names(across)} may run on cores of several sockets ({rank_names(across[:1])}: {masks})"
            yield Violation(node=node, clause=clause, key=len(across), details=(_numbers_of(across), masks))


def far_adapters(readings: Readings) -> Iterator[Violation]:
    """Adapters far from the ranks, by their masks if they are known, else by the processors that the job may use."""
    for node, facts in readings.facts.items():
        adapters = adapters_of(facts)
        if not adapters.numa_nodes or len(facts.topology.packages) < 2:
            continue
        ranks = tuple(rank for rank in readings.ranks.get(node, ()) if rank.cpus)
        yield from _far_ranks(node, facts, ranks, adapters) if ranks else _far_job(node, facts, adapters)


def _far_job(node: str, facts: NodeFacts, adapters: Adapters) -> Iterator[Violation]:
    """One near adapter suffices: then the job has chosen among several."""
    allowed = set(facts.processor.allowed)
    if not allowed or not allowed <= set(facts.topology.processors):
        return
    used = [core for core in facts.topology.cores if allowed.intersection(core.processors)]
    if any(distance(core, adapters) is not Distance.OTHER for core in used):
        return
    sockets = ranges(core.package for core in used if core.package is not None)
    where = _adapter_places(adapters)
    clause = f"its processors for this job are on socket {sockets}, and {where}"
    yield Violation(node=node, clause=clause, key=(sockets, where))


def _far_ranks(node: str, facts: NodeFacts, ranks: tuple[RankPlace, ...], adapters: Adapters) -> Iterator[Violation]:
    """Ranks on the far socket. If no nearer core is free, ranks have to be far, and that is not a fault.

    A rank that has several cores for itself needs as many free ones.
    """
    cores = known_cores(facts, ranks)
    if cores is not facts.topology.cores:
        return
    masks = [cores_of(cores, rank.cpus) for rank in ranks]
    used = frozenset().union(*masks)
    users = Counter(core for mask in masks for core in mask)
    free = [core for core in usable_cores(facts, ranks) - used if distance(cores[core], adapters) in NEARER]
    far = [
        rank
        for rank, mask in zip(ranks, masks, strict=True)
        if mask and all(distance(cores[core], adapters) is Distance.OTHER for core in mask)
        if len(free) >= (1 if any(users[core] > 1 for core in mask) else len(mask))
    ]
    if not far or not free:
        return
    sockets = ranges(cores[core].package or 0 for rank in far for core in cores_of(cores, rank.cpus))
    many = "socket" if sockets.isdigit() else "sockets"
    where = f"{_adapter_places(adapters)}, where {count(len(free), 'core is', 'cores are')} free"
    clause = f"{rank_names(far)} may run on {many} {sockets} only, and {where}"
    key = (sockets, _adapter_places(adapters), len(free))
    yield Violation(node=node, clause=clause, key=key, details=_numbers_of(far), remedy=BIND_NEAR)


def _adapter_places(adapters: Adapters) -> str:
    return ", ".join(
        f"{name} on socket {adapters.packages[name]}" if name in adapters.packages else f"{name} on NUMA node {numa}"
        for name, numa in adapters.numa_nodes.items()
    )


def _numbers_of(ranks: list[RankPlace]) -> tuple[int, ...]:
    return tuple(rank.rank for rank in ranks)


RANKS = (
    Rule(
        kind=FindingKind.RANKS_SHARE_CORE,
        order=250,
        look=shared_cores,
        remedy=f"Give each rank a core of its own ({PLACEMENT_HINT}), or start fewer ranks on each node. "
        "While one of them runs, the other waits, and so does every rank that waits for it.",
    ),
    Rule(
        kind=FindingKind.SMT_SIBLINGS_USED,
        order=260,
        look=shared_siblings,
        remedy="Give each rank a core of its own: srun --hint=nomultithread, or mpirun --bind-to core. Two threads of "
        "a core share its units, caches and message rate.",
    ),
    Rule(
        kind=FindingKind.RANKS_UNBOUND,
        order=270,
        look=unbound_ranks,
        remedy=f"Bind each rank to a core: srun --cpu-bind=cores, mpirun --bind-to core ({PLACEMENT_HINT}). "
        "Unbound ranks migrate between cores and caches, and two may wait for one core while others are idle.",
    ),
    Rule(
        kind=FindingKind.RANK_ACROSS_SOCKETS,
        order=280,
        look=split_ranks,
        remedy="Keep the cores of a rank on one socket: srun --distribution=block:block with --cpus-per-task, mpirun "
        "--map-by socket:PE=N. Otherwise its threads cross the link between the sockets for each other's data, and "
        "some of them for messages.",
    ),
    Rule(
        kind=FindingKind.NIC_FAR_FROM_RANKS,
        order=290,
        look=far_adapters,
        knows=lambda facts: bool(adapters_of(facts).numa_nodes),
        remedy="Give the job the whole node, or cores of the adapter's socket (srun --cpu-bind, --distribution; in "
        "gres.conf Cores=). Otherwise every message crosses the link between the sockets.",
    ),
)
"""Also what `seatrial placement` judges."""
