"""Faults from tables of pairs: planted ones found, healthy clusters left alone, the promise kept."""

import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.judge.pairs.view import located_report
from seatrial.locate.explanation import Ways
from seatrial.locate.metric_result import MOST_LISTED
from seatrial.locate.slow_parts import slow_parts
from seatrial.locate.table import locate_in_table, topology_classes
from seatrial.locate.thresholds import practical_effects, relative_scale, resolution
from seatrial.model.errors import ExitCode
from seatrial.model.pair_faults import Located
from seatrial.model.pair_table import PairTable
from seatrial.model.subject import Direction, SubjectKind
from seatrial.model.units import BANDWIDTH
from seatrial.model.verdict import Verdict
from seatrial.pairs.rounds import circle_rounds, sparse_rounds
from seatrial.render.finding_text import MOST_PARTS
from seatrial.render.text import as_text
from tests.support.matrices import matrix, nxnlatbw
from tests.support.pair_tables import Cell, draw_rates, named_nodes, pair_table, table_of_rates
from tests.support.properties import examples

Pairs = dict[tuple[str, str], float]


ROCE = "16 nodes, 3.045 GB/s, 1.37 us, 9+7 on leaves, 2.05 us between leaves"
HDR100 = "56 nodes, 12.2 GB/s, 1.1 us"


def read(name: str) -> tuple[list[str], Pairs, Pairs]:
    rows = [line.split(",") for line in nxnlatbw(matrix(name)).splitlines() if line[:1].isdigit()]
    nodes = [f"n{number}" for number in range(max(int(row[0]) for row in rows) + 1)]
    ends = [(nodes[int(row[0])], nodes[int(row[1])]) for row in rows]
    bandwidth = {pair: float(row[3]) * 1e6 for pair, row in zip(ends, rows, strict=True)}
    return nodes, bandwidth, {pair: float(row[2]) * 1e-6 for pair, row in zip(ends, rows, strict=True)}


def table_of(name: str) -> PairTable:
    return pair_table(*read(name))


def test_two_leaf_switches_are_two_classes_and_no_fault() -> None:
    table = table_of(ROCE)
    classes = topology_classes(table)
    assert classes is not None
    assert [len(group) for group in classes.groups] == [9, 7]
    assert (classes.near_s, classes.far_s) == pytest.approx((1.37e-6, 2.05e-6), rel=0.01)
    found = locate_in_table(table, classes.groups)
    assert (found.faults, found.ambiguous, found.unstable) == ((), (), ())


def test_a_generated_cluster_of_56_nodes_with_one_odd_pair() -> None:
    nodes, bandwidth, latency = read(HDR100)
    bandwidth["n10", "n23"] *= 1 - 0.067
    table = pair_table(nodes, bandwidth, latency)
    assert topology_classes(table) is None
    found = locate_in_table(table)
    assert (found.faults, found.ambiguous) == ((), ())
    (lonely,) = found.unstable
    assert (lonely.subject.name, lonely.gross, found.verdict) == ("n10>n23", True, Verdict.UNSTABLE)
    assert lonely.loss_ratio == pytest.approx(0.067, abs=0.002)


@pytest.mark.parametrize("excess", [0.2, 0.5, 2.0])
def test_one_late_node_is_late_and_not_far_away(excess: float) -> None:
    nodes = [f"n{number}" for number in range(12)]
    draw = np.random.default_rng(0)
    times = {
        (a, b): 1.5e-6 * (1 + 0.01 * float(draw.standard_normal())) * (1 + excess * ("n5" in (a, b)))
        for a in nodes
        for b in nodes
        if a != b
    }
    table = pair_table(nodes, {}, times)
    assert topology_classes(table) is None
    assert [fault.subject.text for fault in locate_in_table(table).faults] == ["node:n5"]


def planted(
    nodes: list[str], bandwidth: Pairs, seed: int, count: int, loss: float
) -> tuple[PairTable, Mapping[str, Direction]]:
    draw = np.random.default_rng(seed)
    faulty = [nodes[place] for place in draw.choice(len(nodes), count, replace=False)]
    ways = dict(zip(faulty, (list(Direction)[place] for place in draw.integers(0, 3, count)), strict=True))
    out = {name for name, way in ways.items() if way is not Direction.IN}
    into = {name for name, way in ways.items() if way is not Direction.OUT}
    measured = {}
    for pairs in sparse_rounds(nodes, 4, seed):
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                factor = 1 - loss if source in out or target in into else 1.0
                measured[source, target] = bandwidth[source, target] * factor
    return pair_table(nodes, measured), ways


