"""A check whose figures are those of a program: faults are located with few starts, and a start that fails is neither
slow nor good."""

import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.journal import StepEnded, of_type
from seatrial.archive.reader import read_entries, read_run
from seatrial.archive.run_sets import read_summary
from seatrial.commands.check.dry_run import program_starts
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.commands.check.view import check_report
from seatrial.driver import pair_program as driver_pair_program
from seatrial.driver.benchmark.definition import parsed
from seatrial.driver.pair_program import pair_program
from seatrial.judgement.pair_limit import has_path_limits
from seatrial.locate.evidence import waits_of
from seatrial.model.errors import ExitCode, LaunchError, SeatrialError, UsageError
from seatrial.model.fabric import Component
from seatrial.model.facts import Gpu
from seatrial.model.judgement import Doubt
from seatrial.model.measurement import Phase
from seatrial.model.run import Ending, PairFigure
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction, node, pair, uplink
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, leaves, names, slow_part
from tests.support.launchers import use_launcher
from tests.support.pair_programs import DECLARED, OSU_BW, SENDRECV, PairProgramLauncher, nccl_test, osu_bw
from tests.support.scripted import ScriptedLauncher

pytestmark = pytest.mark.usefixtures("without_keeper")
SIXTEEN = names(16)
N3_SLOW = slow_part("node", "n3", 0.68)
QUARTER = 16 * 15 // 4
"""A quarter of the starts that all ordered pairs take."""


def checked(archive: Path, launcher: ScriptedLauncher, program: str = OSU_BW, **options: object) -> CheckOutcome:
    use_launcher(launcher)
    settings = CheckSettings(archive=archive, run="trial", pair_program=pair_program(program))
    return run_check(msgspec.structs.replace(settings, **options))


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        (slow_part("node", "n3", 0.8), (FindingKind.SLOW_LINK, node("n3"), Direction.BOTH)),
        (slow_part("node", "n7", 0.8, [Direction.OUT]), (FindingKind.SLOW_LINK, node("n7"), Direction.OUT)),
        (slow_part("uplink", "leaf2", 0.6), (FindingKind.SLOW_UPLINK, uplink("leaf2"), Direction.BOTH)),
    ],
    ids=["node", "one way", "uplink"],
)
def test_a_fault_is_named_with_a_quarter_of_all_starts(
    tmp_path: Path, slow: dict[Component, float], named: tuple[FindingKind, object, Direction]
) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN, leaf_of=leaves(16, 4), parts=slow))
    outcome = checked(tmp_path, launcher)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject, finding.direction) == named
    assert finding.experiments[0].confirmed
    assert len(launcher.pairs) <= QUARTER


@pytest.mark.parametrize(
    ("waits", "named", "seed"),
    [
        (None, set(), 0),
        (lambda _node: 0.0, {(FindingKind.UNSTABLE_LINK, node("n3"))}, 2),
        (lambda _node: 0.0, {(FindingKind.UNSTABLE_LINK, node("n3"))}, 3),
        (lambda _node: 0.35, set(), 0),
    ],
    ids=["unknown", "none", "none, too", "long"],
)
def test_a_part_that_varies_is_decided_only_if_waits_are_known(
    tmp_path: Path, waits: Callable[[str], float] | None, named: set[tuple[FindingKind, object]], seed: int
) -> None:
    """On a machine whose cores others used, a healthy node was called unstable: 87 to 116 MB/s in six starts."""
    draw = random.Random(seed)
    starts: list[tuple[str, str]] = []

    def mood(_phase: Phase, _repetition: int, ends: tuple[str, str]) -> float:
        if "n3" not in ends:
            return 1.0
        starts.append(ends)
        return 0.7 if len(starts) <= 4 or draw.random() < 0.5 else 1.0

    judgement = checked(tmp_path, PairProgramLauncher(Cluster(nodes=SIXTEEN, mood=mood), waits=waits)).judgement
    assert {(finding.kind, finding.subject) for finding in judgement.findings} == named
    assert judgement.verdict is (Verdict.UNSTABLE if named else Verdict.INCONCLUSIVE)
    assert any("lie on several levels" in note for note in judgement.notes) is (waits is None)


