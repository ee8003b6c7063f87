"""Sparse designs: disjoint random matchings, and a promise that counting confirms."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.pairs.sparse import guarantee, rounds_needed, sparse_rounds, wrongly_left


@given(st.integers(2, 60), st.integers(1, 8), st.integers(0, 1000))
def test_rounds_are_disjoint_matchings(count: int, rounds: int, seed: int) -> None:
    nodes = [f"n{number}" for number in range(count)]
    drawn = sparse_rounds(nodes, rounds, seed)
    assert len(drawn) == min(rounds, count - 1 + count % 2)
    for pairs in drawn:
        named = [name for pair in pairs for name in pair]
        assert len(named) == len(set(named)) == count - count % 2
    ends = [frozenset(pair) for one in drawn for pair in one]
    assert len(ends) == len(set(ends))


def test_the_seed_decides() -> None:
    nodes = [f"n{number}" for number in range(20)]
    assert sparse_rounds(nodes, 3, 1) == sparse_rounds(nodes, 3, 1) != sparse_rounds(nodes, 3, 2)


@pytest.mark.parametrize(
    ("nodes", "share", "error", "rounds"), [(1000, 0.05, 0.01, 4), (10_000, 0.01, 0.01, 3), (1, 0.1, 0.1, 1)]
)
def test_rounds_needed(nodes: int, share: float, error: float, rounds: int) -> None:
    assert rounds_needed(nodes, share, error) == rounds


@pytest.mark.parametrize(("rounds", "expected"), [(2, 0.505), (3, 0.038), (4, 0.0022), (6, 0.0)])
def test_figures_of_the_56_node_pilot(rounds: int, expected: float) -> None:
    assert wrongly_left(56, 6, rounds) == pytest.approx(expected, rel=0.03, abs=1e-5)


def test_counting_agrees_with_the_promise() -> None:
    nodes = [f"n{number}" for number in range(56)]
    left, trials = 0, 1500
    for seed in range(trials):
        faulty = set(random.Random(seed).sample(nodes, 6))
        partners: dict[str, set[str]] = {name: set() for name in nodes}
        for pairs in sparse_rounds(nodes, 2, seed):
            for one, other in pairs:
                partners[one].add(other)
                partners[other].add(one)
        left += sum(partners[name] <= faulty for name in nodes if name not in faulty)
    assert left / trials == pytest.approx(wrongly_left(56, 6, 2), rel=0.12)


def test_the_statement_gives_all_figures() -> None:
    said = guarantee(56, 4, 0.1).statement
    assert "4 rounds over 56 nodes" in said
    assert "0.0022" in said


@pytest.mark.parametrize(("share", "error"), [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0)])
def test_nonsense_is_refused(share: float, error: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        rounds_needed(10, share, error)