@pytest.mark.parametrize("loss", [0.02, 0.05, 0.3])
def test_slow_nodes_of_56_are_named_in_four_rounds(loss: float) -> None:
    nodes, bandwidth, _ = read(HDR100)
    right = wrong = missed = 0
    for seed in range(200):
        table, ways = planted(nodes, bandwidth, seed, seed % 7, loss)
        named = {fault.subject.name for fault in locate_in_table(table).faults}
        right += len(named & set(ways))
        wrong += len(named - set(ways))
        missed += len(set(ways) - named)
    assert right / (right + wrong) >= 0.99
    assert right / (right + missed) >= 0.99


def test_a_healthy_node_whose_partners_are_all_slow_is_not_judged() -> None:
    nodes, bandwidth, _ = read(HDR100)
    between = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        faulty = {nodes[place] for place in draw.choice(len(nodes), 10, replace=False)}
        measured: dict[tuple[str, str], float] = {}
        partners: dict[str, set[str]] = {name: set() for name in nodes}
        for pairs in sparse_rounds(nodes, 3, seed):
            for one, other in pairs:
                partners[one].add(other)
                partners[other].add(one)
                for pair in ((one, other), (other, one)):
                    measured[pair] = bandwidth[pair] * (0.8 if faulty & set(pair) else 1.0)
        found = locate_in_table(pair_table(nodes, measured))
        alone = {name for name in nodes if partners[name] <= faulty}
        named = {fault.subject.name for fault in found.faults}
        unjudged = {subject.name for subject in found.unjudged}
        assert named <= faulty
        assert faulty <= named | unjudged
        assert alone - faulty <= unjudged <= alone
        between += len(alone - faulty)
    assert between > 0


def cluster(
    count: int, faults: Mapping[str, tuple[float, Direction]], noise: float = 0.001, rounds: int = 0
) -> Located:
    nodes = [f"n{number}" for number in range(count)]
    draw = np.random.default_rng(7)
    chosen = sparse_rounds(nodes, rounds, 7) if rounds else circle_rounds(nodes)
    measured = {}
    for pairs in chosen:
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                rate = 1e9
                for name, way in ((source, Direction.OUT), (target, Direction.IN)):
                    share, direction = faults.get(name, (1.0, Direction.BOTH))
                    if direction in (way, Direction.BOTH):
                        rate = min(rate, 1e9 * share)
                measured[source, target] = rate * (1 + noise * draw.standard_normal())
    return locate_in_table(pair_table(nodes, measured))


@pytest.mark.parametrize("direction", list(Direction))
def test_the_direction_and_the_loss_are_told(direction: Direction) -> None:
    (fault,) = cluster(12, {"n3": (0.6, direction)}).faults
    assert (fault.subject.text, fault.direction, fault.kind) == ("node:n3", direction, "node")
    assert fault.loss_ratio == pytest.approx(0.4, abs=0.01)
    assert fault.low <= fault.loss_ratio <= fault.high


def test_several_faults_at_once_worst_first() -> None:
    found = cluster(30, {"n1": (0.5, Direction.BOTH), "n7": (0.9, Direction.OUT), "n8": (0.7, Direction.IN)}, rounds=4)
    assert [fault.subject.name for fault in found.faults] == ["n1", "n8", "n7"]


def test_equal_and_quantised_values_are_safe() -> None:
    assert cluster(8, {}, noise=0.0).faults == ()
    values = np.array([1.0, 1.0, 1.01, 1.0, 1.02])
    assert resolution(values) == pytest.approx(0.01)
    assert relative_scale(np.ones(5)) > 0


def test_one_bad_pair_measured_once_is_kept_apart() -> None:
    nodes = [f"n{number}" for number in range(8)]
    rates = {(a, b): 1e9 for a in nodes for b in nodes if a != b} | {("n2", "n5"): 5e8}
    found = locate_in_table(pair_table(nodes, rates))
    assert (found.faults, found.ambiguous) == ((), ())
    assert [one.subject.text for one in found.unstable] == ["pair:n2>n5"]


def test_two_parts_of_the_same_pairs_are_undecided() -> None:
    good = {(f"n{one}", f"n{other}"): 1e9 for one, other in ((3, 4), (4, 3), (5, 6), (6, 5))}
    found = locate_in_table(pair_table([f"n{number}" for number in range(1, 7)], {("n1", "n2"): 5e8, **good}))
    assert found.faults == ()
    (undecided,) = found.ambiguous
    assert {subject.text for subject in undecided.subjects} == {"node:n1", "node:n2", "pair:n1>n2"}


