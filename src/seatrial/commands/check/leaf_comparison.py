"""Which leaf carries less under load than its peers do."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from seatrial.commands.check.leaf_loads import Key, Load, apart
from seatrial.locate.significance import NORMAL
from seatrial.locate.thresholds import CONTROL_PAIRS, GROSS_LOSS, RETEST_RUNS, SCATTERS
from seatrial.model.measurement import Estimate
from seatrial.statistics.estimates import median, paired_ratio

EFFECT = 0.03
"""An uplink is slow where it carries less than its peers' by more than this share."""
CONFIDENCE = 0.99
"""Of the interval that must lie below `1 - EFFECT` as a whole."""
ALIKE = 0.97
"""Leaves whose nodes could send at least this share of what another's could are as good a comparison."""
NEARLY = 0.1
"""Added to the number of nodes that share a cable before it is rounded down: it is a ratio of measured rates."""
FEWEST_LEAVES = 12
"""With fewer, natural scatter looks like a fault; pairs of this few also do not meet inside the fabric."""
MOST_LACK = 0.6
"""An uplink that carries less than the rest of this share is slow, however leaves differ."""
BESIDE = 2
"""Times as many rounds as leaves were measured again: two runs this far apart were measured at about the same time."""
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


class LeafRate(msgspec.Struct, frozen=True, kw_only=True):
    """What one leaf carries, from `loads`."""

    bytes_per_s: float
    offered_bytes_per_s: float
    """What its nodes that took part reach one at a time, added up."""
    nodes: int
    """That took part."""
    absent: int

    def may_miss_cables(self, other: "LeafRate") -> bool:
        """Whether its absent nodes may be all that use one of its cables, if the uplink is like that of another."""
        whole = other.offered_bytes_per_s * (other.nodes + other.absent) / other.nodes
        nodes_of_a_cable = int(whole / other.bytes_per_s + NEARLY) if other.bytes_per_s else 1
        return self.absent >= max(nodes_of_a_cable, 1)


def expected(key: Key, rates: Mapping[Key, LeafRate]) -> float | None:
    """What one leaf should carry by what others do; None where there are none.

    Each uplink carries at least what was seen of it, so that is what another may be expected to carry too, but no more
    than its own nodes can send. On static routes fewer nodes may use fewer cables: a leaf of which some are absent may
    carry as much less. Leaves that were offered less than this one say little about its uplink: they count only where
    fewer than two were offered as much.
    """
    own = rates[key]
    peers = [rate for other, rate in rates.items() if other != key and other[1] is key[1]]
    as_much = [rate for rate in peers if rate.offered_bytes_per_s >= ALIKE * own.offered_bytes_per_s]
    values = [_expected_by(own, other) for other in (as_much if len(as_much) > 1 else peers)]
    return median(values) if values else None


def _expected_by(own: LeafRate, other: LeafRate) -> float:
    """By one other leaf. Where nodes are absent, whatever it carries between the least and the most."""
    alike = own.offered_bytes_per_s >= ALIKE * other.offered_bytes_per_s
    most = other.bytes_per_s if alike else min(other.bytes_per_s, ALIKE * own.offered_bytes_per_s)
    fewer = 1.0 if alike else min(own.nodes / other.nodes, 1.0)
    if own.may_miss_cables(other):
        fewer = min(fewer, own.nodes / (own.nodes + own.absent))
    return most if fewer == 1 else min(max(own.bytes_per_s, ALIKE * other.bytes_per_s * fewer), most)


def _rates(loads_of: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float]) -> dict[Key, LeafRate]:
    """The median of the loads of each leaf."""
    return {
        key: LeafRate(
            bytes_per_s=median([one.bytes_per_s for one in many]),
            offered_bytes_per_s=offered[key],
            nodes=len(many[-1].nodes),
            absent=many[-1].absent,
        )
        for key, many in loads_of.items()
        if many
    }


def shares(found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float]) -> dict[Key, float]:
    """What each leaf carries as a share of what is expected of it; without those that have no peers.

    From rounds in which one leaf alone was under load if all leaves had such, since these depend on nobody's fault;
    else from the others, since a slow uplink takes a little from all its partners, and they are alike in that.
    """
    each = all(apart(many) for many in found.values())
    same = {key: apart(many) if each else [one for one in many if not one.apart] for key, many in found.items()}
    rates = _rates(same, offered)
    wanted = {key: expected(key, rates) for key in rates}
    return {key: rates[key].bytes_per_s / value for key, value in wanted.items() if value}


