"""The first line names the culprit and its number, and never claims more than the findings do."""

import pytest
from msgspec.structs import replace

from seatrial.commands.check.headline import comparisons_text, headline, not_tested
from seatrial.commands.check.judge import judge
from seatrial.model import subject
from seatrial.model.judgement import Loaded, Power
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.render.finding_text import first_line, sentence_of, word_of
from tests.support.builders import Cluster, names, sail, slow_part
from tests.support.report_examples import estimate, judgement, pair, run_info, slow_node


def found(kind: FindingKind, part: subject.Subject, verdict: Verdict | None = None, **fields: object) -> Finding:
    plain = Finding(kind=kind, subject=part, verdict=verdict or kind.verdict, statement="s", remedy="r")
    return replace(plain, **fields)


SLOW_UPLINK = found(
    FindingKind.SLOW_UPLINK, subject.uplink("leaf9"), metric=BANDWIDTH, measured=estimate(6e9), peers=1e10
)
DOWN = found(FindingKind.NODE_DOWN, subject.node("n4"))
UNSTABLE = found(FindingKind.UNSTABLE_LINK, subject.node("n3"), metric=BANDWIDTH, measured=estimate(50e6, 0.4))
FACT = found(FindingKind.GOVERNOR, subject.node("n76"), brief="governor powersave on 64 of 64 processors")


@pytest.mark.parametrize(
    ("findings", "line"),
    [
        ([DOWN], "DOWN n4 does not answer"),
        ([SLOW_UPLINK], "SLOW uplink of leaf9: at 60 % of its peers'"),
        ([UNSTABLE], "UNSTABLE n3: unstable, 30.0 MB/s to 70.0 MB/s"),
        ([FACT], "MISCONFIGURED n76: governor powersave on 64 of 64 processors"),
        ([replace(FACT, brief="")], "MISCONFIGURED n76: frequency governor"),
        ([UNSTABLE, SLOW_UPLINK, FACT], "SLOW 3 findings: n3, uplink of leaf9, n76"),
        ([FACT, replace(FACT, kind=FindingKind.TURBO_OFF)],
         "MISCONFIGURED n76: governor powersave on 64 of 64 processors; 1 more finding"),
        ([replace(SLOW_UPLINK, ambiguous_with=(subject.uplink("leaf2"),))],
         "SLOW uplink of leaf9 or uplink of leaf2: at 60 % of its peers'"),
        ([found(FindingKind.HIGH_LATENCY, subject.node("n1"), metric=LATENCY, measured=estimate(3e-5), peers=1e-5)],
         "SLOW n1: latency 3.0 times its peers'"),
        ([found(FindingKind.NODE_DRAINED, subject.node("n1"), Verdict.NOTE)], "PASS "),
    ],
)  # fmt: skip
def test_the_line(findings: list[Finding], line: str) -> None:
    assert f"{word_of(findings)} {sentence_of(findings)}" == line


def test_many_findings_are_counted() -> None:
    many = [replace(FACT, subject=subject.node(f"n{number}")) for number in range(9)]
    assert sentence_of(many) == "9 findings: n0, n1, n2, n3 and 5 more"


def test_names_that_a_line_has_no_room_for_are_counted() -> None:
    many = [replace(FACT, subject=subject.node(f"cluster-compute-rack-{number:02}-node")) for number in range(9)]
    assert sentence_of(many) == "9 findings: cluster-compute-rack-00-node and 8 more"
    assert sentence_of(many[:2]) == "2 findings: cluster-compute-rack-00-node and 1 more"
    assert sentence_of([replace(FACT, subject=subject.node("n" * 90)), FACT]) == f"2 findings: {'n' * 90} and 1 more"


def test_a_run_is_not_slow_where_its_only_finding_is_unstable() -> None:
    slow_pairs = tuple(replace(one, verdict=Verdict.SLOW) for one in judgement().pairs)
    said = headline(run_info(), judgement(pairs=slow_pairs, findings=(UNSTABLE,)))
    assert (said.word, said.what) == ("UNSTABLE", "n3: unstable, 30.0 MB/s to 70.0 MB/s")


def test_findings_of_facts_hide_no_pair_that_did_not_pass() -> None:
    odd = (pair("n1", "n2", verdict=Verdict.UNSTABLE), *judgement().pairs[1:])
    assert headline(run_info(), judgement(pairs=odd, findings=(FACT,))).what.endswith("; n1>n2 did not pass")
    assert headline(run_info(), slow_node()).what == "n3: link at 60 % of its limit"


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"n1>n2"}, "n1>n2 did not pass"),
        ({"n1>n2", "n4>n3"}, "n1>n2 and n4>n3 did not pass"),
        ({"n1>n2", "n2>n3", "n4>n2"}, "3 of 12 ordered pairs did not pass, all of them n2's"),
        ({"n1>n2", "n2>n3", "n4>n2", "n4>n3"}, "4 of 12 ordered pairs did not pass, 3 of them n2's"),
        ({"n1>n2", "n2>n3", "n3>n1"}, "3 of 12 ordered pairs did not pass"),
        ({"n1>n2", "n2>n1", "n3>n4", "n4>n3"}, "4 of 12 ordered pairs did not pass"),
    ],
)
def test_what_did_not_pass_is_named_or_the_node_that_it_shares(odd: set[str], said: str) -> None:
    pairs = tuple(
        replace(one, verdict=Verdict.INCONCLUSIVE) if f"{one.source}>{one.target}" in odd else one
        for one in judgement().pairs
    )
    line = headline(run_info(), judgement(pairs=pairs))
    assert (line.word, line.what) == ("INCONCLUSIVE", f"no finding, but {said}")


