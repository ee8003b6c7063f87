"""A check also reports what the trials of each node show, in its headline, findings, JSON and text."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from seatrial.commands.check.fields import check_fields
from seatrial.commands.check.headline import headline, not_tested
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.commands.check.view import check_report
from seatrial.driver.node_trials import REPETITIONS, try_nodes
from seatrial.driver.run import Run
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.judgement.nodes.storage import REASONS
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.errors import ExitCode
from seatrial.model.judgement import Doubt
from seatrial.model.measurement import Conditions, GroupMeasurement, GroupRound, Kernel
from seatrial.model.node_trials import Measure
from seatrial.model.run import RecordedRun
from seatrial.model.settings import CheckSettings, Trial
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.pairs.node_rounds import STORAGE_KERNELS
from seatrial.render.text import as_text
from tests.support.builders import Cluster, names, sail, slow_part
from tests.support.node_series import GOOD, Machine, deliver, facts, recorded
from tests.support.scripted import ScriptedLauncher, ScriptedSession

FOUR = names(4)


def check_with(slow: dict[str, Machine]) -> RecordedRun:
    """A check of healthy links, with the trials of these nodes."""
    trials = recorded({**dict.fromkeys(FOUR, GOOD), **slow}, trials=(Trial.MEMORY, Trial.ARITHMETIC))
    check = sail(Cluster(nodes=FOUR))
    return msgspec.structs.replace(
        check, group_measurements=trials.group_measurements, facts={name: facts(name) for name in FOUR}
    )


def test_the_node_whose_link_is_good_and_whose_memory_is_not_is_named() -> None:
    run = check_with({"n3": Machine(memory=0.7)})
    judgement = judge(run)
    (finding,) = judgement.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.LOW_MEMORY_BANDWIDTH, "node:n3")
    assert (judgement.verdict, judgement.exit_code) == (Verdict.SLOW, ExitCode.FINDINGS)
    first = headline(run.info, judgement)
    assert first.word == "SLOW"
    assert first.what.startswith("n3: STREAM ")
    assert "70 % of its peers" in first.what
    verdicts = {node.node: node.verdict for node in judgement.nodes}
    assert verdicts == {"n1": Verdict.PASS, "n2": Verdict.PASS, "n3": Verdict.SLOW, "n4": Verdict.PASS}


def test_a_pass_says_what_the_trials_would_have_seen() -> None:
    run = check_with({})
    judgement = judge(run)
    assert judgement.verdict is Verdict.PASS
    assert "one whose memory is 5.0 % slower, too" in headline(run.info, judgement).what
    text = as_text(check_report(run.info, judgement, run.facts))
    assert "each by itself; would see STREAM triad of all cores by 5.0 %" in " ".join(text.split())
    assert "seatrial nodes" not in not_tested(run.info, judgement)
    fields = check_fields(run.info, judgement, run.facts)
    assert fields.trials is not None
    assert [node.node for node in fields.trials.nodes] == [*FOUR]
    assert {compared.measure for compared in fields.trials.comparisons} >= {Measure.TRIAD, Measure.FMA}


def tried_three_times(run: RecordedRun) -> RecordedRun:
    """The run, cut off before the nodes out of line were tried again."""
    few = tuple(one for one in run.group_measurements if one.repetition < REPETITIONS)
    return msgspec.structs.replace(run, group_measurements=few)


def test_an_open_suspicion_is_no_pass_and_stands_in_the_first_line() -> None:
    run = tried_three_times(check_with({"n3": Machine(memory=0.7)}))
    judgement = judge(run)
    assert (judgement.findings, judgement.verdict) == ((), Verdict.INCONCLUSIVE)
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert [(one.doubt, one.subjects) for one in judgement.withheld] == [(Doubt.NODES_OUT_OF_LINE, ("n3",))]
    assert "n3 was out of line in a trial" in headline(run.info, judgement).what
    assert {node.node: node.verdict for node in judgement.nodes}["n3"] is Verdict.INCONCLUSIVE


def test_beside_another_fault_a_suspected_node_does_not_pass() -> None:
    trials = tried_three_times(check_with({"n3": Machine(memory=0.7)}))
    run = msgspec.structs.replace(
        trials, measurements=sail(Cluster(nodes=FOUR, parts=slow_part("node", "n1", 0.6))).measurements
    )
    verdicts = {node.node: node.verdict for node in judge(run).nodes}
    assert (verdicts["n1"], verdicts["n3"], verdicts["n4"]) == (Verdict.SLOW, Verdict.INCONCLUSIVE, Verdict.PASS)


def test_noise_that_hides_the_trials_of_nodes_withholds_a_pass() -> None:
    unlike = {name: Machine(arithmetic=rate) for name, rate in zip(FOUR, (1.4, 1.0, 0.7, 0.6), strict=True)}
    run = check_with(unlike)
    judgement = judge(run)
    assert [(one.doubt, one.subjects) for one in judgement.withheld] == [(Doubt.NOISE_OF_TRIALS, (Trial.ARITHMETIC,))]
    first = headline(run.info, judgement)
    assert first.word == "INCONCLUSIVE"
    assert "noise would hide a node that is 25 % worse in arithmetic" in first.what


@pytest.mark.parametrize(("nodes", "doubted"), [(4, True), (2, False)])
def test_trials_that_had_no_time_withhold_a_pass(nodes: int, doubted: bool) -> None:
    run = check_with({})
    run = msgspec.structs.replace(
        run, group_measurements=run.group_measurements[:1], facts={name: facts(name) for name in FOUR[:nodes]}
    )
    judgement = judge(run)
    assert [one.doubt for one in judgement.withheld] == [Doubt.NODES_UNTRIED] * doubted
    assert judgement.verdict is (Verdict.INCONCLUSIVE if doubted else Verdict.PASS)
    assert ("too short to compare all nodes in memory" in headline(run.info, judgement).what) == doubted


def test_a_node_that_was_not_tried_beside_others_withholds_a_pass() -> None:
    run = check_with({})
    others = tuple(one for one in run.group_measurements if not any(name.startswith("n4") for name in one.nodes))
    judgement = judge(msgspec.structs.replace(run, group_measurements=others))
    assert [(one.doubt, one.subjects) for one in judgement.withheld] == [
        (Doubt.NODES_UNTRIED, (Trial.MEMORY, Trial.ARITHMETIC))
    ]
    assert judgement.verdict is Verdict.INCONCLUSIVE


def test_without_trials_the_report_says_that_they_are_missing() -> None:
    run = msgspec.structs.replace(check_with({}), group_measurements=())
    judgement = judge(run)
    assert "each node by itself (seatrial nodes)" in not_tested(run.info, judgement)
    assert check_fields(run.info, judgement, run.facts).trials is None


@pytest.mark.parametrize(
    ("errno", "passes"), [(5, False), (30, False), (116, False), (107, False), (2, True), (13, True), (28, True)]
)
def test_storage_that_is_out_of_order_is_no_pass(errno: int, passes: bool) -> None:
    """A folder that the nodes do not see is not a fault of theirs; an input/output error is one of the site's."""
    storage = recorded(dict.fromkeys(FOUR, GOOD), trials=(Trial.MEMORY, Trial.STORAGE)).group_measurements
    failing = tuple(
        msgspec.structs.replace(one, conditions=Conditions(wall_s=1.0, failed=errno))
        if one.shape.kernel in STORAGE_KERNELS and one.nodes[0].startswith("n3")
        else one
        for one in storage
    )
    run = msgspec.structs.replace(check_with({}), group_measurements=failing)
    judgement = judge(run)
    first = headline(run.info, judgement)
    report = check_report(run.info, judgement, run.facts)
    assert "Storage was not measured on n3: " in " ".join(as_text(report).split())
    if passes:
        assert (first.word, report.exit_code) == ("PASS", ExitCode.PASS)
        return
    assert (first.word, report.exit_code) == ("INCOMPLETE", ExitCode.INCOMPLETE)
    assert first.what.startswith(f"storage failed on n3: {REASONS[errno]}; 4 nodes, ")
    trials = check_fields(run.info, judgement, run.facts).trials
    assert trials and trials.storage and trials.storage.broken == {"n3": REASONS[errno]}


