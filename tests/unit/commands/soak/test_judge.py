"""The judgement on a soak: steps, drifts, throttling, deaths, and healthy nodes."""

import random
import re
from collections.abc import Callable
from functools import cache

import msgspec
import pytest

from seatrial.commands.soak.courses import Course, Decline, declines
from seatrial.commands.soak.judge import judge_soak
from seatrial.commands.soak.view import soak_report
from seatrial.model.errors import ExitCode
from seatrial.model.loss import Loss, LossCause, Moment, SessionLoss
from seatrial.model.measurement import Conditions, GroupMeasurement, Kernel, Measurement, Phase, Shape
from seatrial.model.run import Ending, NodeCause, NodeState, RecordedRun
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.node_series import GOOD, Machine, soaked

NAMES = ("n1", "n2", "n3", "n4")
CYCLES = 24
ONE_WAY = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=6)


def healthy(_node: str, _cycle: int) -> Machine:
    """Always good."""
    return GOOD


def all_slower(_node: str, cycle: int) -> Machine:
    """Every node from the eleventh cycle on."""
    return Machine(memory=0.7) if cycle > 10 else GOOD


@cache
def healthy_soak() -> RecordedRun:
    return soaked(healthy, NAMES, CYCLES)


def with_fault(name: str, first: int, machine: Machine, end: int = CYCLES) -> RecordedRun:
    """n3, say, is another machine from the cycle `first` on."""
    return soaked(lambda node, cycle: machine if node == name and first <= cycle < end else GOOD, NAMES, CYCLES)


Kept = Callable[[GroupMeasurement], GroupMeasurement | None]


def of_node(name: str, change: Kept) -> RecordedRun:
    """The healthy soak with the measurements of one node changed, or left out."""
    run = healthy_soak()
    changed = (change(group) if group.nodes[0].startswith(name) else group for group in run.group_measurements)
    return msgspec.structs.replace(run, group_measurements=tuple(group for group in changed if group is not None))


def heated(**conditions: int) -> Kept:
    """The measurement at these readings."""
    return lambda group: msgspec.structs.replace(group, conditions=Conditions(wall_s=1.0, **conditions))


def test_healthy_nodes_pass() -> None:
    result = judge_soak(healthy_soak())
    assert (result.verdict, result.findings, result.exit_code) == (Verdict.PASS, (), ExitCode.PASS)
    assert [node.cycles for node in result.nodes] == [CYCLES] * 4


def test_a_step_is_named_with_its_time_and_size() -> None:
    result = judge_soak(with_fault("n3", 16, Machine(arithmetic=0.8)))
    (finding,) = result.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.WORSE_UNDER_LOAD, "node:n3")
    assert "20 %" in finding.statement and "160 s after the start, and stayed so" in finding.statement
    assert result.exit_code is ExitCode.FINDINGS


def test_a_node_that_recovers_is_named_with_the_end() -> None:
    result = judge_soak(with_fault("n2", 8, Machine(memory=0.7), end=14))
    assert {finding.subject.text for finding in result.findings} == {"node:n2"}
    assert all(decline.until_s == 140.0 for decline in result.nodes[1].declines)


def test_a_quota_that_stops_few_iterations_for_long_is_seen() -> None:
    def stopped(group: GroupMeasurement) -> GroupMeasurement:
        if group.repetition <= 12 or group.shape.kernel is not Kernel.FMA:
            return group
        times = (*group.times_s[:-2], *(20 * time_s for time_s in group.times_s[-2:]))
        return msgspec.structs.replace(group, times_s=times)

    (finding,) = judge_soak(of_node("n3", stopped)).findings
    assert finding.subject.text == "node:n3"


def test_what_slows_down_all_nodes_at_once_names_none() -> None:
    result = judge_soak(soaked(all_slower, NAMES, CYCLES))
    assert (result.findings, result.verdict) == ((), Verdict.INCONCLUSIVE), "none is named, and it is no PASS"
    assert re.match(r"all nodes together: STREAM \w+ of all cores became 3[01] % \(.* 110 s after", result.reason)
    assert any(
        note.startswith("All nodes together: the STREAM triad of all cores became 30 % ") for note in result.notes
    )


def test_a_single_machine_is_compared_with_itself() -> None:
    result = judge_soak(soaked(all_slower, ("n1",), CYCLES))
    assert [finding.kind for finding in result.findings] == [FindingKind.WORSE_UNDER_LOAD]
    assert "became 30 % (" in result.findings[0].statement, "of its rate before, though it was slow most of the time"