@pytest.mark.parametrize(
    ("everything", "slow", "waits", "kinds"),
    [
        (0.68, {}, lambda _node: 0.0, {FindingKind.SLOW_FABRIC}),
        (0.68, {}, lambda _node: 0.35, set()),
        (0.68, {}, lambda _node: 0.15, {FindingKind.SLOW_FABRIC}),
        (1.0, N3_SLOW, lambda _node: 0.0, {FindingKind.SLOW_LINK}),
        (1.0, N3_SLOW, lambda node: 0.35 * (node == "n3"), {FindingKind.WAITS_FOR_PROCESSOR}),
        (1.0, N3_SLOW, lambda node: 0.35 * (node != "n3"), {FindingKind.SLOW_LINK}),
    ],
    ids=["quiet", "busy", "hardly busy", "slow", "busy node", "busy peers"],
)
def test_what_ranks_waited_for_a_processor_excuses_as_much_as_with_the_probe(
    tmp_path: Path,
    everything: float,
    slow: dict[Component, float],
    waits: Callable[[str], float],
    kinds: set[FindingKind],
) -> None:
    """On a machine whose cores others used, healthy pairs carried 68 to 72 % of their limit: a false slow fabric."""
    launcher = PairProgramLauncher(Cluster(nodes=names(8), everything=everything, parts=slow), waits=waits)
    outcome = checked(tmp_path, launcher)
    assert {finding.kind for finding in outcome.judgement.findings} == kinds
    assert outcome.judgement.verdict is (Verdict.SLOW if kinds else Verdict.INCONCLUSIVE)
    for one in outcome.recorded.measurements:
        assert waits_of(one) == pytest.approx([waits(node) for node in one.pair])
    assert judge(read_run(outcome.folder)) == outcome.judgement


def test_waits_of_a_program_that_sends_both_ways_belong_to_the_same_nodes(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=names(4)), nccl_test, waits=lambda node: int(node[1:]) / 10)
    measured = checked(tmp_path, launcher, SENDRECV).recorded.measurements
    assert {one.pair for one in measured} >= {("n1", "n2"), ("n2", "n1")}
    for one in measured:
        assert waits_of(one) == pytest.approx([int(node[1:]) / 10 for node in one.pair])


@pytest.mark.parametrize("seed", range(4))
def test_a_healthy_cluster_is_silent_and_says_what_it_would_have_seen(tmp_path: Path, seed: int) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN, leaf_of=leaves(16, 4), seed=seed))
    outcome = checked(tmp_path, launcher)
    assert outcome.judgement.findings == ()
    assert outcome.judgement.exit_code is ExitCode.PASS
    assert outcome.judgement.powers
    assert len(launcher.pairs) <= QUARTER
    assert {pair.latency_verdict for pair in outcome.judgement.pairs} == {None}


def test_the_starts_that_a_dry_run_announces_are_those_of_a_healthy_check(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN, leaf_of=leaves(16, 4)))
    checked(tmp_path, launcher)
    settings = CheckSettings(archive=tmp_path, pair_program=pair_program(OSU_BW))
    starts = program_starts(settings, SIXTEEN, launcher.cluster.fabric)
    assert (starts.survey, starts.all_pairs) == (len(launcher.pairs), 16 * 15)
    assert starts.survey_s == 5.0 * starts.rounds


def test_a_survey_is_repeated_only_while_noise_would_hide_a_slow_node(tmp_path: Path) -> None:
    def passes(noise: float) -> int:
        outcome = checked(tmp_path, PairProgramLauncher(Cluster(nodes=names(8), noise=noise)), run=f"noise-{noise}")
        return len({one.repetition for one in outcome.recorded.measurements if one.phase is Phase.SURVEY})

    assert (passes(0.004), passes(0.06)) == (1, 3)


