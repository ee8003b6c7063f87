"""Numbers beside the values of nodes that few nodes, or single runs, have far from all others."""

from collections.abc import Callable
from random import Random

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.lone_numbers import APART, FAR, are_few, far_numbers

Cell = Callable[[Random, int, int], float]
SEEDS = range(5)


def alone(name: str, cell: Cell, seed: int, nodes: int = 16) -> list[str]:
    """Who is named for a column beside a rate; `cell`: of a node and a run."""
    random = Random(seed)
    rows = [
        f"n{node:02},{run},{random.gauss(380, 1.2):.1f},{cell(random, node, run)}"
        for node in range(1, nodes + 1)
        for run in range(1, 4)
    ]
    table = read_fleet_table("\n".join([f"node,run,triad_GBs,{name}", *rows, ""]), "triad_GBs")
    return [one.subject for one in table.lone]


@pytest.mark.parametrize(
    ("name", "cell", "named"),
    [
        ("sm_clock_MHz", lambda r, n, ___: round(r.gauss(1200 if n == 4 else 2600, 10)), ["n04"]),
        ("mem_GiB", lambda r, n, ___: round(r.gauss(128 if n == 4 else 251.7, 0.3), 1), ["n04"]),
        ("power_W", lambda r, n, ___: round(r.gauss(180 if n == 4 else 290, 8)), ["n04"]),
        ("temp_C", lambda r, n, ___: round(r.gauss(94 if n == 4 else 61, 2)), ["n04"]),
        ("rx_dBm", lambda r, n, ___: round(r.gauss(-9 if n == 4 else -2.1, 0.2), 1), ["n04"]),
        ("load", lambda r, n, ___: round(abs(r.gauss(3.2 if n == 4 else 0.05, 0.02)), 2), ["n04"]),
        ("power_W", lambda r, n, ___: round(r.gauss(180 if n < 6 else 290, 5)), ["n01", "n02", "n03", "n04", "n05"]),
        ("lanes", lambda _, n, ___: 8 if n < 6 else 16, ["n01", "n02", "n03", "n04", "n05"]),
        ("temp_C", lambda r, n, k: 0 if (n, k) == (7, 1) else round(r.gauss(96 if n == 4 else 61, 2)), ["n04", "n07"]),
        ("retransmits", lambda r, n, k: 900 if (n, k) == (4, 3) else r.randint(0, 3), ["n04"]),
        ("retransmits", lambda _, n, k: 4000 if (n, k) == (4, 2) else (5 * n + k) % 15, ["n04"]),
        ("sm_clock_MHz", lambda r, n, k: round(r.gauss(1200 if (n, k) == (4, 2) else 2600, 10)), ["n04"]),
        ("temp_C", lambda r, __, ___: round(r.gauss(61, 3)), []),
        ("temp_C", lambda r, n, ___: round(r.gauss(61 + n / 4, 2)), []),
        ("power_W", lambda r, __, k: round(r.gauss(290 - 60 * (k == 1), 8)), []),
        ("power_W", lambda r, n, ___: round(r.gauss(180 if n < 7 else 290, 8)), []),
        ("lanes", lambda _, n, ___: 8 if n < 9 else 16, []),
        ("clock_MHz", lambda r, n, ___: round(r.gauss(2450 if n == 4 else 2600, 4)), []),
        ("fan_rpm", lambda r, __, ___: r.choice([8400, 8520, 8640]), []),
        ("minor_faults", lambda r, __, ___: int(r.lognormvariate(7, 1.2)), []),
        ("switches", lambda r, __, ___: int(r.lognormvariate(9, 0.6)), []),
        ("retransmits", lambda r, __, ___: int(r.expovariate(0.1)), []),
        ("retransmits", lambda _, n, k: 90 if n == 4 else (5 * n + k) % 15, []),
        ("nth", lambda _, n, k: 3 * n + k, []),
        ("job", lambda _, n, k: 98765 + k if n == 4 else 123400 + 3 * n + k, []),
        ("serial", lambda _, n, ___: 132000123 if n == 4 else 165000000 + 17 * n, []),
        ("secs_since_boot", lambda _, n, k: 3600 + 60 * k if n == 4 else 8100000 + 60 * k, []),
        ("epoch", lambda _, n, k: 1795960000 - 9000000 * (n == 4) + 300 * k, []),
        ("port", lambda r, n, ___: 80 if n == 4 else 49000 + r.randint(0, 99), []),
    ],
)
def test_what_is_far_from_peers_by_their_own_noise_is_named_and_nothing_else(
    name: str, cell: Cell, named: list[str]
) -> None:
    for seed in SEEDS:
        assert sorted(alone(name, cell, seed)) == named


@pytest.mark.parametrize(
    ("some", "of", "few"), [(5, 16, True), (6, 16, False), (1, 3, True), (1, 2, False), (2, 6, False)]
)
def test_fewer_than_a_third_are_few(some: int, of: int, few: bool) -> None:
    assert are_few(some, of) is few


@pytest.mark.parametrize(("share", "named"), [(APART + 0.02, {"n0"}), (APART + 0.01, set())])
def test_less_than_a_tenth_is_not_worth_a_word(share: float, named: set[str]) -> None:
    """The larger number is the whole of which the usual one lacks a tenth."""
    rows = [((f"n{node}",), 1000 + node % 3 + 1000 * share * (node == 0)) for node in range(16) for _ in range(3)]
    assert {*far_numbers(rows, 1)} == named


@pytest.mark.parametrize(("times", "named"), [(FAR + 0.1, {"n0"}), (FAR - 0.1, set())])
def test_ten_times_as_much_needs_no_noise_of_others(times: float, named: set[str]) -> None:
    rows = [((f"n{node}",), 40 * times if node == 0 else 40 * (node == 1)) for node in range(3)]
    assert {*far_numbers(rows)} == named


def test_numbers_are_compared_under_the_same_condition() -> None:
    rows = [
        f"n{node},{run},{test},{rate + node % 3},{power + (node * 7 + run) % 5}"
        for node in range(1, 13)
        for run in range(1, 4)
        for test, rate, power in (("a", 100, 200), ("b", 300, 600))
    ]
    heading = "node,run,test,bw_GBs,power_W"
    assert read_fleet_table("\n".join([heading, *rows]), "bw_GBs").lone == ()
    low = [row.rpartition(",")[0] + ",120" if row.startswith("n4,") and ",a," in row else row for row in rows]
    assert [one.subject for one in read_fleet_table("\n".join([heading, *low]), "bw_GBs").lone] == ["n4"]


def test_a_node_is_named_in_place_of_all_of_its_parts() -> None:
    random = Random(3)
    rows = [
        f"n{node},{run},{gpu},{300 + gpu % 2},{random.gauss(90 if node == 4 or (node, gpu) == (2, 1) else 60, 1):.1f}"
        for node in range(1, 13)
        for run in range(1, 4)
        for gpu in range(4)
    ]
    table = read_fleet_table("\n".join(["node,run,gpu,bw_GBs,temp", *rows]), "bw_GBs")
    assert sorted(one.subject for one in table.lone) == ["n2 gpu 1", "n4"]
