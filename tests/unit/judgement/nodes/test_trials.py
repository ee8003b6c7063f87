"""Trials of nodes: what is proved, what is only suspected, and what disturbs all nodes at one time."""

import msgspec
import pytest

from seatrial.judgement.nodes.trials import SHARED, judge_trials, suspects, trial_notes
from seatrial.model.measurement import GroupMeasurement, Kernel
from seatrial.model.node_trials import Measure
from seatrial.model.run import RecordedRun
from seatrial.model.settings import Trial
from seatrial.model.verdict import FindingKind
from tests.support.builders import names
from tests.support.node_series import GOOD, Machine, facts, recorded

FOUR = names(4)
SLOW = {**dict.fromkeys(FOUR, GOOD), "n3": Machine(memory=0.7)}


def memory_run(machines: dict[str, Machine]) -> RecordedRun:
    return recorded(machines, trials=(Trial.MEMORY,))


def slower(one: GroupMeasurement, factor: float) -> GroupMeasurement:
    return msgspec.structs.replace(one, times_s=tuple(factor * time_s for time_s in one.times_s))


def test_a_node_out_of_line_three_times_is_a_suspect_and_no_finding() -> None:
    run = memory_run(SLOW)
    first = [one for one in run.group_measurements if one.repetition < 3]
    assert suspects(first, run.facts) == ("n3",)
    trials = judge_trials(first, run.facts)
    assert trials.findings == ()
    assert {node for node, _ in trials.suspected} == set(trials.out_of_line) == {"n3"}
    assert any("n3 was out of line in STREAM triad of all cores" in note for note in trial_notes(trials, run.facts))


def test_it_is_named_after_it_was_measured_again_beside_others() -> None:
    run = memory_run(SLOW)
    trials = judge_trials(run.group_measurements, run.facts)
    (finding,) = trials.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.LOW_MEMORY_BANDWIDTH, "node:n3")
    assert finding.of_peers is not None
    assert finding.of_peers.value == pytest.approx(0.7, abs=0.02)
    assert trial_notes(trials, run.facts) == ()


def test_a_suspect_that_is_good_when_measured_again_is_not_named() -> None:
    run, good = memory_run(SLOW), memory_run(dict.fromkeys(FOUR, GOOD))
    mixed = [one for one in run.group_measurements if one.repetition < 3]
    mixed += [one for one in good.group_measurements if one.repetition >= 3]
    assert judge_trials(mixed, run.facts).findings == ()


def test_what_disturbs_all_nodes_in_one_repetition_hides_nothing_and_names_nobody() -> None:
    run = memory_run(SLOW)
    disturbed = [slower(one, 3.0) if one.repetition in (1, 4, 6) else one for one in run.group_measurements]
    trials = judge_trials(disturbed, run.facts)
    assert [finding.subject.text for finding in trials.findings] == ["node:n3"]
    assert trials.resolutions[Measure.TRIAD] == pytest.approx(0.05)


def test_a_rate_of_a_tenth_is_named_where_the_peers_scatter_by_a_quarter() -> None:
    machines = {
        name: Machine(memory=rate) for name, rate in zip(names(6), (1.25, 1.0, 0.75, 1.3, 0.1, 0.7), strict=True)
    }
    run = memory_run(machines)
    trials = judge_trials(run.group_measurements, run.facts)
    assert trials.resolutions[Measure.TRIAD] < 0.9
    assert {finding.subject.text for finding in trials.findings} == {"node:n5"}


def test_nodes_that_share_a_kernel_were_measured_one_after_the_other() -> None:
    run = memory_run(dict.fromkeys(FOUR, GOOD))
    shared = {name: facts(name, boot_id="one") for name in FOUR}
    trials = judge_trials(run.group_measurements, shared)
    assert trial_notes(trials, shared) == (SHARED,)


def test_one_percent_of_noise_is_seen_where_the_peers_are_quiet() -> None:
    machines = {**dict.fromkeys(FOUR, GOOD), "n2": Machine(delay_s=0.1 * 800e-6)}
    run = recorded(machines, trials=(Trial.NOISE,), noise=0)
    (finding,) = judge_trials(run.group_measurements, run.facts).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.HIGH_NOISE, "node:n2")


def test_figures_that_vary_too_much_are_not_useful() -> None:
    wild = recorded(dict.fromkeys(FOUR, GOOD), trials=(Trial.MEMORY,), noise=0.4)
    trials = judge_trials(wild.group_measurements, wild.facts)
    assert trials.findings == ()
    assert Measure.CORE_TRIAD not in trials.useful or trials.resolutions[Measure.CORE_TRIAD] <= 0.25
    calm = judge_trials(memory_run(dict.fromkeys(FOUR, GOOD)).group_measurements, facts={})
    assert Measure.TRIAD in calm.useful, "without facts all nodes are peers"
    assert {one.shape.kernel for one in wild.group_measurements} >= {Kernel.MEMORY_TRIAD, Kernel.CHASE}


def test_a_node_beyond_what_would_be_seen_is_not_passed_over() -> None:
    """Its median is 6 % worse, its repetitions differ: it is out of line, and not proved."""
    run = memory_run(dict.fromkeys(FOUR, GOOD))
    factors = (1.0, 1.07, 1.12, 0.99, 1.08, 1.06, 1.0, 1.09, 1.07)
    uneven = [
        slower(one, factors[one.repetition % len(factors)])
        if one.nodes[0].startswith("n3") and one.shape.kernel is Kernel.MEMORY_TRIAD
        else one
        for one in run.group_measurements
    ]
    trials = judge_trials(uneven, run.facts)
    assert trials.findings == ()
    assert ("n3", Measure.TRIAD) in trials.suspected and trials.out_of_line == ("n3",)
    assert trials.resolutions[Measure.TRIAD] == pytest.approx(0.05)
    (note,) = (note for note in trial_notes(trials, run.facts) if "n3 is at -6." in note)
    assert "differ too much to decide" in note
    assert suspects(uneven, run.facts) == ("n3",)
