"""A run that is judged while it grows is judged as if all of it had come at once."""

import re
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.check import assessment
from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.judge import judge
from seatrial.locate.evidence import PairEvidence
from seatrial.locate.explanation import Crossings, blame
from seatrial.model.fabric import NO_FABRIC, Fabric
from seatrial.model.run import RecordedRun
from seatrial.model.units import BANDWIDTH
from seatrial.model.verdict import Verdict
from tests.support.builders import Cluster, leaves, names, sail, slow_part
from tests.support.evidence import gather
from tests.support.properties import examples


class TwoRails(Cluster):
    """Nodes with a second interface like the first."""

    def facts_text(self, node: str) -> str:
        lines = super().facts_text(node).splitlines(keepends=True)
        second = [line.replace("eth0", "eth1") for line in lines if "/net/eth0/" in line]
        return "".join([*lines[:-1], *second, lines[-1]]).replace("/*|eth0", "/*|eth0 eth1")


RUNS = ("two rails", "one slow node", "a slow uplink", "a slow pair", "a lossy node", "noise", "nothing wrong")


@cache
def run(kind: str) -> RecordedRun:
    """A whole run of eight nodes with its retest."""
    match kind:
        case "two rails":
            return sail(TwoRails(nodes=names(8), everything=1.9, pairs={("n1", "n2"): 0.5}))
        case "one slow node":
            return sail(Cluster(nodes=names(8), parts=slow_part("node", "n3", 0.6)))
        case "a slow uplink":
            return sail(Cluster(nodes=names(8), leaf_of=leaves(8, 4), parts=slow_part("uplink", "leaf1", 0.6)))
        case "a slow pair":
            return sail(Cluster(nodes=names(8), pairs={("n1", "n2"): 0.5}))
        case "a lossy node":
            return sail(Cluster(nodes=names(8), loss={"n3": 0.1}))
    return sail(Cluster(nodes=names(8), noise=0.05, megabits=None) if kind == "noise" else Cluster(nodes=names(8)))


@pytest.mark.parametrize("kind", RUNS)
@settings(deadline=None, max_examples=examples(3))
@given(data=st.data())
def test_any_partition_of_the_measurements_gives_the_judgement_of_all_at_once(kind: str, data: st.DataObject) -> None:
    recorded = run(kind)
    count = len(recorded.measurements)
    ends = sorted(data.draw(st.lists(st.integers(0, count), max_size=6), label="ends"))
    assessor = Assessor()
    for end in ends:
        part = msgspec.structs.replace(recorded, measurements=recorded.measurements[:end])
        grown = assessor.assess(part)
        assert judge(part, assessor) == judge(part)
        assert list(grown.evidence) == sorted(grown.evidence)
    assert judge(recorded, assessor) == judge(recorded)


def test_pairs_that_use_two_rails_are_compared_with_both() -> None:
    for everything, share in ((1.9, "9[45] %"), (1.0, "(99|100) %")):
        found = judge(sail(TwoRails(nodes=names(4), everything=everything)))
        assert {each.verdict for each in found.pairs} == {Verdict.PASS}
        assert all(re.search(f"{share} of its limit", each.reason) for each in found.pairs)


def test_pairs_that_were_measured_first_are_judged_again_when_the_peers_turn_out_better() -> None:
    """All first pairs are those of a slow node, and alike; no new measurement of theirs makes them slow."""
    slow = Cluster(nodes=names(8), parts=slow_part("node", "n3", 0.8), megabits=None)
    recorded = sail(slow, retest=False)
    ordered = tuple(sorted(recorded.measurements, key=lambda one: "n3" not in one.pair))
    recorded = msgspec.structs.replace(recorded, measurements=ordered)
    first = sum("n3" in one.pair for one in ordered)
    assessor = Assessor()
    before = assessor.assess(msgspec.structs.replace(recorded, measurements=ordered[:first]))
    assert {one.verdict for one in before.suspicion.bandwidth.values()} == {Verdict.PASS}
    after = assessor.assess(recorded)
    assert {pair for pair, one in after.suspicion.bandwidth.items() if one.verdict is Verdict.SLOW} == {
        pair for pair in after.evidence if "n3" in pair
    }
    assert judge(recorded, assessor) == judge(recorded)