def test_a_program_that_sends_both_ways_is_started_once_for_a_pair(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN, parts=slow_part("node", "n3", 0.8)), nccl_test)
    outcome = checked(tmp_path, launcher, SENDRECV)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_LINK, node("n3"))
    assert outcome.judgement.withheld == ()
    assert len(launcher.pairs) <= 16 * 15 // 2 // 4
    survey = [one for one in outcome.recorded.measurements if one.phase is Phase.SURVEY]
    assert {one.pair for one in survey} == {one.pair[::-1] for one in survey}
    assert outcome.recorded.info.figure == PairFigure(
        benchmark="nccl-tests", metric="bus_bandwidth_bytes_per_s", of_path=True, both_ways=True
    )


@pytest.mark.parametrize("slow", [{}, slow_part("node", "n3", 0.7)], ids=["healthy", "slow"])
def test_data_that_no_start_checked_do_not_pass_and_slow_parts_are_named(
    tmp_path: Path, slow: dict[Component, float]
) -> None:
    """Rows without a number in #wrong passed, beside a note, while `judge` and `nodes` say MEASURED of them."""
    says = partial(nccl_test, wrong="N/A")
    outcome = checked(tmp_path, PairProgramLauncher(Cluster(nodes=SIXTEEN, parts=slow), says), SENDRECV)
    judgement = outcome.judgement
    assert [(one.doubt, one.subjects) for one in judgement.withheld] == [(Doubt.DATA_UNCHECKED, ("nccl-tests",))]
    assert [finding.subject for finding in judgement.findings] == ([node("n3")] if slow else [])
    assert judgement.verdict is (Verdict.SLOW if slow else Verdict.INCONCLUSIVE)
    assert judgement.exit_code is (ExitCode.FINDINGS if slow else ExitCode.INCOMPLETE)
    assert judge(read_run(outcome.folder)) == judgement
    sentence = check_report(outcome.recorded.info, judgement, {}).sentence
    assert slow or sentence == "no finding on 16 nodes, but nccl-tests did not check its data"


@pytest.mark.parametrize("collective", ["sendrecv", "all_reduce", "alltoall"])
def test_links_that_all_reach_a_fiftieth_are_slow_by_their_limit(tmp_path: Path, collective: str) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=names(6), everything=0.02), partial(nccl_test, collective=collective))
    judgement = checked(tmp_path, launcher, SENDRECV).judgement
    assert judgement.verdict is Verdict.SLOW
    assert {pair.bandwidth_verdict for pair in judgement.pairs} == {Verdict.SLOW}
    shares = [re.search(r"([\d.]+) % of its limit", pair.reason) for pair in judgement.pairs]
    assert [float(share[1]) for share in shares if share] == pytest.approx([2.0] * len(shares), rel=0.05)


def test_one_slow_pair_of_a_collective_is_named(tmp_path: Path) -> None:
    slow = {("n1", "n2"): 0.5, ("n2", "n1"): 0.5}
    launcher = PairProgramLauncher(Cluster(nodes=names(6), pairs=slow), nccl_test)
    (finding,) = checked(tmp_path, launcher, SENDRECV, design="complete").judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_PAIR, pair("n1", "n2"))
    assert finding.limit == pytest.approx(117.67e6, rel=1e-3)


@pytest.mark.parametrize(
    ("collective", "ranks_per_node", "factor", "of_path", "kinds"),
    [
        ("sendrecv", 1, 2.0, True, {FindingKind.FASTER_THAN_PHYSICS}),
        ("all_reduce", 1, 1.0, True, set()),
        ("all_reduce", 8, 1.8, False, set()),
        ("alltoallv", 1, 2.0, False, set()),
    ],
    ids=["above", "reduced in the switches", "eight GPUs a node", "of unknown traffic"],
)
def test_the_limit_of_a_path_is_that_of_two_ranks(
    tmp_path: Path, collective: str, ranks_per_node: int, factor: float, of_path: bool, kinds: set[FindingKind]
) -> None:
    says = partial(nccl_test, collective=collective, ranks_per_node=ranks_per_node)
    outcome = checked(tmp_path, PairProgramLauncher(Cluster(nodes=names(6), everything=factor), says), SENDRECV)
    assert {finding.kind for finding in outcome.judgement.findings} == kinds
    assert outcome.recorded.info.figure is not None
    assert outcome.recorded.info.figure.of_path is of_path
    assert any("compared only with their peers" in note for note in outcome.judgement.notes) is not of_path


