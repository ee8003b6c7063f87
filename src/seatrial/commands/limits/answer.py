"""What nodes can do at most, in one line: memory, floating point, network, and how many limits are not known."""

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from seatrial.limits.memory import memory_limits
from seatrial.limits.path import path_limit
from seatrial.limits.peak import compute_peaks
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import AnyLimit, ComputePeak, Limit, NoLimit
from seatrial.model.words import count

LINE = 80
"""Columns of the first line."""
UNKNOWN = "not known"
SEVERAL = 1.1
"""Times the best port: a slow interface beside it is not another rail."""


def answer_of(facts: Mapping[str, NodeFacts], limits: Sequence[AnyLimit]) -> str:
    """`n1 at most: 460.8 GB/s memory, 2.87 Tflop/s, 12.4 GB/s network; 1 limit unknown`, in as many words as fit.

    Of several nodes the best one counts: `16 nodes up to: …`. `limits`: all that are shown.
    """
    nodes = list(facts.values())
    best = [(_memory(node), _flops(node), _network(node)) for node in nodes]
    memory, flops, network = (max(column) for column in zip(*best, strict=True)) if best else (0.0, 0.0, 0.0)
    parts = (
        f"{units.bandwidth(memory)} memory" if memory else "",
        units.flops(flops) if flops else "",
        f"{units.bandwidth(network)} network" if network else "",
    )
    most = "at most" if len(set(best)) < 2 else "up to"
    all_nodes = count(len(facts), "node")
    who = next(iter(facts)) if len(facts) == 1 else all_nodes
    if not any(parts):
        return fitting(f"{name}: the limits of memory, flop/s and network are {UNKNOWN}" for name in (who, all_nodes))
    what = ", ".join(filter(None, parts))
    number = sum(isinstance(limit, NoLimit) for limit in limits)
    rests = (f"; {count(number, 'limit')} unknown", f"; {number} unknown") if number else ("",)
    return fitting(
        f"{begin} {what}{rest}"
        for begin in (f"{who} {most}:", f"{all_nodes} {most}:", most.capitalize())
        for rest in rests
    )


def answer_of_pair(forth: AnyLimit, back: AnyLimit) -> str:
    """`n1>n2 and back: at most 12.4 GB/s`; `n1>n2: at most 12.4 GB/s, back 11.8 GB/s`."""
    rates = [_rate(forth), _rate(back)]
    rails = _all_rails(forth)
    if rates[0] == rates[1]:
        return fitting(f"{pair} and back: {rates[0]}{rails}" for pair in (forth.path, "There"))
    return fitting(f"{pair}: {rates[0]}, back {rates[1]}{rails}" for pair in (forth.path, "There"))


def _all_rails(limit: AnyLimit) -> str:
    """`, 7.88 GB/s over all rails`, where several ports together carry clearly more than the best of them."""
    if not isinstance(limit, Limit) or not SEVERAL * limit.limit_bytes_per_s < limit.gate_bytes_per_s < math.inf:
        return ""
    return f", {units.bandwidth(limit.gate_bytes_per_s)} over all rails"


def _rate(limit: AnyLimit) -> str:
    return f"at most {units.bandwidth(limit.limit_bytes_per_s)}" if isinstance(limit, Limit) else UNKNOWN


def fitting(lines: Iterable[str]) -> str:
    """The first that fits into a line, else the last."""
    every = list(lines)
    return next((line for line in every if len(line) <= LINE), every[-1])


def _memory(facts: NodeFacts) -> float:
    """Memory bandwidth of all packages together; 0 if that of any is unknown."""
    limits = memory_limits(facts)
    if not all(isinstance(limit, Limit) for limit in limits):
        return 0.0
    return sum(limit.limit_bytes_per_s for limit in limits if isinstance(limit, Limit))


def _flops(facts: NodeFacts) -> float:
    """Operations per second at the highest frequency that is known; 0 if none is."""
    return max((peak.flops_per_s for peak in compute_peaks(facts) if isinstance(peak, ComputePeak)), default=0.0)


def _network(facts: NodeFacts) -> float:
    """Bytes per second to another node of the same kind; 0 if unknown."""
    limit = path_limit(facts, replace(facts, hostname=f"{facts.hostname} again"))
    return limit.limit_bytes_per_s if isinstance(limit, Limit) else 0.0
