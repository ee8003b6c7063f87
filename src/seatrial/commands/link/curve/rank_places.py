"""The places of the two ranks of a curve, and those that the MPI's own launcher would have chosen."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.locate.evidence import Pair
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import RankPlace
from seatrial.model.run import RecordedRun
from seatrial.node.rank_places import cores_of, crowds, known_cores, rank_places, usable_cores
from seatrial.rules.ranks import loose_ranks


class RankSpot(msgspec.Struct, frozen=True, kw_only=True):
    """One rank: the processors on which it might run, and the one on which it was at the time."""

    place: str
    cpus: tuple[int, ...]
    cpu: int | None
    bound: bool
    """Whether it is bound to fewer cores than the node lets it use."""


class Spots(msgspec.Struct, frozen=True, kw_only=True):
    """Both ranks of one launch. `share`: both are on one core, so that each waits for the other."""

    line: str
    """What started them; without the program."""
    ranks: tuple[RankSpot, ...]
    share: bool
    failure: str = ""
    """Why it did not start; empty: it did."""


class CurvePlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The places of the ranks that were measured, and those that the default would have chosen (None: not checked)."""

    measured: Spots
    default: Spots | None
    one_machine: bool
    """Both nodes are one machine: two places of one host, or virtual nodes."""

    @property
    def differ(self) -> bool:
        """Whether the default would have put a rank elsewhere."""
        if self.default is None or self.default.failure:
            return False
        return [rank.cpus for rank in self.measured.ranks] != [rank.cpus for rank in self.default.ranks]


LAUNCHED_BY = {"slurm": "srun", "local": "mpirun --oversubscribe", "ssh": "mpirun --bind-to core"}


def curve_places(recorded: RecordedRun, pair: Pair) -> CurvePlaces | None:
    """The places that the ranks reported; None if they did not report any."""
    if not recorded.starts:
        return None
    measured = _of_pair(recorded.starts[0].ranks, pair)
    if len(measured) < len(pair):
        return None
    one_machine = _one_machine(recorded.facts, measured)
    launcher = recorded.info.started_by or LAUNCHED_BY.get(recorded.info.launcher, recorded.info.launcher)
    asked = recorded.default_start
    default = None
    if asked is not None:
        ranks = _of_pair(rank_places(asked.nodes, asked.ranks, recorded.info.nodes), pair)
        failure = asked.failure or ("" if len(ranks) == len(pair) else "its ranks did not say where they were")
        default = _spots(asked.line, ranks, recorded.facts, one_machine=one_machine, failure=failure)
    return CurvePlaces(
        measured=_spots(launcher, measured, recorded.facts, one_machine=one_machine),
        default=default,
        one_machine=one_machine,
    )


def _of_pair(ranks: Sequence[RankPlace], pair: Pair) -> tuple[RankPlace, ...]:
    by_place = {rank.place: rank for rank in ranks if rank.cpus}
    return tuple(by_place[place] for place in pair if place in by_place)


def _one_machine(facts: Mapping[str, NodeFacts], ranks: Sequence[RankPlace]) -> bool:
    """Nodes with one boot number run on one kernel."""
    boots = [found.boot_id if (found := facts.get(rank.node)) else None for rank in ranks]
    return len({rank.node for rank in ranks}) == 1 or (None not in boots and "" not in boots and len(set(boots)) == 1)


def _spots(
    line: str, ranks: Sequence[RankPlace], facts: Mapping[str, NodeFacts], *, one_machine: bool, failure: str = ""
) -> Spots:
    spots = []
    for rank in ranks:
        known = facts.get(rank.node)
        cores = known_cores(known, [rank])
        loose = len(cores) > 1 if known is None else bool(loose_ranks((rank,), cores, usable_cores(known, [rank])))
        spots.append(RankSpot(place=rank.place, cpus=rank.cpus, cpu=rank.cpu, bound=not loose))
    share = False
    if one_machine and len(ranks) > 1:
        cores = known_cores(facts.get(ranks[0].node), ranks)
        share = bool(crowds([cores_of(cores, rank.cpus) for rank in ranks]))
    return Spots(line=line, ranks=tuple(spots), share=share, failure=failure)