@pytest.mark.parametrize("kind", RUNS)
def test_an_assessment_does_not_change_when_the_run_grows(kind: str) -> None:
    """The driver keeps an earlier assessment while it measures: new measurements must not reach it."""
    recorded = run(kind)
    half = msgspec.structs.replace(recorded, measurements=recorded.measurements[: len(recorded.measurements) // 2])
    assessor = Assessor()
    before = assessor.assess(half)
    evidence, bandwidth = dict(before.evidence), dict(before.suspicion.bandwidth)
    good, acquitted = before.suspicion.good(), before.suspicion.acquitted[BANDWIDTH].pairs.copy()
    assessor.assess(recorded)
    assert before.evidence == evidence
    assert before.suspicion.bandwidth == bandwidth
    assert before.suspicion.good() == good
    assert before.suspicion.acquitted[BANDWIDTH].pairs == acquitted


def test_only_pairs_of_new_measurements_are_renewed() -> None:
    recorded = run("one slow node")
    growing = PairEvidence()
    growing.take(recorded.measurements[:-3])
    fresh = growing.take(recorded.measurements)
    concerned = {pair for one in recorded.measurements[-3:] for pair in (one.pair, one.pair[::-1])}
    assert fresh.pairs
    assert fresh.pairs <= concerned
    assert growing.by_pair == gather(recorded.measurements)


@given(
    steps=st.lists(
        st.tuples(
            st.sets(st.permutations(names(5)).map(lambda order: (order[0], order[1]))),
            st.sets(st.permutations(names(5)).map(lambda order: (order[0], order[1]))),
        ),
        max_size=5,
    ),
    asked_early=st.booleans(),
)
def test_crossings_that_change_count_as_those_made_at_once(
    steps: list[tuple[set[tuple[str, str]], set[tuple[str, str]]]], asked_early: bool
) -> None:
    fabric = Fabric(leaf_of=leaves(5, 2), source="made up")
    bad = {("n1", "n2"): 1.0, ("n1", "n4"): 1.0}
    growing = Crossings(fabric)
    pairs: set[tuple[str, str]] = set()
    if asked_early:
        assert growing.parts == frozenset()
    for joined, left in steps:
        copy = growing.changed(joined, left)
        growing.change(joined, left)
        pairs = (pairs | joined) - left
        assert growing.parts == copy.parts == Crossings(fabric, pairs).parts
        assert blame(bad, growing) == blame(bad, Crossings(fabric, pairs))
    assert growing.pairs == pairs


def test_another_view_of_the_fabric_is_counted_again() -> None:
    pairs = [("n1", "n3"), ("n2", "n4")]
    growing = Crossings(NO_FABRIC, pairs)
    assert len(growing.parts) == 4
    two_leaves = Fabric(leaf_of=leaves(4, 2), source="made up")
    growing.rewire(two_leaves, recount=True)
    assert growing.parts == Crossings(two_leaves, pairs).parts
    assert len(growing.parts) > 4


@pytest.mark.parametrize("place", ["limits_of", "suspect_all"])
def test_after_an_interrupt_in_mid_judgement_all_is_judged_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come while evidence is half taken: the report must be that of everything that was measured."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    recorded = run("one slow node")
    assessor = Assessor()
    first = msgspec.structs.replace(recorded, measurements=recorded.measurements[:40])
    assessor.assess(first)
    with monkeypatch.context() as patch:
        patch.setattr(assessment, place, interrupted)
        with pytest.raises(KeyboardInterrupt):
            assessor.assess(recorded)
    assert judge(recorded, assessor) == judge(recorded)
