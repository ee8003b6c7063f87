"""Which leaf carries less under load than its peers do."""

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean, stdev

import msgspec

from seatrial.commands.check.leaf_loads import WAYS, Key, Load, apart, each_apart
from seatrial.experiment.controls import RETEST_RUNS, below, mean_ratio
from seatrial.locate.thresholds import CONTROL_PAIRS, EFFECT, GROSS_LOSS, SCATTERS, to_log
from seatrial.model.measurement import Estimate
from seatrial.model.units import BANDWIDTH
from seatrial.statistics.estimates import ERROR_RATE, median, robust_scale, two_groups

ALIKE = 1 - EFFECT
"""Leaves whose nodes could send at least this share of what another's could are as good a comparison."""
NEARLY = 0.1
"""Added to the number of nodes that share a cable before it is rounded down: it is a ratio of measured rates."""
FEWEST_LEAVES = 12
"""The scatter of fewer leaves cannot be distinguished from a fault of some."""
MOST_LACK = 0.6
"""An uplink that carries less than the rest of this share is slow, however leaves differ in rounds with many others."""
MOST_LACK_ALONE = 0.3
"""The limit of MOST_LACK in rounds with one leaf alone, where streams of others do not meet its own inside the fabric.
"""
FEWEST_BETTER = 2
"""Leaves that carry more than half of all others do: with fewer, these are as good as an uplink is here."""
GROUPS_APART = 0.15
"""Two groups of uplinks differ by more than this."""
BESIDE = 2
"""Times as many rounds as leaves were measured again: two runs this far apart were measured at about the same time."""
AGREE = 1 / 3
"""Runs with the same partners agree where they differ by less than this part of what runs with others do."""
MOST_SUSPECTS = 6
"""Leaves (and ways) measured again at a time; the worst, if there are more."""


class LeafRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf against the others of its way."""

    key: Key
    ratio: Estimate
    """What it carries as a share of what was expected, round by round."""
    rates: tuple[float, ...]
    """Bytes per second of each run; the first runs of two looks have the same partners, and so have the second ones."""
    expected_bytes_per_s: float
    best_expected_bytes_per_s: float
    """The greatest expected value in one of the runs."""
    peers: tuple[Key, ...]

    def slow(self, effect: float) -> bool:
        """Whether it is slow for certain: an uplink carries at least what it carried in its best run."""
        return below(self.ratio, 1 - effect) and max(self.rates) < (1 - effect) * self.best_expected_bytes_per_s

    def perhaps(self, effect: float) -> bool:
        """Whether it looks slow, and may not be."""
        return self.ratio.value < 1 - effect and not self.slow(effect)

    def by_partners(self, earlier: "LeafRatio", effect: float) -> bool:
        """Whether it is as good as others with some partners and not with the rest, as in an earlier look.

        Then its streams meet those of others on a cable inside the fabric: its own uplink would be slow with all.
        """
        best, least = max(self.rates), min(self.rates)
        changed = max(abs(one - other) for one, other in zip(self.rates, earlier.rates, strict=True))
        return best >= (1 - effect) * self.expected_bytes_per_s and changed < AGREE * (best - least)


class LeafRate(msgspec.Struct, frozen=True, kw_only=True):
    """What one leaf carries, from `loads`."""

    bytes_per_s: float
    offered_bytes_per_s: float
    """What its nodes that took part reach one at a time, added up."""
    nodes: int
    """Nodes that took part."""
    absent: int

    def cables_used(self, other: "LeafRate") -> float:
        """Share of its cables, at least, that the nodes that take part use, if the uplink is like that of another: the
        absent ones may be all that use some of them."""
        whole = other.offered_bytes_per_s * (other.nodes + other.absent) / other.nodes
        nodes_of_a_cable = max(whole / other.bytes_per_s, 1.0) if other.bytes_per_s else 1.0
        unused = self.absent // int(nodes_of_a_cable + NEARLY)
        return max(1 - unused * nodes_of_a_cable / (self.nodes + self.absent), 0.0)


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
    """The rate expected by one other leaf. If nodes are absent, the leaf's own rate between the least and the most."""
    alike = own.offered_bytes_per_s >= ALIKE * other.offered_bytes_per_s
    most = other.bytes_per_s if alike else min(other.bytes_per_s, ALIKE * own.offered_bytes_per_s)
    fewer = 1.0 if alike else min(own.nodes / other.nodes, 1.0)
    fewer = min(fewer, own.cables_used(other))
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
    else from the others, since a slow uplink takes a little from all its partners, and they are alike in that. Not from
    runs of a retest.
    """
    alone = each_apart(found)
    same = {
        key: _before(apart(many)) if alone else [one for one in many if not one.apart] for key, many in found.items()
    }
    rates = _rates(same, offered)
    wanted = {key: expected(key, rates) for key in rates}
    return {key: rates[key].bytes_per_s / value for key, value in wanted.items() if value}


def _before(many: Sequence[Load]) -> Sequence[Load]:
    """The runs before the first look of `RETEST_RUNS`."""
    return many[: len(many) % RETEST_RUNS] or many


def lacks(of_peers: Mapping[Key, float], effect: float = EFFECT, *, most: float = MOST_LACK) -> dict[Key, float]:
    """Loss below the others of its way from which each leaf is slow: the practical effect, or the usual scatter.

    On static routes pairs meet on the cables inside a large fabric, at some leaves more than at others.
    """
    found = {}
    for key in of_peers:
        own = [value for other, value in of_peers.items() if other[1] is key[1]]
        scatter = robust_scale(own) if len(own) >= FEWEST_LEAVES else 0.0
        least = effect if len(own) > 2 else max(effect, GROSS_LOSS)
        found[key] = min(max(least, SCATTERS * scatter), most)
    return found


def lacks_alone(
    of_peers: Mapping[Key, float], found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float], effect: float
) -> dict[Key, float]:
    """`lacks` by rounds with one leaf alone.

    Where leaves differ among many others, or with their partners, routes are static, and some streams of one leaf meet
    each other: then `GROSS_LOSS` at least.
    """
    among_many = {key: [load for load in many if not load.apart] for key, many in found.items()}
    crowded = max(lacks(shares(among_many, offered), effect).values(), default=effect)
    swings = [run_scatter(mine) for many in found.values() if len(mine := apart(many)) >= RETEST_RUNS]
    least = GROSS_LOSS if swings and median(swings) > GROSS_LOSS / 2 else min(crowded, GROSS_LOSS)
    return {key: max(lack, least) for key, lack in lacks(of_peers, effect, most=MOST_LACK_ALONE).items()}


def run_scatter(many: Sequence[Load]) -> float:
    """Standard deviation of two runs or more, as a share of their mean."""
    rates = [load.bytes_per_s for load in many]
    return stdev(rates) / fmean(rates) if any(rates) else 0.0


def low_leaves(of_peers: Mapping[Key, float], lack: Mapping[Key, float]) -> list[Key]:
    """Leaves that carry too little, the worst first.

    Where half of the leaves send to the other half, one slow uplink takes a little from all its partners, too, so
    several may be here for one fault. Measured again, each is under load alone.
    """
    low = sorted(key for key, value in of_peers.items() if value < 1 - lack[key])
    return sorted(low, key=lambda key: of_peers[key])


def may_hide(of_peers: Mapping[Key, float], lack: Mapping[Key, float]) -> bool:
    """Whether a slow uplink, or half of all, may not show in rounds with many others, since leaves differ there."""
    ways = {key[1] for key in of_peers}
    better = [sum(value > 1 + GROSS_LOSS for key, value in of_peers.items() if key[1] is way) for way in ways]
    many = len(low_leaves(of_peers, lack)) > MOST_SUSPECTS
    return many or max(better, default=0) >= FEWEST_BETTER or any(value > GROSS_LOSS for value in lack.values())


def slower_group(of_peers: Mapping[Key, float]) -> list[Key]:
    """Half of the leaves or more, where these carry less than all the others both ways: two groups of uplinks.

    From rounds with one leaf alone. Of fewer than half each is slow for itself; of these nothing says whether they are
    slow, or the others fast. What streams lose to each other inside the fabric is not the same both ways.
    """
    groups = [_slower({key: value for key, value in of_peers.items() if key[1] is way}) for way in WAYS]
    both = {leaf for leaf, _ in groups[0]} & {leaf for leaf, _ in groups[1]}
    return sorted(key for key in of_peers if key[0] in both) if 2 * len(both) >= len(of_peers) / 2 else []


def _slower(of_peers: Mapping[Key, float]) -> list[Key]:
    """The slower one of two groups of one way, which are divided at the widest step; empty where there is one group."""
    ordered = sorted((-to_log(1 - value, BANDWIDTH), key) for key, value in of_peers.items())
    half = (len(ordered) + 1) // 2
    cut = two_groups([log for log, _ in ordered], to_log(GROUPS_APART, BANDWIDTH), lower=half, upper=FEWEST_BETTER)
    return [key for _, key in ordered[:cut]]


def control_leaves(
    chosen: Sequence[Key], of_peers: Mapping[Key, float], offered: Mapping[Key, float], doubted: Collection[Key] = ()
) -> list[Key]:
    """Usual leaves to measure beside the suspects, as many for each way, and with about as many nodes.

    `doubted`: leaves that are slow or may be; they serve only where there are no others.
    """
    found: list[Key] = []
    for way in dict.fromkeys(key[1] for key in chosen):
        mine = [offered[key] for key in chosen if key[1] is way]
        others = [key for key in of_peers if key[1] is way and key not in chosen]
        others = [key for key in others if key not in doubted] or others
        others.sort(key=lambda key: (offered[key] < ALIKE * min(mine), abs(of_peers[key] - 1)))
        found += others[: max(CONTROL_PAIRS, len(mine))]
    return found


def compared(
    found: Mapping[Key, Sequence[Load]],
    offered: Mapping[Key, float],
    lack: Mapping[Key, float],
    doubted: Collection[Key] = (),
    *,
    ago: int = 0,
) -> list[LeafRatio]:
    """Leaves that were measured `RETEST_RUNS` times, each alone under load, against each other, run by run.

    Slow leaves are excluded from the comparison as long as other leaves are left: those of `doubted` at first, then
    those that are slow by this. `lack`: see `lacks`.
    `ago`: judge an earlier look than the last; leaves that have no such look are left out.
    """
    again = {key: mine for key, many in found.items() if len(mine := apart(many)) >= RETEST_RUNS}
    looks = {key: many[: len(many) - ago * RETEST_RUNS][-RETEST_RUNS:] for key, many in again.items()}
    looks = {key: many for key, many in looks.items() if len(many) == RETEST_RUNS}
    first = [
        one
        for key, many in looks.items()
        if (one := _against(key, many, again, offered, doubted) or _against(key, many, again, offered, ()))
    ]
    slow = {one.key for one in first if one.slow(lack.get(one.key, EFFECT))}
    return [_against(one.key, looks[one.key], again, offered, slow) or one for one in first]


def _against(
    key: Key,
    look: Sequence[Load],
    again: Mapping[Key, Sequence[Load]],
    offered: Mapping[Key, float],
    without: Collection[Key],
) -> LeafRatio | None:
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
    return LeafRatio(
        key=key,
        ratio=mean_ratio(runs, 1 - ERROR_RATE),
        rates=tuple(rate for rate, _ in runs),
        expected_bytes_per_s=median([wanted for _, wanted in runs]),
        best_expected_bytes_per_s=max(wanted for _, wanted in runs),
        peers=tuple(sorted(peers)),
    )


def _nearest(many: Sequence[Load], number: int, most: int) -> Sequence[Load]:
    """The run in the round nearest to this one; none that is more than `most` rounds away."""
    near = min(many, key=lambda run: abs(run.number - number))
    return [near] if abs(near.number - number) <= most else ()
