"""Faults stay open until a run that looks at as much finds them gone."""

import msgspec

from seatrial.judgement.standings import LINKS, TRIALS, Judged, standings_after
from seatrial.model.monitoring import Condition, Fault, Standing
from seatrial.model.verdict import Verdict

SLOW = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")
MEMORY = Fault(kind="slow-memory", verdict=Verdict.SLOW, text="memory 20 % slower than its peers'")
FACT = Fault(kind="mtu-differs", verdict=Verdict.MISCONFIGURED, text="MTU 1500, 9000 elsewhere")


def run(hour: int, *faults: Fault, looks: tuple[str, ...] = (LINKS, TRIALS), verdict: Verdict = Verdict.PASS) -> Judged:
    said = faults[0].verdict if faults else verdict
    nodes = (Standing(node="n1", verdict=said, of_limit=0.9, faults=faults), Standing(node="n2", verdict=Verdict.PASS))
    return Judged(run=f"r{hour}", ended=f"2026-11-01T{hour:02}:00:00", looks=frozenset(looks), nodes=nodes)


def test_a_fault_has_the_time_of_the_run_that_found_it_first() -> None:
    standing = standings_after([run(1), run(2, SLOW), run(3, SLOW)])["n1"]
    (fault,) = standing.faults
    assert (standing.verdict, fault.since, fault.run) == (Verdict.SLOW, "2026-11-01T02:00:00", "r3")


def test_a_good_run_clears_it() -> None:
    standing = standings_after([run(1, SLOW), run(2)])["n1"]
    assert (standing.verdict, standing.faults, standing.run) == (Verdict.PASS, (), "r2")


def test_a_run_that_does_not_look_at_it_or_does_not_decide_clears_nothing() -> None:
    blind = run(2, looks=(LINKS,))
    assert standings_after([run(1, MEMORY), blind])["n1"].verdict is Verdict.SLOW
    undecided = run(2, verdict=Verdict.INCONCLUSIVE)
    standing = standings_after([run(1, MEMORY), undecided])["n1"]
    assert (standing.verdict, standing.judged) == (Verdict.SLOW, "2026-11-01T02:00:00")
    assert standings_after([run(1, MEMORY), run(2, verdict=Verdict.NOT_RUN)])["n1"].faults


def test_another_fault_clears_the_first_and_the_gravest_leads() -> None:
    assert [each.fault for each in standings_after([run(1, SLOW), run(2, FACT)])["n1"].faults] == [FACT]
    both = standings_after([run(1, FACT, looks=(LINKS,)), run(2, SLOW, FACT)])["n1"]
    assert [each.fault.kind for each in both.faults] == ["slow-link", "mtu-differs"]
    assert [each.since[11:13] for each in both.faults] == ["02", "01"]


def test_nobody_else_is_touched() -> None:
    assert standings_after([run(1, SLOW)])["n2"].verdict is Verdict.PASS
    assert standings_after([]) == {}


def test_a_check_without_trials_clears_what_messages_show() -> None:
    assert standings_after([run(1, SLOW), run(2, looks=(LINKS,))])["n1"].verdict is Verdict.PASS
    assert standings_after([run(1, SLOW), run(2, looks=(TRIALS,))])["n1"].verdict is Verdict.SLOW


UPLINK = Standing(node="uplink:leaf1", verdict=Verdict.SLOW, faults=(SLOW,))


def with_nodes(judged: Judged, *more: Standing, left_out: str = "") -> Judged:
    nodes = tuple(standing for standing in judged.nodes if standing.node != left_out)
    return msgspec.structs.replace(judged, nodes=(*nodes, *more))


def test_a_fault_of_no_node_is_open_until_all_nodes_that_saw_it_were_judged_without_it() -> None:
    first = with_nodes(run(1), UPLINK)
    assert standings_after([first])["uplink:leaf1"].verdict is Verdict.SLOW
    for later in (
        with_nodes(run(2), left_out="n2"),
        run(2, verdict=Verdict.INCONCLUSIVE),
        run(2, looks=(TRIALS,)),
        with_nodes(run(2), UPLINK),
    ):
        assert "uplink:leaf1" in standings_after([first, later])
    for later in (run(2), run(2, looks=(LINKS,))):
        assert "uplink:leaf1" not in standings_after([first, later])


def test_a_run_without_facts_leaves_the_condition_that_was_read_before() -> None:
    condition = Condition(read="2026-11-01T01:00:00", throttle_events=3)
    first = run(1)
    first = msgspec.structs.replace(
        first, nodes=tuple(msgspec.structs.replace(standing, condition=condition) for standing in first.nodes)
    )
    assert standings_after([first, run(2)])["n1"].condition == condition