def test_pairs_whose_gpus_share_a_fabric_between_nodes_have_no_limit(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=names(6), everything=8.0), nccl_test)
    recorded = checked(tmp_path, launcher, SENDRECV).recorded
    assert has_path_limits(recorded)
    joined = Gpu(address="0000:01:00.0", fabric_state="Completed", node_fabric=True)
    facts = {name: msgspec.structs.replace(known, gpus=(joined,)) for name, known in recorded.facts.items()}
    assert judge(msgspec.structs.replace(recorded, facts=facts)).findings == ()


@pytest.mark.parametrize(
    ("ranks", "why"),
    [(1, "its output has no bus_bandwidth_bytes_per_s"), (2, "its ranks were on 1 node, not on the 2 of the pair")],
)
def test_what_a_program_did_within_one_node_is_no_figure_of_a_pair(tmp_path: Path, ranks: int, why: str) -> None:
    says = partial(nccl_test, nodes=1, ranks_per_node=ranks)
    with pytest.raises(LaunchError, match=f"no figure on any of 3 pairs: {why}"):
        checked(tmp_path, PairProgramLauncher(Cluster(nodes=names(6)), says), SENDRECV)


@pytest.mark.parametrize("collective", ["broadcast", "gather"])
def test_a_collective_of_one_direction_is_refused(tmp_path: Path, collective: str) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=names(6)), partial(nccl_test, collective=collective))
    with pytest.raises(UsageError, match=f"{collective} moves data from or to one rank"):
        checked(tmp_path, launcher, SENDRECV)


def test_a_node_on_which_the_program_fails_is_named_and_its_pairs_are_not_run(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN), fails=["n3"])
    outcome = checked(tmp_path, launcher)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.RANK_DIED, node("n3"))
    assert finding.ambiguous_with == ()
    assert "no CUDA-capable device" in finding.statement
    own = [pair for pair in outcome.judgement.pairs if "n3" in (pair.source, pair.target)]
    assert {pair.verdict for pair in own} == {Verdict.NOT_RUN}
    assert all("no CUDA-capable device" in pair.reason for pair in own)
    others = [pair for pair in outcome.judgement.pairs if pair not in own]
    assert {pair.verdict for pair in others} <= {Verdict.PASS, Verdict.NOT_RUN}
    assert len(launcher.pairs) <= QUARTER


def test_two_nodes_between_which_alone_the_program_fails_are_not_told_apart(tmp_path: Path) -> None:
    """Each gives a figure with another node, with which it is started for that."""
    healthy = PairProgramLauncher(Cluster(nodes=names(8)))
    checked(tmp_path / "healthy", healthy)
    ends = set(healthy.pairs[-1])
    (finding,) = checked(
        tmp_path / "apart", PairProgramLauncher(Cluster(nodes=names(8)), between=ends)
    ).judgement.findings
    assert finding.kind == FindingKind.RANK_DIED
    assert {finding.subject, *finding.ambiguous_with} == set(map(node, ends))


@pytest.mark.parametrize(
    "bad",
    ["printf '# OSU MPI Bandwidth Test v7.3\\n'", "echo hello", "printf ''"],
    ids=["incomplete", "of something else", "nothing"],
)
def test_an_output_without_a_valid_figure_is_a_start_that_failed(tmp_path: Path, bad: str) -> None:
    outcome = checked(tmp_path, PairProgramLauncher(Cluster(nodes=names(8)), fails=["n3"], bad=bad))
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.RANK_DIED, node("n3"))


def test_a_program_that_fails_everywhere_is_an_error_with_its_cause(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN), fails=SIXTEEN)
    with pytest.raises(LaunchError, match="no CUDA-capable device"):
        checked(tmp_path, launcher)
    assert len(launcher.pairs) <= 6


def test_a_figure_beyond_physics_is_invalid(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=names(6), everything=2.0))
    outcome = checked(tmp_path, launcher)
    assert {finding.kind for finding in outcome.judgement.findings} == {FindingKind.FASTER_THAN_PHYSICS}