@pytest.mark.parametrize("verdict", [Verdict.NOT_RUN, Verdict.INCONCLUSIVE])
def test_a_node_that_did_not_pass_is_named_where_all_pairs_did(verdict: Verdict) -> None:
    first, *others = judgement().nodes
    line = headline(run_info(), judgement(nodes=(replace(first, verdict=verdict), *others)))
    assert (line.word, line.what) == (verdict.value, f"no finding on 4 nodes, but {first.node} did not pass")


def test_a_pass_says_what_it_is_worth() -> None:
    power = Power(metric=BANDWIDTH, effect_ratio=0.03, scatter_ratio=0.004, detectable_ratio=0.032, enough=True)
    said = headline(run_info(), judgement(powers=(power,)))
    assert said.word == "PASS"
    assert said.what.endswith("% of its limit; spread 0.4 %; a node that is 3.2 % slower would have been found")
    assert "uplinks under load" in not_tested(run_info(), judgement())


def test_two_nodes_have_no_peers_and_a_pass_does_not_say_that_a_slow_one_would_have_been_found() -> None:
    """One of two nodes of a lab lost 15 %, and "a node that is 3.0 % slower would have been found"."""
    recorded = sail(Cluster(nodes=names(2), parts=slow_part("node", "n2", 0.85)))
    judged = judge(recorded)
    assert judged.powers == ()
    said = headline(recorded.info, judged)
    assert said.word == "PASS"
    assert said.what.endswith(" % of its limit; no peers: only a loss of 25 % of the limit would have been found")
    assert comparisons_text(judged.compared).startswith("all pairs with their limits; ")
    three = judge(sail(Cluster(nodes=names(3))))
    assert [power.metric for power in three.powers] == [BANDWIDTH, LATENCY]


@pytest.mark.parametrize(("design", "named"), [(None, True), (2.0, False)])
def test_a_pass_says_nothing_of_cables_whose_routes_are_unknown(design: float | None, named: bool) -> None:
    """Random checks had such a cable between leaves: it lost 2 % of packets, and no measured pair crossed it."""
    loaded = Loaded(rounds=2, design_oversubscription=design)
    left = not_tested(run_info(), judgement(loaded=loaded))
    assert ("single cables between leaves" in left) is named
    alone = tuple(replace(state, leaf="") for state in judgement().nodes)
    assert "single cables" not in not_tested(run_info(), judgement(loaded=loaded, nodes=alone))


@pytest.mark.parametrize(
    ("sentence", "divided"),
    [
        ("n3: link at 60 % of its limit", ("n3: link at 60 % of its limit", "")),
        ("all good; spread 0.5 %; a node at 96 % would show", ("all good; spread 0.5 %", "a node at 96 % would show")),
        ("2 findings: n3, n5, 2 nodes not measured", ("2 findings: n3, n5,", "2 nodes not measured")),
        ("one clause that is longer than its room", ("one clause that is longer than its room", "")),
        ("n1: triad, arrays 7 % lower (95 % CI -9 to -5 %)", ("n1: triad, arrays 7 % lower", "(95 % CI -9 to -5 %)")),
        ("n3 (drained), n5 (down), n7, n9", ("n3 (drained), n5 (down), n7,", "n9")),
        ("exactly thirty characters, 5, n", ("exactly thirty characters, 5,", "n")),
        ("exactly thirty characters, 50, n", ("exactly thirty characters, 50,", "n")),
        ("exactly thirty characters, 500, n", ("exactly thirty characters,", "500, n")),
        ("a clause longer than there is room; x; y", ("a clause longer than there is room", "x; y")),
        ("cable MF0;leaf[1] - MF0;spine[21]: below", ("cable MF0;leaf[1]", "- MF0;spine[21]: below")),
        ("MF0;leaf1 and MF0;spine1[21]: cables are missing", ("MF0;leaf1 and MF0;spine1[21]:", "cables are missing")),
        ("2 findings: MF0;leaf01 and MF0;spine2 and 1 more", ("2 findings: MF0;leaf01", "and MF0;spine2 and 1 more")),
        ("MF0;a-very-long-name-of-a-switch: missing", ("MF0;a-very-long-name-of-a-switch: missing", "")),
        ("n1: what ranks may use; of 2 and of 3 nodes", ("n1: what ranks may use", "of 2 and of 3 nodes")),
        ("n1: ranks may run on any of 2 cores; x", ("n1:", "ranks may run on any of 2 cores; x")),
        ("n1: what fits in thirty letters", ("n1:", "what fits in thirty letters")),
    ],
)
def test_a_first_line_ends_with_a_clause(sentence: str, divided: tuple[str, str]) -> None:
    assert first_line(sentence, 30) == divided
