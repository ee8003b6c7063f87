"""Runs that are slow because a rank waited for a processor say nothing of the link."""

import dataclasses
import math

import pytest

from seatrial.commands.check.judge import judge
from seatrial.commands.check.second_look import RetestOutcome, SecondLook, Verified
from seatrial.judgement.processor_waits import LongWaits, RankWaits, explained
from seatrial.model.judgement import Judgement
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, by_run, names, sail, slow_part


@pytest.mark.parametrize(
    ("share", "waited", "beside", "excused"),
    [
        (0.7, 0.3, 0.0, True),
        (0.7, 0.23, 0.0, True),
        (0.7, 0.2, 0.0, False),
        (0.7, 0.5, 0.3, False),  # its peers waited, too, and lost nothing by it
        (0.89, 0.86, 0.75, True),  # a lab on two cores beside a program that takes one
        (0.82, 0.99, 0.95, True),  # the same beside four more: the little that is left decides
        (0.97, 0.03, 0.0, False),  # too little to be worth a word
    ],
)
def test_waits_of_as_much_time_as_is_lost_explain_a_run(
    share: float, waited: float, beside: float, excused: bool
) -> None:
    assert explained(share, waited, beside) is excused


def look(bad: float, waits: tuple[float, float]) -> Verified:
    """Two pairs with every second run that bad, whose ranks wait that long in bad runs and in good ones."""
    pairs = {(f"a{number}", f"b{number}"): [bad, 1.0] * 6 for number in range(2)}
    controls = {(f"c{number}", f"d{number}"): [1.0 + number / 1000] * 12 for number in range(3)}
    waited = {pair: [(0.1, waits[0]), (waits[1], 0.1)] * 6 for pair in pairs}
    runs, suspected = by_run({**pairs, **controls}), set(pairs)
    second = SecondLook(runs, lambda _, run: math.log(run), suspected, 0.03, 0.001, None, by_run(waited))
    return second.of(pairs)


def test_a_link_that_comes_and_goes_is_unstable_only_where_no_wait_explains_it() -> None:
    assert look(0.8, (0.1, 0.5)).outcome is RetestOutcome.UNSTABLE
    busy = look(0.8, (0.5, 0.1))
    assert (busy.outcome, busy.runs, busy.waited) == (RetestOutcome.REFUTED, 6, 6)


def test_runs_that_say_nothing_decide_nothing() -> None:
    pairs, controls = {("a", "b"): [0.7] * 6}, {("c", "d"): [1.0] * 6, ("d", "c"): [1.0] * 6}
    waited = {("a", "b"): [(0.4, 0.0)] * 6}
    runs = by_run({**pairs, **controls})
    second = SecondLook(runs, lambda _, run: math.log(run), {("a", "b")}, 0.03, 0.001, None, by_run(waited))
    found = second.of([("a", "b")])
    assert (found.outcome, found.runs, found.waited) == (RetestOutcome.OPEN, 0, 6)
    assert found.of_peers is not None and found.of_peers.value == pytest.approx(0.7)
    assert second.of([("x", "y")]).outcome is RetestOutcome.UNSEEN


# A program that never pauses on the core of one node's rank: all runs of the node are bad.

LITTLE = dict.fromkeys(names(6), 0.01)


def judged(share: float, waits: dict[str, float]) -> Judgement:
    """Of six nodes n3 delivers that share of what the others do."""
    return judge(sail(Cluster(nodes=names(6), parts=slow_part("node", "n3", share), waits=waits)))


@pytest.mark.parametrize("share", [0.5, 0.75, 0.85])
def test_a_node_whose_rank_has_no_processor_is_not_a_slow_link(share: float) -> None:
    found = judged(share, {**LITTLE, "n3": 1.01 - share})
    (finding,) = found.findings
    assert (finding.kind, finding.subject.text) == (FindingKind.WAITS_FOR_PROCESSOR, "node:n3")
    own = f"{100 * (1.01 - share):.0f} %"
    assert f"The rank of n3 waited {own} of the time for a processor, those of its peers 1.0 %" in finding.statement
    assert "not decided" in finding.statement
    assert "program" in finding.remedy and "cable" not in finding.remedy
    of_n3 = {pair.verdict for pair in found.pairs if "n3" in (pair.source, pair.target)}
    assert of_n3 == {Verdict.INCONCLUSIVE}
    assert found.verdict is Verdict.SLOW


