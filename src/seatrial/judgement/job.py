"""One job in one view: the application's own phases, and on each node its ranks, traffic, limit and state."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.drift.changes import FactDrift, changes
from seatrial.drift.peer_groups import growth, tcp_resent_between
from seatrial.limits.path import path_limits
from seatrial.model.benchmark import Output, StepResult
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import RankPlace
from seatrial.node.hcas import BOTH_WAYS, PORT_UNIT_BYTES

SECTIONS = "section_time_s"
PARTS = "time_s"
"""The metric of phases, and that of parts of a suite, which have the label `part`."""
LEAST_COUNTED_BYTES = 64 << 20
"""Bytes that all ports of a node must count before they show which of them a benchmark used: others speak on them, too.
"""
LEAST_CARRIED = 0.01
"""Share of all bytes of a port that carried data; what management sends is far less."""


class JobPhase(msgspec.Struct, frozen=True, kw_only=True):
    """A program of the job, or a part of what the last judged one did."""

    name: str
    seconds: float
    program: bool
    """Whether it is a whole program: its wall time, with the start of its ranks."""


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """One node during the job. Counters are of the whole node, not of the job alone."""

    node: str
    ranks: int
    cpus: tuple[tuple[int, ...], ...]
    limit: Limit | None
    """The lowest limit of its paths to the other nodes; None: one node, or not known."""
    port_bytes: dict[str, int]
    """Adapter port -> bytes that it counted, the greater of both ways."""
    tcp_sent: int | None
    tcp_resent: int | None
    frequency_hz: tuple[float | None, float | None]
    """Median over its cores, before and after."""
    throttles: int | None
    memory_errors: int | None
    interface_errors: int
    oom_kills: int | None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    phases: tuple[JobPhase, ...]
    nodes: tuple[NodeView, ...]
    changes: tuple[FactDrift, ...]
    """Facts that changed during the job."""


def job_of(
    steps: Sequence[StepResult],
    output: Output,
    ranks: Mapping[str, tuple[RankPlace, ...]],
    before: Mapping[str, NodeFacts],
    after: Mapping[str, NodeFacts],
) -> Job:
    """The view of one run. Facts by the name of the node."""
    limits = _limits(before)
    return Job(
        phases=tuple(phases_of(steps, output)),
        nodes=tuple(
            _node(node, facts, after.get(node), ranks.get(node, ()), limits.get(node)) for node, facts in before.items()
        ),
        changes=changes(before, after),
    )


def phases_of(steps: Sequence[StepResult], output: Output) -> Iterator[JobPhase]:
    """Programs in order, then the parts that the output names: of the last run in it."""
    for step in steps:
        yield JobPhase(name=step.name, seconds=step.seconds, program=True)
    parts: dict[str, float] = {}
    for result in output.results:
        label = "section" if result.metric == SECTIONS else "part" if result.metric == PARTS else ""
        if label in result.labels and 0 <= result.value < float("inf"):
            parts[str(result.labels[label])] = result.value
    for name, seconds in parts.items():
        yield JobPhase(name=name, seconds=seconds, program=False)


def _limits(facts: Mapping[str, NodeFacts]) -> dict[str, Limit]:
    """Node -> limit between the first node and the others: one pair for each node is cheap for many nodes."""
    names = list(facts)
    pairs = [(names[0], name) for name in names[1:]]
    lowest: dict[str, Limit] = {}
    for pair, limit in path_limits(pairs, facts).items():
        if not isinstance(limit, Limit):
            continue
        for node in pair:
            if node not in lowest or limit.limit_bytes_per_s < lowest[node].limit_bytes_per_s:
                lowest[node] = limit
    return lowest


def _node(
    node: str, before: NodeFacts, after: NodeFacts | None, ranks: Sequence[RankPlace], limit: Limit | None
) -> NodeView:
    segments = tcp_resent_between(before, after) if after else None
    present = before.processor.present_hz, after.processor.present_hz if after else ()
    return NodeView(
        node=node,
        ranks=len(ranks),
        cpus=tuple(rank.cpus for rank in ranks),
        limit=limit,
        port_bytes=_port_bytes(before, after) if after else {},
        tcp_sent=segments.sent if segments else None,
        tcp_resent=segments.resent if segments else None,
        frequency_hz=(_median(present[0]), _median(present[1])),
        throttles=growth(before.processor.throttle_events, after.processor.throttle_events if after else None),
        memory_errors=growth(before.memory.corrected_errors, after.memory.corrected_errors if after else None),
        interface_errors=_interface_errors(before, after) if after else 0,
        oom_kills=growth(before.oom_kills, after.oom_kills if after else None),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _port_bytes(before: NodeFacts, after: NodeFacts) -> dict[str, int]:
    counted = {f"{hca.name}/{port.number}": port.counters for hca in before.hcas for port in hca.ports}
    passed = {}
    for hca in after.hcas:
        for port in hca.ports:
            old = counted.get(f"{hca.name}/{port.number}", {})
            grown = [growth(old.get(name), port.counters.get(name)) for name in BOTH_WAYS]
            growths = [number for number in grown if number is not None]
            if growths:
                passed[f"{hca.name}/{port.number}"] = max(growths) * PORT_UNIT_BYTES
    return passed


def with_carrying_ports(before: NodeFacts, after: NodeFacts | None) -> NodeFacts:
    """The node with only the ports that carried the data of a run, if its ports counted enough of it to say so.

    A port that does not count is kept.
    """
    passed = _port_bytes(before, after) if after else {}
    total = sum(passed.values())
    if total < LEAST_COUNTED_BYTES:
        return before
    kept = []
    for hca in before.hcas:
        ports = [port for port in hca.ports if passed.get(f"{hca.name}/{port.number}", total) >= LEAST_CARRIED * total]
        if ports or not hca.ports:
            kept.append(msgspec.structs.replace(hca, ports=tuple(ports)))
    return msgspec.structs.replace(before, hcas=tuple(kept))


def _interface_errors(before: NodeFacts, after: NodeFacts) -> int:
    old = {interface.name: interface.errors for interface in before.interfaces}
    return sum(
        growth(old.get(interface.name, {}).get(name), total) or 0
        for interface in after.interfaces
        for name, total in interface.errors.items()
    )
