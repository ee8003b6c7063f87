"""Separate slices make a node bad at the stated rate; idle nodes are chosen by what is needed and what stays free."""

import math
from random import Random

import msgspec
import pytest

from seatrial.judgement.qualification import Candidate, choose, confirmed, coverage, scores_after, threshold
from seatrial.judgement.standings import Judged, standings_after
from seatrial.model.errors import UsageError
from seatrial.model.monitoring import Fault, Standing
from seatrial.model.qualification import NodeScore, QualifyPolicy, parse_policy
from seatrial.model.verdict import Verdict

SLOW = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")
FACT = Fault(kind="mtu-differs", verdict=Verdict.MISCONFIGURED, text="MTU 1500, 9000 elsewhere")
POLICY = QualifyPolicy()
LIMIT = threshold(POLICY)


def run(number: int, *faults: Fault, verdict: Verdict = Verdict.PASS, threshold: float = LIMIT) -> Judged:
    said = faults[0].verdict if faults else verdict
    nodes = (Standing(node="n1", verdict=said, faults=faults), Standing(node="n2", verdict=Verdict.PASS))
    return Judged(
        run=f"r{number}", ended=f"2026-11-01T{number:02}:00:00Z", looks=frozenset(), nodes=nodes, threshold=threshold
    )


class TestScores:
    def test_findings_of_separate_slices_make_a_node_bad_and_no_other(self) -> None:
        bad = [scores_after([run(number, SLOW) for number in range(1, many + 1)]) for many in range(1, 4)]
        assert [scores["n1"].bad for scores in bad] == [False, False, True]
        found = bad[-1]["n1"]
        assert (found.findings, found.run, found.text, found.verdict) == (3, "r3", SLOW.text, Verdict.SLOW)
        assert not bad[-1]["n2"].bad and bad[-1]["n2"].judged == "2026-11-01T03:00:00Z"

    def test_a_slice_that_finds_nothing_lowers_the_score_and_a_bad_node_is_good_at_zero_only(self) -> None:
        runs = [run(number, SLOW) for number in range(1, 4)]
        (first, *later) = [scores_after([*runs, *(run(4 + more) for more in range(many))]) for many in (1, 5, 9)]
        assert first["n1"].bad and first["n1"].score < LIMIT
        assert [scores["n1"].bad for scores in later] == [True, False]
        assert later[-1]["n1"].findings == 0

    def test_what_is_undecided_or_a_fact_says_nothing_against_a_node(self) -> None:
        runs = [run(1, SLOW), run(2, verdict=Verdict.INCONCLUSIVE)]
        assert scores_after(runs)["n1"] == scores_after(runs[:1])["n1"]
        assert scores_after([run(1, FACT)])["n1"].findings == 0

    def test_another_run_makes_no_node_bad_and_a_good_one_clears_it(self) -> None:
        by_hand = [run(number, SLOW, threshold=0) for number in range(1, 9)]
        assert not scores_after(by_hand)["n1"].findings
        bad = [run(number, SLOW) for number in range(1, 4)]
        assert not scores_after([*bad, run(4, threshold=0)])["n1"].bad

    def test_what_may_be_of_another_node_decides_nothing(self) -> None:
        shared = msgspec.structs.replace(SLOW, shared=True)
        assert scores_after([run(1, shared)])["n1"] == NodeScore(node="n1")

    def test_a_finding_of_a_slice_is_open_once_the_node_is_bad_and_until_it_is_good_again(self) -> None:
        runs = [run(number, SLOW) for number in range(1, 4)] + [run(number) for number in range(4, 13)]
        verdicts = [standings_after(confirmed(runs[:many]))["n1"].verdict for many in range(1, 13)]
        assert verdicts == ["INCONCLUSIVE"] * 2 + ["SLOW"] * 8 + ["PASS"] * 2
        assert standings_after(confirmed([run(1, SLOW, threshold=0), run(2, SLOW, FACT)]))["n1"].faults[0].run == "r1"

    @pytest.mark.parametrize("stopped", [Verdict.INCONCLUSIVE, Verdict.NOT_RUN])
    def test_a_slice_that_is_stopped_leaves_what_earlier_runs_said(self, stopped: Verdict) -> None:
        """On a busy cluster most are stopped: all good nodes were undecided. A check by hand was asked for."""
        for earlier, by_hand, verdict in (
            ([run(1)], False, Verdict.PASS),
            ([run(1)], True, stopped),
            ([], False, stopped),
            ([run(1), run(2, SLOW)], False, Verdict.INCONCLUSIVE),
        ):
            runs = [*earlier, run(9, verdict=stopped, threshold=0 if by_hand else LIMIT)]
            found = standings_after(confirmed(runs))
            assert found["n1"].verdict == verdict
            assert found["n2"].run == "r9"

    def test_the_threshold_follows_from_the_judgements_and_the_alarms_of_a_year(self) -> None:
        policy = QualifyPolicy(nodes=10, minutes=60, alarms_per_year=0.5)
        assert threshold(policy) == pytest.approx(math.log(10 * 8766 / 0.5))