def test_a_steady_drift_has_an_interval() -> None:
    hotter = soaked(lambda node, cycle: Machine(load=1 + 0.012 * cycle * (node == "n1")), NAMES, CYCLES)
    result = judge_soak(hotter)
    assert {finding.subject.text for finding in result.findings} == {"node:n1"}
    (decline,) = [each for each in result.nodes[0].declines if each.label == "memory latency"]
    assert decline.drift
    assert decline.low < 0.012 * (CYCLES - 1) < decline.high


def line(slope: float) -> list[Decline]:
    scatter = [0.004 * (-1) ** place for place in range(40)]
    times = tuple(10.0 * place for place in range(40))
    losses = tuple(slope * time + noise for time, noise in zip(times, scatter, strict=True))
    return declines([Course(node="n1", label="memory latency", effect=0.05, times_s=times, losses=losses)])


def test_the_size_of_a_drift() -> None:
    (decline,) = line(0.0003)
    assert decline.drift
    assert decline.change == pytest.approx(0.117, abs=0.005)
    assert decline.low < decline.change < decline.high
    assert line(0.0) == line(0.0001) == []


def test_few_cycles_are_inconclusive() -> None:
    result = judge_soak(soaked(healthy, NAMES, 5))
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)
    assert "at least 12 cycles are needed" in result.reason


def test_noise_that_hides_everything_is_no_pass() -> None:
    mood = random.Random(1)
    restless = soaked(lambda _node, _cycle: wild(mood), NAMES, CYCLES)
    links = tuple(
        msgspec.structs.replace(link, times_s=(link.times_s[0] * mood.uniform(1.0, 5.0),))
        for link in restless.measurements
    )
    restless = msgspec.structs.replace(restless, measurements=links)
    result = judge_soak(restless)
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)


def wild(mood: random.Random) -> Machine:
    """Anything, from cycle to cycle."""
    rate, slow = mood.uniform(0.2, 1.0), mood.uniform(1.0, 5.0)
    return Machine(memory=rate, load=slow, arithmetic=rate, delay_s=mood.uniform(0, 0.02), pipe=slow)


def test_throttling_is_a_finding() -> None:
    (finding,) = judge_soak(of_node("n4", heated(throttles=3, millicelsius=96000))).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.THROTTLED, "node:n4")
    assert "at up to 96 °C" in finding.statement


def test_the_clock_of_the_slowest_core_over_time() -> None:
    run = of_node("n4", lambda group: heated(least_khz=3_100_000 - 10_000 * group.repetition)(group))
    result = judge_soak(run)
    nodes = {node.node: node for node in result.nodes}
    slowing = nodes["n4"]
    assert (slowing.first_hz, slowing.last_hz, slowing.least_hz) == (3.1e9, 2.87e9, 2.87e9)
    assert nodes["n1"].first_hz is None
    printed = " ".join(str(block) for block in soak_report(run.info, result, {}).terminal(120))
    assert "3.10 → 2.87" in printed


def died_run(ending: Ending = Ending.COMPLETE) -> RecordedRun:
    run = healthy_soak()
    cool = Conditions(wall_s=1.0, millicelsius=71000)
    groups = tuple(
        msgspec.structs.replace(group, conditions=cool)
        for group in run.group_measurements
        if not (group.nodes[0].startswith("n2") and group.repetition > 12)
    )
    lost = NodeState(node="n2", reason="stopped answering in mid-run", fault=True, cause=NodeCause.SILENT)
    loss = SessionLoss(
        session=1, moment=Moment.ROUND, at_s=133.0, round=40, phase=Phase.NODES, variant="all cores",
        kernel=Kernel.FMA, began_s=128.0, loss=Loss(cause=LossCause.NODE_FAILURE, suspects=("n2",)),
    )  # fmt: skip
    info = msgspec.structs.replace(run.info, lost=(lost,), ending=ending)
    return msgspec.structs.replace(run, info=info, group_measurements=groups, losses=(loss,), sessions=2)


def test_a_node_that_dies_leaves_evidence() -> None:
    result = judge_soak(died_run())
    assert [(finding.kind, finding.subject.text) for finding in result.findings] == [(FindingKind.NODE_DOWN, "node:n2")]
    statement = result.findings[0].statement
    assert "fma (all cores) was running, which began 128 s after the start" in statement
    assert "from 120 s after the start, cycle 13, at 71 °C" in statement


