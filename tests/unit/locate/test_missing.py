"""Dead, missing and repeated numbers: three different things, and none of them a PASS."""

import math

import numpy as np
import pytest

from seatrial.locate.table import locate_in_table
from seatrial.model.pair_faults import Instability, Method
from seatrial.model.pair_table import repeated_pair_table
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from tests.support.pair_tables import pair_table

NODES = [f"n{number}" for number in range(10)]
Pairs = dict[tuple[str, str], float]


def rates(noise: float = 0.001, seed: int = 0) -> Pairs:
    draw = np.random.default_rng(seed)
    return {(a, b): 1e9 * (1 + noise * float(draw.standard_normal())) for a in NODES for b in NODES if a != b}


@pytest.mark.parametrize("value", [0.0, math.inf, -1.0, 1e-300])
def test_a_dead_pair_is_named(value: float) -> None:
    found = locate_in_table(pair_table(NODES, rates() | {("n2", "n5"): value}))
    (fault,) = found.faults
    assert (fault.subject.text, fault.direction, fault.dead, fault.loss_ratio) == (
        "pair:n2>n5", Direction.OUT, True, 1.0,
    )  # fmt: skip
    assert found.verdict is Verdict.SLOW


def test_a_node_that_answers_nobody_is_dead_one_that_answers_one_is_too() -> None:
    measured = rates() | {pair: 0.0 for pair in rates() if "n4" in pair} | {("n4", "n1"): 1e9}
    (fault,) = locate_in_table(pair_table(NODES, measured)).faults
    assert (fault.subject.text, fault.direction, fault.dead) == ("node:n4", Direction.BOTH, True)


def test_dead_and_slow_nodes_are_told_apart() -> None:
    measured = {pair: rate * (0.9 if "n7" in pair else 1) for pair, rate in rates().items()}
    measured |= {pair: 0.0 for pair in measured if pair[1] == "n4"}
    found = locate_in_table(pair_table(NODES, measured))
    assert [(fault.subject.text, fault.direction, fault.dead) for fault in found.faults] == [
        ("node:n4", Direction.IN, True),
        ("node:n7", Direction.BOTH, False),
    ]


def test_a_table_of_zeros_is_a_dead_fabric() -> None:
    found = locate_in_table(pair_table(NODES, dict.fromkeys(rates(), 0.0)))
    assert [fault.subject.text for fault in found.faults] == ["fabric:all"]


def test_missing_pairs_are_counted_and_not_run() -> None:
    measured = rates()
    del measured["n1", "n2"], measured["n8", "n3"]
    found = locate_in_table(pair_table(NODES, measured))
    (resolution,) = found.resolutions
    assert (found.verdict, resolution.measured_pairs, resolution.expected_pairs) == (Verdict.NOT_RUN, 88, 90)
    assert not resolution.complete


def test_a_node_with_hardly_any_pairs_is_not_judged() -> None:
    measured = {pair: rate for pair, rate in rates().items() if "n9" not in pair or pair == ("n9", "n0")}
    found = locate_in_table(pair_table(NODES, measured))
    assert [subject.name for subject in found.unjudged] == ["n9"]
    assert found.verdict is Verdict.NOT_RUN


def test_a_node_with_two_pairs_each_way_is_not_judged() -> None:
    """Neither direction has enough of them, and both together are not judged either."""
    measured = {pair: rate for pair, rate in rates().items() if "n9" not in pair or {*pair} & {"n0", "n1"}}
    assert [subject.name for subject in locate_in_table(pair_table(NODES, measured)).unjudged] == ["n9"]


def test_the_power_of_a_table_is_that_of_the_node_with_fewest_pairs() -> None:
    """A slow node with four partners is named where it loses what the table says, and others at less."""
    draw = np.random.default_rng(1)
    whole = {pair: rate * float(np.exp(0.01 * draw.normal())) for pair, rate in rates().items()}
    few = {pair: rate for pair, rate in whole.items() if "n9" not in pair or {*pair} & {"n0", "n1", "n2", "n3"}}
    complete = locate_in_table(pair_table(NODES, whole)).resolutions[0].detectable_ratio
    power = locate_in_table(pair_table(NODES, few)).resolutions[0].detectable_ratio
    assert complete is not None
    assert power is not None
    assert power > 1.1 * complete
    slow = {pair: rate * (1 - power if "n9" in pair else 1) for pair, rate in few.items()}
    assert [fault.subject.text for fault in locate_in_table(pair_table(NODES, slow)).faults] == ["node:n9"]


@pytest.mark.parametrize("missing", [0.2, 0.4])
def test_a_table_with_gaps_is_judged_by_the_same_fit(missing: float) -> None:
    draw = np.random.default_rng(1)
    measured = {pair: rate * (0.95 if "n6" in pair else 1) for pair, rate in rates().items() if draw.random() > missing}
    found = locate_in_table(pair_table(NODES, measured))
    assert found.resolutions[0].method is Method.ADDITIVE
    assert [fault.subject.text for fault in found.faults] == ["node:n6"]


