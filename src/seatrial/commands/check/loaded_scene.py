"""What is known of the rounds under load by now: for the judgement, and to choose what to measure again."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from seatrial.commands.check.leaf_comparison import (
    LeafRatio,
    compared,
    lacks,
    lacks_alone,
    low_leaves,
    run_scatter,
    shares,
    slower_group,
)
from seatrial.commands.check.leaf_loads import (
    Alone,
    Key,
    Load,
    NodeRates,
    apart,
    could,
    each_apart,
    loads,
    rates_alone,
    rounds_of,
)
from seatrial.locate.thresholds import EFFECT
from seatrial.model.measurement import Measurement
from seatrial.statistics.estimates import median, robust_scale

RUNS_ERROR = 2.5
"""The error of a run in scatters: (4.03 + 2.02) / sqrt(6), Student's t of 5 degrees of freedom for the interval and for
95 %."""


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """The last two looks at a leaf, of six runs each."""

    latest: LeafRatio
    earlier: LeafRatio | None
    """None: there was one look only."""
    least: float
    """The share by which it must lie below its peers."""
    suspect: bool
    """Whether it was measured again since it carried less, and not to compare others with it."""

    @property
    def slow(self) -> bool:
        """Whether it is slow for certain, and not only for some seconds: traffic of other jobs on an uplink pauses."""
        looked_slow = self.earlier is not None and self.earlier.ratio.value < 1 - self.least
        return looked_slow and self.latest.slow(self.least)

    @property
    def wanted(self) -> bool:
        """Whether one look is not enough."""
        doubtful = self.suspect and self.latest.perhaps(self.least)
        return self.earlier is None and (doubtful or self.latest.slow(self.least))


class LoadState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the rounds under load by now: for the judgement, and to choose what to measure again."""

    rounds: Sequence[Sequence[Measurement]]
    alone: Alone
    found: Mapping[Key, Sequence[Load]]
    offered: Mapping[Key, float]
    """What the nodes of each leaf that took part reach one at a time, added up."""
    of_peers: Mapping[Key, float]
    lack: Mapping[Key, float]
    """The share by which each must lie below its peers; see `leaf_comparison.lacks`."""
    low: Sequence[Key]
    """Leaves below that line, the worst first."""
    slower_group: Sequence[Key]
    """Half of the leaves of a way or more, where these carry less than the others."""

    @property
    def doubted(self) -> set[Key]:
        """Leaves that nothing is compared with as long as there are others."""
        return {*self.low, *self.slower_group}

    @property
    def left(self) -> float:
        """What is left to a node under load, as a share of what it reaches alone: the median over leaves."""
        found = [load.bytes_per_s / self.offered[key] for key, many in self.found.items() for load in many[:1]]
        return median(found) if found and min(self.offered.values()) > 0 else 1.0

    @property
    def detectable(self) -> float | None:
        """An uplink that carries less than its peers' by more than this is found with 95 % power; None: no peers.

        `lack`, and by how much six runs scatter: from rounds of the same leaf, or from all leaves if each has one.
        """
        if not self.lack:
            return None
        same = [apart(many) if each_apart(self.found) else many for many in self.found.values()]
        variances = [run_scatter(many) ** 2 for many in same if len(many) > 1]
        scatter = fmean(variances) ** 0.5 if variances else robust_scale([*self.of_peers.values()])
        return min(max(self.lack.values()) + RUNS_ERROR * scatter, 1.0)

    def least(self, key: Key, effect: float) -> float:
        """`lack`; `effect` for a leaf that was not compared with others at first, since fewer of its nodes took part
        then than in later rounds."""
        return self.lack.get(key, effect)

    def compared(self, *, ago: int = 0) -> list[LeafRatio]:
        """`leaf_comparison.compared` with all of this."""
        return compared(self.found, self.offered, self.lack, self.doubted, ago=ago)

    def looks(self, effect: float) -> list[Looks]:
        """The looks at the leaves that were measured again."""
        earlier = {leaf.key: leaf for leaf in self.compared(ago=1)}
        suspects = {*self.low} | (self.found.keys() - self.lack.keys())
        return [
            Looks(
                latest=leaf,
                earlier=earlier.get(leaf.key),
                least=self.least(leaf.key, effect),
                suspect=leaf.key in suspects,
            )
            for leaf in self.compared()
        ]


def scene_of(
    measurements: Sequence[Measurement], of_node: NodeRates, leaf_of: Mapping[str, str], effect: float = EFFECT
) -> LoadState:
    """All numbers that follow from the measurements of a run. `of_node`: as `leaf_loads.node_rates`."""
    rounds = rounds_of(measurements)
    alone = rates_alone(of_node, rounds, leaf_of)
    found = loads(rounds, leaf_of)
    offered = {key: could(many[-1], alone) for key, many in found.items()}
    one_by_one = each_apart(found)
    of_peers = shares(found, offered)
    lack = lacks_alone(of_peers, found, offered, effect) if one_by_one else lacks(of_peers, effect)
    return LoadState(
        rounds=rounds,
        alone=alone,
        found=found,
        offered=offered,
        of_peers=of_peers,
        lack=lack,
        low=low_leaves(of_peers, lack),
        slower_group=slower_group(of_peers) if one_by_one else (),
    )
