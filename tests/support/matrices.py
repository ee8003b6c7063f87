"""Tables of pairs from one line of text, in the formats of the tools that measure them.

`16 nodes, 3.045 GB/s, 1.37 us, 9+7 on leaves, 2.05 us between leaves`: nodes n0, n1, ... with the natural differences
of a healthy cluster; a lone pair or a node that is slow is planted by the test.
"""

import re
from collections.abc import Mapping

import msgspec
import numpy as np

Pair = tuple[str, str]
PARTS = (
    (re.compile(r"(\d+) nodes"), ("nodes",)),
    (re.compile(r"([\d.]+) GB/s"), ("gigabytes_per_s",)),
    (re.compile(r"([\d.]+) us"), ("latency_us",)),
    (re.compile(r"(\d+)\+(\d+) on leaves"), ("first_leaf", "second_leaf")),
    (re.compile(r"([\d.]+) us between leaves"), ("far_us",)),
)
NODE_NOISE = 0.0004
"""Standard deviation of the bandwidths of a healthy cluster's nodes, relative; that of its pairs is half of it."""
LATENCY_NOISE = 0.006
MESSAGE_BYTES = 4 << 20


class PairMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """Ordered pair of nodes -> seconds and bytes per second."""

    nodes: tuple[str, ...]
    latency_s: Mapping[Pair, float]
    bandwidth_bytes_per_s: Mapping[Pair, float]


def matrix(text: str, seed: int = 0) -> PairMatrix:
    """Every ordered pair of a healthy cluster. Raises ValueError for a part of the text that cannot be read."""
    values = _values(text)
    count = int(values["nodes"])
    draw = np.random.default_rng(seed)
    own = NODE_NOISE * draw.standard_normal(count)
    leaf = np.arange(count) >= values.get("first_leaf", count)
    draw.shuffle(leaf)
    rate = 1e9 * values["gigabytes_per_s"] * (1 + np.minimum(own[:, None], own))
    rate *= 1 + NODE_NOISE / 2 * draw.standard_normal(rate.shape)
    near_s, far_s = 1e-6 * values["latency_us"], 1e-6 * values.get("far_us", values["latency_us"])
    time = np.where(leaf[:, None] == leaf, near_s, far_s) * (1 + LATENCY_NOISE * draw.standard_normal(rate.shape))
    names = tuple(f"n{number}" for number in range(count))
    places = [(a, b) for a in range(count) for b in range(count) if a != b]
    return PairMatrix(
        nodes=names,
        latency_s={(names[a], names[b]): float(time[a, b]) for a, b in places},
        bandwidth_bytes_per_s={(names[a], names[b]): float(rate[a, b]) for a, b in places},
    )


def _values(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for part in text.split(", "):
        for pattern, fields in PARTS:
            if match := pattern.fullmatch(part):
                values |= dict(zip(fields, map(float, match.groups()), strict=True))
                break
        else:
            raise ValueError(f"{part!r} does not describe a part of a matrix")
    return values


def nxnlatbw(of: PairMatrix) -> str:
    """Lines of two numbers of nodes, µs and 10⁶ B/s."""
    place = {name: number for number, name in enumerate(of.nodes)}
    return "".join(
        f"{place[a]},{place[b]},{1e6 * of.latency_s[a, b]:.4f},{rate / 1e6:.6f} \n"
        for (a, b), rate in of.bandwidth_bytes_per_s.items()
    )


def csv(of: PairMatrix) -> str:
    """A heading, and a row for each pair."""
    rows = (
        f"{a},{b},{1e6 * of.latency_s[a, b]:.4f},{rate / 1e6:.6f}" for (a, b), rate in of.bandwidth_bytes_per_s.items()
    )
    return "\n".join(["source,target,latency_us,bandwidth_mb_s", *rows]) + "\n"


def mpigraph(of: PairMatrix) -> str:
    """A table of what each node sends, and one of what it receives, in 2²⁰ B/s; no latencies."""

    def table(word: str, way: str) -> list[str]:
        hosts = [f"{name}:{number}" for number, name in enumerate(of.nodes)]
        lines = ["", f"{word}\t" + "\t".join(hosts) + "\t"]
        for here, host in zip(of.nodes, hosts, strict=True):
            pairs = [(here, other) if way == "to" else (other, here) for other in of.nodes]
            cells = (f"{of.bandwidth_bytes_per_s.get(pair, 0.0) / (1 << 20):.6f}" for pair in pairs)
            lines.append(f"{host} {way}\t" + "\t".join(cells) + "\t")
        return lines

    head = ["START mpiGraph v1.4", f"MsgSize\t{MESSAGE_BYTES}"]
    return "\n".join([*head, *table("Send", "to"), *table("Recv", "from"), "END mpiGraph\n"])


def linktest(of: PairMatrix) -> str:
    """The output of LinkTest's serial mode, in 2²⁰ B/s; no latencies."""
    place = {name: number for number, name in enumerate(of.nodes)}
    lines = [f"task[{rank:06d}] on {name} (0,0,0,0) mem=    1.0000 MB \n" for name, rank in place.items()]
    lines.append(f" Serial   PingPong for step {1:5d}: \n")
    for (a, b), rate in of.bandwidth_bytes_per_s.items():
        time_us = 1e6 * MESSAGE_BYTES / rate
        lines.append(f" {place[a]:6d}->{place[b]:6d}:{time_us:12.5f}us ({rate / (1 << 20):7.6f} MB/s) (l={place[a]})\n")
    return "".join(lines)


def osu(of: PairMatrix) -> str:
    """A table of osu_bw and one of osu_latency for each pair, in one file."""
    tables = []
    for (a, b), rate in of.bandwidth_bytes_per_s.items():
        rates = [f"{size:<10d}{rate / 1e6:20.6f}" for size in (1 << 20, MESSAGE_BYTES)]
        times = [f"{size:<10d}{1e6 * of.latency_s[a, b]:20.4f}" for size in (1, 8)]
        tables += [f"# {a} {b}", "# OSU MPI Bandwidth Test v7.4", "# Size      Bandwidth (MB/s)", *rates]
        tables += [f"# {a} {b}", "# OSU MPI Latency Test v7.4", "# Size       Latency (us)", *times]
    return "\n".join(tables) + "\n"


FORMATS = {"nxnlatbw": nxnlatbw, "csv": csv, "mpigraph": mpigraph, "linktest": linktest, "osu": osu}
"""Formats, by the names that `seatrial judge --format` has for them."""
