"""What is said of a launch line's placement, and what becomes of the advice when it is measured."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.commands.placement.gain import ADVISED, ASKED, Fix, Gain, GainOutcome, gains_of
from seatrial.commands.placement.judge import Placement, judge_placement
from seatrial.commands.placement.view import PlacementFields, headline
from seatrial.experiment.controls import alternating, too_few
from seatrial.model.facts import NodeFacts, PciKind
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase, ProbeStart, RankPlace
from seatrial.model.run import Design, NodeCause, NodeState, RecordedRun, RunKind
from seatrial.model.settings import PlacementSettings, SiteSettings
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.pairs.rank_pairs import lasting, pilot_shapes, placed_pairs
from seatrial.render.json import filled, json_text
from tests.support.builders import Cluster, info_of, names, sail
from tests.support.facts_examples import cluster, device, processor, server
from tests.support.gpu_machines import gpu
from tests.support.reports import placement_text
from tests.support.rule_cases import EVERYWHERE, ranks_on

LINE = ("srun", "-N2", "-n4", "--cpu-bind=none", "./app")
GOOD = ((8,), (9,))
SHAPES = pilot_shapes()


def two_nodes(masks: tuple[tuple[int, ...], ...]) -> tuple[RankPlace, ...]:
    return (*ranks_on("n1", *masks), *ranks_on("n2", *masks, first=len(masks)))


def measured(variant: str, repetition: int, speed: float) -> list[Measurement]:
    """Both kernels, for two pairs at once: 1 µs and 10 GB/s in all at `speed` 1."""
    found = []
    for shape in SHAPES:
        took = 2e-6 if shape.kernel is Kernel.PINGPONG else 2 * shape.message_bytes * shape.window / 10e9
        found += [
            Measurement(
                phase=Phase.VARIANT,
                repetition=repetition,
                shape=shape,
                source=f"n1:{rank}",
                target=f"n2:{rank}",
                times_s=(took / speed,) * 5,
                pairs_at_once=2,
                variant=variant,
            )
            for rank in range(2)
        ]
    return found


def run_of(
    masks: tuple[tuple[int, ...], ...],
    advised_masks: tuple[tuple[int, ...], ...] = GOOD,
    *,
    speed: float = 1.2,
    starts: int = 6,
    facts: Mapping[str, NodeFacts] | None = None,
    line: tuple[str, ...] = LINE,
    launcher: str = "srun",
) -> RecordedRun:
    """A recorded run whose advised launches are `speed` times as fast as the asked ones, a little more each time."""
    measurements = [
        one
        for repetition in range(starts)
        for variant, factor in ((ASKED, 1.0), (ADVISED, speed + repetition / 1000))
        for one in measured(variant, repetition, factor)
    ]
    ranks = {ASKED: two_nodes(masks), ADVISED: two_nodes(advised_masks)}
    all_starts = [ProbeStart(session=1, ranks=ranks[ASKED])]
    all_starts += [
        ProbeStart(session=2 + number, ranks=ranks[variant], variant=variant)
        for number, (_, variant) in enumerate(alternating((ASKED, ADVISED), starts))
    ]
    design = Design(
        name="placement", pairs_at_once=2, repetitions=6, rounds=24, ordered_pairs=2, planned_pairs=2, statement=""
    )
    return RecordedRun(
        info=info_of(
            Cluster(nodes=("n1", "n2")),
            kind=RunKind.PLACEMENT,
            launcher=launcher,
            settings=PlacementSettings(site=SiteSettings(archive=Path()), words=line),
            design=design,
        ),
        planned=(("n1:0", "n2:0"), ("n1:1", "n2:1")),
        facts=cluster(2) if facts is None else facts,
        facts_after={},
        measurements=tuple(measurements),
        starts=tuple(all_starts),
    )


def text_of(found: Placement) -> str:
    return " ".join(placement_text(found, width=200).split())


@pytest.mark.parametrize(
    ("masks", "kind"),
    [
        (((0,), (0,)), FindingKind.RANKS_SHARE_CORE),
        ((EVERYWHERE, EVERYWHERE), FindingKind.RANKS_UNBOUND),
        (((0,), (1,)), FindingKind.NIC_FAR_FROM_RANKS),
    ],
)
def test_bad_bindings_are_named_and_a_fix_that_measures_better_is_printed(
    masks: tuple[tuple[int, ...], ...], kind: FindingKind
) -> None:
    found = judge_placement(run_of(masks))
    assert kind in {finding.kind for finding in found.findings}
    assert (found.fix, found.verdict, found.exit_code) == (Fix.PROVED, Verdict.SLOW, 1)
    assert found.advised_line == ("srun", "-N2", "-n4", "--cpu-bind=map_cpu:8,9", "./app")
    assert found.why == "it measured better: bandwidth +20 % [+20 % to +20 %], latency -17 % [-17 % to -17 %]"
    assert all(finding.experiments[0].confirmed for finding in found.findings)
    assert "; write srun -N2 -n4 --cpu-bind=map_cpu:8,9 ./app; the fix is proved: " in headline(found)
    assert all("(the advised line does so)" in finding.remedy for finding in found.findings)


def test_a_fix_that_measures_no_better_is_withdrawn() -> None:
    found = judge_placement(run_of(((0,), (1,)), speed=1.0))
    assert (found.fix, found.verdict, found.advised_line) == (Fix.WITHDRAWN, Verdict.INCONCLUSIVE, ())
    assert found.exit_code == 2
    assert text_of(found).startswith("INCONCLUSIVE the whole cluster: adapter is far from the ranks, ")
    assert FindingKind.NIC_FAR_FROM_RANKS in {finding.kind for finding in found.findings}
    assert "withdrawn: it is not shown to measure better" in text_of(found)
    assert "map_cpu:8" not in text_of(found)
    worse = judge_placement(run_of(((0,), (1,)), speed=0.5))
    assert worse.why.startswith("it measures worse: bandwidth 1.99 times lower")


def test_a_node_that_was_lost_is_a_finding_and_no_reason_to_advise() -> None:
    recorded = run_of(((8,), (9,)))
    lost = NodeState(node="n2", reason="did not answer", fault=True, cause=NodeCause.SILENT)
    recorded = msgspec.structs.replace(recorded, info=msgspec.structs.replace(recorded.info, lost=(lost,)))
    found = judge_placement(recorded)
    assert [(one.kind, one.subject.name) for one in found.findings] == [(FindingKind.NODE_DOWN, "n2")]
    assert (found.word, found.exit_code, found.notes) == ("DOWN", 1, ())
    assert text_of(found).startswith("DOWN n2 does not answer, 4 ranks on 2 nodes")
    unread = judge_placement(msgspec.structs.replace(recorded, starts=()))
    assert (unread.word, unread.exit_code) == ("DOWN", 1) and headline(unread).startswith("n2 does not answer; ")


def test_two_ranks_on_one_core_are_a_finding_whatever_the_times_say() -> None:
    for speed in (1.0, 0.97, 0.5):
        found = judge_placement(run_of(((0,), (0,)), speed=speed))
        (finding,) = (one for one in found.findings if one.kind is FindingKind.RANKS_SHARE_CORE)
        assert (found.verdict, finding.verdict, found.exit_code) == (Verdict.MISCONFIGURED, Verdict.MISCONFIGURED, 1)
        assert finding.remedy.startswith("Give each rank a core of its own")
        assert found.fix is Fix.UNDECIDED
        assert "withdrawn" not in text_of(found)
        assert bool(found.advised_line) is (speed == 1.0)
        assert ("map_cpu:8" in text_of(found)) is (speed == 1.0)
    assert "no launch line is recommended: it measures worse" in text_of(found)


def worse_latency(recorded: RecordedRun) -> RecordedRun:
    """The same, with a latency 8 % above the asked line's in most advised launches, and below it in the others."""
    slower = tuple(
        msgspec.structs.replace(one, times_s=tuple(2e-6 * (0.9 if one.repetition < 2 else 1.08) for _ in one.times_s))
        if one.variant == ADVISED and one.shape.kernel is Kernel.PINGPONG
        else one
        for one in recorded.measurements
    )
    return msgspec.structs.replace(recorded, measurements=slower)


