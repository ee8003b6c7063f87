"""Tables in which each node was measured with a few partners: parts by most of their pairs."""

import math

import numpy as np
import pytest

from seatrial.locate.explanation import Ways
from seatrial.locate.slow_parts import slow_parts
from seatrial.locate.table import locate_in_table
from seatrial.locate.thresholds import practical_effects
from seatrial.model.pair_faults import Located, Method
from seatrial.model.subject import Direction
from seatrial.model.units import BANDWIDTH
from seatrial.model.verdict import Verdict
from tests.support.pair_tables import pair_table

DRAWS = 40
Pair = tuple[int, int]


def located(
    nodes: int, steps: tuple[int, ...], noise: float, draw: np.random.Generator, *, heavy: bool = False,
    slow: dict[Pair, float] | None = None, into: dict[int, float] | None = None, out: dict[int, float] | None = None,
) -> Located:  # fmt: skip
    """Each node sends to those `steps` further on. `slow`, `into`, `out`: what pairs, receivers and senders lose."""
    rates = {}
    for source in range(nodes):
        for target in ((source + step) % nodes for step in steps):
            loss = max((slow or {}).get((source, target), 0), (into or {}).get(target, 0), (out or {}).get(source, 0))
            scatter = draw.standard_t(3) / 1.3 if heavy else draw.normal()
            rates[f"n{source}", f"n{target}"] = 12e9 * (1 - loss) * float(np.exp(noise * scatter))
    return locate_in_table(pair_table([f"n{place}" for place in range(nodes)], rates))


def named(found: Located) -> list[tuple[str, Direction]]:
    return [(fault.subject.text, fault.direction) for fault in found.faults]


SHAPES = [(16, (1, 2, 3)), (16, (1, -1, 2, -2)), (40, (1, 2, 3, 4)), (40, (1, -1, 2, -2, 3, -3))]


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("nodes", "steps"), SHAPES)
def test_healthy_nodes_get_no_name_and_most_tables_pass(nodes: int, steps: tuple[int, ...], heavy: bool) -> None:
    draw = np.random.default_rng(1)
    tables = [located(nodes, steps, 0.015, draw, heavy=heavy) for _ in range(DRAWS)]
    assert tables[0].resolutions[0].method is Method.GROUP_TEST
    assert sum(bool(table.faults) for table in tables) <= 1
    assert sum(table.verdict is Verdict.PASS for table in tables) >= 0.9 * DRAWS


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("nodes", "steps"), SHAPES)
def test_a_node_is_found_by_most_of_its_pairs(nodes: int, steps: tuple[int, ...], heavy: bool) -> None:
    draw = np.random.default_rng(2)
    tables = [located(nodes, steps, 0.02, draw, heavy=heavy, into={1: 0.15}) for _ in range(DRAWS)]
    assert sum(named(table) == [("node:n1", Direction.IN)] for table in tables) >= 0.9 * DRAWS
    assert not any(table.verdict is Verdict.PASS for table in tables)


def test_both_directions_together_show_what_one_does_not() -> None:
    """A node that lacks 12 % both ways, at 4 % of noise: four pairs each way."""
    draw = np.random.default_rng(10)
    steps = (1, -1, 2, -2)
    both = [located(24, steps, 0.04, draw, into={4: 0.12}, out={4: 0.12}) for _ in range(DRAWS)]
    lone = [located(24, steps, 0.04, draw, into={4: 0.12}) for _ in range(DRAWS)]
    found = [sum("n4" in {fault.subject.name for fault in table.faults} for table in some) for some in (both, lone)]
    assert found[0] >= 0.9 * DRAWS > 0.75 * DRAWS >= found[1]


def test_both_directions_of_a_node_are_one() -> None:
    found = located(16, (1, -1, 2, -2), 0.005, np.random.default_rng(3), into={4: 0.2}, out={4: 0.2})
    assert named(found) == [("node:n4", Direction.BOTH)]


def test_a_node_that_loses_less_than_the_effect_is_not_named() -> None:
    for loss, names in ((0.01, []), (0.05, [("node:n4", Direction.OUT)])):
        assert named(located(24, (1, 2, 3, 4), 0.003, np.random.default_rng(4), out={4: loss})) == names


