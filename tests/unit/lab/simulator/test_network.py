"""What pairs measure together: shares of cables, faults, noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.fabric.parts import FabricParts
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.disturbances import (
    BUSY_S,
    JOB_LOAD,
    QUIET_S,
    Jobs,
    PairNoise,
    SimulatedConditions,
    SlowDrift,
    Surroundings,
    noise,
)
from seatrial.lab.simulator.faults import FaultCourse, SimulatedFault
from seatrial.lab.simulator.network import Network, fair_rates
from seatrial.lab.simulator.topology import fat_tree
from tests.support.properties import examples

NDR_BYTES_PER_S = 50e9


@given(
    ways=st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=12),
    capacity=st.lists(st.floats(0.1, 10), min_size=8, max_size=8),
)
@settings(max_examples=examples(150), deadline=None)
def test_no_flow_can_have_more_without_a_lesser_one_having_less(ways: list[set[int]], capacity: list[float]) -> None:
    """The definition of max-min fairness: every flow crosses a full hop on which nobody has more than it."""
    row = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
    hop = np.array([hop for way in ways for hop in sorted(way)])
    rate = fair_rates(row, hop, np.array(capacity), len(ways))
    load = np.bincount(hop, weights=rate[row], minlength=8)
    assert (load <= np.array(capacity) * (1 + 1e-6)).all()
    most = [max((rate[flow] for flow, way in enumerate(ways) if hop in way), default=0.0) for hop in range(8)]
    for flow, way in enumerate(ways):
        full = [hop for hop in way if load[hop] >= capacity[hop] * (1 - 1e-6)]
        assert any(rate[flow] >= most[hop] * (1 - 1e-6) for hop in full)


def test_pairs_share_a_cable_and_a_fault_narrows_it() -> None:
    routes = Routes(fat_tree(16, {"per-leaf": 4, "cables": 1, "spines": 4}))
    parts = FabricParts(routes)
    one, other, target = routes.adapters[0], routes.adapters[1], routes.adapters[-1]
    pairs = [(one, target), (other, target)]
    paths = routes.paths(pairs)
    clean = Network(routes)
    assert clean.rates(pairs[:1], paths[:1]) == pytest.approx([NDR_BYTES_PER_S])
    assert clean.rates(pairs, paths) == pytest.approx([NDR_BYTES_PER_S / 2] * 2)
    cable = SimulatedFault(part=parts.of_hop(paths[0][1]), share=0.25)
    assert Network(routes, [cable]).rates(pairs[:1], paths[:1]) == pytest.approx([NDR_BYTES_PER_S / 4])
    assert Network(routes, [cable]).expected(paths) == pytest.approx([NDR_BYTES_PER_S] * 2)
    back = [(target, one)]
    assert Network(routes, [cable]).rates(back, routes.paths(back)) == pytest.approx([NDR_BYTES_PER_S])
    bad_route = SimulatedFault(part=parts.of_pair(pairs[0]), share=0.3)
    alone = [Network(routes, [bad_route]).rates([pair], routes.paths([pair]))[0] for pair in pairs]
    assert alone == pytest.approx([0.3 * NDR_BYTES_PER_S, NDR_BYTES_PER_S])
    together = Network(routes, [bad_route]).rates(pairs, paths)
    assert together == pytest.approx([0.3 * NDR_BYTES_PER_S, 0.7 * NDR_BYTES_PER_S])


def test_small_messages_take_longer_over_late_parts_in_their_direction() -> None:
    routes = Routes(fat_tree(16, {"per-leaf": 4}))
    parts = FabricParts(routes)
    pair = routes.adapters[0], routes.adapters[-1]
    ways = [pair, pair[::-1]]
    paths = routes.paths(ways)
    cable = SimulatedFault(part=parts.of_hop(paths[0][1]), share=1, course=FaultCourse(late_s=2e-6))
    distant = SimulatedFault(part=parts.of_pair(pair[::-1]), share=1, course=FaultCourse(late_s=3e-7, since_s=5))
    network = Network(routes, [cable, distant])
    assert network.late_s(ways, paths) == pytest.approx([2e-6, 0])
    assert network.advance(6.0)
    assert network.late_s(ways, paths) == pytest.approx([2e-6, 3e-7])
    assert network.rates(ways, paths) == pytest.approx([NDR_BYTES_PER_S] * 2)


def test_a_background_stream_takes_its_share_and_no_more() -> None:
    routes = Routes(fat_tree(16, {"per-leaf": 4, "cables": 1, "spines": 4}))
    pairs = [(routes.adapters[0], routes.adapters[-1])]
    paths = routes.paths(pairs)
    network = Network(routes)
    assert network.rates(pairs, paths, paths) == pytest.approx([(1 - JOB_LOAD) * NDR_BYTES_PER_S])
    assert network.rates(pairs, paths, paths * 5) == pytest.approx([NDR_BYTES_PER_S / 6]), "fair shares below that"


def test_jobs_are_busy_a_part_of_the_time() -> None:
    jobs = Jobs(20, Routes(fat_tree(100)), seed=3, shared_nodes=True)
    flowing = []
    for _ in range(4000):
        jobs.advance(0.5)
        flowing.append(len(jobs.streams) / (20 * 8))
    assert np.mean(flowing) == pytest.approx(BUSY_S / (BUSY_S + QUIET_S), abs=0.03)
    assert min(flowing) < max(flowing)


def test_jobs_load_the_ports_of_nodes_only_where_these_are_shared() -> None:
    routes = Routes(fat_tree(100))
    ports = set(FabricParts(routes).ports)
    for shared in (False, True):
        jobs = Jobs(40, routes, seed=3, shared_nodes=shared)
        crossed = {hop for path in jobs.streams for hop in path}
        assert crossed
        assert bool(crossed & ports) is shared


def test_a_pair_keeps_its_offset_and_the_fabric_drifts() -> None:
    noise_of = PairNoise(0.01, seed=2)
    pairs = [(f"a{number}", "b") for number in range(2000)]
    first = noise_of.factors(pairs)
    assert noise_of.factors(pairs[::-1])[::-1] == pytest.approx(first)
    assert np.log(first).std() == pytest.approx(0.01, rel=0.1)
    drift = SlowDrift(0.01, seed=2)
    logs = []
    for _ in range(20_000):
        drift.advance(10.0)
        logs.append(np.log(drift.factor))
    assert max(logs) <= 0, "links carry no more than their rates"
    assert np.sqrt(np.mean(np.square(logs))) == pytest.approx(0.01, rel=0.15)
    # Sizes of normal numbers with correlations exp(-1/6) and exp(-1).
    assert np.corrcoef(logs[:-1], logs[1:])[0, 1] == pytest.approx(0.68, abs=0.04)
    assert np.corrcoef(logs[:-6], logs[6:])[0, 1] == pytest.approx(0.12, abs=0.06)


def test_without_disturbances_all_factors_are_one() -> None:
    routes = Routes(fat_tree(16))
    still = Surroundings(SimulatedConditions(noise=0, pair_noise=0, drift=0), routes, seed=1)
    still.advance(100.0)
    assert still.factors([("a", "b"), ("b", "a")]) == pytest.approx([1.0, 1.0], abs=1e-12)
    assert still.streams == []


def test_a_pair_without_a_way_measures_nothing() -> None:
    routes = Routes(fat_tree(8))
    assert np.isnan(Network(routes).rates([("H-none", routes.adapters[0])], [()])).all()


def test_the_noise_that_is_drawn() -> None:
    drawn = noise(20_000, np.random.default_rng(1))
    robust = 1.4826 * np.median(np.abs(drawn - np.median(drawn)))
    assert robust == pytest.approx(0.0008, rel=0.15)
    assert 0.0003 < (drawn < 0.99).mean() < 0.002
    assert drawn.min() > 0.933
    wide = noise(20_000, np.random.default_rng(1), 0.05)
    assert 1.4826 * np.median(np.abs(np.log(wide))) == pytest.approx(0.05, rel=0.2)


def test_streams_are_read_again_when_a_job_begins_or_ends_a_phase() -> None:
    """A network keeps the arrays of the streams that flow; it must not keep them when others do."""
    routes = Routes(fat_tree(64, {"per-leaf": 8, "cables": 1, "spines": 4}))
    jobs = Jobs(12, routes, seed=5, shared_nodes=True)
    pairs = list(zip(routes.adapters[:20], routes.adapters[30:50], strict=True))
    paths = routes.paths(pairs)
    kept, seen = Network(routes), set()
    for _ in range(40):
        fresh = Network(routes).rates(pairs, paths, list(jobs.streams))
        assert kept.rates(pairs, paths, jobs.streams).tolist() == fresh.tolist()
        assert jobs.streams is jobs.streams
        seen.add(tuple(fresh))
        jobs.advance(0.7)
    assert len(seen) > 10


def test_a_pair_beside_no_stream_measures_what_it_would_among_all_of_them() -> None:
    """The short way for one pair gives the number of the long way, with faults, wherever nothing crosses its path."""
    routes = Routes(fat_tree(64, {"per-leaf": 8, "cables": 1, "spines": 4}))
    parts = FabricParts(routes)
    pairs = list(zip(routes.adapters, [*routes.adapters[29:], *routes.adapters[:29]], strict=True))
    slow = SimulatedFault(part=parts.of_pair(pairs[3]), share=0.6)
    cable = SimulatedFault(part=parts.of_hop(routes.path(*pairs[5])[1]), share=0.5)
    network, jobs = Network(routes, [slow, cable]), Jobs(12, routes, seed=5)
    compared = 0
    for _ in range(40):
        crossed = {hop for path in jobs.streams for hop in path}
        for pair, path in zip(pairs, routes.paths(pairs), strict=True):
            assert jobs.crosses(path) == (not crossed.isdisjoint(path))
            if not jobs.crosses(path):
                assert network.alone(pair, path) == network.rates([pair], [path], jobs.streams)[0]
                compared += 1
        jobs.advance(0.7)
    assert 100 < compared < 40 * len(pairs)
    assert np.isnan(network.alone(("a", "a"), ()))
