"""A check that was asked whether nodes may return: its first line, and the lines to type."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.commands.check.headline import headline
from seatrial.commands.check.judge import judge
from seatrial.commands.check.view import check_report
from seatrial.model.run import Ending, NodeCause, NodeState, RecordedRun
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import CLUSTER, pair
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.render.finding_text import drain_line, standings_of
from tests.support.builders import Cluster, names, sail, slow_part
from tests.support.report_examples import facts, slow_node
from tests.support.reports import check_json, check_text

GOOD = "may return: 4 pairs, the worst at 99 % of its limit"


def asked(
    *returning: str, nodes: tuple[str, ...] = names(4), parts: Any = None, cluster: str = "demo", **changes: Any
) -> RecordedRun:
    recorded = sail(Cluster(nodes=nodes, parts=parts or {}))
    settings = CheckSettings(archive=Path("x"), returning=returning)
    info = msgspec.structs.replace(recorded.info, settings=settings, cluster=cluster, **changes)
    return msgspec.structs.replace(recorded, info=info)


def first_line(recorded: RecordedRun) -> str:
    line = headline(recorded.info, judge(recorded))
    return f"{line.word}  {line.what}"


def test_a_good_node_may_return_and_the_line_that_returns_it_is_there() -> None:
    recorded = asked("n3")
    assert first_line(recorded) == "PASS  n3 may return: 6 pairs, the worst at 99 % of its limit"
    text = check_text(recorded.info, judge(recorded), {})
    assert "\nscontrol update NodeName=n3 State=RESUME\n" in text
    assert "State=DRAIN" not in text


def test_a_slow_node_stays_out_and_the_line_that_keeps_it_out_is_there() -> None:
    recorded = asked("n3", parts=slow_part("node", "n3", 0.6))
    judgement = judge(recorded)
    line = first_line(recorded)
    assert line.startswith("SLOW  n3 stays out: link at 60 % of its limit")
    assert len(line) <= 80
    text = check_text(recorded.info, judgement, {})
    drain = 'scontrol update NodeName=n3 State=DRAIN Reason="seatrial: link at 60 % of its limit"'
    assert f"\n{drain}\n" in text
    assert "State=RESUME" not in text
    assert [one["drain"] for one in check_json(recorded.info, judgement)["findings"]] == [drain]


def test_no_line_replaces_the_reason_of_a_node_that_is_drained() -> None:
    recorded = asked("n3", parts=slow_part("node", "n3", 0.6))
    assert isinstance(recorded.info.settings, CheckSettings)
    settings = msgspec.structs.replace(recorded.info.settings, drained=("n3",))
    info = msgspec.structs.replace(recorded.info, settings=settings)
    assert "State=DRAIN" not in check_text(info, judge(recorded), {})
    assert [one["drain"] for one in check_json(info, judge(recorded))["findings"]] == [""]


def test_the_fault_of_a_partner_keeps_no_node_out() -> None:
    line = first_line(asked("n3", parts=slow_part("node", "n1", 0.6)))
    assert line == f"SLOW  n3 {GOOD}; besides: n1: link at 60 % of its limit"


def test_of_several_nodes_each_has_its_answer() -> None:
    line = first_line(asked("n3", "n4", parts=slow_part("node", "n4", 0.5)))
    assert line == f"SLOW  n4 stays out: link at 50 % of its limit; n3 {GOOD}"


def test_a_node_that_does_not_answer_stays_out_for_the_reason_that_slurm_gives() -> None:
    state = NodeState(node="n4", reason="Slurm says down, not responding", fault=True, cause=NodeCause.UNAVAILABLE)
    recorded = asked("n4", lost=(state,))
    line = headline(recorded.info, judge(recorded))
    assert (line.word, line.what) == (Verdict.DOWN, "n4 stays out: Slurm says down, not responding")


def test_a_node_that_could_not_be_measured_is_undecided_for_that_reason() -> None:
    """The first line said that nothing was measured on 4 nodes, and not that somebody had reserved the node."""
    state = NodeState(node="n1", reason="Slurm says reserved", fault=False, cause=NodeCause.UNAVAILABLE)
    recorded = asked("n1", lost=(state,))
    recorded = msgspec.structs.replace(recorded, measurements=())
    assert headline(recorded.info, judge(recorded)).what.startswith("n1: not decided: Slurm says reserved")


def test_storage_that_answers_on_no_node_leaves_it_open() -> None:
    recorded = asked("n3")
    judged = judge(recorded)
    kind, clause = FindingKind.MOUNT_DEAD, "/storage does not answer"
    dead = Finding(kind=kind, subject=CLUSTER, verdict=kind.verdict, statement=clause, remedy="", brief=clause)
    line = headline(recorded.info, msgspec.structs.replace(judged, findings=(dead,)))
    assert line.what.startswith("n3: not decided: ")
    assert "storage" in line.what
    report = check_report(recorded.info, msgspec.structs.replace(judged, findings=(dead,)), {})
    assert {case.name: case.verdict for case in report.cases}["node:n3"] is Verdict.INCONCLUSIVE, "no gate resumes it"


def test_a_run_that_was_cut_off_decides_nothing() -> None:
    recorded = msgspec.structs.replace(asked("n3"), measurements=())
    line = headline(recorded.info, judge(recorded))
    assert line.word != Verdict.PASS
    assert line.what.startswith("n3: not decided: 6 of 6 pairs did not pass")
    cut = msgspec.structs.replace(recorded.info, ending=Ending.INTERRUPTED, reason="SIGINT")
    line = headline(cut, judge(msgspec.structs.replace(recorded, info=cut)))
    assert line.what.startswith(f"incomplete: {Ending.INTERRUPTED.value}: SIGINT, n3: not decided")


@pytest.mark.parametrize("suspected", [False, True])
@pytest.mark.parametrize(("source", "open_too"), [("n1", False), ("n3", True)])
def test_what_is_open_between_partners_keeps_no_node_out(source: str, open_too: bool, suspected: bool) -> None:
    recorded = asked("n3")
    judged = judge(recorded)
    pairs = tuple(
        msgspec.structs.replace(one, verdict=Verdict.INCONCLUSIVE)
        if one.source == source and one.target == "n2"
        else one
        for one in judged.pairs
    )
    suspicion = slow_node("n1").findings[0]
    suspicion = msgspec.structs.replace(suspicion, verdict=Verdict.INCONCLUSIVE, subject=pair("n1", "n2"))
    undecided = msgspec.structs.replace(judged, pairs=pairs, findings=(suspicion,) if suspected else ())
    line = headline(recorded.info, undecided)
    verdicts = {one.node: one.verdict for one in standings_of(check_report(recorded.info, undecided, {}))}
    assert line.word == Verdict.INCONCLUSIVE
    assert (verdicts["n1"], verdicts["n3"]) == (
        Verdict.INCONCLUSIVE,
        Verdict.INCONCLUSIVE if open_too else Verdict.PASS,
    )
    if open_too:
        assert line.what == "n3: not decided: 1 of 6 pairs did not pass"
    else:
        left = "n1>n2: link is slow" if suspected else "no finding, but n1>n2 did not pass"
        assert line.what == f"n3 may return: 6 pairs, the worst at 99 % of its limit; besides: {left}"


@pytest.mark.parametrize("name", ['n3" State=RESUME Reason="', "n3;reboot", "$(reboot)", "`reboot`"])
def test_no_name_from_outside_becomes_part_of_a_line_to_paste(name: str) -> None:
    recorded = asked(name)
    assert "scontrol" not in check_text(recorded.info, slow_node(name), facts())
    recorded = asked(name, nodes=("n1", "n2", name, "n4"))
    assert first_line(recorded) == f"PASS  {name} may return: 6 pairs, the worst at 99 % of its limit"
    assert "scontrol" not in check_text(recorded.info, judge(recorded), {})


def test_a_reason_has_no_character_that_a_shell_would_read() -> None:
    finding = msgspec.structs.replace(slow_node().findings[0], brief='mount "/a$(reboot)`x`\\" is\nslow!')
    line = drain_line("n3", [finding])
    assert line == 'scontrol update NodeName=n3 State=DRAIN Reason="seatrial: mount /a(reboot)x isslow"'


def test_without_slurm_there_is_no_line_to_paste() -> None:
    recorded = asked("n3", cluster="", parts=slow_part("node", "n3", 0.6))
    judgement = judge(recorded)
    assert "scontrol update" not in check_text(recorded.info, judgement, {})
    assert {one["drain"] for one in check_json(recorded.info, judgement)["findings"]} == {""}
