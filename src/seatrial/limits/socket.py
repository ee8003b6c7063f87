"""What passes from one socket to another: QPI, UPI, xGMI. Nominal: software can read neither their speed nor number."""

from seatrial.limits.microarchitectures import SocketLink, recognise
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit, LimitTerm, NoLimit, Terms, least


def link_bytes_per_s(link: SocketLink) -> float:
    """One link, one direction: 19.2 GB/s for QPI at 9.6 GT/s. xGMI x16 moves two bytes a transfer as well."""
    return link.transfers_per_s * link.bytes_per_transfer


def socket_limits(facts: NodeFacts) -> tuple[Limit | NoLimit, ...]:
    """For each ordered pair of packages ("n1 package 0 > package 1") bytes per second, one direction; none for one.

    All links that the processors can have, each at its greatest speed: an upper bound.
    """
    packages = facts.topology.packages or tuple(range(facts.sockets or 1))
    return tuple(_limit(facts, here, there) for here in packages for there in packages if here != there)


def _limit(facts: NodeFacts, here: int, there: int) -> Limit | NoLimit:
    path = f"{facts.hostname} package {here} > package {there}"
    line = recognise(facts)
    if line is None or line.socket_link is None:
        model = facts.cpu_model or "this processor"
        return NoLimit(path=path, reason=f"links between sockets cannot be read, and {model} is not in the table")
    link = line.socket_link
    term = LimitTerm(
        name=f"{path}: {link.links} {link.kind} links at {link.transfers_per_s / 1e9:.4g} GT/s ({line.name}), nominal",
        bytes_per_s=link.links * link_bytes_per_s(link),
        inputs={
            "links": float(link.links),
            "transfers_per_s": link.transfers_per_s,
            "bytes_per_transfer": link.bytes_per_transfer,
        },
        source=f"table of processors: {line.name}",
        formula="links * transfers_per_s * bytes_per_transfer",
        nominal=True,
    )
    said = f"how many {link.kind} links this board wires up, and their speed: at most these"
    return least(path, Terms(terms=(term,), unknown=(said,)))
