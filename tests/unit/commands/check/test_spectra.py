"""A check at several ranks per node: pairs of ranks, their modes and what explains these, and what is not judged."""

import itertools
import random
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout
from seatrial.archive.reader import read_run
from seatrial.archive.run_values import ValuesFile, read_tables
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.driver.manners import spectrum_rounds
from seatrial.launch.contract import StartManner
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.judgement import Doubt, Judgement, Spectrum, ranks_of, variant_of
from seatrial.model.measurement import Corruption, Kernel, Phase, ProbeStart, RankPlace, Round, node_of
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import node
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.pairs.rounds import Pair
from seatrial.pairs.survey import BANDWIDTH as BULK
from seatrial.pairs.survey import LATENCY as ROUND_TRIP
from seatrial.render.spectra import FAR, NEAR, modes_of, spectra_bars, spectra_of
from tests.support.builders import HEALTHY, Cluster, leaves, names, sail, slow_part
from tests.support.command_line import Seatrial
from tests.support.launchers import use_launcher
from tests.support.machine_forms import facts_of
from tests.support.machines import machine
from tests.support.scripted import ScriptedLauncher


@dataclass(frozen=True, kw_only=True)
class SharedPorts(Cluster):
    """Ranks of a node share its port: with k ranks large messages take k times as long, small ones 10 µs more each."""

    def _times(self, wanted: Round, pair: Pair, draw: random.Random) -> list[float]:
        source, target = map(node_of, pair)
        ranks = sum(node_of(place) == source for place, _ in wanted.pairs)
        small = wanted.shape.kernel is Kernel.PINGPONG
        alone = super()._times(wanted, (source, target), draw)
        return [alone_s + 20e-6 * (ranks - 1) if small else alone_s * ranks for alone_s in alone]


EIGHT = SharedPorts(nodes=names(8), leaf_of=leaves(8, 4), near_s=20e-6, far_s=30e-6)


def checked(
    archive: Path, cluster: Cluster, *, launcher: ScriptedLauncher | None = None, **options: object
) -> CheckOutcome:
    use_launcher(launcher or ScriptedLauncher(cluster))
    settings = CheckSettings(archive=archive, run="trial", round_timeout_s=0.5, ranks_per_node=(1, 2, 4), loaded=False)
    return run_check(msgspec.structs.replace(settings, **options))


def of_metric(judgement: Judgement, metric: str) -> dict[int, Spectrum]:
    return {one.ranks_per_node: one for one in judgement.spectra if one.metric == metric}


def test_each_number_of_ranks_has_its_values_and_modes_that_the_leaves_explain(tmp_path: Path) -> None:
    launcher = ScriptedLauncher(EIGHT)
    outcome = checked(tmp_path, EIGHT, launcher=launcher)
    assert (outcome.judgement.verdict, outcome.judgement.complete) == (Verdict.PASS, True)
    assert [one.ranks_per_node for one in launcher.manners if one != StartManner()] == [2, 4]
    late, fast = of_metric(outcome.judgement, LATENCY), of_metric(outcome.judgement, BANDWIDTH)
    assert [one.pairs for one in late.values()] == [28, 56, 112]
    assert [one.pairs for one in fast.values()] == [56, 112, 224]
    for ranks, spectrum in late.items():
        waits_s = 10e-6 * (ranks - 1)
        near, far = spectrum.modes
        assert (near.explained, near.pairs) == ((NEAR,), 12 * ranks)
        assert (far.explained, far.pairs) == ((FAR,), 16 * ranks)
        assert near.median == pytest.approx(20e-6 + waits_s, rel=0.02)
        assert far.median == pytest.approx(30e-6 + waits_s, rel=0.02)
        assert spectrum.together is None
    for ranks, spectrum in fast.items():
        assert spectrum.median == pytest.approx(HEALTHY / ranks, rel=0.02)
        assert spectrum.together == pytest.approx(HEALTHY, rel=0.02)
        assert (spectrum.ranks_per_port, len(spectrum.modes), spectrum.modes[0].explained) == (ranks, 1, ())
        assert spectrum.quantiles[0] <= spectrum.median <= spectrum.quantiles[-1]
    assert len(fast[4].quantiles) == 200 < fast[4].pairs
    assert (outcome.judgement.design or pytest.fail()).measured_pairs == 56, "pairs of nodes, not of ranks"