def test_a_finding_comes_before_storage_that_is_out_of_order() -> None:
    whole = recorded({**dict.fromkeys(FOUR, GOOD), "n1": Machine(memory=0.7)}, trials=(Trial.MEMORY, Trial.STORAGE))
    failing = tuple(
        msgspec.structs.replace(one, conditions=Conditions(wall_s=1.0, failed=5))
        if one.shape.kernel in STORAGE_KERNELS
        else one
        for one in whole.group_measurements
    )
    run = msgspec.structs.replace(check_with({}), group_measurements=failing)
    first = headline(run.info, judge(run))
    assert first.word == "SLOW"
    assert first.what.startswith("n1: STREAM ")
    assert first.what.endswith("storage failed on n1, n2, n3, n4: input/output error")


@pytest.mark.parametrize("memory", [0.7, 1.0])
def test_a_slow_link_of_a_slow_node_says_so(memory: float) -> None:
    from_cluster = sail(Cluster(nodes=FOUR, parts=slow_part("node", "n3", 0.6)))
    trials = check_with({"n3": Machine(memory=memory)})
    run = msgspec.structs.replace(from_cluster, group_measurements=trials.group_measurements)
    links = [one for one in judge(run).findings if one.kind is FindingKind.SLOW_LINK]
    assert [one.subject.text for one in links] == ["node:n3"]
    assert ("The node itself is slow as well" in links[0].statement) == (memory < 1)
    assert links[0].remedy.startswith("First see the finding low-memory-bandwidth") == (memory < 1)


