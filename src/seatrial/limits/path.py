"""The limit of the way from one node to another: the least of its terms, or the reason why there is none."""

import msgspec

from seatrial.limits.ethernet import tcp_payload_term
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.limit import Limit, LimitTerm


class NoLimit(msgspec.Struct, frozen=True, kw_only=True):
    """No limit can be computed for this path, and why, in one sentence. Never a limit of zero or of infinity."""

    path: str
    reason: str


def fabric_interface(facts: NodeFacts) -> NetworkInterface | None:
    """The fastest Ethernet interface that is up and carries its own traffic; the first by name among equals."""
    return facts.fabric_interface


def path_limit(source: NodeFacts, target: NodeFacts) -> Limit | NoLimit:
    """The most MPI payload from `source` to `target` over TCP, in bytes per second, one direction.

    The limit is the least term of both ends' fabric interfaces, each at the smaller of the two MTUs. The gate is what
    all interfaces of an end carry together, each at its own MTU, and of the two ends the lesser: MPI may use
    several interfaces at once, and no more than all of them.
    """
    path = f"{source.hostname}>{target.hostname}"
    if source.hostname == target.hostname:
        return NoLimit(path=path, reason="shared memory inside one node: its limits are not computed yet")
    for facts in (source, target):
        if reason := _obstacle(facts):
            return NoLimit(path=path, reason=f"{facts.hostname} {reason}")
    terms = _terms(source, target)
    if len(terms) < 2:
        return NoLimit(path=path, reason="the MTU of one end leaves no room for payload")
    binding = min(terms, key=lambda term: term.bytes_per_s)
    return Limit(
        path=path,
        limit_bytes_per_s=binding.bytes_per_s,
        binding=binding.name,
        terms=terms,
        gate_bytes_per_s=min(_all_interfaces(source), _all_interfaces(target)),
    )


def _obstacle(facts: NodeFacts) -> str:
    """Why no limit can be computed that this node has a part in, or "". The facts' own sentence follows its name."""
    if facts.active_hcas:
        names = ", ".join(hca.name for hca in facts.active_hcas)
        return f"has {names}: MPI may use it, and InfiniBand limits are not computed yet"
    if not facts.complete:
        return "sent facts that broke off before their end: collect them again"
    if not facts.ethernet_interfaces:
        return f"shows no Ethernet interface that is up{_because(facts, 'interfaces')}"
    for interface in facts.ethernet_interfaces:
        for field, word in (("speed_bits_per_s", "speed"), ("mtu_bytes", "MTU")):
            if getattr(interface, field) is None:
                why = _because(facts, f"interfaces.{interface.name}.{field}")
                return f"{interface.name} is up and its {word} is unknown{why}"
    return ""


def _because(facts: NodeFacts, fact: str) -> str:
    return f" ({facts.absent[fact]})" if fact in facts.absent else ""


def _terms(source: NodeFacts, target: NodeFacts) -> tuple[LimitTerm, ...]:
    """One for each end, in the order of the path; fewer where an end has none."""
    ends = [(facts.hostname, facts.fabric_interface) for facts in (source, target)]
    mtus = [(end.mtu_bytes, node) for node, end in ends if end is not None and end.mtu_bytes is not None]
    terms = []
    for node, interface in ends:
        if interface is not None and mtus:
            smallest, where = min(mtus, key=lambda each: (each[0], each[1] != node))
            terms.append(tcp_payload_term(interface, node, mtu_bytes=smallest, mtu_node=where))
    return tuple(term for term in terms if term is not None)


def _all_interfaces(facts: NodeFacts) -> float:
    terms = (tcp_payload_term(interface, facts.hostname) for interface in facts.ethernet_interfaces)
    return sum(term.bytes_per_s for term in terms if term is not None)
