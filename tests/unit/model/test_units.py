"""Scaling is done in one place, and done right at the edges of each unit."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from seatrial.model import units
from seatrial.model.unit_text import rate_of
from tests.support.report_examples import estimate


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (units.bandwidth, {117.2e6: "117.2 MB/s", 12.345e9: "12.3 GB/s", 1.174e9: "1.17 GB/s", 999.96e6: "1.00 GB/s",
                           999.94e6: "999.9 MB/s", 2**20: "1.05 MB/s", 0.0: "0 B/s", None: "unknown",
                           math.inf: "unknown", math.nan: "unknown"}),
        (units.duration, {12.4e-6: "12.4 µs", 1.234e-6: "1.23 µs", 999.99e-6: "1.00 ms", 90.0: "90.0 s",
                          8e-10: "0.80 ns"}),
        (units.share, {0.5999: "60 %", 1.36: "136 %", 0.042: "4.2 %", 0.0: "0 %", 0.0999: "10 %"}),
        (units.fine_share, {0.00053: "0.053 %", 0.053: "5.3 %", 0.994: "99 %", 0.996: "100 %", 1.1: "110 %",
                            math.nan: "unknown"}),
        (units.size, {0: "0 B", 65536: "64 KiB", 2**20: "1 MiB", 1500: "1500 B", 100_000: "97.7 KiB"}),
        (lambda value: units.in_unit(value, "B/s"), {117.748e6: "117.7 MB/s"}),
        (lambda value: units.in_unit(value, "s"), {2.5e-3: "2.50 ms"}),
        (lambda value: units.in_unit(value, "flop/s"), {2.87e12: "2.87 Tflop/s"}),
        (lambda value: units.in_unit(value, "W"), {12.5: "12.5 W"}),
    ],
)  # fmt: skip
def test_values_in_their_units(written: Callable[[Any], str], values: dict[Any, str]) -> None:
    """Sizes are binary."""
    assert {value: written(value) for value in values} == values


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("12.5e9", 12.5e9),
        ("12.5 GB/s", 12.5e9),
        ("100Gbit/s", 12.5e9),
        ("1Gb/s", 125e6),
        ("500mbit", 62.5e6),
        ("100G", 12.5e9),
        ("25GbE", 3.125e9),
        ("0G", None),
        ("5 GB", None),
        ("3 s", None),
        ("FDR", None),
    ],
)
def test_a_rate_as_people_write_it(text: str, rate: float | None) -> None:
    assert rate_of(text) == rate


def test_link_rate_and_memory() -> None:
    assert units.link_rate(1e9) == "1 Gb/s"
    assert units.link_rate(2.5e9) == "2.5 Gb/s"
    assert units.memory(540_000_000_000) == units.memory(540_200_000_000) == "503 GiB"


def test_estimate_with_interval() -> None:
    assert units.estimate(estimate(70.6e6), units.BANDWIDTH) == "70.6 MB/s, 97 % CI 70.5–70.7, n = 6"
    assert units.estimate(estimate(12.4e-6, 0.01), units.LATENCY) == "12.4 µs, 97 % CI 12.3–12.5, n = 6"


def test_interval_stays_in_the_unit_of_its_value() -> None:
    assert units.estimate(estimate(1e9, 0.1), units.BANDWIDTH).startswith("1.00 GB/s, 97 % CI 0.90–1.10,")


def test_a_number_has_the_same_digits_with_and_without_its_interval() -> None:
    """A narrow interval does not add decimals: the report would have 117.748 MB/s beside 117.7 MB/s."""
    narrow = estimate(117.748e6, 1e-6)
    assert units.estimate(narrow, units.BANDWIDTH) == "117.7 MB/s, 97 % CI 117.7–117.7, n = 6"
    assert units.estimate(narrow, units.BANDWIDTH).startswith(f"{units.bandwidth(narrow.value)}, ")
    assert units.ends(117.748e6, 117.7479e6, 117.7481e6, units.BANDWIDTH) == "117.7–117.7"


@pytest.mark.parametrize(("value", "text"), [(1.2345, "123 %, 97 % CI 111–136,"), (0.0512, "5.1 %, 97 % CI 4.6–5.6,")])
def test_interval_of_a_share_has_the_digits_of_its_value(value: float, text: str) -> None:
    assert units.estimate(estimate(value, 0.1), units.SHARE).startswith(text)


def test_different_values_are_never_printed_alike() -> None:
    assert units.two_in_unit(117.2e6, 117.7e6, "B/s") == ("117.2 MB/s", "117.7 MB/s")
    assert units.two_in_unit(117.748e6, 117.749e6, "B/s") == ("117748000 B/s", "117749000 B/s")


def test_one_run_has_no_interval() -> None:
    assert units.estimate(estimate(70.6e6, runs=1), units.BANDWIDTH) == "70.6 MB/s, n = 1"
    endless = msgspec.structs.replace(estimate(70.6e6), high=math.inf)
    assert units.estimate(endless, units.BANDWIDTH) == "70.6 MB/s, n = 6"
