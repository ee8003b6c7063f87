"""The next experiment: suspects alone, beside controls, interleaved."""

from collections import Counter
from itertools import permutations

from seatrial.commands.check.next_experiments import plan_retest
from seatrial.locate.explanation import PartSuspect, pair_suspects
from seatrial.model.measurement import Phase
from seatrial.model.subject import Direction, node
from seatrial.pairs.survey import BANDWIDTH, LATENCY
from tests.support.builders import names

NODES = names(8)


def suspect(name: str) -> PartSuspect:
    pairs = tuple(one for one in permutations(NODES, 2) if name in one)
    return PartSuspect(subject=node(name), direction=Direction.BOTH, ambiguous_with=(), pairs=pairs)


GOOD = [one for one in permutations(NODES, 2) if "n1" not in one]


def test_every_pair_is_measured_alone_six_times_in_each_shape() -> None:
    rounds = plan_retest([suspect("n1")], GOOD, [LATENCY, BANDWIDTH], seed=1)
    assert all(len(one.pairs) == 1 and one.phase is Phase.RETEST for one in rounds)
    counts = Counter((one.pairs[0], one.shape) for one in rounds)
    assert set(counts.values()) == {6}
    suspected = {pair for pair, _ in counts if "n1" in pair}
    assert len(suspected) == 4
    assert len({pair for pair, _ in counts} - suspected) == 3


def test_both_directions_of_a_suspect_pair_are_measured() -> None:
    rounds = plan_retest([suspect("n1")], [], [BANDWIDTH], seed=2)
    pairs = {one.pairs[0] for one in rounds}
    assert pairs == {pair[::-1] for pair in pairs}


def test_each_run_measures_all_once_in_its_own_order() -> None:
    rounds = plan_retest([suspect("n1")], GOOD, [BANDWIDTH], seed=1)
    runs = [[one.pairs[0] for one in rounds if one.repetition == run] for run in range(6)]
    assert len({frozenset(run) for run in runs}) == 1
    assert all(len(run) == len(set(run)) for run in runs)
    assert len({tuple(run) for run in runs}) > 1
    assert [one.repetition for one in rounds] == sorted(one.repetition for one in rounds)


def test_a_pair_of_two_suspects_is_measured_once_a_run() -> None:
    rounds = plan_retest([suspect("n1"), suspect("n1")], [], [BANDWIDTH], seed=1)
    assert set(Counter(one.pairs[0] for one in rounds).values()) == {6}


def test_of_a_suspect_the_pairs_that_no_other_suspect_explains_are_measured_first() -> None:
    """From a simulated fabric: all four pairs of a good cable crossed another suspect, and the fifth met traffic."""
    first = suspect("n1")
    shared = tuple(pair for pair in first.pairs if "n2" not in pair)
    second = PartSuspect(subject=node("n9"), direction=Direction.BOTH, ambiguous_with=(), pairs=shared)
    for seed in range(10):
        pairs = {one.pairs[0] for one in plan_retest([first, second], [], [BANDWIDTH], seed=seed)}
        assert {("n1", "n2"), ("n2", "n1")} <= pairs


def test_a_seed_decides_everything() -> None:
    first, again, other = (plan_retest([suspect("n1")], GOOD, [BANDWIDTH], seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_thousand_suspects_are_capped() -> None:
    many = [
        PartSuspect(
            subject=node(f"x{place}"), direction=Direction.BOTH, ambiguous_with=(), pairs=((f"x{place}", "n1"),)
        )
        for place in range(1000)
    ]
    assert len({one.pairs[0] for one in plan_retest(many, [], [BANDWIDTH], seed=1)}) == 200


def test_controls_share_no_node_with_suspects_where_there_are_such_pairs() -> None:
    few = suspect("n1").pairs[:2]
    one = PartSuspect(subject=node("n1"), direction=Direction.BOTH, ambiguous_with=(), pairs=few)
    ends = {name for pair in few for name in pair}
    for seed in range(20):
        controls = {each.pairs[0] for each in plan_retest([one], GOOD, [BANDWIDTH], seed=seed)} - set(few)
        assert len(controls) == 3 and all(ends.isdisjoint(pair) for pair in controls)


def test_a_single_pair_has_a_good_pair_of_each_end_and_direction_beside_it() -> None:
    """Else it cannot be told from a node that changed after its other pairs were measured."""
    alone = pair_suspects([("n1", "n3"), ("n3", "n1")])
    good = [one for one in permutations(names(4), 2) if set(one) != {"n1", "n3"}]
    for seed in range(20):
        controls = {one.pairs[0] for one in plan_retest(alone, good, [BANDWIDTH], seed=seed)}
        assert [one for one in controls if {"n1", "n3"}.isdisjoint(one)]
        for end, other in (("n1", "n3"), ("n3", "n1")):
            assert [one for one in controls if one[0] == end and one[1] != other]
            assert [one for one in controls if one[1] == end and one[0] != other]


def test_a_single_pair_has_a_control_in_its_direction_though_its_node_is_suspected_for_the_other() -> None:
    """A link that loses its rate during the survey: n4>n3 was measured before, everything else of n3 afterwards."""
    sent = tuple(("n3", other) for other in ("n1", "n2", "n4"))
    out = PartSuspect(subject=node("n3"), direction=Direction.OUT, ambiguous_with=(), pairs=sent)
    clear = [one for one in permutations(names(4), 2) if "n3" not in one] + [("n4", "n3")]
    rounds = plan_retest([out, *pair_suspects([("n1", "n3"), ("n2", "n3")])], clear[:-1], [BANDWIDTH], 1, clear=clear)
    assert ("n4", "n3") in {one.pairs[0] for one in rounds}