@pytest.mark.parametrize(
    "waits", [{}, LITTLE, dict.fromkeys(names(6), 0.6), {**LITTLE, "n3": 0.03}, {**LITTLE, "n5": 0.6}]
)
def test_a_slow_link_whose_rank_waits_no_longer_than_others_is_a_slow_link(waits: dict[str, float]) -> None:
    (finding,) = judged(0.5, waits).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.SLOW_LINK, "node:n3")
    assert "processor" not in finding.statement and "cable" in finding.remedy


def test_waits_do_not_explain_what_is_slow_against_its_limit_alone() -> None:
    runs = {("n1", "n3"): [0.6] * 6, ("n4", "n5"): [0.6] * 6, ("n6", "n4"): [0.6] * 6}
    waited = {pair: [(0.0, 0.4 if pair == ("n1", "n3") else 0.0)] * 6 for pair in runs}

    def of(floor: float) -> tuple[SecondLook, Verified]:
        look = SecondLook(
            by_run(runs),
            lambda _, run: math.log(run),
            {("n1", "n3")},
            0.03,
            0.001,
            lambda _: math.log(floor),
            by_run(waited),
        )
        return look, look.of([("n1", "n3")])

    look, verified = of(floor=0.75)
    assert verified.outcome is RetestOutcome.CONFIRMED
    assert look.long_waits({"n3"}, [("n1", "n3")]) == LongWaits("n3", 0.4, 0.0)


def test_waits_that_do_not_explain_a_slow_link_are_named_beside_it() -> None:
    (finding,) = judged(0.3, {**LITTLE, "n3": 0.4}).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.SLOW_LINK, "node:n3")
    assert "the rank of n3 waited 40 % of the time for a processor, those of its peers 1.0 %" in finding.statement
    assert finding.remedy.index("program") < finding.remedy.index("cable")


def test_a_slow_link_and_a_program_on_the_core_never_pass() -> None:
    for share in (0.2, 0.5, 0.8, 0.93):
        for waited in (0.05, 0.2, 0.5, 0.9):
            found = judged(share, {**LITTLE, "n3": waited})
            assert found.findings and found.verdict is Verdict.SLOW
            assert all(pair.verdict is not Verdict.PASS for pair in found.pairs if "n3" in (pair.source, pair.target))


def test_waits_are_compared_run_by_run_with_those_of_good_pairs() -> None:
    pairs = [("n1", "n3"), ("n3", "n2")]
    good = [("n4", "n5"), ("n6", "n4"), ("n3", "n5")]
    waited = {("n1", "n3"): [(0.1, 0.6)] * 6, ("n3", "n2"): [(0.5, 0.0)] * 6}
    waited |= {("n4", "n5"): [(0.02, 0.06)] * 6, ("n6", "n4"): [(0.02, 0.02)] * 6, ("n3", "n5"): [(0.9, 0.0)] * 6}
    ranks = RankWaits(by_run(waited), good)
    assert ranks.longest({"n1", "n2", "n3"}, pairs) == LongWaits("n3", 0.55, 0.02)
    assert ranks.longest({"n2"}, pairs) is None
    assert RankWaits(by_run(waited), []).longest({"n3"}, pairs) is None
    once = {pair: runs[:1] for pair, runs in waited.items()}
    assert RankWaits(by_run(once), good).longest({"n3"}, pairs) is None
    mixed = {**waited, ("n4", "n5"): [(0.1, 0.1), (0.7, 0.7)] * 3, ("n6", "n4"): [(0.1, 0.1), (0.7, 0.7)] * 3}
    assert RankWaits(by_run(mixed), good).longest({"n3"}, pairs) is None


