"""Contention on a healthy over-subscribed fabric is no fault, whatever is known of the fabric."""

from pathlib import Path

import pytest

from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings, run_trial
from seatrial.model.errors import ExitCode


@pytest.mark.parametrize("routed", [False, True])
def test_a_healthy_over_subscribed_fabric_passes_with_and_without_routes(tmp_path: Path, routed: bool) -> None:
    """Hundreds of pairs were left INCONCLUSIVE; more knowledge must never give a worse answer."""
    fabric = SimulatedFabric(parse_topology("fat-tree:400,oversubscription=4"))
    trial, outcome = run_trial(fabric, TrialSettings(routed=routed), [], seed=1, archive=tmp_path)
    assert trial.score.claims == ()
    assert trial.exit_code is ExitCode.PASS
    assert any("contention, no fault" in note for note in outcome.judgement.notes)
    assert trial.cost.measurements < 10_500
