"""Nodes in complete and nearly complete tables: who is named, with which interval, and what could have been seen."""

import numpy as np
import pytest

from seatrial.locate.table import locate_in_table
from seatrial.model.pair_faults import Instability, Method
from seatrial.model.pair_table import PairTable, Reals
from seatrial.model.subject import Direction
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from tests.support.pair_tables import RATE, Cell, detected, draw_rates, named_nodes, table_of_rates

EFFECT = {BANDWIDTH: 0.004}


def drawn(cell: Cell, seed: int) -> tuple[PairTable, set[int]]:
    rate, slow = draw_rates(cell, np.random.default_rng(seed))
    return table_of_rates(rate), slow


def quiet(nodes: int = 12, noise: float = 0.001, seed: int = 3) -> Reals:
    return draw_rates(Cell(nodes=nodes, noise=noise), np.random.default_rng(seed))[0]


def late(rate: Reals) -> PairTable:
    """The same table as latencies, 1.2 µs where the bandwidth is RATE."""
    table = table_of_rates(rate)
    missing = np.full(len(table.source), np.nan)
    return PairTable(
        nodes=table.nodes,
        source=table.source,
        target=table.target,
        bandwidth_bytes_per_s=missing,
        latency_s=1.2e-6 * RATE / table.bandwidth_bytes_per_s,
    )


def test_a_node_that_is_slow_to_54_of_55_partners_is_named() -> None:
    rate = quiet(56)
    rate[5, :] *= 0.9
    rate[:, 5] *= 0.9
    rate[5, 9], rate[9, 5] = RATE, RATE
    found = locate_in_table(table_of_rates(rate))
    (fault,) = found.faults
    assert (fault.subject.text, fault.direction, found.verdict) == ("node:n5", Direction.BOTH, Verdict.SLOW)
    assert fault.low <= 0.1 <= fault.high < 0.11


def test_one_node_20_percent_slow_at_5_percent_noise() -> None:
    for seed in range(20):
        table, slow = drawn(Cell(nodes=56, noise=0.05, slow_share=1e-3, loss=0.2), seed)
        found = locate_in_table(table)
        assert named_nodes(found) == slow
        assert found.resolutions[0].method is Method.ADDITIVE


@pytest.mark.parametrize("loss", [0.02, 0.05, 0.3])
def test_17_of_56_slow_nodes_are_all_named(loss: float) -> None:
    table, slow = drawn(Cell(nodes=56, noise=0.001, slow_share=17 / 56, loss=loss), 1)
    found = locate_in_table(table)
    assert {int(fault.subject.name[1:]) for fault in found.faults} == slow
    assert not found.unstable


@pytest.mark.parametrize("share", [0.4, 0.5, 0.7])
def test_a_third_and_more_are_a_population(share: float) -> None:
    table, slow = drawn(Cell(nodes=20, noise=0.01, slow_share=share, loss=0.75), 2)
    found = locate_in_table(table)
    assert (found.verdict, found.faults) == (Verdict.INCONCLUSIVE, ())
    slower, faster = found.populations
    assert {int(name[1:]) for name in slower.nodes} == slow
    assert len(slower.nodes) + len(faster.nodes) == 20
    assert slower.ratio == pytest.approx(0.25, rel=0.02)


def test_a_slow_node_within_a_population_is_named() -> None:
    rate = quiet(20, 0.01)
    rate[:10], rate[:, :10] = rate[:10] * 0.25, np.minimum(rate[:, :10], 0.26 * RATE)
    rate[3], rate[:, 3] = rate[3] * 0.8, rate[:, 3] * 0.8
    found = locate_in_table(table_of_rates(rate))
    assert [fault.subject.name for fault in found.faults] == ["n3"]
    assert len(found.populations[0].nodes) == 10


@pytest.mark.parametrize("loss", [0.005, 0.01])
def test_half_a_percent_is_named_on_request(loss: float) -> None:
    for seed in range(20):
        table, slow = drawn(Cell(nodes=56, noise=0.003, slow_share=1e-3, loss=loss), seed)
        assert named_nodes(locate_in_table(table, asked=EFFECT)) == slow
    if loss < 0.0075:
        found = locate_in_table(table)
        assert (found.faults, found.verdict) == ((), Verdict.PASS)
        assert [int(one.subject.name[1:]) for one in found.observations] == list(slow)


@pytest.mark.parametrize("direction", [Direction.OUT, Direction.IN])
def test_one_way_faults_are_named_one_way(direction: Direction) -> None:
    for seed in range(10):
        rate = quiet(16, seed=seed)
        ends = rate if direction is Direction.OUT else rate.T
        ends[4] *= 0.98
        (fault,) = locate_in_table(table_of_rates(rate)).faults
        assert (fault.subject.name, fault.direction) == ("n4", direction)
        assert fault.low <= 0.02 <= fault.high