@pytest.mark.parametrize("everything", [0.6, 0.7])
@pytest.mark.parametrize("count", [3, 6])
def test_nothing_is_below_its_limit_for_certain_where_all_ranks_wait(count: int, everything: float) -> None:
    """Peers that wait as long deliver as little: only the limit says that something is missing."""
    cluster = Cluster(nodes=names(count), everything=everything, noise=0.01)
    (finding,) = judge(sail(cluster)).findings
    assert finding.kind is FindingKind.SLOW_FABRIC
    starved = judge(sail(dataclasses.replace(cluster, waits=dict.fromkeys(names(count), 0.9))))
    assert starved.findings == ()
    assert starved.verdict is Verdict.INCONCLUSIVE
    little = judge(sail(dataclasses.replace(cluster, waits=dict.fromkeys(names(count), 0.1))))
    assert [one.kind for one in little.findings] == [FindingKind.SLOW_FABRIC]


def test_a_link_below_its_limit_and_its_peers_is_named_though_all_ranks_wait() -> None:
    waits = dict.fromkeys(names(6), 0.6)
    judgement = judge(sail(Cluster(nodes=names(6), parts=slow_part("node", "n4", 0.6), waits=waits)))
    assert [(one.kind, one.subject.name) for one in judgement.findings] == [(FindingKind.SLOW_LINK, "n4")]


@pytest.mark.parametrize("count", [4, 6])
def test_round_trips_of_a_rank_without_a_processor_are_not_those_of_a_late_link(count: int) -> None:
    """A lab on two cores beside five more programs: 158 µs at one node, 7 µs among others whose ranks waited, too, in
    few and long pieces, which a median hides."""
    late = Cluster(nodes=names(count), boot_id="one", near_s=7e-6, late={"n2": 20})
    assert [one.subject.text for one in judge(sail(late)).findings] == ["node:n2"]
    busy = judge(sail(dataclasses.replace(late, waits={**dict.fromkeys(names(count), 0.5), "n2": 0.8})))
    assert busy.findings == ()
    assert busy.verdict is Verdict.INCONCLUSIVE


def test_waits_of_both_ranks_add_up_to_the_time_of_a_round_trip() -> None:
    """From a lab at a load of eleven: two ranks on one core, each waits 63 % of the time."""
    runs = {("n1", "n3"): [1 / 40] * 6, ("n3", "n4"): [1 / 6.0] * 6, ("n4", "n1"): [1 / 6.5] * 6}
    waited = {pair: [(0.63, 0.635) if pair == ("n1", "n3") else (0.01, 0.02)] * 6 for pair in runs}

    def verified(*, round_trips: bool) -> Verified:
        look = SecondLook(
            by_run(runs), lambda _, run: math.log(6 * run), {("n1", "n3")}, 0.4, 0.1, waited=by_run(waited),
            round_trips=round_trips,
        )  # fmt: skip
        return look.of([("n1", "n3")])

    assert verified(round_trips=False).outcome is RetestOutcome.CONFIRMED
    found = verified(round_trips=True)
    assert (found.outcome, found.waited) == (RetestOutcome.OPEN, 6)


def test_bad_runs_of_ranks_that_wait_most_of_the_time_make_no_unstable_link() -> None:
    """From a lab at a load of eight: all ranks wait three quarters of the time, and the controls lose little by it."""
    runs = {("n1", "n4"): [113.6, 112.6, 116.5, 107.5, 105.6, 104.7, 99.1, 99.2, 95.0, 85.3, 104.1, 97.9]}
    controls = {
        ("n1", "n3"): [113.9, 114.9, 111.1, 112.8, 93.2, 117.7, 114.5, 116.9, 117.7, 112.0, 115.2, 115.1],
        ("n3", "n4"): [117.0, 113.6, 109.9, 114.4, 109.0, 118.0, 116.5, 115.2, 108.4, 113.0, 114.2, 116.5],
    }

    def verified(wait: float) -> Verified:
        waited = {pair: [(wait, wait)] * 12 for pair in (*runs, *controls)}
        every = by_run({**runs, **controls})
        look = SecondLook(every, lambda _, run: math.log(run / 115.5), set(runs), 0.03, 0.011, None, by_run(waited))
        return look.of(runs)

    crowded = verified(0.76)
    assert (crowded.outcome, crowded.waited >= 2) == (RetestOutcome.OPEN, True)
    assert verified(0.02).outcome is RetestOutcome.UNSTABLE