def test_repetitions_are_all_kept_and_their_spread_is_unstable() -> None:
    repeated = {pair: [rate] for pair, rate in rates().items()}
    repeated["n1", "n2"] = [1e9, 5e8, 1e9]
    found = locate_in_table(repeated_pair_table(NODES, repeated, {}))
    (unstable,) = found.unstable
    assert (unstable.subject.text, unstable.cause, unstable.gross) == ("pair:n1>n2", Instability.REPETITIONS, True)
    assert unstable.loss_ratio == pytest.approx(0.5, abs=0.01)
    assert (found.faults, found.verdict) == ((), Verdict.UNSTABLE)


def test_a_node_that_drops_during_the_run_is_unstable() -> None:
    """Medians of three look healthy; the third repetition of every pair of the node is at half."""
    repeated = {pair: [rate, rate, rate * (0.5 if "n3" in pair else 1)] for pair, rate in rates().items()}
    found = locate_in_table(repeated_pair_table(NODES, repeated, {}))
    (unstable,) = found.unstable
    assert (unstable.subject.text, unstable.cause, unstable.pairs) == ("node:n3", Instability.REPETITIONS, 18)
    assert found.verdict is Verdict.UNSTABLE


def test_a_pair_slow_in_both_directions_is_named_one_way_it_is_unstable() -> None:
    both = rates() | {("n1", "n2"): 7e8, ("n2", "n1"): 7e8}
    found = locate_in_table(pair_table(NODES, both))
    (fault,) = found.faults
    assert (fault.subject.text, fault.direction) == ("pair:n1>n2", Direction.BOTH)
    assert fault.low <= 0.3 <= fault.high
    found = locate_in_table(pair_table(NODES, rates() | {("n1", "n2"): 7e8}))
    (unstable,) = found.unstable
    assert (unstable.subject.text, unstable.cause, found.verdict) == (
        "pair:n1>n2", Instability.SINGLE, Verdict.UNSTABLE,
    )  # fmt: skip


def test_one_repeated_pair_that_is_always_slow_is_named() -> None:
    repeated = {pair: [rate] for pair, rate in rates().items()}
    repeated["n1", "n2"] = [7e8, 7.01e8, 6.99e8]
    (fault,) = locate_in_table(repeated_pair_table(NODES, repeated, {})).faults
    assert (fault.subject.text, fault.direction) == ("pair:n1>n2", Direction.OUT)


def test_two_nodes_have_no_peers() -> None:
    found = locate_in_table(pair_table(["n1", "n2"], {("n1", "n2"): 1e9, ("n2", "n1"): 5e8}))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert locate_in_table(pair_table(["n1", "n2"])).verdict is Verdict.INCONCLUSIVE


def test_the_band_of_a_sparse_table_neither_convicts_nor_acquits() -> None:
    """With one partner's row in the band, a node is still named by its two clearly bad rows."""
    draw = np.random.default_rng(4)
    names = [f"n{number}" for number in range(40)]
    measured = {}
    for step in (1, 7, 11):
        for number, name in enumerate(names):
            other = names[(number + step) % 40]
            measured[name, other] = 1e9 * (1 + 0.004 * float(draw.standard_normal()))
    for number, share in ((21, 0.975), (27, 0.975), (31, 0.985)):
        measured["n20", names[number]] = 1e9 * share
    found = locate_in_table(pair_table(names, measured))
    assert found.resolutions[0].method is Method.GROUP_TEST
    assert [(fault.subject.text, fault.direction) for fault in found.faults] == [("node:n20", Direction.OUT)]
    measured["n20", "n31"] = 1e9
    assert locate_in_table(pair_table(names, measured)).faults == ()


def test_a_sparse_table_whose_usual_pairs_may_be_the_slow_ones_does_not_pass() -> None:
    """Three of eight nodes are slow, in half of all pairs: two of three pairs are slow."""
    names = NODES[:8]
    draw = np.random.default_rng(0)
    pairs = [(a, b) for a in names for b in names if a != b and draw.random() < 0.45]
    slow = {"n0", "n1", "n2"}
    found = locate_in_table(pair_table(names, {pair: 8e8 if slow & set(pair) else 1e9 for pair in pairs}))
    assert found.resolutions[0].method is Method.GROUP_TEST
    assert (found.verdict, found.resolutions[0].majority) == (Verdict.INCONCLUSIVE, False)


def test_any_mixture_of_dead_missing_and_living_pairs_is_judged() -> None:
    draw = np.random.default_rng(0)
    values = [0.0, 1.0, 1e9, 2e9, math.nan, math.inf, -1.0, 1e300, 1e-300, 5e8]
    for _ in range(500):
        ends = draw.integers(0, 6, (int(draw.integers(0, 31)), 2))
        measured = {
            (NODES[a], NODES[b]): float(draw.choice(values))
            if draw.random() < 0.5
            else 1e9 * float(draw.normal(1, 0.01))
            for a, b in ends
            if a != b
        }
        found = locate_in_table(pair_table(NODES[:6], measured))
        assert all(fault.loss_ratio > 0 for fault in found.faults)
        tried = [rate for rate in measured.values() if not math.isnan(rate)]
        assert found.verdict is not Verdict.PASS or all(1e-15 < rate < 1e15 for rate in tried)