@pytest.mark.parametrize(("excess", "named"), [(0.05, False), (0.1, True), (0.15, True)])
def test_latency_is_named_from_10_percent(excess: float, named: bool) -> None:
    rate = quiet(24, 0.005)
    rate[7, :] /= 1 + excess
    rate[:, 7] /= 1 + excess
    found = locate_in_table(late(rate))
    assert [fault.subject.name for fault in found.faults] == ["n7"] * named
    if named:
        (fault,) = found.faults
        assert fault.metric == LATENCY
        assert fault.loss_ratio == pytest.approx(excess, rel=0.05)


def test_two_slow_nodes_blame_no_pair_between_them() -> None:
    rate = quiet()
    for node, share in ((2, 0.5), (8, 0.7)):
        rate[node] = np.minimum(rate[node], share * RATE)
        rate[:, node] = np.minimum(rate[:, node], share * RATE)
    found = locate_in_table(table_of_rates(rate))
    assert [(fault.subject.text, round(fault.loss_ratio, 2)) for fault in found.faults] == [
        ("node:n2", 0.5),
        ("node:n8", 0.3),
    ]
    assert found.unstable == ()


def test_intervals_contain_the_truth_and_p_values_are_small() -> None:
    outside = 0
    for seed in range(100):
        table, _ = drawn(Cell(nodes=16, noise=0.02, slow_share=0.1, loss=0.1), seed)
        for fault in locate_in_table(table).faults:
            outside += not fault.low <= 0.1 <= fault.high
            assert fault.p < 0.01
    assert outside <= 2


@pytest.mark.parametrize("nodes", [8, 16])
@pytest.mark.parametrize("noise", [0.002, 0.03])
def test_the_smallest_detectable_effect_is_detected(nodes: int, noise: float) -> None:
    named = [each for seed in range(12) for each in detected(quiet(nodes, noise, seed), None, range(nodes))[1]]
    assert np.mean(named) == pytest.approx(0.95, abs=0.05)


def test_a_table_that_could_not_have_shown_10_percent_does_not_pass() -> None:
    found = locate_in_table(table_of_rates(quiet(8, 0.15)))
    (resolution,) = found.resolutions
    assert (found.verdict, found.faults, resolution.enough) == (Verdict.INCONCLUSIVE, (), False)
    assert resolution.hidden_ratio is not None
    assert resolution.hidden_ratio > 0.1


def test_a_node_that_is_bad_with_a_third_of_its_partners_is_unstable() -> None:
    rate = quiet(16)
    rate[3, 4:9] *= 0.5
    found = locate_in_table(table_of_rates(rate))
    assert (found.verdict, found.faults) == (Verdict.UNSTABLE, ())
    (unstable,) = found.unstable
    assert (unstable.subject.text, unstable.cause, unstable.pairs) == ("node:n3", Instability.SOME_PARTNERS, 5)


def test_slow_nodes_of_one_group_do_not_shift_the_distances() -> None:
    """Four of seven nodes of one group are slow: more than half of all far pairs."""
    groups = [[f"n{number}" for number in range(9)], [f"n{number}" for number in range(9, 16)]]
    for seed in range(10):
        rate = quiet(16, seed=seed)
        near = np.arange(16) < 9
        rate[near[:, None] != near] *= 0.9
        for node in (9, 11, 12, 14):
            rate[node] *= 0.98
            rate[:, node] *= 0.98
        found = locate_in_table(table_of_rates(rate), groups)
        assert {fault.subject.name for fault in found.faults} == {"n9", "n11", "n12", "n14"}


def test_one_measurement_for_both_directions_counts_once() -> None:
    """As OSU's latency, half a round trip: the errors would be 1.4 times too small."""
    rate = quiet(12, 0.02)
    mirrored = np.triu(rate, 1) + np.triu(rate, 1).T
    np.fill_diagonal(mirrored, np.nan)
    once = locate_in_table(table_of_rates(mirrored)).resolutions[0].detectable_ratio
    twice = locate_in_table(table_of_rates(rate)).resolutions[0].detectable_ratio
    assert once is not None
    assert twice is not None
    assert once > 1.25 * twice


def test_pairs_measured_in_one_direction_only_are_a_complete_table() -> None:
    rate = quiet(16)
    rate[5], rate[:, 5] = rate[5] * 0.95, rate[:, 5] * 0.95
    rate[np.tril_indices(16)] = np.nan
    found = locate_in_table(table_of_rates(rate))
    assert named_nodes(found) == {5}
    assert found.resolutions[0].expected_pairs == found.resolutions[0].measured_pairs == 120


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 2, 1), (4, 2)])
def test_few_nodes_on_several_leaves_are_judged_by_pairs_of_their_distance(sizes: tuple[int, ...]) -> None:
    leaf = np.repeat(np.arange(len(sizes)), sizes)
    groups = [[f"n{number}" for number in np.flatnonzero(leaf == one)] for one in range(len(sizes))]
    for slow in (None, 1):
        rate = quiet(sum(sizes), 0.001)
        rate[leaf[:, None] != leaf] *= 0.8
        if slow is not None:
            rate[slow], rate[:, slow] = rate[slow] * 0.9, rate[:, slow] * 0.9
        found = locate_in_table(table_of_rates(rate), groups)
        assert [fault.subject.text for fault in found.faults] == ["node:n1"] * (slow is not None)
        assert not found.ambiguous
