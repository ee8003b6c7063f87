"""Leaves under load compared with each other: which one carries less than the others would let one expect."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from seatrial.commands.check.loaded_rates import Alone, Key, Load, apart
from seatrial.locate.effects import SCATTERS
from seatrial.locate.scale import NORMAL
from seatrial.locate.thresholds import CONTROL_PAIRS, GROSS, RETEST_RUNS
from seatrial.model.measurement import Estimate
from seatrial.statistics.estimates import median, paired_ratio

EFFECT = 0.03
"""An uplink is slow where it carries less than its peers' by more than this share."""
CONFIDENCE = 0.99
"""Of the interval that must lie below `1 - EFFECT` as a whole."""
ALIKE = 0.97
"""Leaves whose nodes could send at least this share of what another's could are as good a comparison."""
FEWEST_LEAVES = 12
"""Fewer do not tell their natural scatter from a fault; nor do pairs of so few meet inside the fabric."""
MOST_LACK = 0.6
"""An uplink that carries less than the rest of this share is slow, however leaves differ."""
MOST_SUSPECTS = 6
"""Leaves (and ways) measured again at a time; the worst, if there are more."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf against the others of its way."""

    key: Key
    ratio: Estimate
    """What it carries as a share of what was expected, round by round."""
    expected_bytes_per_s: float
    peers: tuple[Key, ...]

    def slow(self, effect: float) -> bool:
        """Whether it is slow for certain."""
        return self.ratio.high < 1 - effect

    def perhaps(self, effect: float) -> bool:
        """Whether it looks slow, and may not be."""
        return self.ratio.value < 1 - effect and not self.slow(effect)


def could(load: Load, alone: Alone) -> float:
    """Bytes per second that the nodes of a leaf reach one at a time, added up."""
    return sum(alone.rate(node, load.way) for node in load.nodes)


def expected(key: Key, carried: Mapping[Key, float], offered: Mapping[Key, float]) -> float | None:
    """What one leaf should carry by what others do; None where there are none.

    Each uplink carries at least what was seen of it, so that is what another may be expected to carry too, but no more
    than its own nodes can send. Leaves that were offered less than this one say little about its uplink: they count
    only where fewer than two were offered as much.
    """
    peers = [other for other in carried if other != key and other[1] is key[1]]
    as_much = [other for other in peers if offered[other] >= ALIKE * offered[key]]
    values = [
        carried[other] if offered[key] >= ALIKE * offered[other] else min(carried[other], ALIKE * offered[key])
        for other in (as_much if len(as_much) > 1 else peers)
    ]
    return median(values) if values else None


def shares(found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float]) -> dict[Key, float]:
    """What each leaf carries as a share of what is expected of it; without those that have no peers.

    From rounds in which one leaf alone was under load if all leaves had such, since these depend on nobody's fault;
    else from the others, since a slow uplink takes a little from all its partners, and they are alike in that.
    """
    each = all(apart(many) for many in found.values())
    same = {key: apart(many) if each else [one for one in many if not one.apart] for key, many in found.items()}
    carried = {key: median([one.bytes_per_s for one in many]) for key, many in same.items() if many}
    wanted = {key: expected(key, carried, offered) for key in carried}
    return {key: carried[key] / value for key, value in wanted.items() if value}


def lacks(of_peers: Mapping[Key, float], effect: float = EFFECT) -> dict[Key, float]:
    """By how much each leaf must lie below the others of its way: the practical effect, or what leaves differ anyway.

    On static routes pairs meet on the cables inside a large fabric, at some leaves more than at others.
    """
    found = {}
    for key in of_peers:
        own = [value for other, value in of_peers.items() if other[1] is key[1]]
        middle = median(own)
        scatter = NORMAL * median([abs(value - middle) for value in own]) if len(own) >= FEWEST_LEAVES else 0.0
        least = effect if len(own) > 2 else max(effect, GROSS)
        found[key] = min(max(least, SCATTERS * scatter), MOST_LACK)
    return found


def suspects(of_peers: Mapping[Key, float], lack: Mapping[Key, float], known: Collection[Key] = ()) -> list[Key]:
    """Leaves that carry too little, the worst first, to be measured again; without those of `known`.

    Where half of the leaves send to the other half, one slow uplink takes a little from all its partners, too, so
    several may be here for one fault. Measured again, each is under load alone.
    """
    low = sorted(key for key, value in of_peers.items() if value < 1 - lack[key] and key not in known)
    return sorted(low, key=lambda key: of_peers[key])[:MOST_SUSPECTS]


def controls(
    chosen: Sequence[Key], of_peers: Mapping[Key, float], offered: Mapping[Key, float], slow: Collection[Key] = ()
) -> list[Key]:
    """Other leaves to measure beside the suspects, for each way: of about as many nodes, and neither best nor worst."""
    found: list[Key] = []
    for way in dict.fromkeys(key[1] for key in chosen):
        mine = [offered[key] for key in chosen if key[1] is way]
        others = [key for key in of_peers if key[1] is way and key not in chosen and key not in slow]
        others.sort(key=lambda key: (offered[key] < ALIKE * min(mine), abs(of_peers[key] - 1)))
        found += others[:CONTROL_PAIRS]
    return found


def compared(
    found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float], lack: Mapping[Key, float]
) -> list[Compared]:
    """Leaves that were measured `RETEST_RUNS` times, each alone under load, against each other, run by run.

    Those that are slow are left out of what the others are compared with, as long as any are left. `lack`: see `lacks`.
    """
    mine = {key: apart(many) for key, many in found.items()}
    again = {key: many[-RETEST_RUNS:] for key, many in mine.items() if len(many) >= RETEST_RUNS}
    first = [one for key in again if (one := _against(key, again, offered, ()))]
    slow = {one.key for one in first if one.slow(lack.get(one.key, EFFECT))}
    return [_against(one.key, again, offered, slow) or one for one in first]


def _against(
    key: Key, again: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float], without: Collection[Key]
) -> Compared | None:
    peers = {other for other in again if other == key or other not in without}
    runs: list[tuple[float, float]] = []
    for run in range(RETEST_RUNS):
        carried = {other: again[other][run].bytes_per_s for other in peers}
        wanted = expected(key, carried, offered)
        if not wanted:
            return None
        runs.append((carried[key], wanted))
    return Compared(
        key=key,
        ratio=paired_ratio(runs, CONFIDENCE),
        expected_bytes_per_s=median([wanted for _, wanted in runs]),
        peers=tuple(sorted(other for other in peers if other != key and other[1] is key[1])),
    )
