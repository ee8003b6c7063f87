"""Bandwidth limits of the memory channels of a package, and of the links between sockets."""

import re
from collections import defaultdict
from collections.abc import Sequence

from seatrial.limits.microarchitectures import CHANNEL_BYTES, Memory, Microarchitecture, SocketLink, recognise
from seatrial.model.facts import Dimm, NodeFacts
from seatrial.model.limit import Limit, LimitTerm, NoLimit, Terms, least
from seatrial.model.words import count

_PLAIN_DDR = re.compile(r"(?<!LP)DDR[2345]?(?!\w)")


def memory_limits(facts: NodeFacts) -> tuple[Limit | NoLimit, ...]:
    """One for each package ("n1 package 0 > memory"), reads or writes or both together, in bytes per second.

    From the modules where they could be read; else nominal, from a table of processors; else no limit. Where the
    packages of the modules are unknown, one for all packages together ("n1 > memory").
    """
    packages = facts.topology.packages or tuple(range(facts.sockets or 1))
    dimms = [dimm for dimm in facts.memory.dimms if dimm.size_bytes]
    if not dimms or (len(packages) > 1 and any(dimm.package is None for dimm in dimms)):
        whole = _from_modules(f"{facts.hostname} > memory", dimms, facts) if dimms else None
        if whole is not None:
            return (whole,)
        return tuple(_from_table(facts, package) for package in packages)
    limits = []
    for package in packages:
        ours = [dimm for dimm in dimms if dimm.package == package or len(packages) == 1]
        read = _from_modules(_path(facts, package), ours, facts) if ours else None
        limits.append(read or _from_table(facts, package))
    return tuple(limits)


def _path(facts: NodeFacts, package: int) -> str:
    return f"{facts.hostname} package {package} > memory"


def _from_modules(path: str, dimms: Sequence[Dimm], facts: NodeFacts) -> Limit | NoLimit | None:
    """None where their channels or speeds are unknown, their channels are not 8 bytes wide, or there is more memory."""
    line = recognise(facts)
    if line is not None and line.has_memory_on_package:
        return None
    channels: dict[str, list[Dimm]] = defaultdict(list)
    for dimm in dimms:
        channels[dimm.channel].append(dimm)
    if "" in channels or not all(_PLAIN_DDR.search(dimm.kind) for dimm in dimms):
        return None
    speeds = []
    for modules in channels.values():
        configured = [dimm.configured_transfers_per_s for dimm in modules if dimm.configured_transfers_per_s]
        if not configured:
            return None
        speeds.append(min(configured))
    total = sum(speeds)
    term = LimitTerm(
        name=f"{path.partition(' > ')[0]}: {count(len(speeds), 'channel')} of {dimms[0].kind} at {_speeds(speeds)}",
        bytes_per_s=total * CHANNEL_BYTES,
        inputs={"channels": float(len(speeds)), "mean_transfers_per_s": total / len(speeds)},
        source=f"channel and configured speed of {count(len(dimms), 'module')} ({facts.memory.source}) on "
        f"{facts.hostname}",
        formula=f"channels * mean_transfers_per_s * {CHANNEL_BYTES}",
    )
    return least(path, Terms(terms=(term,)))


def _speeds(transfers_per_s: Sequence[float]) -> str:
    """2933 MT/s; 2133 to 2933 MT/s."""
    low, high = min(transfers_per_s) / 1e6, max(transfers_per_s) / 1e6
    return f"{low:.0f} MT/s" if low == high else f"{low:.0f} to {high:.0f} MT/s"


def _from_table(facts: NodeFacts, package: int) -> Limit | NoLimit:
    path = _path(facts, package)
    why = facts.absent.get("memory.dimms") or facts.absent.get("memory") or "channel or speed of the modules unknown"
    line = recognise(facts)
    if line is None:
        model = facts.cpu_model or "this processor"
        reason = f"its modules could not be read ({why}), and what {model} supports is not in the table"
        return NoLimit(path=path, reason=reason)
    unknown = [f"{why}; all channels are assumed at full speed", *filter(None, (line.note,))]
    return least(path, Terms(terms=(_table_term(path, line),), unknown=tuple(unknown)))


def _table_term(path: str, line: Microarchitecture) -> LimitTerm:
    inputs: dict[str, float] = {}
    products = []
    for number, memory in enumerate(line.memory, start=1):
        suffix = f"_{number}" if len(line.memory) > 1 else ""
        names = (f"channels{suffix}", f"transfers_per_s{suffix}", f"bytes_per_transfer{suffix}")
        values = (memory.channels, memory.transfers_per_s, memory.bytes_per_transfer)
        inputs |= {name: float(value) for name, value in zip(names, values, strict=True)}
        products.append(" * ".join(names))
    words = " and ".join(_memory_text(memory) for memory in line.memory)
    return LimitTerm(
        name=f"{path.partition(' > ')[0]}: {words} ({line.name}), nominal",
        bytes_per_s=line.memory_bytes_per_s,
        inputs=inputs,
        source=f"table of processors: {line.name} ({'; '.join(line.sources)})",
        formula=" + ".join(products),
        nominal=True,
    )


def _memory_text(memory: Memory) -> str:
    """8 channels of DDR4 at 3200 MT/s; 4 channels of HBM2, 128 bytes wide, at 2000 MT/s."""
    wide = f", {memory.bytes_per_transfer} bytes wide," if memory.bytes_per_transfer != CHANNEL_BYTES else ""
    return f"{memory.channels} channels of {memory.kind}{wide} at {memory.transfers_per_s / 1e6:.0f} MT/s"


# Between sockets: QPI, UPI, xGMI. Nominal, since software can read neither their speed nor their number.


def link_bytes_per_s(link: SocketLink) -> float:
    """One link, one direction: 19.2 GB/s for QPI at 9.6 GT/s. xGMI x16 moves two bytes a transfer as well."""
    return link.transfers_per_s * link.bytes_per_transfer


def socket_limits(facts: NodeFacts) -> tuple[Limit | NoLimit, ...]:
    """Bytes per second in one direction of each ordered pair of packages ("n1 package 0 > package 1"); none for one.

    All links that the processors can have, each at its highest speed: an upper bound.
    """
    packages = facts.topology.packages or tuple(range(facts.sockets or 1))
    return tuple(_limit(facts, here, there) for here in packages for there in packages if here != there)


def _limit(facts: NodeFacts, source: int, target: int) -> Limit | NoLimit:
    path = f"{facts.hostname} package {source} > package {target}"
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
        source=f"table of processors: {line.name} ({'; '.join(line.sources)})",
        formula="links * transfers_per_s * bytes_per_transfer",
        nominal=True,
    )
    unknown_text = f"number and speed of {link.kind} links on this board; the maximum is assumed"
    return least(path, Terms(terms=(term,), unknown=(unknown_text,)))
