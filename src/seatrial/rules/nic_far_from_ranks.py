"""nic-far-from-ranks: ranks run only on a socket that the adapter does not hang on, and nearer cores are free."""

from collections import Counter
from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.placement import RankPlace
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.node.adapter_distance import Adapters, Distance, adapters_of, distance, usable_cores
from seatrial.node.processor_sets import numbers
from seatrial.node.rank_places import cores_of, known_cores, rank_names
from seatrial.rules.base import PLACEMENT_TELLS, Readings, Rule, Violation

REMEDY = (
    "Let the job have the whole node, or cores of the adapter's socket (srun --cpu-bind, --distribution; in "
    "gres.conf Cores=). Every message crosses the link between the sockets as it is."
)
BIND = (
    f"Give these ranks cores of the adapter's socket ({PLACEMENT_TELLS}). Every message "
    "of theirs crosses the link between the sockets as it is."
)

NEARER = (Distance.NEAR, Distance.SOCKET)


def look(readings: Readings) -> Iterator[Violation]:
    """By the masks of the ranks where they are known, else by the processors that the job may use."""
    for node, known in readings.facts.items():
        adapters = adapters_of(known)
        if not adapters.numa_nodes or len(known.topology.packages) < 2:
            continue
        ranks = tuple(rank for rank in readings.ranks.get(node, ()) if rank.cpus)
        who, says = _of_ranks(known, ranks, adapters) if ranks else ("", _of_job(known, adapters))
        if says:
            yield Violation(node=node, says=f"{who}{says}", key=says, remedy=BIND if ranks else REMEDY)


def _of_job(known: NodeFacts, adapters: Adapters) -> str:
    """One near adapter suffices: then the job has chosen among several."""
    allowed = set(known.processor.allowed)
    if not allowed or not allowed <= set(known.topology.processors):
        return ""
    used = [core for core in known.topology.cores if allowed.intersection(core.processors)]
    if any(distance(core, adapters) is not Distance.OTHER for core in used):
        return ""
    sockets = numbers(core.package for core in used if core.package is not None)
    return f"its processors for this job are on socket {sockets}, and {_told(adapters)}"


def _of_ranks(known: NodeFacts, ranks: tuple[RankPlace, ...], adapters: Adapters) -> tuple[str, str]:
    """Who is far, and from what. Where no nearer core is free, ranks must be far, and that is no fault.

    A rank that has several cores for itself needs as many free ones.
    """
    cores = known_cores(known, ranks)
    if cores is not known.topology.cores:
        return "", ""
    masks = [cores_of(cores, rank.cpus) for rank in ranks]
    used = frozenset().union(*masks)
    held = Counter(one for mask in masks for one in mask)
    free = [one for one in usable_cores(known, ranks) - used if distance(cores[one], adapters) in NEARER]
    far = [
        rank
        for rank, mask in zip(ranks, masks, strict=True)
        if mask and all(distance(cores[one], adapters) is Distance.OTHER for one in mask)
        if len(free) >= (1 if any(held[one] > 1 for one in mask) else len(mask))
    ]
    if not far or not free:
        return "", ""
    sockets = numbers(cores[one].package or 0 for rank in far for one in cores_of(cores, rank.cpus))
    where = f"{_told(adapters)}, where {count(len(free), 'core is', 'cores are')} free"
    many = "socket" if sockets.isdigit() else "sockets"
    return rank_names(far), f" may run on {many} {sockets} only, and {where}"


def _told(adapters: Adapters) -> str:
    return ", ".join(
        f"{name} on socket {adapters.packages[name]}" if name in adapters.packages else f"{name} on NUMA node {numa}"
        for name, numa in adapters.numa_nodes.items()
    )


RULE = Rule(
    kind=FindingKind.NIC_FAR_FROM_RANKS,
    title="adapter on another socket than the ranks",
    look=look,
    knows=lambda facts: bool(adapters_of(facts).numa_nodes),
)