@pytest.mark.parametrize("masks", [((0,), (1,)), ((0,), (0,))])
def test_a_line_that_measured_worse_is_never_recommended(masks: tuple[tuple[int, ...], ...]) -> None:
    for recorded in (run_of(masks, speed=0.9, starts=2), worse_latency(run_of(masks, speed=1.3))):
        found = judge_placement(recorded)
        assert any(gain.ratio.value < 1 for gain in found.gains)
        assert found.fix is not Fix.PROVED
        assert found.advised_line == ()
        assert "Recommended launch line" not in placement_text(found)
        assert "map_cpu:8" not in text_of(found)
    better = worse_latency(run_of(masks, speed=1.3))
    assert [gain.outcome for gain in gains_of(better.measurements)] == [GainOutcome.BETTER, GainOutcome.NO_DIFFERENCE]


def test_a_launcher_that_does_not_do_as_told_proves_nothing() -> None:
    found = judge_placement(run_of(((0,), (0,)), ((0,), (0,))))
    assert found.fix is Fix.WITHDRAWN
    assert "rank 0 on n1 should run on 8 and may run on 0" in found.why


def test_a_line_that_does_not_start_as_advised_is_not_printed() -> None:
    recorded = run_of(((0,), (0,)), starts=0)
    failed = ProbeStart(session=0, ranks=(), variant=ADVISED, failure="The probe did not start: no such component.")
    found = judge_placement(msgspec.structs.replace(recorded, starts=(*recorded.starts, failed)))
    assert (found.fix, found.advised_line) == (Fix.WITHDRAWN, ())
    assert found.why == "the line does not start with it: The probe did not start: no such component."


