"""Cables that are missing between two switches: fewer than comparable pairs of switches have, or none at all."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.fabric.map_integrity import switches_complete
from seatrial.model.fabric_map import FabricMap
from seatrial.model.pair_table import Flags
from seatrial.model.words import natural_key

ALIKE = 0.5
"""Switches of one tier are peers if they share at least this part of their neighbours in the other tier."""
MOST = 2 / 3
"""Share of a switch's peers that must have equally many cables before one can lack some."""
FEWEST_PEERS = 3
"""Peers at one of the two ends; the other needs one."""
Counts = NDArray[np.int32]


class MissingCables(msgspec.Struct, frozen=True, kw_only=True):
    """`lower` and `upper` are joined by `present` cables, where comparable pairs have `expected`.

    `lower_ports`, `upper_ports`: where peers have these cables, as far as those ports are free.
    """

    lower: str
    upper: str
    present: int
    expected: int
    lower_ports: tuple[int, ...]
    upper_ports: tuple[int, ...]


class _Cables:
    """Cables among switches: (switch, switch) -> ports of the first."""

    def __init__(self, fabric: FabricMap, tier: Mapping[str, int]) -> None:
        self.ports: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self.used: defaultdict[str, set[int]] = defaultdict(set)
        for link in fabric.links:
            for near_end, far_end in ((link.one, link.other), (link.other, link.one)):
                self.used[near_end.device].add(near_end.port)
                if near_end.device in tier and far_end.device in tier:
                    self.ports[near_end.device, far_end.device].append(near_end.port)

    def expected_ports(self, near_end: str, far_end: str, peers: list[str], most: int) -> tuple[int, ...]:
        """Free ports of `here` that should lead to `there`: those by which most peers of `here` reach it."""
        by_port = Counter(port for peer in peers for port in set(self.ports[peer, far_end]))
        free = [port for port, often in by_port.items() if 2 * often > len(peers) and port not in self.used[near_end]]
        return tuple(sorted(free)[:most])


def missing_cables(fabric: FabricMap, tier: Mapping[str, int]) -> list[MissingCables]:
    """Pairs of switches of neighbouring tiers that lack cables. Empty where the map lacks lines of switches.

    Empty, too, for more switches than can be compared. A pair lacks cables if most peers of either switch have more,
    and the same number, to the other one.
    """
    if not switches_complete(fabric) or too_many(tier):
        return []
    cables = _Cables(fabric, tier)
    missing: list[MissingCables] = []
    for level in range(max(tier.values(), default=0)):
        lower, upper = (
            sorted((switch for switch, of in tier.items() if of == wanted), key=natural_key)
            for wanted in (level, level + 1)
        )
        missing += _between(cables, lower, upper)
    return missing


def too_many(tier: Mapping[str, int]) -> int:
    """How many switches the largest tier has, if they are too many to compare each with each; else 0."""
    most = max(Counter(tier.values()).values(), default=0)
    return most if most > MOST_SWITCHES else 0


MOST_SWITCHES = 4096
"""Most switches of a tier: each is compared with each, which takes the square of their number in memory."""


def _between(cables: _Cables, lower: list[str], upper: list[str]) -> list[MissingCables]:
    counts = np.array([[len(cables.ports.get((a, b), ())) for b in upper] for a in lower], dtype=np.int32)
    peers_below, peers_above = _peers(counts > 0), _peers(counts.T > 0)
    expected = _expected(counts, peers_below, peers_above)
    missing = []
    for row, column in np.argwhere(expected > counts).tolist():
        a, b = lower[row], upper[column]
        lacking = int(expected[row, column] - counts[row, column])
        below = [lower[place] for place in np.flatnonzero(peers_below[row])]
        above = [upper[place] for place in np.flatnonzero(peers_above[column])]
        missing.append(
            MissingCables(
                lower=a,
                upper=b,
                present=int(counts[row, column]),
                expected=int(expected[row, column]),
                lower_ports=cables.expected_ports(a, b, below, lacking),
                upper_ports=cables.expected_ports(b, a, above, lacking),
            )
        )
    return missing


def _peers(joined: Flags) -> Flags:
    """Which rows share at least ALIKE of their neighbours. No row is its own peer."""
    some = joined.astype(np.float32)
    shared = some @ some.T
    size = some.sum(axis=1)
    either = size[:, None] + size[None, :] - shared
    alike: Flags = shared >= ALIKE * np.maximum(either, 1)
    np.fill_diagonal(alike, val=False)
    return alike


def _expected(counts: Counts, below: Flags, above: Flags) -> Counts:
    """Cables that each pair should have: the number that most peers at either end have; 0 where there is none."""
    expected = np.zeros_like(counts)
    peers_below, peers_above = below.sum(axis=1)[:, None], above.sum(axis=1)[None, :]
    enough = (np.minimum(peers_below, peers_above) >= 1) & (np.maximum(peers_below, peers_above) >= FEWEST_PEERS)
    for value in np.unique(counts[counts > 0]).tolist():
        same = (counts == value).astype(np.float32)
        by_lower = below.astype(np.float32) @ same
        by_upper = same @ above.astype(np.float32).T
        usual = enough & (by_lower >= MOST * peers_below) & (by_upper >= MOST * peers_above)
        expected[usual] = value
    return expected
