"""Nodes of known truth: the slow one is named with its figure and its facts, the others are not."""

from collections.abc import Sequence

import msgspec
import pytest

from seatrial.commands.nodes.judge import NodesResult, judge_nodes
from seatrial.model import subject
from seatrial.model.errors import ExitCode
from seatrial.model.facts import MemoryFacts, NodeFacts
from seatrial.model.measurement import Conditions, Corruption, Kernel, node_of
from seatrial.model.node_trials import Measure
from seatrial.model.run import Ending, NodeState
from seatrial.model.settings import Trial
from seatrial.model.subject import CLUSTER
from seatrial.model.system import Sensor
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.pairs.node_rounds import STORAGE_KERNELS, STREAM
from tests.support.builders import names
from tests.support.node_series import (
    CORE_FLOPS_PER_S,
    CORES,
    GOOD,
    LOAD_S,
    MEMORY_BYTES_PER_S,
    QUANTUM_S,
    SWITCH_S,
    Machine,
    facts,
    recorded,
)

FIVE = names(5)


def with_one(machine: Machine, name: str = "n3") -> dict[str, Machine]:
    return {**dict.fromkeys(FIVE, GOOD), name: machine}


def test_the_figures_of_a_good_node_are_what_it_does() -> None:
    result = judge_nodes(recorded(dict.fromkeys(FIVE, GOOD), noise=0))
    values = {measure: value.value for measure, value in result.trials.figures[0].values.items()}
    assert values[Measure.TRIAD] == pytest.approx(MEMORY_BYTES_PER_S)
    assert values[Measure.READ] == pytest.approx(MEMORY_BYTES_PER_S)
    assert values[Measure.CORE_TRIAD] == pytest.approx(0.4 * MEMORY_BYTES_PER_S)
    assert values[Measure.CHASE] == pytest.approx(LOAD_S)
    assert values[Measure.FMA] == pytest.approx(CORES * CORE_FLOPS_PER_S), "the widest vectors that it has"
    assert values[Measure.SWITCH] == pytest.approx(SWITCH_S)
    assert values[Measure.NOISE] == pytest.approx(0, abs=1e-9)
    assert set(result.trials.figures[0].flops_by_width) == {16, 32}
    assert values[Measure.PRODUCT] == pytest.approx(0.9 * CORES * CORE_FLOPS_PER_S)
    assert (result.trials.figures[0].blas, "DGEMM" in " ".join(result.notes)) == ("OpenBLAS", False)


def test_a_node_without_a_blas_is_named_in_a_note_and_judged_by_the_rest() -> None:
    result = judge_nodes(recorded(with_one(Machine(blas=0))))
    assert (result.findings, result.verdict, result.complete) == ((), Verdict.PASS, True)
    assert [note for note in result.notes if "DGEMM was not tried on n3: the loader finds no BLAS" in note]
    assert [figures.blas for figures in result.trials.figures] == ["OpenBLAS", "OpenBLAS", "", "OpenBLAS", "OpenBLAS"]


@pytest.mark.parametrize("seed", range(5))
def test_good_nodes_pass(seed: int) -> None:
    result = judge_nodes(recorded(dict.fromkeys(FIVE, GOOD), seed=seed))
    assert (result.findings, result.verdict, result.exit_code) == ((), Verdict.PASS, ExitCode.PASS)
    assert result.reason == "5 nodes measured, 5 compared with their peers in 20 figures"


