"""What runs said of each node one after another: the newest first, and only the changes of verdicts."""

from seatrial.commands.site import past
from seatrial.commands.site.node_view import trial_plots
from seatrial.commands.site.past import changed_verdicts, looks_of_nodes
from seatrial.judgement.standings import LINKS, TRIALS, Judged
from seatrial.model.monitoring import Fault, Standing
from seatrial.model.node_trials import Measure
from seatrial.model.units import share
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


def tried(number: int, triad: float) -> Judged:
    """A run of the trials of n1."""
    figures = {Measure.TRIAD: triad, Measure.NOISE: 0.01 * number}
    ended = f"2026-11-{number:02d}T10:00:00+00:00"
    nodes = (Standing(node="n1", verdict=Verdict.PASS, figures=figures),)
    return Judged(run=f"t{number}", ended=ended, looks=frozenset({TRIALS}), nodes=nodes)


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


def test_trials_of_a_node_are_drawn_over_the_runs_that_tried_it() -> None:
    looks = looks_of_nodes([tried(1, 2e11), judged(2), tried(3, 1.5e11), tried(4, 1.6e11)])["n1"]
    triad, noise = trial_plots(looks)
    assert triad.title == "Trials: STREAM triad of all cores"
    assert [point.y for point in triad.series[0].points] == [2e11, 1.5e11, 1.6e11]
    assert [point.hover for point in noise.series[0].points][:1] == [f"t1, 2026-11-01: {share(0.01)}"]
    assert list(trial_plots(looks_of_nodes([tried(1, 2e11), judged(2)])["n1"])) == []