def test_it_is_said_why_nothing_is_advised() -> None:
    crowded = judge_placement(run_of(((0,),) * 17, starts=0))
    assert "No better placement can be advised: a node has fewer cores for this job than ranks." in crowded.notes
    facts = {"n1": server("n1"), "n2": server("n2", hcas=(), interfaces=())}
    unlike = judge_placement(run_of(((0,), (0,)), starts=0, facts=facts))
    assert any("the nodes' cores lie differently, and srun takes one list for all" in note for note in unlike.notes)


def test_one_finding_tells_of_all_nodes_whose_ranks_are_far() -> None:
    (finding,) = judge_placement(run_of(((0,), (1,)), starts=0)).findings
    assert finding.statement.startswith("All 2 nodes (n1, n2): for example n1: ranks 0-1 may run on socket 0 only")


def test_too_few_launches_decide_nothing() -> None:
    found = judge_placement(run_of(((0,), (0,)), starts=3))
    assert (found.fix, found.verdict) == (Fix.UNDECIDED, Verdict.MISCONFIGURED)
    assert judge_placement(run_of(((0,), (1,)), starts=3)).verdict is Verdict.INCONCLUSIVE
    assert "3 launches of each, too few for 95 %" in found.why
    unmeasured = judge_placement(run_of(((0, 1), (0, 1)), starts=0))
    assert unmeasured.verdict is Verdict.MISCONFIGURED
    assert "nothing found" not in text_of(unmeasured)
    none = judge_placement(run_of(((0,), (0,)), starts=0))
    assert (none.fix, none.why) == (Fix.UNDECIDED, "it was not measured")
    assert none.advised_line


def test_more_than_the_network_carries_is_impossible() -> None:
    found = judge_placement(run_of(((0,), (0,)), speed=10.0))
    assert (found.verdict, found.fix) == (Verdict.INVALID, Fix.UNDECIDED)
    assert "more than physics permits" in found.why


def test_well_placed_ranks_pass() -> None:
    found = judge_placement(run_of(GOOD, starts=0))
    assert (found.verdict, found.exit_code, found.findings, found.fix) == (Verdict.PASS, 0, (), Fix.NONE)
    assert [row.distance for row in found.rows] == ["same NUMA node"] * 4


def test_gpus_and_adapters_in_the_numa_node_of_a_rank_are_shown() -> None:
    """A rank that drives a GPU of another socket sends all its data across the processors."""
    listed = tuple(
        device(gpu(place).address, kind=PciKind.GPU, numa_node=numa_node) for place, numa_node in enumerate((0, 1, 1))
    )
    facts = cluster(2, every={"gpus": tuple(map(gpu, range(3))), "pci": (*server().pci, *listed)})
    found = judge_placement(run_of(((0,), (8,)), starts=0, facts=facts))
    assert [(row.gpus, row.adapters) for row in found.rows] == [
        (("GPU 0",), ()), (("GPU 1", "GPU 2"), ("mlx5_0",)),
    ] * 2  # fmt: skip
    assert "near GPUs" in text_of(found)
    assert "GPU 1, GPU 2" in text_of(found)
    assert "near GPUs" not in text_of(judge_placement(run_of(GOOD, starts=0)))


def test_ranks_that_must_be_far_are_a_note() -> None:
    facts = cluster(2, every={"processor": processor(allowed=(0, 1))})
    found = judge_placement(run_of(((0,), (1,)), starts=0, facts=facts))
    assert found.findings == ()
    said = "Messages of ranks 0-1 on n1 may cross the link between sockets to mlx5_0; those of ranks on n2, too."
    assert said in found.notes


def test_masks_that_were_not_read_are_no_pass() -> None:
    found = judge_placement(run_of(((), ()), starts=0))
    assert (found.verdict, found.exit_code) == (Verdict.INCONCLUSIVE, 2)
    assert "could not be read" in text_of(found)


def test_without_facts_masks_are_judged_alone() -> None:
    found = judge_placement(run_of(((0,), (0,)), starts=0, facts={}))
    assert {finding.kind for finding in found.findings} == {FindingKind.RANKS_SHARE_CORE}
    assert found.advice is None


