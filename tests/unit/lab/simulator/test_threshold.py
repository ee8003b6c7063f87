"""An uplink at what was once the threshold of a pair is named by the real driver, with and without routes."""

from pathlib import Path

import pytest

from seatrial.lab.simulator.faults import parse_fault
from seatrial.lab.simulator.score import Match, Truth
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings, run_trial


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_an_uplink_at_exactly_nine_tenths_is_named(tmp_path: Path, seed: int, routed: bool) -> None:
    """90 % was the threshold: half of its pairs lay above, acquitted it, and the other half was named one by one."""
    fabric = SimulatedFabric(parse_topology("fat-tree:100"))
    settings = TrialSettings(specs=(parse_fault("uplink:0.9"),), routed=routed)
    trial, _ = run_trial(fabric, settings, fabric.plant(settings, seed), seed=seed, archive=tmp_path)
    assert trial.score.faults[0].match in (Match.NAMED, Match.IN_SET), trial.score.claims
    assert [one for one in trial.score.claims if one.truth is Truth.FALSE] == []