@dataclass(frozen=True, kw_only=True)
class OneWorsePort(SharedPorts):
    """The port of n3 serves several ranks worse than one: large messages by `several`, small ones not."""

    several: float

    def _times(self, wanted: Round, pair: Pair, draw: random.Random) -> list[float]:
        source, target = map(node_of, pair)
        shared = sum(node_of(place) == source for place, _ in wanted.pairs) > 1
        worse = shared and "n3" in (source, target) and wanted.shape.kernel is Kernel.ONEWAY
        return [time_s / (self.several if worse else 1) for time_s in super()._times(wanted, pair, draw)]


@pytest.mark.parametrize(("several", "named"), [(0.975, ()), (0.9, ("n3",)), (0.5, ("n3",))])
def test_a_node_that_is_worse_with_several_ranks_only_withholds_the_pass(
    tmp_path: Path, several: float, named: tuple[str, ...]
) -> None:
    cluster = OneWorsePort(nodes=names(8), leaf_of=leaves(8, 4), near_s=20e-6, far_s=30e-6, several=several)
    judgement = checked(tmp_path, cluster).judgement
    assert {ranks: one.out_of_line for ranks, one in of_metric(judgement, BANDWIDTH).items()} == {
        1: (),
        2: named,
        4: named,
    }
    assert all(one.out_of_line == () for one in of_metric(judgement, LATENCY).values())
    assert judgement.verdict is (Verdict.INCONCLUSIVE if named else Verdict.PASS)
    assert [(one.doubt, one.subjects) for one in judgement.withheld] == (
        [(Doubt.RANKS_OUT_OF_LINE, named)] if named else []
    )
    assert any("With 4 ranks per node the bandwidth of n3 is worse" in note for note in judgement.notes) is bool(named)


def test_ranks_that_send_one_after_the_other_carry_no_more_together_than_their_port(tmp_path: Path) -> None:
    """On busy cores one rank may have sent all before another has a processor: its own rate is that of the port."""
    recorded = read_run(checked(tmp_path, EIGHT, ranks_per_node=(1, 2)).folder)
    turns = []
    for one in recorded.measurements:
        alone_s = (one.times_s[0] / 2,) * 20
        waited_s = 0.0 if one.source.endswith(":0") else sum(alone_s)
        shared = one.phase is Phase.SATURATION and one.shape.kernel is Kernel.ONEWAY
        turns.append(
            msgspec.structs.replace(one, times_s=alone_s, warmup_times_s=(alone_s[0] + waited_s,)) if shared else one
        )
    spectrum = {
        (one.ranks_per_node, one.metric): one
        for one in spectra_of(msgspec.structs.replace(recorded, measurements=tuple(turns)))
    }[2, BANDWIDTH]
    assert spectrum.median == pytest.approx(HEALTHY, rel=0.02)
    assert spectrum.together == pytest.approx(HEALTHY, rel=0.1)


@pytest.mark.usefixtures("with_samples")
def test_reports_replays_and_comparisons_have_the_same_numbers(tmp_path: Path, seatrial: Seatrial) -> None:
    outcome = checked(tmp_path, EIGHT)
    recorded = read_run(outcome.folder)
    assert judge(recorded).spectra == outcome.judgement.spectra == spectra_of(recorded)
    again = checked(tmp_path, EIGHT, run="again", ranks_per_node=None, replay=outcome.folder)
    assert again.judgement.spectra == outcome.judgement.spectra
    report = seatrial("report", "trial", "--archive", str(tmp_path), "--html", str(tmp_path / "page.html"))
    assert "Latency of pairs of ranks, by ranks per node" in report.out
    assert "20.0 µs within a leaf (43 %)" in " ".join(report.out.split())
    assert "40.0 µs within a leaf (43 %)" not in report.out, "4 ranks wait 30 µs"
    page = (tmp_path / "page.html").read_text()
    assert "Bandwidth of pairs of ranks, by ranks per node" in page and "within a leaf (43 %)" in page
    found = seatrial("report", "trial", "--archive", str(tmp_path), "--json").data["spectra"]
    assert [(one["ranks_per_node"], one["metric"]) for one in found[:3]] == [(ranks, LATENCY) for ranks in (1, 2, 4)]
    file = ValuesFile(path=outcome.folder / layout.SAMPLES_FILE, run="trial")
    tables = {(one.metric.variant, one.metric.kernel): one for one in read_tables([file])}
    assert {variant for variant, _ in tables} == {"", "2 ranks", "4 ranks"}
    assert len(tables["4 ranks", Kernel.ONEWAY].pairs) == 56
    assert tables["4 ranks", Kernel.ONEWAY].values[0].mean() == pytest.approx(HEALTHY, rel=0.02)


