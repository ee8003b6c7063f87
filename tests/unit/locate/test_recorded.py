"""Faults planted in generated tables of two clusters."""

from functools import cache

import msgspec
import numpy as np
import pytest

from seatrial.importers.formats import read_matrix
from seatrial.locate.table import locate_in_table, topology_classes
from seatrial.model.pair_faults import Located
from seatrial.model.pair_table import PairTable
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from tests.support.matrices import matrix, nxnlatbw

GENERATED = (
    "16 nodes, 3.045 GB/s, 1.37 us, 9+7 on leaves, 2.05 us between leaves",
    "56 nodes, 12.2 GB/s, 1.1 us",
)


@cache
def read(file: str) -> PairTable:
    """A table that is generated from its description."""
    return read_matrix(nxnlatbw(matrix(file)))


def planted(table: PairTable, slow: set[int], loss: float = 0.0, excess: float = 0.0) -> PairTable:
    ends = np.isin(table.source, list(slow)) | np.isin(table.target, list(slow))
    return msgspec.structs.replace(
        table,
        bandwidth_bytes_per_s=np.where(ends, (1 - loss), 1) * table.bandwidth_bytes_per_s,
        latency_s=np.where(ends, 1 + excess, 1) * table.latency_s,
    )


def chosen(table: PairTable) -> range:
    """About a dozen nodes."""
    return range(0, len(table.nodes), max(len(table.nodes) // 12, 1))


def judged(table: PairTable, asked: dict[str, float] | None = None) -> Located:
    classes = topology_classes(table)
    return locate_in_table(table, classes.groups if classes else (), asked=asked)


def names(found: Located, metric: str) -> set[str]:
    return {fault.subject.name for fault in found.faults if fault.metric == metric}


@pytest.mark.parametrize("file", GENERATED)
def test_healthy_clusters_pass_and_say_what_would_have_been_seen(file: str) -> None:
    table = read(file)
    for asked in ({}, {BANDWIDTH: 0.004}):
        found = judged(table, asked)
        assert (found.verdict, found.faults) == (Verdict.PASS, ())
        assert not any(one.gross for one in found.unstable)
        limits = {one.metric: one.detectable_ratio for one in found.resolutions}
        assert limits[BANDWIDTH] == pytest.approx(asked.get(BANDWIDTH, 0.0075), rel=0.05)
        assert limits[LATENCY] == pytest.approx(0.09, rel=0.05)


@pytest.mark.parametrize("file", GENERATED)
@pytest.mark.parametrize(
    ("loss", "asked"),
    [(0.005, {BANDWIDTH: 0.004}), (0.01, {BANDWIDTH: 0.004}), (0.014, {}), (0.02, {}), (0.3, {})],
)
def test_each_node_in_turn_is_named_alone(file: str, loss: float, asked: dict[str, float]) -> None:
    table = read(file)
    for number in chosen(table):
        found = judged(planted(table, {number}, loss), asked)
        assert names(found, BANDWIDTH) == {table.nodes[number]}
        (fault,) = found.faults
        assert fault.low - 0.007 <= loss <= fault.high + 0.007  # healthy nodes differ by up to 0.7 % in one direction


@pytest.mark.parametrize("file", GENERATED)
@pytest.mark.parametrize("excess", [0.1, 0.15, 0.2, 0.5, 2.0])
def test_each_node_in_turn_is_late_by_10_percent(file: str, excess: float) -> None:
    table = read(file)
    for number in chosen(table):
        assert names(judged(planted(table, {number}, excess=excess)), LATENCY) == {table.nodes[number]}


@pytest.mark.parametrize("excess", [0.2, 0.5, 1.0])
def test_late_nodes_are_no_distance_of_their_own(excess: float) -> None:
    """Up to five of 16 nodes under two switches; some are then as late as if they were under the other switch."""
    table = read(GENERATED[0])
    for seed in range(4):
        for count in (2, 5):
            late = set(np.random.default_rng(seed).choice(16, count, replace=False).tolist())
            slower = planted(table, late, excess=excess)
            assert names(judged(slower), LATENCY) == {table.nodes[number] for number in late}
            classes = topology_classes(slower)
            assert classes is not None
            assert [len(group) for group in classes.groups] == [9, 7]
    one_way = msgspec.structs.replace(table, latency_s=np.where(table.source == 3, 1 + excess, 1) * table.latency_s)
    assert names(judged(one_way), LATENCY) == {table.nodes[3]}


@pytest.mark.parametrize("file", GENERATED)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
@pytest.mark.parametrize("loss", [0.02, 0.3])
def test_many_slow_nodes_are_all_named_or_a_population(file: str, share: float, loss: float) -> None:
    table = read(file)
    for seed in range(5):
        draw = np.random.default_rng(seed)
        slow = set(draw.choice(len(table.nodes), round(share * len(table.nodes)), replace=False).tolist())
        found = judged(planted(table, slow, loss))
        slower = {name for one in found.populations if one.ratio < 1 for name in one.nodes}
        assert names(found, BANDWIDTH) | slower == {table.nodes[number] for number in slow}
        assert found.verdict is (Verdict.INCONCLUSIVE if slower else Verdict.SLOW)
