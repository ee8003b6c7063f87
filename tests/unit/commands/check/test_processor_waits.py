"""Runs that are slow because a rank waited for a processor say nothing of the link."""

import dataclasses
import math
import random

import pytest

from seatrial.commands.check.judge import judge
from seatrial.commands.check.processor_waits import ERROR_RATE, LongWaits, RankWaits, Waits, excused_by_waiting
from seatrial.commands.check.second_look import Outcome, SecondLook, Verified
from seatrial.model.judgement import Judgement
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, by_run, names, sail, slow_part

BAD_BELOW = math.log(0.9)
# Bandwidth over the peers', and the longer wait of both ranks: a lab on two cores beside a program that takes one.
BESIDE_A_HOG = [
    (0.89, 0.86), (0.88, 0.98), (0.99, 0.58), (0.96, 0.92), (0.89, 0.94), (0.96, 0.75), (0.94, 0.83), (1.0, 0.52),
    (0.89, 1.0), (1.0, 0.53), (0.86, 0.89), (1.0, 0.8), (0.81, 0.86), (0.99, 0.82), (0.99, 0.61), (0.89, 0.82),
]  # fmt: skip
# The same where four programs more wanted those cores: ranks wait nearly all the time, and hardly longer in bad runs.
CROWDED = [
    (0.82, 1.03), (0.84, 0.99), (0.82, 1.04), (0.88, 1.0), (0.82, 0.99), (0.82, 1.01), (0.9, 1.02),
    (0.81, 1.03), (0.9, 1.0), (0.9, 1.05), (0.82, 1.0), (1.01, 0.96), (1.0, 0.86), (1.01, 0.54), (0.82, 1.03),
    (1.0, 0.96), (0.84, 1.01), (1.0, 0.95), (1.0, 0.95), (0.88, 1.0), (0.82, 1.01), (1.01, 0.53), (0.98, 0.96),
    (0.9, 1.03),
]  # fmt: skip


def in_logs(runs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(math.log(share), waited) for share, waited in runs]


def test_waiting_explains_the_runs_in_which_a_rank_waited_longest() -> None:
    waits = excused_by_waiting(in_logs(BESIDE_A_HOG), BAD_BELOW)
    assert waits == Waits(bad=0.89, good=0.75)


def test_ranks_that_wait_nearly_all_the_time_lose_much_by_waiting_a_little_longer() -> None:
    waits = excused_by_waiting(in_logs(CROWDED), BAD_BELOW)
    assert waits is not None and waits.bad - waits.good < 0.1


def test_a_link_that_comes_and_goes_is_not_excused_where_all_ranks_wait_long() -> None:
    rng = random.Random(6)
    excused = 0
    for _ in range(2000):
        runs = [(share, rng.uniform(0.7, 0.85)) for share in [0.5] * 6 + [1.0] * 6]
        excused += excused_by_waiting(in_logs(runs), BAD_BELOW) is not None
    assert excused <= 2000 * ERROR_RATE


def test_a_link_that_comes_and_goes_is_not_excused_by_waits_of_other_runs() -> None:
    rng = random.Random(5)
    excused = 0
    for _ in range(2000):
        runs = [(share, rng.uniform(0.1, 0.9)) for share in [0.85] * 6 + [1.0] * 6]
        excused += excused_by_waiting(in_logs(runs), BAD_BELOW) is not None
    assert excused <= 2000 * ERROR_RATE


def test_short_waits_do_not_explain_a_large_loss() -> None:
    runs = [(0.5, 0.3)] * 8 + [(1.0, 0.1)] * 8
    assert excused_by_waiting(in_logs(runs), BAD_BELOW) is None
    assert excused_by_waiting(in_logs([(0.85, 0.3)] * 8 + [(1.0, 0.1)] * 8), BAD_BELOW) == Waits(bad=0.3, good=0.1)


def test_few_runs_and_unknown_waits_excuse_nothing() -> None:
    assert excused_by_waiting(in_logs([(0.8, 0.9), (0.8, 0.9), *[(1.0, 0.1)] * 4]), BAD_BELOW) is None
    assert excused_by_waiting(in_logs([(0.8, 0.0)] * 8 + [(1.0, 0.0)] * 8), BAD_BELOW) is None
    assert excused_by_waiting(in_logs([(0.8, 0.9)] * 8), BAD_BELOW) is None
    assert excused_by_waiting([], BAD_BELOW) is None


def test_a_part_is_undecided_where_waiting_explains_it_and_unstable_where_not() -> None:
    pairs = {(f"a{number}", f"b{number}"): [0.8, 1.0] * 6 for number in range(2)}
    controls = {(f"c{number}", f"d{number}"): [1.0 + number / 1000] * 12 for number in range(3)}

    def of(bad: float, good: float) -> SecondLook:
        waited = {pair: [(0.1, bad), (good, 0.1)] * 6 for pair in pairs}
        runs = by_run({**pairs, **controls})
        return SecondLook(runs, lambda _, run: math.log(run), set(pairs), 0.03, 0.001, None, by_run(waited))

    busy = of(0.9, 0.5).of(pairs)
    assert (busy.outcome, busy.waits) == (Outcome.OPEN, Waits(bad=0.9, good=0.5))
    for bad, good in ((0.5, 0.5), (0.5, 0.9), (0.55, 0.5)):
        assert of(bad, good).of(pairs).outcome is Outcome.UNSTABLE


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
    assert verified.outcome is Outcome.CONFIRMED
    assert look.long_waits({"n3"}, [("n1", "n3")]) == LongWaits("n3", 0.4, 0.0)
    assert look.explaining_waits({"n3"}, [("n1", "n3")], verified) is None


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