def lacks(of_peers: Mapping[Key, float], effect: float = EFFECT) -> dict[Key, float]:
    """By how much each leaf must lie below the others of its way: the practical effect, or what leaves differ anyway.

    On static routes pairs meet on the cables inside a large fabric, at some leaves more than at others.
    """
    found = {}
    for key in of_peers:
        own = [value for other, value in of_peers.items() if other[1] is key[1]]
        middle = median(own)
        scatter = NORMAL * median([abs(value - middle) for value in own]) if len(own) >= FEWEST_LEAVES else 0.0
        least = effect if len(own) > 2 else max(effect, GROSS_LOSS)
        found[key] = min(max(least, SCATTERS * scatter), MOST_LACK)
    return found


def slow_leaves(of_peers: Mapping[Key, float], lack: Mapping[Key, float], known: Collection[Key] = ()) -> list[Key]:
    """Leaves that carry too little, the worst first, to be measured again; without those of `known`.

    Where half of the leaves send to the other half, one slow uplink takes a little from all its partners, too, so
    several may be here for one fault. Measured again, each is under load alone.
    """
    low = sorted(key for key, value in of_peers.items() if value < 1 - lack[key] and key not in known)
    return sorted(low, key=lambda key: of_peers[key])[:MOST_SUSPECTS]


def control_leaves(
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
    found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float], lack: Mapping[Key, float], *, ago: int = 0
) -> list[Compared]:
    """Leaves that were measured `RETEST_RUNS` times, each alone under load, against each other, run by run.

    Slow leaves are excluded from the comparison as long as other leaves are left. `lack`: see `lacks`.
    `ago`: judge an earlier look than the last; leaves that have no such look are left out.
    """
    again = {key: mine for key, many in found.items() if len(mine := apart(many)) >= RETEST_RUNS}
    looks = {key: many[: len(many) - ago * RETEST_RUNS][-RETEST_RUNS:] for key, many in again.items()}
    looks = {key: many for key, many in looks.items() if len(many) == RETEST_RUNS}
    first = [one for key, many in looks.items() if (one := _against(key, many, again, offered, ()))]
    slow = {one.key for one in first if one.slow(lack.get(one.key, EFFECT))}
    return [_against(one.key, looks[one.key], again, offered, slow) or one for one in first]


def confirmed(
    found: Mapping[Key, Sequence[Load]],
    offered: Mapping[Key, float],
    lack: Mapping[Key, float],
    effect: float = EFFECT,
) -> list[Compared]:
    """Those of `compared` that are slow for certain.

    `effect`: for a leaf that `lack` does not have, since more of its nodes took part when it was measured again than
    ever before, so that it was not compared with others at first.
    """
    return [one for one in compared(found, offered, lack) if one.slow(lack.get(one.key, effect))]


def _against(
    key: Key,
    look: Sequence[Load],
    again: Mapping[Key, Sequence[Load]],
    offered: Mapping[Key, float],
    without: Collection[Key],
) -> Compared | None:
    """The runs of one look at a leaf, each against those of others that were measured about then."""
    peers = {other for other in again if other != key and other[1] is key[1] and other not in without}
    runs: list[tuple[float, float]] = []
    for own in look:
        beside = {other: _nearest(again[other], own.number, BESIDE * len(again)) for other in peers}
        rates = _rates({key: [own], **beside}, offered)
        wanted = expected(key, rates)
        if not wanted:
            return None
        runs.append((rates[key].bytes_per_s, wanted))
    return Compared(
        key=key,
        ratio=paired_ratio(runs, CONFIDENCE),
        expected_bytes_per_s=median([wanted for _, wanted in runs]),
        peers=tuple(sorted(peers)),
    )


def _nearest(many: Sequence[Load], number: int, most: int) -> Sequence[Load]:
    """The run in the round nearest to this one; none that is more than `most` rounds away."""
    near = min(many, key=lambda run: abs(run.number - number))
    return [near] if abs(near.number - number) <= most else ()