def test_a_good_pair_clears_a_node_whose_partners_are_slow() -> None:
    """Two of the three receivers of n4 are slow; n4 is good with the third."""
    draw = np.random.default_rng(5)
    found = located(16, (1, 2, 3), 0.003, draw, into={5: 0.3, 6: 0.3})
    assert sorted(named(found)) == [("node:n5", Direction.IN), ("node:n6", Direction.IN)]


def test_of_a_node_that_is_good_with_one_partner_only_nothing_is_sure() -> None:
    """Each of the slow pairs may be at fault by itself."""
    found = located(24, (1, 2, 3, 5), 0.003, np.random.default_rng(6), slow={(4, 5): 0.3, (4, 6): 0.3, (4, 7): 0.3})
    assert (found.faults, found.verdict) == ((), Verdict.UNSTABLE)
    assert [[subject.text for subject in one.subjects] for one in found.ambiguous] == [["node:n4"]]


def test_of_two_slow_parts_on_one_way_the_worse_decides() -> None:
    found = located(24, (1, 2, 3, 4), 0.003, np.random.default_rng(7), out={4: 0.3}, into={5: 0.1})
    assert sorted(named(found)) == [("node:n4", Direction.OUT), ("node:n5", Direction.IN)]
    losses = {fault.subject.name: fault.loss_ratio for fault in found.faults}
    assert losses["n4"] == pytest.approx(0.3, abs=0.01)
    assert losses["n5"] == pytest.approx(0.1, abs=0.01)


def test_a_single_slow_pair_names_no_node() -> None:
    found = located(16, (1, 2, 3), 0.003, np.random.default_rng(8), slow={(4, 5): 0.4})
    assert not any(subject.startswith("node") for subject, _ in named(found))
    assert found.verdict is not Verdict.PASS


@pytest.mark.parametrize("few", [False, True])
def test_of_any_rows_some_are_left_to_compare_with(few: bool) -> None:
    draw = np.random.default_rng(11)
    effects = practical_effects(BANDWIDTH, 1e9, None)
    for _ in range(300):
        rows, parts = int(draw.integers(1, 20)), int(draw.integers(1, 9))
        crossed = draw.random((rows, parts)) < draw.random()
        row, part = np.nonzero(crossed)
        log = draw.normal(0, draw.choice([0, 0.001, 0.1]), rows)
        log -= (crossed * (draw.random(parts) < 0.6) * draw.choice([0.05, 0.3, 2.0], parts)).max(axis=1)
        found = slow_parts(log, Ways(row=row, part=part, parts=parts), effects, 0.01, few=few)
        assert found.rest.any()
        assert math.isfinite(found.scatter)


def test_a_loss_as_large_as_what_would_have_been_found_is_found() -> None:
    draw = np.random.default_rng(9)
    found = 0
    for _ in range(2 * DRAWS):
        loss = located(24, (1, -1, 2, -2), 0.02, draw).resolutions[0].detectable_ratio
        assert loss is not None
        found += ("node:n3", Direction.IN) in named(located(24, (1, -1, 2, -2), 0.02, draw, into={3: loss}))
    assert found >= 0.85 * 2 * DRAWS


@pytest.mark.parametrize("lossy", [10, 14, 18])
def test_two_levels_of_nodes_without_a_majority_are_two_populations(lossy: int) -> None:
    for seed in range(10):
        draw = np.random.default_rng(seed)
        slow = {int(place): 0.1 for place in draw.permutation(24)[:lossy]}
        pairs = {(a, b): 0.1 for a in range(24) for b in range(24) if a in slow or b in slow}
        found = located(24, (1, -1, 2, -2), 0.003, draw, slow=pairs)
        names = {f"n{place}" for place in slow}
        assert {fault.subject.name for fault in found.faults} <= names
        assert found.verdict is not Verdict.PASS
        if found.populations:
            slower, faster = (set(part.nodes) for part in found.populations)
            assert slower >= names - faster
            assert not faster & names
        else:
            assert found.faults


def test_a_few_slow_nodes_or_faster_pairs_are_no_population() -> None:
    for seed in range(10):
        draw = np.random.default_rng(seed)
        few = {(a, b): 0.1 for a in range(24) for b in range(24) if a in (3, 11) or b in (3, 11)}
        found = located(24, (1, -1, 2, -2), 0.003, draw, slow=few)
        assert {fault.subject.name for fault in found.faults} == {"n3", "n11"}
        assert found.populations == ()
        assert located(24, (1, -1, 2, -2), 0.003, draw, slow={(3, 4): -0.1}).populations == ()
