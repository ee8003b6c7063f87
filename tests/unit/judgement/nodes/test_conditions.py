"""What else happened on a node while it was measured: rates, notes, and the daemon that uses one percent."""

import msgspec
import pytest

from seatrial.judgement.nodes.figures import conditions_of
from seatrial.judgement.nodes.trials import judge_trials, trial_notes
from seatrial.model.measurement import Conditions, GroupMeasurement, Kernel
from seatrial.model.node_trials import Measure, NodeTrials
from seatrial.model.settings import Trial
from seatrial.model.verdict import FindingKind
from tests.support.builders import names
from tests.support.node_series import GOOD, facts, recorded

FOUR = names(4)
WALL_S = 0.4


def with_conditions(one: GroupMeasurement, others: dict[str, float], **more: int) -> GroupMeasurement:
    """`others`: processors that other processes of a node use; 0.1 % where it says nothing."""
    node, _, rank = one.nodes[0].partition(":")
    watched = one.shape.kernel is Kernel.NOISE_WORK and rank == "0"
    others_s = WALL_S * (others.get(node, 0.001) + 0.0001 * one.repetition) if watched else None
    interrupts = 40 if watched else None
    conditions = Conditions(wall_s=WALL_S, switches=2, others_s=others_s, interrupts=interrupts, **more)
    return msgspec.structs.replace(one, conditions=conditions)


def judged(others: dict[str, float], *, noise: float = 0.3, **more: int) -> NodeTrials:
    run = recorded(dict.fromkeys(FOUR, GOOD), trials=(Trial.NOISE,), noise=noise)
    measured = [with_conditions(one, others, **more) for one in run.group_measurements]
    return judge_trials(measured, run.facts)


def test_a_daemon_that_uses_one_percent_is_named_on_a_restless_machine() -> None:
    (finding,) = judged({"n3": 0.01}).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.HIGH_NOISE, "node:n3")
    assert "processor time of other processes" in finding.statement
    assert finding.measured is not None
    assert finding.measured.value == pytest.approx(0.01, rel=0.1)


def test_the_same_daemon_on_all_nodes_names_nobody() -> None:
    trials = judged(dict.fromkeys(FOUR, 0.01))
    assert trials.findings == ()
    assert trials.resolutions[Measure.OTHERS] == pytest.approx(0.005)


def test_busy_and_hot_nodes_get_a_note() -> None:
    trials = judged(dict.fromkeys(FOUR, 0.2), throttles=1)
    notes = trial_notes(trials, {name: facts(name) for name in FOUR})
    assert any("Other processes of n2 used 20 % of a processor" in note for note in notes)
    assert any("The cores of n1 were throttled for heat" in note for note in notes)
    assert trial_notes(judged({}), {name: facts(name) for name in FOUR}) == ()


def test_rates_over_all_rounds() -> None:
    run = recorded({"n1": GOOD}, trials=(Trial.NOISE,))
    measured = [with_conditions(one, {}, least_khz=2_600_000) for one in run.group_measurements]
    found = conditions_of(measured)
    assert found is not None
    assert found.switches_per_s == pytest.approx(2 / WALL_S)
    assert found.interrupts_per_s == pytest.approx(40 / WALL_S)
    assert (found.least_hz, found.throttles, found.celsius, found.watts) == (2.6e9, None, None, None)
    assert conditions_of(run.group_measurements) is None, "a probe that says nothing of them"
