"""Nodes that are hotter than others of their model while all do the same work."""

import msgspec
import pytest

from seatrial.judgement.nodes.figures import temperatures_of
from seatrial.judgement.nodes.trials import judge_trials
from seatrial.model.measurement import Conditions, GroupMeasurement, Kernel
from seatrial.model.node_trials import NodeTrials
from seatrial.model.settings import Trial
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.render.node_trials import heat_lines, trial_fields
from tests.support.builders import names
from tests.support.node_series import GOOD, recorded


def with_heat(one: GroupMeasurement, celsius: float) -> GroupMeasurement:
    warmer = celsius + 0.2 * one.repetition
    conditions = Conditions(wall_s=0.4, switches=2, millicelsius=round(1e3 * warmer) if celsius else None)
    return msgspec.structs.replace(one, conditions=conditions)


def judged(*celsius: float, repetitions: int = 3) -> NodeTrials:
    """Nodes n1, n2, ... with these temperatures; 0: unknown."""
    nodes = names(len(celsius))
    run = recorded(dict.fromkeys(nodes, GOOD), trials=(Trial.ARITHMETIC,), noise=0.002)
    degrees = dict(zip(nodes, celsius, strict=True))
    measured = [
        with_heat(one, degrees[one.nodes[0].partition(":")[0]])
        for one in run.group_measurements
        if one.repetition < repetitions
    ]
    return judge_trials(measured, run.facts)


def test_a_node_six_degrees_hotter_than_its_peers_is_named() -> None:
    trials = judged(61, 61, 67, 61)
    (finding,) = trials.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.HOTTER_THAN_PEERS, "node:n3")
    assert finding.verdict is Verdict.MISCONFIGURED
    assert "6 °C hotter" in finding.statement
    assert dict(heat_lines(trials))["heat"] == (
        "median of 4 nodes 61 °C, hottest n3 at 67 °C; a node is named from 66 °C on"
    )
    (fields,) = trial_fields(trials).heat
    assert fields.hottest == "n3"


@pytest.mark.parametrize(
    "celsius",
    [
        (61, 61, 65, 61),  # less than the effect
        (55, 61, 67, 58, 63, 70),  # places in the rack differ as much
        (61, 67),  # of two nodes either may be the odd one
        (0, 0, 67, 0),
        (61, 61, 0, 61),
        (61, 61, 40, 61),  # a colder node may be idle, and is fine
    ],
)
def test_nobody_is_named_without_reason(celsius: tuple[float, ...]) -> None:
    assert judged(*celsius).findings == ()


def test_an_operation_of_all_nodes_has_the_temperature_of_the_hottest_and_does_not_count() -> None:
    run = recorded(dict.fromkeys(names(4), GOOD), trials=(Trial.ARITHMETIC,), noise=0.002)
    shape = msgspec.structs.replace(run.group_measurements[0].shape, kernel=Kernel.BARRIER)
    together = [
        msgspec.structs.replace(one, shape=shape, conditions=Conditions(wall_s=0.4, millicelsius=90_000))
        for one in run.group_measurements
    ]
    assert temperatures_of(together) == {}
    assert set(temperatures_of([with_heat(one, 61) for one in run.group_measurements]).values()) >= {61.0, 61.2}


def test_a_node_without_a_temperature_that_its_peers_have_is_listed() -> None:
    trials = judged(61, 61, 0, 62)
    assert dict(heat_lines(trials))["heat"].endswith("; unknown: n3")
    (fields,) = trial_fields(trials).heat
    assert fields.unknown == ("n3",)


def test_two_readings_name_nobody() -> None:
    assert judged(61, 61, 67, 61, repetitions=2).findings == ()


def test_two_hot_nodes_of_six_are_both_named() -> None:
    found = judged(61, 60, 70, 61, 62, 71).findings
    assert [one.subject.text for one in found] == ["node:n3", "node:n6"]
