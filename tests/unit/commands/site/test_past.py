"""What runs said of each node one after another: the newest first, and only the changes of verdicts."""

from seatrial.commands.site import past
from seatrial.commands.site.past import changed_verdicts, looks_of_nodes
from seatrial.judgement.standings import LINKS, Judged
from seatrial.model.monitoring import Fault, Standing
from seatrial.model.verdict import Verdict

SLOW = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")


def judged(number: int, *slow: str) -> Judged:
    """A run on n1 and n2, with an uplink that is slow, too."""
    nodes = [
        Standing(node=name, verdict=Verdict.SLOW if name in slow else Verdict.PASS, faults=(SLOW,) * (name in slow))
        for name in ("n1", "n2", "uplink:leaf1")
    ]
    ended = f"2026-11-{number:02d}T10:00:00+00:00"
    return Judged(run=f"r{number}", ended=ended, looks=frozenset({LINKS}), nodes=tuple(nodes))


RUNS = [judged(1), judged(2, "n2", "uplink:leaf1"), judged(3, "n2"), judged(4)]


def test_looks_are_of_nodes_and_the_newest_first() -> None:
    looks = looks_of_nodes(RUNS)
    assert [*looks] == ["n1", "n2"]
    assert [(look.run, look.verdict.value) for look in looks["n2"]] == [
        ("r4", "PASS"), ("r3", "SLOW"), ("r2", "SLOW"), ("r1", "PASS"),
    ]  # fmt: skip
    assert looks["n2"][1].faults == (SLOW.text,)


def test_many_runs_have_a_bound() -> None:
    assert len(looks_of_nodes([judged(1)] * (past.MOST_LOOKS + 5))["n1"]) == past.MOST_LOOKS
    turns = [judged(1, *["n1"] * (number % 2)) for number in range(past.MOST_CHANGES + 9)]
    assert len(changed_verdicts(turns)) == past.MOST_CHANGES


def test_only_changes_are_listed_the_newest_first() -> None:
    changes = [(change.node, change.before.value, change.after.run) for change in changed_verdicts(RUNS)]
    assert changes == [("n2", "SLOW", "r4"), ("n2", "PASS", "r2")]