def test_the_archive_keeps_what_was_printed_and_is_replayed(tmp_path: Path) -> None:
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN, parts=slow_part("node", "n3", 0.8)))
    outcome = checked(tmp_path, launcher)
    recorded = read_run(outcome.folder)
    assert judge(recorded) == outcome.judgement
    steps = [entry.step for entry in of_type(read_entries(outcome.folder), StepEnded)]
    begun_together = sorted(tuple(step.name.split(">")) for step in steps)  # those of a round end in any order
    assert begun_together == sorted(launcher.pairs)
    assert all(step.output.startswith("# OSU MPI Bandwidth Test") for step in steps)
    assert read_summary(outcome.folder).benchmark == OSU_BW
    again = run_check(CheckSettings(archive=tmp_path, run="again", replay=outcome.folder))
    assert again.judgement.findings == outcome.judgement.findings
    assert again.recorded.info.figure == outcome.recorded.info.figure
    assert check_report(again.recorded.info, again.judgement, {}).sentence


def test_ctrl_c_keeps_what_was_delivered(tmp_path: Path) -> None:
    class Interrupted(PairProgramLauncher):
        def program_command(self, *words: object, **options: object) -> object:  # type: ignore[override]
            if len(self.pairs) == 9:
                raise KeyboardInterrupt
            return super().program_command(*words, **options)  # type: ignore[arg-type]

    outcome = checked(tmp_path, Interrupted(Cluster(nodes=SIXTEEN)), pairs_at_once=1)
    assert outcome.recorded.info.ending is Ending.INTERRUPTED
    assert len(outcome.recorded.measurements) == 9
    assert not list(tmp_path.glob(".scratch-*/.seatrial-*"))


def test_a_launcher_that_starts_no_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot start programs"):
        checked(tmp_path, ScriptedLauncher(Cluster(nodes=names(4))))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("osu_bw 'D", "quotation"),
        ("no_such.toml", "no_such.toml"),
    ],
)
def test_what_is_no_program_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pair_program(text)


@pytest.mark.parametrize(("letters", "error"), [(4, LaunchError), (60, UsageError)])
def test_patterns_have_limited_time(
    tmp_path: Path, letters: int, error: type[SeatrialError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nested repetitions double the time with each letter that does not match."""
    monkeypatch.setattr(driver_pair_program, "PARSE_S", 0.5)
    declared = tmp_path / "own.toml"
    declared.write_text(Path(DECLARED).read_text().replace("mark = '^#", "mark = '(?:a+)+b|^#"))
    launcher = PairProgramLauncher(Cluster(nodes=names(4)), lambda rate: f"{'a' * letters}\n{nccl_test(rate)[:40]}")
    with pytest.raises(error):
        checked(tmp_path / "archive", launcher, str(declared))


def test_a_declared_program_takes_more_words() -> None:
    program = pair_program(f"{DECLARED} -c 1")
    assert program.words == ("sendrecv_perf", "-b", "4M", "-e", "4M", "-c", "1")
    assert program.declared == DECLARED


def test_a_latency_is_no_bandwidth(tmp_path: Path) -> None:
    says = "printf '# OSU MPI Latency Test v7.3\\n# Size Latency (us)\\n8 1.50\\n'"
    launcher = PairProgramLauncher(Cluster(nodes=names(4)), fails=names(4), bad=says)
    with pytest.raises(LaunchError, match="no bandwidth_bytes_per_s"):
        checked(tmp_path, launcher, "osu_latency -m 8:8")


def test_the_made_up_outputs_are_read_to_their_rates() -> None:
    rate = random.Random(1).uniform(1e8, 2e8)
    for text, toml in ((osu_bw(rate), "osu"), (nccl_test(rate), DECLARED)):
        benchmark, output = parsed(toml, f"{OSU_BW}\n{text}" if toml == "osu" else text)
        assert output.valid, output
        assert benchmark is not None
        assert output.values(benchmark.main_metric) == [pytest.approx(rate, rel=1e-5)]