def test_a_soak_that_was_stopped_is_incomplete() -> None:
    run = healthy_soak()
    stopped = msgspec.structs.replace(run, info=msgspec.structs.replace(run.info, ending=Ending.INTERRUPTED))
    result = judge_soak(stopped)
    assert (result.word, result.exit_code) == ("INCOMPLETE", ExitCode.INCOMPLETE)
    assert "stopped before the 4 minutes were over" in result.reason
    assert soak_report(stopped.info, result, {}).headline.startswith("INCOMPLETE  4 nodes, 24 cycles")


def test_a_link_that_becomes_slow() -> None:
    run = healthy_soak()
    matchings = ((("n1", "n4"), ("n2", "n3")), (("n1", "n3"), ("n4", "n2")), (("n1", "n2"), ("n3", "n4")))
    measured = tuple(
        Measurement(
            phase=Phase.SOAK, repetition=cycle, shape=ONE_WAY, source=f"{source}:0", target=f"{target}:0",
            times_s=((0.08 if cycle > 11 and "n3" in (source, target) else 0.04) * (1 + 0.001 * (cycle % 3)),),
        )
        for cycle in range(CYCLES)
        for source, target in matchings[cycle % 3]
    )  # fmt: skip
    findings = judge_soak(msgspec.structs.replace(run, measurements=measured)).findings
    assert {finding.subject.text for finding in findings} == {"node:n3"}


@pytest.mark.parametrize(("memory", "expected"), [(1.0, {"n1": ("n2",)}), (0.7, {"n2": ()})])
def test_the_link_of_two_nodes_that_becomes_slow_is_either_nodes(
    memory: float, expected: dict[str, tuple[str, ...]]
) -> None:
    """If one of them becomes worse in another way, too, it is the one."""
    run = soaked(lambda node, cycle: Machine(memory=memory if node == "n2" and cycle > 11 else 1.0), NAMES[:2], CYCLES)
    slower = tuple(
        msgspec.structs.replace(link, times_s=(link.times_s[0] * (2.0 if link.repetition > 11 else 1.0),))
        for link in run.measurements
    )
    findings = judge_soak(msgspec.structs.replace(run, measurements=slower)).findings
    assert {one.subject.name: tuple(other.name for other in one.ambiguous_with) for one in findings} == expected


HALF = CYCLES // 2
MISSING: dict[str, Kept] = {
    "the node": lambda _: None,
    "the second half": lambda group: group if group.repetition < HALF else None,
    "a kernel": lambda group: None if group.shape.kernel is Kernel.FMA else group,
    "the second half of a kernel": (
        lambda group: group if group.shape.kernel is not Kernel.FMA or group.repetition < HALF else None
    ),
    "all times": lambda group: msgspec.structs.replace(group, times_s=()),
    "all but zeros": lambda group: msgspec.structs.replace(group, times_s=(0.0,) * len(group.times_s)),
}


def test_a_kernel_that_no_node_has_results_of_is_missed() -> None:
    run = healthy_soak()
    without = tuple(group for group in run.group_measurements if group.shape.kernel is not Kernel.NOISE_WORK)
    result = judge_soak(msgspec.structs.replace(run, group_measurements=without))
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)
    assert result.reason.startswith("no node has results of noise_work; 4 nodes, 24 cycles")
    refused = tuple(
        msgspec.structs.replace(group, times_s=(0.0,) * 3) if group.shape.kernel is Kernel.PIPE_SWITCH else group
        for group in run.group_measurements
    )
    result = judge_soak(msgspec.structs.replace(run, group_measurements=refused))
    assert result.reason.startswith("no node has results of pipe_switch; ")


def test_the_first_line_says_who_lacks_how_much() -> None:
    result = judge_soak(of_node("n3", lambda group: None if group.repetition % 2 else group))
    assert result.reason.startswith("n3 lacks 41 % of its results; ")
    assert "Missing results: n3: no memory_triad in 12 of 24 cycles." in " ".join(result.notes)


@pytest.mark.parametrize("lacking", MISSING)
def test_a_node_that_lacks_results_is_no_pass(lacking: str) -> None:
    run = of_node("n3", MISSING[lacking])
    result = judge_soak(run)
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)
    assert "n3" in result.reason
    assert {case.verdict for case in soak_report(run.info, result, {}).cases} == {Verdict.INCONCLUSIVE}
