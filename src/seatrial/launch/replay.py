"""Plays a recorded run: the same rounds get the same answers."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from seatrial.launch.contract import PLAIN, FactsReading, Hosts, StartManner
from seatrial.model.errors import RoundRefused
from seatrial.model.measurement import DefaultStart, GroupMeasurement, GroupRound, Measurement, Round
from seatrial.model.run import RunInfo

Key = tuple[object, ...]
Played = TypeVar("Played", Measurement, GroupMeasurement)
Store = dict[Key, deque[Measurement]]
"""What was recorded, by all that a round asks for; one for all sessions of a run, which go on where the last ended."""
GroupStore = dict[Key, deque[GroupMeasurement]]
"""Recorded measurements of kernels that are not pairs."""


class ReplaySession:
    """Answers from the recording; each recorded measurement is given out once, then again from the start."""

    def __init__(
        self,
        nodes: Sequence[str],
        header: dict[str, Any],
        recorded: Store,
        ranks: Mapping[str, dict[str, Any]],
        groups: GroupStore | None = None,
    ) -> None:
        self.nodes = tuple(nodes)
        self.header = header
        complete = all(node in ranks for node in nodes)
        self.ranks = tuple(ranks[node] for node in nodes) if complete else ()
        self._recorded = recorded
        self._groups = groups or {}

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """See launch.contract.Session.measure; after all that were, a pair that was not recorded is refused."""
        shape = wanted.shape
        keys = {
            f"from {source} to {target}": (
                wanted.phase,
                wanted.variant,
                shape.kernel,
                shape.message_bytes,
                source,
                target,
            )
            for source, target in wanted.pairs
        }
        return _played(self._recorded, keys, wanted)

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        """See launch.contract.MeasuresGroups.measure_groups; as in `measure`, a group that was not recorded is refused.

        A round that is not over after `timeout_s` cannot happen here.
        """
        keys = {f"on {', '.join(nodes)}": _group_key(wanted, nodes) for nodes in wanted.groups}
        return _played(self._groups, keys, wanted)

    def close(self, *, kill: bool = False) -> None:
        """Nothing to end."""


def _played(
    store: Mapping[Key, deque[Played]], keys: Mapping[str, Key], wanted: Round | GroupRound
) -> Iterator[Played]:
    """The next recorded measurement of each key. Raises RoundRefused at last if one was not recorded."""
    missing = ""
    for where, key in keys.items():
        if queue := store.get(key):
            queue.rotate(-1)
            yield queue[-1]
        else:
            missing = missing or where
    if missing:
        shape = wanted.shape
        raise RoundRefused(
            f"The recording has no {shape.kernel} of {shape.message_bytes} B {missing} in its {wanted.phase}."
        )


def _group_key(group: GroupRound | GroupMeasurement, nodes: tuple[str, ...]) -> Key:
    return group.phase, group.variant, group.shape.kernel, group.shape.message_bytes, group.shape.window, nodes


class ReplayLauncher:
    """The contract over an archive's run."""

    name = "replay"
    job = ""

    def __init__(
        self,
        info: RunInfo,
        facts: Mapping[str, str],
        facts_after: Mapping[str, str],
        header: dict[str, Any],
        measurements: Sequence[Measurement],
        ranks: Mapping[str, dict[str, Any]] | None = None,
        default: DefaultStart | None = None,
        group_measurements: Sequence[GroupMeasurement] = (),
    ) -> None:
        """`facts`, `facts_after`: raw texts by node; `ranks`: what the rank on each node said of itself.

        `default`: the recorded launch with the MPI's own binding.
        """
        self._default = default
        self._ranks = dict(ranks or {})
        self._info = info
        self._readings = [dict(facts), dict(facts_after)]
        self._header = header
        self._store: Store = defaultdict(deque)
        for measurement in measurements:
            self._store[
                measurement.phase,
                measurement.variant,
                measurement.shape.kernel,
                measurement.shape.message_bytes,
                *measurement.pair,
            ].append(measurement)
        self._groups: GroupStore = defaultdict(deque)
        for group in group_measurements:
            self._groups[_group_key(group, group.nodes)].append(group)

    def hosts(self) -> Hosts:
        """The recorded nodes."""
        return Hosts(
            nodes=self._info.nodes,
            left_out=self._info.lost,
            fabric=self._info.fabric,
            cluster=self._info.cluster,
            features=self._info.features,
        )

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """Nothing to get hold of."""

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
        return ReplaySession(nodes, self._header, self._store, self._ranks, self._groups)

    def default_start(self, nodes: Sequence[str], log: Path) -> DefaultStart | None:
        """The recorded one."""
        return self._default

    def close(self) -> None:
        """Nothing to give back."""
