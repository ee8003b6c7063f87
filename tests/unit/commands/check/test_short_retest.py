"""A retest that the budget cut short acquits and does not convict; impossible numbers are so in every run."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from seatrial.commands.check.judge import judge_nodes
from seatrial.commands.check.pair_verdicts import bandwidth_reason
from seatrial.commands.check.survey import Survey
from seatrial.commands.check.suspects import suspect_all
from seatrial.limits.path import path_limit
from seatrial.locate.evidence import Fresh, MeasuredPair, RunSeries
from seatrial.locate.references import Baselines
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import Phase
from seatrial.model.verdict import Verdict
from tests.support.builders import Cluster, names, sail
from tests.support.report_examples import pair

PAIR = ("n1", "n2")
OTHERS = {(a, b): MeasuredPair(bandwidth={Phase.SURVEY: RunSeries(runs=(117e6,) * 3)}, latency={})
          for a in ("n3", "n4", "n5") for b in ("n3", "n4", "n5") if a != b}  # fmt: skip


SURVEYED = {Phase.SURVEY: RunSeries(runs=(117e6,) * 3), Phase.RETEST: RunSeries(runs=(117e6,) * 6)}
CONTROLS = {pair: MeasuredPair(bandwidth=SURVEYED, latency={}) for pair in OTHERS}


def verdict(
    survey: tuple[float, ...],
    again: tuple[float, ...] = (),
    others: Mapping[tuple[str, str], MeasuredPair] | None = None,
    waited: tuple[float, ...] = (),
) -> tuple[Verdict, str]:
    """`others`: None for pairs that are good, too, wherever this one was measured."""
    others = others or (CONTROLS if again else OTHERS)
    series = {Phase.SURVEY: RunSeries(runs=tuple(run * 1e6 for run in survey))}
    if again:
        series[Phase.RETEST] = RunSeries(
            runs=tuple(run * 1e6 for run in again), waited=tuple((share, 0.0) for share in waited)
        )
    eth0 = NetworkInterface(name="eth0", link_type=1, state="up", speed_bits_per_s=1e9, mtu_bytes=1500)
    limit = path_limit(*(NodeFacts(hostname=name, complete=True, interfaces=(eth0,)) for name in PAIR))
    assert isinstance(limit, Limit)
    evidence = {**others, PAIR: MeasuredPair(bandwidth=series, latency={})}
    references = Baselines(alike=True).update(evidence, evidence, {PAIR: limit}, NO_FABRIC)
    growing = Survey(NO_FABRIC)
    growing.update(evidence, Fresh(pairs=frozenset(evidence), has_new_pairs=True), references)
    judged = suspect_all(growing, references).bandwidth[PAIR]
    return judged.verdict, bandwidth_reason(PAIR, judged, evidence[PAIR], references)


@pytest.mark.parametrize("again", [(78,), (72, 89), (104, 97, 113), (93, 91, 94, 111), (77, 118, 76, 72)])
def test_a_retest_cut_short_by_the_budget_convicts_nobody(again: tuple[float, ...]) -> None:
    """Figures of a healthy lab on a machine that was busy with three other labs."""
    found, reason = verdict((95, 119, 99), again)
    assert found is Verdict.INCONCLUSIVE
    times = "once" if len(again) == 1 else f"{len(again)} times"
    assert f"measured again {times}, and a proof takes 6 runs" in reason
    assert "--budget" in reason


@pytest.mark.parametrize("again", [(118,), (52, 117, 118), (118, 116)])
def test_a_retest_cut_short_may_acquit(again: tuple[float, ...]) -> None:
    assert verdict((95, 90, 99), again)[0] is Verdict.PASS


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        ((70, 71, 70, 69, 70, 71), Verdict.SLOW),
        ((70, 117, 70, 69, 70, 71), Verdict.SLOW),
        ((70, 117, 70, 117, 70, 71), Verdict.UNSTABLE),
        ((104, 117, 104, 117, 104, 103), Verdict.UNSTABLE),
        ((115, 113, 113, 115, 113, 114), Verdict.INCONCLUSIVE),
        ((117, 117, 70, 117, 117, 117), Verdict.PASS),
    ],
)
def test_a_whole_retest_decides(again: tuple[float, ...], expected: Verdict) -> None:
    assert verdict((70, 70, 70), again)[0] is expected


@pytest.mark.parametrize(
    ("again", "expected"), [((95,) * 6, Verdict.INCONCLUSIVE), ((70,) * 6, Verdict.SLOW), ((117,) * 6, Verdict.PASS)]
)
def test_beside_no_good_pair_only_the_limit_convicts(again: tuple[float, ...], expected: Verdict) -> None:
    """What is less than peers gave in other minutes may have been taken from all."""
    assert verdict((70, 70, 70), again, OTHERS)[0] is expected


def test_a_good_run_among_many_that_say_nothing_is_no_pass() -> None:
    """In five runs a rank waited for a processor as long as they lack."""
    found, reason = verdict((70, 70, 70), (70, 70, 70, 70, 70, 117), waited=(0.45,) * 5 + (0.0,))
    assert found is Verdict.INCONCLUSIVE
    assert "in 5 of 6 runs its ranks waited for a processor" in reason


def test_a_control_that_wavers_is_not_named_for_it() -> None:
    """Figures of n3 to n4 on a lab whose machine was busy: clean in the survey, two of six runs low beside suspects."""
    found, reason = verdict((117.8, 117.6, 114.4), (117, 116, 118, 73, 117, 94), CONTROLS)
    assert found is Verdict.INCONCLUSIVE
    assert "good in the survey" in reason


def test_faster_than_physics_in_every_run_or_not_decided() -> None:
    assert verdict((125.0, 124.0, 126.0), (125.0,) * 6)[0] is Verdict.INVALID
    found, reason = verdict((125.0, 124.0, 126.0))
    assert found is Verdict.INCONCLUSIVE
    assert "3 runs of at least 6" in reason
    found, reason = verdict((119.37, 119.08, 113.12))
    assert found is Verdict.INCONCLUSIVE
    assert "not in every run" in reason


@pytest.mark.parametrize(
    ("left", "of_controls", "of_pair"),
    [(0.6, Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE), (0.96, Verdict.PASS, Verdict.SLOW)],
)
def test_a_sender_that_was_bad_with_its_controls_too_has_no_slow_pair(
    left: float, of_controls: Verdict, of_pair: Verdict
) -> None:
    """It became slow after the survey: what most controls give beside a suspect is then not what is usual."""
    nodes = ("n1", "n2", "n3", "n4", "n5", "n6")
    again = {("n5", "n2"): 35.0, ("n5", "n1"): 117 * left, ("n5", "n6"): 117 * left, ("n3", "n4"): 117.0}
    evidence = {}
    for way in ((a, b) for a in nodes for b in nodes if a != b):
        series = {Phase.SURVEY: RunSeries(runs=((95e6 if way == ("n5", "n2") else 117e6),) * 3)}
        if way in again:
            series[Phase.RETEST] = RunSeries(runs=(again[way] * 1e6,) * 12)
        evidence[way] = MeasuredPair(bandwidth=series, latency={})
    growing = Survey(NO_FABRIC)
    references = Baselines(alike=True).update(evidence, evidence, {}, NO_FABRIC)
    growing.update(evidence, Fresh(pairs=frozenset(evidence), has_new_pairs=True), references)
    judged = suspect_all(growing, references)
    assert {judged.bandwidth[way].verdict for way in (("n5", "n1"), ("n5", "n6"))} == {of_controls}
    assert judged.bandwidth["n5", "n2"].verdict is of_pair
    assert [suspect.subject.text for suspect in judged.slow] == ["pair:n5>n2"] * (of_pair is Verdict.SLOW)


@pytest.mark.parametrize(
    ("of_others", "expected"),
    [((Verdict.PASS, False), Verdict.INCONCLUSIVE), ((Verdict.PASS, True), Verdict.PASS)],
)
def test_a_node_whose_pairs_are_undecided_when_measured_again_has_not_passed(
    of_others: tuple[Verdict, bool], expected: Verdict
) -> None:
    """Pairs of the survey that were good before a link fell do not make up for the later ones."""
    good = dict.fromkeys([("n2", "n1"), ("n3", "n2")], (Verdict.PASS, False))
    seen = {("n1", "n2"): (Verdict.INCONCLUSIVE, True), ("n1", "n3"): of_others, **good}
    pairs = [replace(pair(*ends), verdict=verdict, retested=again) for ends, (verdict, again) in seen.items()]
    found = {one.node: one for one in judge_nodes(sail(Cluster(nodes=names(3))), pairs, ())}
    assert found["n1"].verdict is expected
    assert (found["n2"].verdict, found["n3"].reason) == (Verdict.INCONCLUSIVE, "as good as its peers")
    assert found["n2"].reason.startswith("none of its incoming pairs measured again passed")