@pytest.mark.parametrize(
    ("machine", "kind", "words"),
    [
        (Machine(memory=0.85), FindingKind.LOW_MEMORY_BANDWIDTH, ", 85 % of the "),
        (Machine(load=1.2), FindingKind.HIGH_MEMORY_LATENCY, "On n3 the memory latency is 10"),
        (Machine(time_slice=2.0), FindingKind.SLOW_SCHEDULER, "On n3 the time off a core shared with a thread is 8"),
        (Machine(stints=2.0), FindingKind.SLOW_SCHEDULER, "the time of a thread on a shared core at once is 1.5"),
        (Machine(timer=1.5), FindingKind.SLOW_SCHEDULER, "the delay of a wake-up from sleep is 4"),
        (Machine(late_s=150e-6), FindingKind.DELAYS_OTHERS, "the delay at a barrier, of the work before it is 1"),
        (Machine(arithmetic=0.9), FindingKind.SLOW_ARITHMETIC, ", 90 % of the "),
        (Machine(slowest_core=0.5), FindingKind.SLOW_ARITHMETIC, "arithmetic of the slowest core is 2"),
        (Machine(delay_s=QUANTUM_S), FindingKind.HIGH_NOISE, "On n3 the noise of the noisiest core is"),
        (Machine(pipe=1.4), FindingKind.SLOW_SCHEDULER, ", 140 % of the "),
    ],
)
def test_a_slow_node_is_named_and_no_other(machine: Machine, kind: FindingKind, words: str) -> None:
    result = judge_nodes(recorded(with_one(machine)))
    (finding,) = result.findings
    assert (finding.kind, finding.subject.text, finding.verdict) == (kind, "node:n3", Verdict.SLOW)
    assert words in finding.statement
    assert "No fact that is known to matter differs" in finding.statement
    assert (result.exit_code, result.word) == (ExitCode.FINDINGS, "SLOW")


def test_the_facts_in_which_it_differs_are_named() -> None:
    node_facts = {name: facts(name) for name in FIVE}
    node_facts["n3"] = facts("n3", memory_bytes=32 << 30, memory=MemoryFacts())
    (finding,) = judge_nodes(recorded(with_one(Machine(memory=0.7)), node_facts=node_facts)).findings
    assert "n3, and no other of 5 nodes, has memory 32 GiB (usually 64 GiB)" in finding.statement
    assert "One slow node of 5 cannot prove that this is the cause." in finding.statement


def test_a_node_that_is_faster_is_good() -> None:
    assert judge_nodes(recorded(with_one(Machine(memory=1.5, arithmetic=1.3, load=0.5, pipe=0.5)))).findings == ()


def test_what_lies_within_the_resolution_is_not_named_and_the_report_says_so() -> None:
    result = judge_nodes(recorded(with_one(Machine(memory=0.96))))
    assert result.findings == ()
    triad = next(comparison for comparison in result.trials.comparisons if comparison.measure is Measure.TRIAD)
    assert triad.resolution == pytest.approx(0.05)
    wide = judge_nodes(recorded(with_one(Machine(memory=0.96)), noise=0.1))
    three = (Measure.TRIAD, Measure.COPY, Measure.READ)
    memory = [one.resolution for one in wide.trials.comparisons if one.measure in three]
    assert max(memory) > 0.05, "scatter makes it coarser"


def test_two_nodes_are_not_compared() -> None:
    result = judge_nodes(recorded({"n1": GOOD, "n2": Machine(memory=0.5)}))
    assert (result.findings, result.verdict, result.word) == ((), Verdict.MEASURED, "MEASURED")
    assert "at least 3 nodes of one model are needed" in result.reason


def test_nodes_of_another_model_are_not_peers() -> None:
    node_facts = {name: facts(name, cpu_model="Xeon" if name in ("n4", "n5") else "AMD EPYC") for name in FIVE}
    slower = {name: Machine(memory=0.5) if name in ("n4", "n5") else GOOD for name in FIVE}
    assert judge_nodes(recorded(slower, node_facts=node_facts)).findings == ()


@pytest.mark.parametrize("kernel", [Kernel.FMA, Kernel.MEMORY_TRIAD, Kernel.NOISE_WORK, Kernel.CHASE])
def test_a_wrong_result_is_silent_data_corruption(kernel: Kernel) -> None:
    result = judge_nodes(recorded({"n1": GOOD, "n2": Machine(wrong=kernel)}))
    (finding,) = result.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.WRONG_RESULT, "node:n2")
    assert (finding.names_fault, result.word, result.exit_code) == (True, "INVALID", ExitCode.FINDINGS)
    assert f"results of {kernel} on n2 are wrong" in finding.statement


