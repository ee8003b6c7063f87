"""What makes a simulated check fast changes none of its answers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from seatrial.driver.capping import GrossFaults
from seatrial.fabric import routes
from seatrial.fabric.routes import Route
from seatrial.lab.simulator.disturbances import SimulatedConditions
from seatrial.lab.simulator.network import Network
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings, run_trial
from seatrial.locate import explanation
from seatrial.model.measurement import Measurement
from seatrial.model.pair_table import Reals
from tests.support.greedy_cover import greedy

Pair = tuple[str, str]
Answer = tuple[object, ...]


def answer_of(archive: Path, run: str) -> Answer:
    """Everything that a check of 36 nodes with two faults says, beside background jobs, with the routes known."""
    fabric = SimulatedFabric(parse_topology("fat-tree:36,oversubscription=2"))
    settings = TrialSettings(random_faults=2, routed=True, conditions=SimulatedConditions(jobs=2))
    planted = fabric.plant(settings, 3)
    trial, outcome = run_trial(fabric, settings, planted, seed=3, archive=archive, run=run)
    judgement = outcome.judgement
    assert trial.score.faults
    times = [(one.pair, one.times_s) for one in outcome.recorded.measurements]
    return trial.score, judgement.findings, judgement.pairs, judgement.nodes, judgement.notes, times


def without_short_cuts(patch: pytest.MonkeyPatch) -> None:
    """Single pairs in arrays, streams read in every round, parts weighed again and again, all rounds counted."""
    patch.setattr(routes, "FEW", 0)
    patch.setattr(explanation, "_cover", greedy)
    keep, take = Network.rates, GrossFaults.take

    def rates(network: Network, pairs: Sequence[Pair], paths: Sequence[Route], others: Sequence[Route] = ()) -> Reals:
        network._beside = None
        return keep(network, pairs, paths, others)

    def counted(faults: GrossFaults, one: Measurement) -> None:
        take(faults, one)
        faults.any = True
        faults._count_new()

    patch.setattr(Network, "rates", rates)
    patch.setattr(GrossFaults, "take", counted)


def test_no_short_cut_changes_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = answer_of(tmp_path, "quick")
    without_short_cuts(monkeypatch)
    assert answer_of(tmp_path, "slow") == quick
