"""Several ports of one node together: added up only where PCIe lets them through."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec


class Rail(msgspec.Struct, frozen=True, kw_only=True):
    """One port and the links between it and the processor, from the root down, as (name, bytes per second)."""

    name: str
    bytes_per_s: float
    links: tuple[tuple[str, float], ...] = ()


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """The most that rails carry together, and what holds it back: a least cut."""

    bytes_per_s: float
    cut: tuple[tuple[str, float], ...]
    """Links and ports, as (name, bytes per second); their sum is the flow."""


def together(rails: Sequence[Rail]) -> Flow:
    """The greatest flow from the rails to the root: at each link the lesser of it and all that comes from below.

    A link that several rails share counts once; links are told apart by name. On a tree this is the greatest flow.
    """
    flows = [
        Flow(bytes_per_s=rail.bytes_per_s, cut=((rail.name, rail.bytes_per_s),)) for rail in rails if not rail.links
    ]
    below: dict[str, list[Rail]] = defaultdict(list)
    width: dict[str, float] = {}
    for rail in rails:
        if rail.links:
            (link, bytes_per_s), *rest = rail.links
            below[link].append(msgspec.structs.replace(rail, links=tuple(rest)))
            width[link] = min(width.get(link, bytes_per_s), bytes_per_s)
    for link, sharers in below.items():
        beneath = together(sharers)
        narrow = width[link] < beneath.bytes_per_s
        flows.append(Flow(bytes_per_s=width[link], cut=((link, width[link]),)) if narrow else beneath)
    cut = tuple(part for flow in flows for part in flow.cut)
    return Flow(bytes_per_s=sum(flow.bytes_per_s for flow in flows), cut=cut)