def idle(*names: str, partition: str = "main", known_s: float = 1.0, suspected: bool = False) -> list[Candidate]:
    return [
        Candidate(node=name, partitions=(partition,), idle=True, known_s=known_s, suspected=suspected) for name in names
    ]


class TestChoice:
    def test_suspects_come_first_then_nodes_without_a_verdict_then_the_oldest(self) -> None:
        names = [f"n{number:02}" for number in range(40)]
        nodes = [*idle(*names[:30], known_s=9), *idle(*names[30:36], known_s=2), *idle("n36", "n37", known_s=0)]
        nodes += idle("n38", known_s=9, suspected=True)
        chosen = choose(nodes, names, POLICY, Random(1))
        assert len(chosen) == POLICY.nodes
        assert {"n36", "n37", "n38"} < set(chosen)
        assert len(set(chosen) & set(names[30:36])) >= 4

    def test_a_node_meets_other_partners(self) -> None:
        nodes = idle(*(f"n{number:02}" for number in range(16)))
        assert len({choose(nodes, [node.node for node in nodes], POLICY, Random(seed)) for seed in range(9)}) > 5

    def test_a_share_of_each_partition_stays_idle(self) -> None:
        both = [Candidate(node=f"b{number}", partitions=("main", "fat"), idle=True) for number in range(6)]
        nodes = [*both, *idle("n1", "n2", "n3", "n4")]
        policy = QualifyPolicy(keep_free=0.5)
        for seed in range(5):
            chosen = choose(nodes, [node.node for node in nodes], policy, Random(seed))
            assert len(chosen) <= 5 and sum(name.startswith("b") for name in chosen) <= 3

    def test_busy_nodes_and_those_of_other_partitions_are_left_alone(self) -> None:
        nodes = [*idle("n1", "n2", "n3", "n4", "n5"), *idle("x1", "x2", partition="other")]
        nodes.append(Candidate(node="n6", partitions=("main",), idle=False))
        chosen = choose(nodes, ["n1", "n2", "n3", "n4", "n5", "n6"], POLICY, Random(1))
        assert len(chosen) == 4 and set(chosen) < {"n1", "n2", "n3", "n4", "n5"}

    def test_too_few_nodes_make_no_slice(self) -> None:
        assert choose(idle("n1", "n2", "n3", "n4"), ["n1", "n2", "n3", "n4"], POLICY, Random(1)) == ()


class TestCoverage:
    def test_nodes_links_and_pairs(self) -> None:
        found = coverage(
            [run(1), run(2)], ["n1", "n2", "n3"], {"n1": "leaf1", "n2": "leaf2", "n3": "leaf1"}, "2026-11-01T02"
        )
        assert (found.nodes_judged, found.links_judged, found.pairs_judged) == (2, 4, 1)
        assert (found.nodes, found.links, found.pairs) == (3, 5, 3)

    def test_a_week_later_only_the_pairs_count(self) -> None:
        found = coverage([run(1)], ["n1", "n2", "n3"], {}, "2026-11-08")
        assert (found.nodes_judged, found.links_judged, found.links, found.pairs_judged) == (0, 0, 3, 1)

    def test_what_is_undecided_covers_nothing(self) -> None:
        found = coverage([run(1, verdict=Verdict.INCONCLUSIVE)], ["n1", "n2"], {}, "2026-11-01")
        assert (found.nodes_judged, found.pairs_judged) == (1, 0)


class TestPolicy:
    def test_an_empty_file_has_all_defaults_and_drains_nothing(self) -> None:
        assert parse_policy("", "p.toml") == QualifyPolicy() and not QualifyPolicy().drain

    def test_keys_are_written_with_dashes(self) -> None:
        policy = parse_policy("keep-free = 0.2\nalarms-per-year = 2\ndrain = true\n", "p.toml")
        assert (policy.keep_free, policy.alarms_per_year, policy.drain) == (0.2, 2, True)

    @pytest.mark.parametrize(
        "text",
        ["nodes = 3", "nodes = 65", "minutes = 0", "keep-free = 1", "keep-free = nan", "alarms-per-year = 0", "x = 1",
         "alarms-per-year = inf", "nodes = 'a'", "="],
    )  # fmt: skip
    def test_what_is_not_possible_is_refused_with_the_name_of_the_file(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"p\.toml"):
            parse_policy(text, "p.toml")
