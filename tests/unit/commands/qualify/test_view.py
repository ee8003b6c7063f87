"""What the first line of qualify says: it never passes over a finding, whatever part it is on."""

from msgspec.structs import replace

from seatrial.commands.qualify.view import QualifyFields, qualify_report
from seatrial.model.monitoring import Fault, NodeStanding, OpenFault
from seatrial.model.qualification import Coverage, NodeScore, QualifySlice
from seatrial.model.verdict import Verdict

COVERED = Coverage(nodes=4, nodes_judged=4, links=6, links_judged=6, pairs=6, pairs_judged=6)
GOOD = QualifyFields(slice=QualifySlice(), coverage=COVERED, nodes=(), threshold=12.0, drains={}, unread=0)
TIME = "2026-11-01T02:00:00+00:00"
SLOW = Fault(kind="slow-uplink", verdict=Verdict.SLOW, text="uplink at 60 % of its limit")


def standing(name: str, *faults: Fault) -> NodeStanding:
    opened = tuple(OpenFault(fault=fault, run="r1", since=TIME) for fault in faults)
    return NodeStanding(
        node=name, verdict=Verdict.SLOW if faults else Verdict.PASS, run="r1", judged=TIME, faults=opened
    )


def first_line(fields: QualifyFields, *parts: NodeStanding) -> tuple[str, str, int]:
    report = qualify_report(fields, parts)
    return report.word, report.sentence, int(report.exit_code)


def test_all_nodes_judged_and_nothing_open_pass() -> None:
    assert first_line(GOOD, standing("n1")) == ("PASS", "4 of 4 nodes judged within a week, none found bad", 0)


def test_an_open_finding_on_another_part_withholds_pass() -> None:
    line = first_line(GOOD, standing("n1"), standing("uplink:leaf1", SLOW))
    assert line == ("NOTE", "open: uplink:leaf1: uplink at 60 % of its limit", 0)


def test_a_run_that_cannot_be_read_withholds_pass() -> None:
    assert first_line(replace(GOOD, unread=2))[:2] == ("NOTE", "2 runs cut off or unreadable")


def test_a_node_that_died_after_it_was_judged_withholds_pass() -> None:
    line = first_line(replace(GOOD, out_of_service=("n4",)), standing("n4"))
    assert line == ("NOTE", "n4 out of service; 4 of 4 nodes judged within a week, none found bad", 0)


def test_a_bad_node_comes_first() -> None:
    bad = NodeScore(node="n3", score=12.0, bad=True, findings=3, verdict=Verdict.SLOW, text="link slow", run="r1")
    line = first_line(replace(GOOD, nodes=(bad,)), standing("uplink:leaf1", SLOW))
    assert line == ("SLOW", "n3: link slow", 1)
