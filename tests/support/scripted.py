"""A launcher with prescribed failures: hangs, deaths, refusals."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seatrial.launch.contract import PLAIN, FactsReading, Hosts, StartManner
from seatrial.model.errors import LaunchError, ProbeLost, RoundRefused
from seatrial.model.loss import Loss
from seatrial.model.measurement import Measurement, Round
from seatrial.model.run import NodeState
from tests.support.builders import HEADER, Cluster

Pair = tuple[str, str]


class ScriptedLauncher:
    """Stands in for clusters that hang, which no test could wait for; its numbers come from a synthetic cluster.

    `hangs`: pairs that never answer. `dies_at`: from its how many-th round on a node is silent. `on_round`: called with
    the number of each round before it is measured, and may raise. `kills`: given the number of the session, a round and
    the session's nodes, what the session dies of in this round. `start_losses`: what the first starts die of;
    `end_loss`: what each session dies of after its last round. Everything that was asked is kept.
    """

    name = "scripted"
    job = "4711"
    program = "seatrial-probe"

    def __init__(
        self,
        cluster: Cluster,
        *,
        hangs: Sequence[Pair] = (),
        dies_at: Mapping[str, int] | None = None,
        on_round: Callable[[int], None] | None = None,
        kills: Callable[[int, Round, Sequence[str]], Loss | None] | None = None,
        start_losses: Sequence[Loss] = (),
        end_loss: Loss | None = None,
        starts_fail: int = 0,
        transient: bool = False,
        refused: Sequence[Pair] = (),
        left_out: Sequence[NodeState] = (),
    ) -> None:
        self.cluster = cluster
        self.hangs = {frozenset(pair) for pair in hangs}
        self.dies_at = dict(dies_at or {})
        self.on_round = on_round or (lambda _: None)
        self.kills = kills or (lambda _session, _round, _nodes: None)
        self.start_losses = list(start_losses)
        self.end_loss = end_loss
        self.sessions = 0
        self.starts_fail = starts_fail
        self.transient = transient
        self.refused = set(refused)
        self.left_out = tuple(left_out)
        self.draw = random.Random(cluster.seed)
        self.rounds: list[Round] = []
        self.starts: list[tuple[str, ...]] = []
        self.manners: list[StartManner] = []
        self.header: dict[str, Any] = {}
        """More fields of the header of each session."""
        self.killed = 0
        self.closed = False

    def hosts(self) -> Hosts:
        return Hosts(nodes=self.cluster.nodes, left_out=self.left_out, fabric=self.cluster.fabric, cluster="scripted")

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        assert seconds > 0

    def silent(self) -> set[str]:
        return {node for node, first in self.dies_at.items() if len(self.rounds) >= first}

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        silent = {node: "it did not answer" for node in nodes if node in self.silent()}
        return FactsReading(
            texts={node: self.cluster.facts_text(node) for node in nodes if node not in silent}, silent=silent
        )

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> "ScriptedSession":
        self.starts.append(tuple(nodes))
        self.manners.append(manner)
        if self.starts_fail or self.silent() & set(nodes):
            self.starts_fail = max(self.starts_fail - 1, 0)
            what = f"The probe did not start on {len(nodes)} ranks: it said nothing"
            raise LaunchError(what, transient=self.transient)
        if self.start_losses:
            raise LaunchError("The probe did not start: it crashed", transient=True, loss=self.start_losses.pop(0))
        self.sessions += 1
        return ScriptedSession(self, nodes)

    def close(self) -> None:
        self.closed = True


class ScriptedSession:
    """One launch of it."""

    def __init__(self, launcher: ScriptedLauncher, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)
        self.header: dict[str, Any] = {**HEADER, **launcher.header, "ranks": len(nodes)}
        self.ranks: tuple[dict[str, Any], ...] = ()
        self._launcher = launcher
        self._lost = False

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        assert not self._lost, "a session that was lost is not asked again"
        launcher = self._launcher
        launcher.rounds.append(wanted)
        launcher.on_round(len(launcher.rounds))
        stuck = False
        loss = launcher.kills(launcher.sessions, wanted, self.nodes)
        for one in launcher.cluster.measure(wanted, launcher.draw):
            if loss is not None:
                self._lost = True
                raise ProbeLost("The probe ended in mid-work: srun: error", "died", loss)
            if set(one.pair) & launcher.silent() or frozenset(one.pair) in launcher.hangs:
                stuck = True
            elif one.pair in launcher.refused:
                raise RoundRefused("The probe refused a round: no memory")
            else:
                yield one
        if stuck:
            self._lost = True
            raise ProbeLost("The probe did not answer in time.", "timeout")

    def close(self, *, kill: bool = False) -> Loss | None:
        self._launcher.killed += kill
        return None if kill else self._launcher.end_loss