def with_wrong(kernel: Kernel, targets: Sequence[str], nodes: Sequence[str] = FIVE) -> NodesResult:
    """A run in which these ranks got 8 wrong bytes in each operation of that kernel."""
    run = recorded(dict.fromkeys(nodes, GOOD))
    broken = []
    for one in run.group_measurements:
        got = [place for place in one.nodes if place in targets and one.shape.kernel is kernel]
        wrong = tuple(Corruption(source="", target=place, wrong_bytes=8, first_byte=0) for place in got)
        broken.append(msgspec.structs.replace(one, errors=8 * len(wrong), corruptions=wrong))
    return judge_nodes(msgspec.structs.replace(run, group_measurements=tuple(broken)))


def test_a_wrong_allreduce_of_several_nodes_blames_no_processor() -> None:
    """Its data came from all nodes over the network: what separates the causes is said instead."""
    allreduce = [one for one in recorded(dict.fromkeys(FIVE, GOOD)).group_measurements
                 if one.shape.kernel is Kernel.ALLREDUCE]  # fmt: skip
    rank = allreduce[0].nodes[1]
    (finding,) = with_wrong(Kernel.ALLREDUCE, [rank]).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.WRONG_RESULT, "node:n2")
    assert f"results of allreduce are wrong on 1 rank: {rank}." in finding.statement
    assert (
        "5 nodes took part (n1, n2, n3, n4, n5): a processor or the memory of any of them can be" in finding.statement
    )
    assert "and so can the network between these nodes" in finding.statement
    assert "--trials memory,arithmetic" in finding.remedy
    assert "seatrial check --nodes n1,n2,n3,n4,n5 --verify" in finding.remedy
    assert "replace" not in finding.remedy


def test_a_wrong_allreduce_on_several_nodes_is_one_finding() -> None:
    places = recorded(dict.fromkeys(FIVE, GOOD)).group_measurements
    ranks = next(one.nodes for one in places if one.shape.kernel is Kernel.ALLREDUCE)
    (three,) = with_wrong(Kernel.ALLREDUCE, ranks[1:4]).findings
    assert [subject.name for subject in (three.subject, *three.ambiguous_with)] == ["n2", "n3", "n4"]
    (every,) = with_wrong(Kernel.ALLREDUCE, ranks).findings
    assert (every.subject, every.ambiguous_with) == (CLUSTER, ())
    assert "wrong on 5 ranks" in every.statement


def test_wrong_data_of_storage_blame_the_file_system_too() -> None:
    run = recorded(dict.fromkeys(FIVE, GOOD), trials=(Trial.STORAGE,))
    targets = [
        one.nodes[0] for one in run.group_measurements if one.variant == STREAM and one.nodes[0].startswith("n4")
    ]
    (finding,) = with_wrong(Kernel.STORAGE_READ, targets).findings
    assert (
        "The file system, the way to it, or the memory or a processor of the node can be the cause" in finding.statement
    )


def test_a_trial_that_shows_nothing_is_no_pass() -> None:
    """Noise is a share of each quantum, and exact, while the rates of arithmetic vary."""
    wild = recorded(dict.fromkeys(FIVE, GOOD), trials=(Trial.ARITHMETIC, Trial.NOISE), noise=0.45, seed=2)
    result = judge_nodes(wild)
    assert Measure.NOISE in result.trials.useful
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)
    assert "; arithmetic varies too much to show a node that is 25 % worse" in result.reason


def test_a_run_without_all_its_repetitions_is_incomplete() -> None:
    whole = recorded(dict.fromkeys(FIVE, GOOD))
    half = tuple(one for one in whole.group_measurements if one.repetition < 2)
    result = judge_nodes(msgspec.structs.replace(whole, group_measurements=half))
    assert (result.complete, result.exit_code, result.word) == (False, ExitCode.INCOMPLETE, "INCOMPLETE")
    without = tuple(one for one in whole.group_measurements if one.shape.kernel is not Kernel.FMA)
    assert not judge_nodes(msgspec.structs.replace(whole, group_measurements=without)).complete
    only_memory = recorded(dict.fromkeys(FIVE, GOOD), trials=(Trial.MEMORY,))
    assert judge_nodes(only_memory).complete
    lost = tuple(one for one in whole.group_measurements if not any(place.startswith("n4") for place in one.nodes))
    result = judge_nodes(msgspec.structs.replace(whole, group_measurements=lost))
    assert (result.complete, "n4 not" in result.reason) == (False, True)