def test_a_rankfile_is_printed_for_open_mpi() -> None:
    found = judge_placement(
        run_of(((0,), (0,)), line=("mpirun", "-np", "4", "--bind-to", "none", "./app"), launcher="Open MPI")
    )
    assert found.advised_line == ("mpirun", "-np", "4", "--rankfile", "rankfile.txt", "./app")
    assert "rank 3=n2 slot=9" in text_of(found)


def test_the_json_says_all_of_it() -> None:
    recorded = run_of(((0,), (0,)))
    content = json.loads(json_text(filled(PlacementFields, judge_placement(recorded), recorded.info)))
    assert content["advised_line"] == ["srun", "-N2", "-n4", "--cpu-bind=map_cpu:8,9", "./app"]
    assert content["ranks"][3]["cpus"] == "0"
    assert [gain["outcome"] for gain in content["gains"]] == ["better", "better"]
    assert content["advice"]["hydra"] == ["-bind-to", "user:8,9"]


def test_gains_pair_launches_that_followed_one_another() -> None:
    drift = [
        one
        for repetition in range(6)
        for variant, factor in ((ASKED, 1.0), (ADVISED, 1.1))
        for one in measured(variant, repetition, factor * (1 + repetition))
    ]
    for gain in gains_of(drift):
        assert gain.ratio.value == pytest.approx(1.1)
        assert (gain.outcome, too_few(gain.ratio)) == (GainOutcome.BETTER, False)
    assert gains_of(measured(ASKED, 0, 1.0)) == ()


def test_one_disturbed_round_of_a_launch_does_not_matter() -> None:
    """Of three rounds; where two are slow the launch was."""
    for slow_rounds, seen in ((1, 1.1), (2, 0.11)):
        launches = [
            one
            for repetition in range(6)
            for variant, factor in ((ASKED, 1.0), (ADVISED, 1.1))
            for number in range(3)
            for one in measured(
                variant, repetition, factor / (10 if variant == ADVISED and number < slow_rounds else 1)
            )
        ]
        assert [gain.ratio.value for gain in gains_of(launches)] == pytest.approx([seen, seen])


def test_who_measures_with_whom() -> None:
    assert placed_pairs([["a:0", "a:1", "a:2"]]) == (("a:0", "a:1"),)
    assert placed_pairs([["a:0", "a:1"], ["b:0"], ["c:0"]]) == (("a:0", "b:0"),)
    assert placed_pairs([["a:0"]]) == ()
    assert [lasting(SHAPES[0], took).iterations for took in (1.0, 1e-3, 1e-9, 0.0)] == [5, 100, 500, 500]


def test_a_check_judges_the_masks_of_its_ranks() -> None:
    healthy = sail(Cluster(nodes=names(2)))
    facts = {node: msgspec.structs.replace(known, hostname=node) for node, known in cluster(2).items()}
    start = ProbeStart(session=1, ranks=(*ranks_on("n1", (0,)), *ranks_on("n2", (8,), first=1)))
    recorded = msgspec.structs.replace(healthy, facts=facts, facts_after={}, starts=(start,))
    kinds = {finding.kind: finding for finding in judge(recorded).findings}
    assert kinds[FindingKind.NIC_FAR_FROM_RANKS].subject.name == "n1"
    loose = ProbeStart(session=1, ranks=(*ranks_on("n1", EVERYWHERE), *ranks_on("n2", EVERYWHERE, first=1)))
    judged = judge(msgspec.structs.replace(recorded, starts=(loose,)))
    assert any("was not bound and may have run on any socket" in note for note in judged.notes)
    assert FindingKind.RANKS_UNBOUND not in {finding.kind for finding in judged.findings}


@pytest.mark.parametrize(
    ("metric", "ratio", "text"),
    [
        (BANDWIDTH, (1.12, 1.08, 1.15), "bandwidth +12 % [+8 % to +15 %]"),
        (BANDWIDTH, (2.9, 1.5, 7.6), "bandwidth 2.9 times higher [1.5–7.6]"),
        (LATENCY, (2.9, 1.5, 7.6), "latency 2.9 times lower [1.5–7.6]"),
        (LATENCY, (0.03125, 0.025, 0.04), "latency 32 times higher [25–40]"),
    ],
)
def test_a_gain_in_words(metric: str, ratio: tuple[float, float, float], text: str) -> None:
    value, low, high = ratio
    some = Estimate(value=1.0, low=1.0, high=1.0, confidence=0.97, runs=6, method="median")
    times = Estimate(value=value, low=low, high=high, confidence=0.97, runs=6, method="median")
    assert Gain(metric=metric, asked=some, advised=some, ratio=times).text == text
