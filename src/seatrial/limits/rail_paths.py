"""The limit of the way between two nodes over some of their rails: each alone, or several together."""

from collections.abc import Sequence

from seatrial.limits.gate import gate_of
from seatrial.limits.node import cut_term
from seatrial.limits.path import path_limit
from seatrial.limits.pcie_path import MemoryAccess, link_rates
from seatrial.limits.rail_devices import only
from seatrial.limits.rails import Rail, together
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit, LimitTerm, NoLimit, Terms, least
from seatrial.model.pci import PciDevice


def rail_limit(source: NodeFacts, target: NodeFacts, rails: Sequence[str]) -> Limit | NoLimit:
    """The most MPI payload from `source` to `target` over these rails at once, bytes per second, one direction.

    One rail: the limit of a path that has nothing else. Several: their sum, and no more than the PCIe links above them
    let through together (`limits.rails.together`, a greatest flow) at either end. The gate is that of these rails.
    """
    if len(rails) == 1:
        return path_limit(only(source, rails), only(target, rails))
    path = f"{source.hostname}>{target.hostname} over {' and '.join(rails)}"
    parts = [rail_limit(source, target, [rail]) for rail in rails]
    limits = [part for part in parts if isinstance(part, Limit)]
    if len(limits) < len(parts):
        return NoLimit(path=path, reason=next(part.reason for part in parts if isinstance(part, NoLimit)))
    rates = [limit.limit_bytes_per_s for limit in limits]
    terms = [_sum_term(rails, limits)]
    for facts, direction in ((source, MemoryAccess.READ), (target, MemoryAccess.WRITE)):
        flow = together(_through_pcie(facts, rails, rates, direction))
        if flow.bytes_per_s < terms[0].bytes_per_s:
            terms.append(cut_term(facts.hostname, flow))
    unknown = tuple(dict.fromkeys(why for limit in limits for why in limit.unknown))
    gate = min(gate_of(only(facts, rails)).bytes_per_s for facts in (source, target))
    return least(path, Terms(terms=tuple(terms), unknown=unknown), gate)


def _sum_term(rails: Sequence[str], limits: Sequence[Limit]) -> LimitTerm:
    inputs = {f"rail_{number}": limit.limit_bytes_per_s for number, limit in enumerate(limits, start=1)}
    return LimitTerm(
        name=f"{' and '.join(rails)} together, each at its limit",
        bytes_per_s=sum(inputs.values()),
        inputs=inputs,
        source="; ".join(limit.binding_term.source for limit in limits),
        formula=" + ".join(inputs),
        nominal=any(limit.nominal for limit in limits),
    )


def _through_pcie(
    facts: NodeFacts, rails: Sequence[str], rates: Sequence[float], direction: MemoryAccess
) -> list[Rail]:
    """Each rail with the PCIe links above it; a link that several share is told by its name."""
    return [
        Rail(name=rail, bytes_per_s=rate, links=link_rates(device, direction) if device else ())
        for rail, rate in zip(rails, rates, strict=True)
        for device in [_device_of(facts, rail)]
    ]


def _device_of(facts: NodeFacts, rail: str) -> PciDevice | None:
    name = rail.partition(":")[0]
    addresses = {each.name: each.pci_address for each in facts.interfaces}
    addresses |= {hca.name: hca.pci_address for hca in facts.hcas}
    known = {device.address: device for device in facts.pci}
    return known.get(addresses.get(name, ""))