def test_a_node_that_stopped_answering_is_down() -> None:
    whole = recorded(dict.fromkeys(FIVE, GOOD))
    gone = NodeState(node="n4", reason="stopped answering in mid-run: no answer", fault=True)
    result = judge_nodes(msgspec.structs.replace(whole, info=msgspec.structs.replace(whole.info, lost=(gone,))))
    assert [(each.kind, each.subject) for each in result.findings] == [(FindingKind.NODE_DOWN, subject.node("n4"))]
    assert (result.exit_code, result.word) == (ExitCode.FINDINGS, "DOWN")


def test_a_run_that_was_cut_off_is_incomplete() -> None:
    whole = recorded(dict.fromkeys(FIVE, GOOD))
    info = msgspec.structs.replace(whole.info, ending=Ending.INTERRUPTED)
    result = judge_nodes(msgspec.structs.replace(whole, info=info))
    assert result.exit_code is ExitCode.INCOMPLETE
    assert result.reason.startswith("seatrial nodes was interrupted; what 5 of 5 nodes delivered is kept; ")


@pytest.mark.parametrize("failed", [("n3",), tuple(FIVE)])
@pytest.mark.parametrize("trials", [(Trial.STORAGE,), tuple(Trial)])
def test_storage_that_fails_on_a_node_is_no_pass(failed: tuple[str, ...], trials: tuple[Trial, ...]) -> None:
    """An input/output error is not the absence of a finding, and neither is a node that delivered nothing."""
    run = recorded(dict.fromkeys(FIVE, GOOD), trials=trials)
    broken, absent = [], []
    for one in run.group_measurements:
        if one.shape.kernel not in STORAGE_KERNELS or {node_of(name) for name in one.nodes}.isdisjoint(failed):
            broken.append(one)
            absent.append(one)
        else:
            broken.append(msgspec.structs.replace(one, conditions=Conditions(wall_s=1.0, failed=5)))
    for delivered in (broken, absent) if failed == ("n3",) else (broken,):
        result = judge_nodes(msgspec.structs.replace(run, group_measurements=tuple(delivered)))
        assert (result.findings, result.exit_code, result.word) == ((), ExitCode.INCOMPLETE, "INCOMPLETE")
        assert failed[0] in result.reason


def test_what_the_hardware_reports_during_the_run_is_named() -> None:
    run = recorded(dict.fromkeys(FIVE, GOOD), trials=(Trial.MEMORY,))
    old = {"GPU error (Xid)": 2}
    before = {name: _with_log(known, old) for name, known in run.facts.items()}
    after = {name: _with_log(known, {"GPU error (Xid)": 3} if name == "n2" else old) for name, known in before.items()}
    quiet = judge_nodes(msgspec.structs.replace(run, facts=before, facts_after=before))
    assert quiet.findings == () and quiet.verdict is Verdict.PASS, "lines of before the run are not of the run"
    (finding,) = judge_nodes(msgspec.structs.replace(run, facts=before, facts_after=after)).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.KERNEL_LOG, "node:n2")
    assert finding.brief == "GPU error (Xid), 1 line in the kernel's log"


def test_two_processors_of_a_node_are_compared_at_the_end_of_the_run() -> None:
    run = recorded(dict.fromkeys(FIVE, GOOD), trials=(Trial.MEMORY,))
    sensors = tuple(
        Sensor(name=f"coretemp Package id {number}", unit="degC", value=value)
        for number, value in ((0, 66.0), (1, 60.0))
    )
    hot = msgspec.structs.replace(
        run.facts["n3"], system=msgspec.structs.replace(run.facts["n3"].system, sensors=sensors)
    )
    result = judge_nodes(msgspec.structs.replace(run, facts_after={**run.facts, "n3": hot}))
    assert "Node n3: processor 0 is 6 °C hotter than processor 1 (66 and 60 °C)." in result.notes
    assert result.verdict is Verdict.PASS


def _with_log(known: NodeFacts, lines: dict[str, int]) -> NodeFacts:
    system = msgspec.structs.replace(known.system, kernel_log=lines)
    return msgspec.structs.replace(known, boot_id=f"boot of {known.hostname}", system=system)
