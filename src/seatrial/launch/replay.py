"""Plays a recorded run: the same rounds get the same answers."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seatrial.archive.journal import Entry
from seatrial.archive.reader import default_start_of, group_measurements_of, header_of, measurements_of, ranks_of
from seatrial.launch.contract import PLAIN, FactsReading, HoldsNothing, Hosts, StartManner
from seatrial.model.errors import RoundRefused
from seatrial.model.measurement import (
    DefaultStart,
    GroupMeasurement,
    GroupRound,
    Measurement,
    Needs,
    Round,
    RoundOfKernel,
    TimedIterations,
)
from seatrial.model.run import RunInfo

Key = tuple[object, ...]
Store = dict[Key, deque[Any]]
"""What was recorded, by all that a round asks for; one for all sessions of a run, which go on where the last ended."""


class ReplaySession:
    """Answers from the recording; each recorded measurement is given out once, then again from the start."""

    def __init__(
        self, nodes: Sequence[str], header: dict[str, Any], recorded: Store, ranks: Mapping[str, dict[str, Any]]
    ) -> None:
        self.nodes = tuple(nodes)
        self.header = header
        complete = all(node in ranks for node in nodes)
        self.ranks = tuple(ranks[node] for node in nodes) if complete else ()
        self._recorded = recorded

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """See launch.contract.Session.measure; after all that were, a pair that was not recorded is refused.

        A round that is not over after `timeout_s` cannot happen here.
        """
        return self._played(wanted, {f"from {pair[0]} to {pair[1]}": pair for pair in wanted.pairs})

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        """See launch.contract.MeasuresGroups.measure_groups; the rest as in `measure`."""
        return self._played(wanted, {f"on {', '.join(nodes)}": nodes for nodes in wanted.groups})

    def _played(self, wanted: Round | GroupRound, places: Mapping[str, tuple[str, ...]]) -> Iterator[Any]:
        """The next recorded measurement of each place. Raises RoundRefused at last if one was not recorded."""
        missing = ""
        for where, place in places.items():
            if queue := self._recorded.get(_key(wanted, place)):
                queue.rotate(-1)
                yield queue[-1]
            else:
                missing = missing or where
        if missing:
            shape = wanted.shape
            raise RoundRefused(
                f"The recording has no {shape.kernel} of {shape.message_bytes} B {missing} in its {wanted.phase}."
            )

    def close(self, *, kill: bool = False) -> None:
        """Nothing to end."""


def _key(one: RoundOfKernel | TimedIterations, place: tuple[str, ...]) -> Key:
    """What a round and its measurements share. `place`: the pair or the group; of pairs any window will do."""
    shape = one.shape
    window = 0 if shape.kernel.needs is Needs.PAIR else shape.window
    return one.phase, one.variant, shape.kernel, shape.message_bytes, window, place


class ReplayLauncher(HoldsNothing):
    """The contract over an archive's run."""

    name = "replay"

    def __init__(
        self, info: RunInfo, facts: Mapping[str, str], facts_after: Mapping[str, str], entries: Sequence[Entry]
    ) -> None:
        """`facts`, `facts_after`: raw texts by node; `entries`: of the journal."""
        self._default = default_start_of(entries)
        self._ranks = ranks_of(entries)
        self._info = info
        self._readings = [dict(facts), dict(facts_after)]
        self._header = header_of(entries)
        self._store: Store = defaultdict(deque)
        for measurement in measurements_of(entries):
            self._store[_key(measurement, measurement.pair)].append(measurement)
        for group in group_measurements_of(entries):
            self._store[_key(group, group.nodes)].append(group)

    def hosts(self) -> Hosts:
        """The recorded nodes."""
        return Hosts(
            nodes=self._info.nodes,
            left_out=self._info.lost,
            fabric=self._info.fabric,
            cluster=self._info.cluster,
            controllers=self._info.controllers,
            features=self._info.features,
        )

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """The recorded readings, one after the other, the last for ever."""
        texts = self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]
        recorded = {node: texts[node] for node in nodes if node in texts}
        return FactsReading(texts=recorded, silent={node: "it was not recorded" for node in nodes if node not in texts})

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> ReplaySession:
        """A session over the recording; with several ranks a node, on the places that were recorded."""
        places = [place for place in self._ranks if place.rpartition(":")[0] in nodes]
        if manner.ranks_per_node > 1 and places:
            nodes = places
        return ReplaySession(nodes, self._header, self._store, self._ranks)

    def default_start(self, nodes: Sequence[str], log: Path) -> DefaultStart | None:
        """The recorded one."""
        return self._default