def test_without_several_ranks_there_are_no_spectra(tmp_path: Path) -> None:
    outcome = checked(tmp_path, EIGHT, ranks_per_node=None)
    assert outcome.judgement.spectra == () == spectra_of(outcome.recorded)


def test_a_fault_is_judged_as_without_spectra(tmp_path: Path) -> None:
    cluster = SharedPorts(nodes=names(8), parts=slow_part("node", "n3", 0.6))
    with_spectra, without = (
        checked(tmp_path, cluster, run=run, ranks_per_node=ranks) for run, ranks in (("a", (1, 2)), ("b", None))
    )
    assert [(one.kind, one.subject) for one in with_spectra.judgement.findings] == [(FindingKind.SLOW_LINK, node("n3"))]
    assert [one.subject for one in without.judgement.findings] == [node("n3")]
    assert with_spectra.judgement.nodes == without.judgement.nodes


def test_ranks_that_do_not_answer_end_the_spectra_and_accuse_no_pair(tmp_path: Path) -> None:
    outcome = checked(tmp_path, EIGHT, launcher=ScriptedLauncher(EIGHT, hangs=[("n1:1", "n2:1")]))
    assert outcome.recorded.info.hanging_pairs == ()
    assert not outcome.judgement.complete
    assert outcome.judgement.exit_code is ExitCode.INCOMPLETE
    assert "With 2 ranks per node: n1:1 to n2:1 is left out" in outcome.recorded.info.reason
    assert set(of_metric(outcome.judgement, LATENCY)) == {1, 2}


def test_a_node_that_dies_costs_its_pairs_and_nothing_else(tmp_path: Path) -> None:
    first = next(
        number
        for number, one in enumerate(_rounds(tmp_path / "good"), start=1)
        if one.phase is Phase.SATURATION and ranks_of(one.variant) == 2
    )
    outcome = checked(tmp_path, EIGHT, launcher=ScriptedLauncher(EIGHT, dies_at={"n8": first + 20}))
    assert [state.node for state in outcome.recorded.info.lost] == ["n8"]
    after = [one for one in outcome.recorded.measurements if one.variant == variant_of(4)]
    assert {node_of(place) for one in after for place in one.pair} == set(names(7))


def _rounds(archive: Path) -> list[Round]:
    launcher = ScriptedLauncher(EIGHT)
    checked(archive, EIGHT, launcher=launcher)
    return launcher.rounds