@pytest.mark.parametrize("leaves", [3, 4, 6])
def test_a_slow_uplink_among_several_groups(leaves: int) -> None:
    groups = [[f"n{leaf}{place}" for place in range(4)] for leaf in range(leaves)]
    nodes = [name for group in groups for name in group]
    rates = {}
    for source in nodes:
        for target in nodes:
            if source != target:
                crosses = (source[1] == "2") != (target[1] == "2")
                rates[source, target] = 5e8 if crosses else 1e9
    (fault,) = locate_in_table(pair_table(nodes, rates), groups).faults
    assert (fault.kind, fault.direction) == ("uplink", Direction.BOTH)
    assert "n20" in fault.subject.name


def test_no_way_no_blame() -> None:
    nothing = Ways(row=np.array([], int), part=np.array([], int), parts=3)
    log, effects = np.zeros(4), practical_effects(BANDWIDTH, 1e9, None)
    assert [slow_parts(log, nothing, effects, 0.01, few=few).blamed for few in (True, False)] == [(), ()]
    assert locate_in_table(pair_table(["n1"])).faults == ()


def test_numbers_beyond_any_network_are_dead() -> None:
    table = pair_table(
        ["n1", "n2", "n3"], {("n1", "n2"): 1.0, ("n1", "n3"): 8.98846567431158e307, ("n2", "n3"): 1e-300}
    )
    (fault,) = locate_in_table(table).faults
    assert (fault.subject.text, fault.dead) == ("node:n3", True)


@settings(max_examples=examples(50))
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(allow_nan=True, allow_infinity=True)), max_size=40
    )
)
def test_whatever_is_measured_something_is_said(rows: list[tuple[int, int, float]]) -> None:
    nodes = [f"n{number}" for number in range(6)]
    table = pair_table(nodes, {(nodes[a], nodes[b]): value for a, b, value in rows if a != b})
    found = locate_in_table(table)
    assert all(fault.loss_ratio > 0 for fault in found.faults)
    topology_classes(table)


def test_many_pairs_at_fault_are_counted_and_not_all_listed() -> None:
    """Of 120 nodes every 5th pair is bad in both directions; then the same pairs are dead."""
    names = [f"n{number}" for number in range(120)]
    draw = np.random.default_rng(3)
    rates = {(a, b): 1e9 * (1 + 0.001 * float(draw.standard_normal())) for a in names for b in names if a != b}
    pairs = [pair for pair in rates if pair[0] < pair[1]][::5]
    for loss in (0.1, 1.0):
        worse = rates | {one: rates[one] * (1 - loss) for a, b in pairs for one in ((a, b), (b, a))}
        found = locate_in_table(pair_table(names, worse))
        assert {fault.subject.kind for fault in found.faults} == {SubjectKind.PAIR}
        assert {(fault.pairs, fault.direction, fault.dead) for fault in found.faults} == {
            (2, Direction.BOTH, loss == 1)
        }
        assert (len(found.faults), found.unlisted_pairs) == (MOST_LISTED, len(pairs) - MOST_LISTED)
        text = as_text(located_report(pair_table(names, worse), found, (), None, ExitCode.FINDINGS))
        assert f"  {len(pairs)} findings: n" in text
        assert re.search(rf" and {len(pairs) - MOST_PARTS} more,?\s+among 120 nodes", text)


@pytest.mark.parametrize("noise", [0.0005, 0.02])
def test_single_precision_of_large_tables_changes_no_name(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses, intervals and what is detectable agree to a thousandth of the node scatter."""
    rate, slow = draw_rates(Cell(nodes=150, noise=noise, slow_share=0.08, loss=0.05), np.random.default_rng(2))
    table = table_of_rates(rate)
    double = locate_in_table(table)
    monkeypatch.setattr("seatrial.locate.rows.SINGLE_PRECISION_ROWS", 0)
    single = locate_in_table(table)
    assert named_nodes(single) == named_nodes(double) == slow
    for one, other in zip(single.faults, double.faults, strict=True):
        assert (one.subject, one.direction, one.pairs) == (other.subject, other.direction, other.pairs)
        shown = [one.loss_ratio, one.low, one.high]
        assert shown == pytest.approx([other.loss_ratio, other.low, other.high], abs=noise / 1000)
    assert single.resolutions[0].detectable_ratio == pytest.approx(double.resolutions[0].detectable_ratio, rel=1e-3)
