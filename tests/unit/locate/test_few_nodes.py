"""Tables of three to five nodes, in which one slow node is on half of all pairs."""

import numpy as np
import pytest

from seatrial.locate.slow_parts import FEW_NODES
from seatrial.locate.table import locate_in_table
from seatrial.model.pair_faults import Located
from seatrial.model.pair_table import PairTable
from seatrial.model.subject import Direction, Subject, node
from seatrial.model.verdict import Verdict
from tests.support.pair_tables import pair_table

RATE = 12e9
DRAWS = 40
NOISE = 0.02


def located(
    nodes: int,
    draw: np.random.Generator,
    noise: float,
    *,
    out: dict[int, float] | None = None,
    into: dict[int, float] | None = None,
    missing: int = 0,
) -> Located:
    """`out`, `into`: what nodes lose as senders and as receivers; `missing`: pairs that were not measured."""
    ends = np.array([(source, target) for source in range(nodes) for target in range(nodes) if source != target])
    left = np.array([min(1 - (out or {}).get(s, 0.0), 1 - (into or {}).get(t, 0.0)) for s, t in ends.tolist()])
    rates = RATE * left * np.exp(draw.normal(0, noise, len(ends)))
    kept = np.sort(draw.permutation(len(ends))[missing:])
    source, target = (column[kept].astype(np.int32) for column in ends.T)
    table = PairTable(
        nodes=tuple(f"n{place}" for place in range(nodes)),
        source=source,
        target=target,
        bandwidth_bytes_per_s=rates[kept],
        latency_s=np.full(len(kept), np.nan),
    )
    return locate_in_table(table)


def subjects(found: Located) -> set[tuple[Subject, Direction]]:
    return {(fault.subject, fault.direction) for fault in found.faults}


@pytest.mark.parametrize("nodes", [4, FEW_NODES])
def test_healthy_nodes_pass_and_none_is_named(nodes: int) -> None:
    draw = np.random.default_rng(nodes)
    found = [located(nodes, draw, NOISE) for _ in range(DRAWS)]
    assert sum(bool(one.faults) for one in found) <= 1, "one error in a hundred tables"
    assert sum(one.verdict is Verdict.PASS for one in found) >= 0.9 * DRAWS


@pytest.mark.parametrize("nodes", [4, FEW_NODES])
def test_what_would_have_been_named_is_named(nodes: int) -> None:
    draw = np.random.default_rng(10 + nodes)
    healthy = [located(nodes, draw, NOISE).resolutions[0].detectable_ratio or 1.0 for _ in range(DRAWS)]
    loss = float(np.median(healthy))
    assert 2 * NOISE < loss < 6 * NOISE
    assert named(nodes, draw, loss) >= 0.8 * DRAWS
    assert named(nodes, draw, loss / 4) <= 0.2 * DRAWS


def named(nodes: int, draw: np.random.Generator, loss: float) -> int:
    found = [subjects(located(nodes, draw, NOISE, into={1: loss})) for _ in range(DRAWS)]
    return sum(one == {(node("n1"), Direction.IN)} for one in found)


@pytest.mark.parametrize("nodes", [4, FEW_NODES])
def test_two_nodes_that_are_slow_both_ways_are_named(nodes: int) -> None:
    losses = {0: 0.2, 2: 0.4}
    for seed in range(10):
        found = located(nodes, np.random.default_rng(seed), 0.003, out=losses, into=losses)
        assert subjects(found) == {(node("n0"), Direction.BOTH), (node("n2"), Direction.BOTH)}


def test_a_node_that_receives_from_slow_senders_alone_is_not_named() -> None:
    for seed in range(10):
        found = located(4, np.random.default_rng(seed), 0.003, out={1: 0.3, 2: 0.3, 3: 0.3})
        assert subjects(found) == {(node(f"n{place}"), Direction.OUT) for place in (1, 2, 3)}


def test_two_of_three_nodes_that_are_slow_are_not_decided() -> None:
    found = located(3, np.random.default_rng(1), 0.003, out={1: 0.3}, into={2: 0.2})
    assert found.verdict is Verdict.INCONCLUSIVE
    assert not found.faults


@pytest.mark.parametrize(("missing", "verdict"), [(0, Verdict.PASS), (1, Verdict.NOT_RUN), (3, Verdict.NOT_RUN)])
def test_pairs_that_were_not_measured_withhold_a_pass(missing: int, verdict: Verdict) -> None:
    found = located(4, np.random.default_rng(5), 0.003, missing=missing)
    assert found.verdict is verdict
    assert found.resolutions[0].measured_pairs == 12 - missing


def test_equal_numbers_pass_and_a_node_that_lacks_the_last_digit_is_not_named() -> None:
    rate = np.full(12, RATE)
    ends = np.array([(source, target) for source in range(4) for target in range(4) if source != target])
    for own in (rate, np.where(ends[:, 1] == 2, 0.995 * RATE, rate)):
        table = PairTable(
            nodes=("n0", "n1", "n2", "n3"),
            source=ends[:, 0].astype(np.int32),
            target=ends[:, 1].astype(np.int32),
            bandwidth_bytes_per_s=own,
            latency_s=np.full(12, np.nan),
            steps={"bandwidth_bytes_per_s": 0.005 * RATE},
        )
        assert locate_in_table(table).verdict is Verdict.PASS


@pytest.mark.parametrize("noise", [0.003, NOISE])
def test_pairs_that_no_node_explains_are_listed(noise: float) -> None:
    """What they lack is no scatter of the others."""
    draw = np.random.default_rng(1)
    rates = {
        (f"n{source}", f"n{target}"): RATE * float(np.exp(draw.normal(0, noise)))
        for source in range(4)
        for target in range(4)
        if source != target
    }
    rates["n0", "n1"] *= 0.7
    rates["n0", "n2"] *= 0.7
    found = locate_in_table(pair_table([f"n{place}" for place in range(4)], rates))
    assert (found.verdict, found.faults) == (Verdict.UNSTABLE, ())
    assert {one.subject.text for one in found.unstable} == {"pair:n0>n1", "pair:n0>n2"}