class TrialSession(ScriptedSession):
    """Pairs of the synthetic cluster, and trials of nodes of known truth."""

    def __init__(self, launcher: "TrialLauncher", nodes: Sequence[str]) -> None:
        super().__init__(launcher, nodes)
        self._trials = launcher

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        self._trials.asked.append(wanted)
        yield from deliver(wanted, self._trials.machines, 0.002, self._trials.draw)


class TrialLauncher(ScriptedLauncher):
    """Four nodes with one core each; those in `machines` are not good."""

    def __init__(self, machines: dict[str, Machine]) -> None:
        super().__init__(Cluster(nodes=FOUR))
        self.machines = {**dict.fromkeys(FOUR, GOOD), **machines}
        self.asked: list[GroupRound] = []

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> TrialSession:
        super().start(nodes, log, manner)
        return TrialSession(self, nodes)


def checked(launcher: ScriptedLauncher, archive: Path, **changes: object) -> CheckOutcome:
    settings = CheckSettings(archive=archive, run="trial", node_trials=True, loaded=False)
    return run_check(msgspec.structs.replace(settings, **changes), launcher=launcher)


def test_a_check_tries_all_nodes_at_once_and_those_out_of_line_again(tmp_path: Path) -> None:
    launcher = TrialLauncher({"n3": Machine(arithmetic=0.8)})
    outcome = checked(launcher, tmp_path)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.SLOW_ARITHMETIC, "node:n3")
    assert outcome.judgement.complete
    repetitions = {wanted.repetition for wanted in launcher.asked}
    assert repetitions == set(range(REPETITIONS + RETEST_RUNS))
    assert all(len(wanted.groups) == 4 for wanted in launcher.asked if wanted.shape.kernel is Kernel.FMA)
    again = checked(launcher, tmp_path, replay=outcome.folder, run="again")
    assert [one.kind for one in again.judgement.findings] == [FindingKind.SLOW_ARITHMETIC]


def test_good_nodes_are_tried_no_more_often_than_planned(tmp_path: Path) -> None:
    launcher = TrialLauncher({})
    outcome = checked(launcher, tmp_path)
    assert outcome.judgement.verdict is Verdict.PASS
    assert {wanted.repetition for wanted in launcher.asked} == set(range(REPETITIONS))


@pytest.mark.parametrize("changes", [{"node_trials": False}, {"answer_s": 30.0}])
def test_trials_are_left_out_where_they_are_not_wanted(tmp_path: Path, changes: dict[str, object]) -> None:
    launcher = TrialLauncher({})
    frame = SimpleNamespace(measurer=SimpleNamespace(nodes=FOUR, remarks=[]))
    settings = msgspec.structs.replace(CheckSettings(archive=tmp_path, node_trials=True), **changes)
    try_nodes(cast(Run, frame), settings, deadline=1e12)
    assert (launcher.asked, frame.measurer.remarks) == ([], [])


def test_a_spent_budget_is_a_note(tmp_path: Path) -> None:
    frame = SimpleNamespace(measurer=SimpleNamespace(nodes=FOUR, remarks=[]))
    try_nodes(cast(Run, frame), CheckSettings(archive=tmp_path, node_trials=True), deadline=0.0)
    assert frame.measurer.remarks == ["The nodes themselves were not tried: the budget was spent."]