def test_data_that_arrive_wrong_name_the_node_of_the_rank(tmp_path: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Corrupting(SharedPorts):
        def _corruptions(self, wanted: Round, pair: Pair, draw: random.Random) -> tuple[Corruption, ...]:
            found = super()._corruptions(wanted, (node_of(pair[0]), node_of(pair[1])), draw)
            return found if wanted.phase is Phase.SATURATION else ()

    cluster = Corrupting(nodes=names(6), corrupt=slow_part("node", "n4", 1.0))
    outcome = checked(tmp_path, cluster, ranks_per_node=(1, 2))
    assert [(one.kind, one.subject) for one in outcome.judgement.findings] == [(FindingKind.DATA_CORRUPT, node("n4"))]


def test_nodes_need_the_cores_and_ranks_of_one_machine_have_none(tmp_path: Path) -> None:
    places = Cluster(nodes=("h:0", "h:1", "h:2"))
    with pytest.raises(UsageError, match="these are ranks of one machine"):
        checked(tmp_path, places)


@pytest.mark.parametrize("words", [("n3",), ("--pair-program", "osu_bw")])
def test_other_modes_of_a_check_have_no_spectra(words: tuple[str, ...], seatrial: Seatrial) -> None:
    assert "--ranks-per-node is about all pairs" in seatrial("check", *words, "--ranks-per-node", "1,2", code=64).err


def test_the_rounds_of_several_ranks_are_those_of_the_first_repetition() -> None:
    survey = [Round(phase=Phase.SURVEY, repetition=number, shape=ROUND_TRIP, pairs=(("a", "b"),)) for number in (0, 1)]
    (only,) = spectrum_rounds(survey, (1, 3), 0.01)
    assert (only.variant, only.phase) == ("3 ranks", Phase.SATURATION)
    assert only.pairs == (("a:0", "b:0"), ("a:1", "b:1"), ("a:2", "b:2"))


def spread(middle: float, count: int, seed: int, noise: float = 0.01) -> list[float]:
    draw = random.Random(seed)
    return [middle * draw.gauss(1, noise) for _ in range(count)]


def test_groups_whose_values_overlap_are_one_mode() -> None:
    values = dict(zip(itertools.permutations("abcdefg", 2), spread(1.0, 42, 1), strict=True))
    (mode,) = modes_of(values, lambda pair: (NEAR if pair[0] < pair[1] else FAR,))
    assert (mode.pairs, mode.explained, mode.low, mode.high) == (42, (), min(values.values()), max(values.values()))


def test_a_group_of_two_populations_has_an_unexplained_mode_each() -> None:
    pairs = list(itertools.permutations("abcdefg", 2))
    values = dict(zip(pairs, [*spread(1.0, 21, 1), *spread(2.0, 21, 2)], strict=True))
    assert [(mode.pairs, mode.explained) for mode in modes_of(values, lambda _: (NEAR,))] == [(21, ()), (21, ())]


def test_ranks_that_share_an_adapter_are_a_mode_beside_one_that_has_its_own(tmp_path: Path) -> None:
    """Nodes with an adapter on each socket: three ranks, two of them beside the first adapter."""
    adapters = "HCA mlx5_0 4xHDR gen4 x16 on socket 0, HCA mlx5_1 4xHDR gen4 x16 on socket 1"
    facts = facts_of(machine(f"2 sockets x 4 cores, {adapters}"), tmp_path)
    cpus = (0,), (1,), (4,)
    ranks = tuple(
        RankPlace(rank=3 * number + rank, place=f"{name}:{rank}", node=name, cpus=cpus[rank])
        for number, name in enumerate(names(4))
        for rank in range(3)
    )
    pairs = tuple(
        (f"{one}:{r}", f"{other}:{r}") for one, other in itertools.permutations(names(4), 2) for r in range(3)
    )
    asked = Round(phase=Phase.SATURATION, repetition=0, shape=BULK, pairs=pairs, variant="3 ranks")
    cluster = Cluster(nodes=names(4))
    alone = {one.pair: one for one in cluster.measure(asked, random.Random(1))}
    recorded = msgspec.structs.replace(
        sail(cluster),
        facts=dict.fromkeys(names(4), facts),
        starts=(ProbeStart(session=2, ranks=ranks, variant="3 ranks"),),
        measurements=tuple(
            msgspec.structs.replace(
                one, variant="3 ranks", times_s=tuple((1 + (pair[0][-1] != "2")) * t for t in one.times_s)
            )
            for pair, one in alone.items()
        ),
    )
    (spectrum,) = spectra_of(recorded)
    shared, own = spectrum.modes
    assert (shared.explained, shared.pairs) == (("near mlx5_0, which 2 ranks share",), 24)
    assert (own.explained, own.pairs) == (("near mlx5_1",), 12)
    assert shared.median == pytest.approx(own.median / 2, rel=0.02)
    assert spectrum.ranks_per_port == 2


def test_a_narrow_terminal_has_the_table_alone(tmp_path: Path) -> None:
    outcome = checked(tmp_path, EIGHT, ranks_per_node=(1, 2))
    assert list(spectra_bars(outcome.judgement.spectra, 60)) == []
    drawn = list(spectra_bars(outcome.judgement.spectra, 80))
    assert [len(one.lines) for one in drawn] == [3, 3]
    assert all(sum(len(text) for text, _ in line) <= 64 for one in drawn for line in one.lines)
