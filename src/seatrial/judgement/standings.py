"""How nodes are after all runs of an archive: a fault stays open until a run that looks at as much finds it gone."""

import shlex
from collections.abc import Iterable

import msgspec

from seatrial.model.monitoring import Condition, NodeStanding, OpenFault, Standing
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.settings import CheckSettings
from seatrial.model.verdict import OF_LINKS, Verdict

LINKS, TRIALS, TIME = "links", "trials", "time"
LOOKS = {RunKind.CHECK: {LINKS, TRIALS}, RunKind.NODES: {TRIALS}, RunKind.SOAK: {TRIALS, TIME}}
"""What a run of each kind looks at."""
REPLAY = "replay"
"""The launcher of a run that measured nothing."""
OPEN = (Verdict.INCONCLUSIVE, Verdict.NOT_RUN)
"""What clears nothing."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of one run. `looks`: what it looked at; `threshold`: see `CheckSettings`."""

    run: str
    ended: str
    looks: frozenset[str]
    nodes: tuple[Standing, ...]
    threshold: float = 0.0


class _Node:
    """What is known of one node after the runs so far."""

    def __init__(self) -> None:
        self.last: tuple[Judged, Standing] | None = None
        self.of_limit: float | None = None
        self.condition: Condition | None = None
        self.faults: dict[str, tuple[OpenFault, frozenset[str]]] = {}
        self.beside: frozenset[str] = frozenset()
        """All nodes of the last run that judged it."""

    def take(self, run: Judged, standing: Standing, judged: frozenset[str]) -> None:
        """One more run, later than all others. `judged`: all its nodes and other parts."""
        self.last = run, standing
        self.beside = judged
        self.of_limit = self.of_limit if standing.of_limit is None else standing.of_limit
        self.condition = standing.condition or self.condition
        faults = {fault.kind: fault for fault in standing.faults}
        if standing.verdict not in OPEN:
            self.faults = {kind: one for kind, one in self.faults.items() if kind in faults or not one[1] <= run.looks}
        for kind, fault in faults.items():
            before = self.faults.get(kind)
            since = before[0].since if before else run.ended
            looks = run.looks - {TRIALS} if kind in OF_LINKS else run.looks
            self.faults[kind] = OpenFault(fault=fault, run=run.run, since=since), looks

    def cleared_by(self, run: Judged, judged: frozenset[str]) -> bool:
        """Whether a part other than a node, which a run that decided on all its nodes does not name, is good again.

        It is if that run judged all nodes of the run that named it, and looked at as much.
        """
        seen = {name for name in self.beside if ":" not in name} <= judged
        return seen and all(looks <= run.looks for _, looks in self.faults.values())


def looks_of(info: RunInfo) -> frozenset[str]:
    """What a run looked at; nothing where it judges no nodes, or replays what another one measured."""
    if info.kind is RunKind.NODES and info.program is not None:
        return frozenset({shlex.join(info.program.words)})
    looks = set() if info.launcher == REPLAY else LOOKS.get(info.kind, set())
    without_trials = isinstance(info.settings, CheckSettings) and not info.settings.node_trials
    return frozenset(looks - {TRIALS} if without_trials else looks)


def standings_after(runs: Iterable[Judged]) -> dict[str, NodeStanding]:
    """How each node is. `runs`: the oldest first."""
    nodes: dict[str, _Node] = {}
    for run in runs:
        judged = frozenset(standing.node for standing in run.nodes)
        for standing in run.nodes:
            nodes.setdefault(standing.node, _Node()).take(run, standing, judged)
        if all(standing.verdict not in OPEN for standing in run.nodes):
            others = [name for name in nodes if ":" in name and name not in judged]
            for name in [name for name in others if nodes[name].cleared_by(run, judged)]:
                del nodes[name]
    return {name: _standing(name, node) for name, node in sorted(nodes.items())}


def _standing(name: str, node: _Node) -> NodeStanding:
    assert node.last is not None  # noqa: S101 - it is made where the first run is taken
    run, standing = node.last
    faults = sorted((fault for fault, _ in node.faults.values()), key=lambda fault: -fault.fault.verdict.gravity)
    return NodeStanding(
        node=name,
        verdict=faults[0].fault.verdict if faults else standing.verdict,
        run=run.run,
        judged=run.ended,
        of_limit=node.of_limit,
        condition=node.condition,
        faults=tuple(faults),
    )
