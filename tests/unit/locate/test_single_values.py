"""One value of one pair: it convicts nobody, and withholds the PASS of a table whose other values are far better."""

from collections import Counter

import numpy as np
import pytest

from seatrial.commands.judge.pairs.view import located_report
from seatrial.locate.table import locate_in_table
from seatrial.model.errors import ExitCode
from seatrial.model.pair_faults import Instability, Located
from seatrial.model.pair_table import Reals, repeated_pair_table
from seatrial.model.verdict import Verdict
from seatrial.render.text import as_text
from tests.support.pair_tables import table_of_rates

QUIET = 0.0002


def rates(nodes: int, noise: float, seed: int, *, heavy: bool = False, once: bool = False) -> Reals:
    draw = np.random.default_rng([nodes, seed])
    values = draw.standard_t(3, (nodes, nodes)) if heavy else draw.standard_normal((nodes, nodes))
    rate: Reals = 1.2e10 * np.exp(noise * values)
    rate[np.tril_indices(nodes) if once else np.diag_indices(nodes)] = np.nan
    return rate


def again(found: Located) -> list[str]:
    return sorted(one.subject.name for one in found.unstable if one.gross)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", [0.01, 0.05, 0.2])
def test_one_value_of_a_quiet_table_is_to_be_measured_again(seed: int, loss: float) -> None:
    rate = rates(56, QUIET, seed)
    rate[10, 23] *= 1 - loss
    found = locate_in_table(table_of_rates(rate))
    assert (found.verdict, found.faults, again(found)) == (Verdict.UNSTABLE, (), ["n10>n23"])


def test_the_first_line_says_what_to_measure_again() -> None:
    rate = rates(56, QUIET, 1)
    rate[10, 23] *= 0.95
    table = table_of_rates(rate)
    report = located_report(table, locate_in_table(table), (), None, ExitCode.INCOMPLETE)
    first = as_text(report).splitlines()[0]
    assert first == "UNSTABLE  measure again: n10>n23 (5.0 %); out of line once"


def test_values_on_three_pairs_and_a_slow_node_beside_them() -> None:
    rate = rates(32, QUIET, 2)
    for a, b in ((3, 9), (9, 3), (20, 21)):
        rate[a, b] *= 0.985
    rate[:, 5] *= 0.9
    rate[5] *= 0.9
    found = locate_in_table(table_of_rates(rate))
    assert [fault.subject.text for fault in found.faults] == ["node:n5"]
    assert again(found) == ["n20>n21", "n3>n9", "n9>n3"]


def test_one_repetition_of_three() -> None:
    names = [f"n{number}" for number in range(16)]
    draw = np.random.default_rng(0)
    runs = {
        (a, b): [1e10 * (1 + QUIET * float(draw.standard_normal())) for _ in range(3)]
        for a in names
        for b in names
        if a != b
    }
    runs["n4", "n9"][1] *= 0.95
    found = locate_in_table(repeated_pair_table(names, runs, {}))
    (unstable,) = (one for one in found.unstable if one.gross)
    assert (unstable.subject.name, unstable.cause) == ("n4>n9", Instability.REPETITIONS)
    assert (found.verdict, found.faults) == (Verdict.UNSTABLE, ())


@pytest.mark.parametrize("once", [False, True])
def test_what_would_have_been_seen_is_seen_and_half_of_it_is_not(once: bool) -> None:
    rate = rates(24, 0.003, 4, once=once)
    (resolution,) = locate_in_table(table_of_rates(rate)).resolutions
    loss = resolution.detectable_value_ratio
    assert loss is not None
    for share, seen in ((1.15, ["n2>n7"]), (0.5, [])):
        slower = rate.copy()
        slower[2, 7] = np.nanmedian(rate) * (1 - share * loss)
        assert again(locate_in_table(table_of_rates(slower))) == seen


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("nodes", "draws"), [(4, 30), (6, 30), (8, 20), (17, 10), (56, 3), (100, 1)])
def test_healthy_tables_are_left_alone(nodes: int, draws: int, once: bool, heavy: bool) -> None:
    """At most 3 % of them, of all sizes and noises together."""
    told = Counter(
        bool(again(locate_in_table(table_of_rates(rates(nodes, noise, seed, heavy=heavy, once=once)))))
        for noise in (QUIET, 0.003, 0.05)
        for seed in range(draws)
    )
    assert told[True] <= max(0.03 * sum(told.values()), 1)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("nodes", "noise"), [(6, QUIET), (8, 0.003), (17, 0.01), (56, QUIET), (56, 0.01)])
def test_healthy_tables_pass(nodes: int, noise: float, heavy: bool) -> None:
    found = [locate_in_table(table_of_rates(rates(nodes, noise, seed, heavy=heavy))).verdict for seed in range(5)]
    assert found == [Verdict.PASS] * 5
