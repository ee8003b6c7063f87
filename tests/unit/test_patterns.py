"""No regular expression that sees text from outside takes more than linear time, or reads numbers without a bound."""

import zlib

import pytest

from tests.support.patterns import FAILURES, applied
from tests.support.slow_matches import slow_text, unbounded_number

PARTS = 16
NO_NUMBERS = ("seatrial.cli.", "seatrial.drift.", "seatrial.render.", "seatrial.model.words")
"""Rooms that check the length of what the user types, or make no number of digits; nor do tables of causes."""


@pytest.mark.parametrize("part", range(PARTS))
def test_time_grows_no_faster_than_the_text(part: int) -> None:
    slow = {
        f"{each.module}: {each.pattern!r} ({each.method})": text
        for each in applied()
        if zlib.crc32(each.pattern.encode()) % PARTS == part
        if (text := slow_text(each.pattern, each.flags, each.method))
    }
    assert not slow, "beginning, repeated piece and tail of a text that takes more than linear time"


def test_numbers_are_read_with_a_bound_on_their_digits() -> None:
    rooms = (each for each in applied() if not each.module.startswith(NO_NUMBERS) and not each.module.endswith(".toml"))
    assert not [f"{each.module}: {each.pattern}" for each in rooms if unbounded_number(each.pattern, each.flags)]


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"^(?:\d+\.?\d*\s*)+$", "match"),
        (r"(a+)+b", "match"),
        (r"(?m)^\s+Program", "search"),
        (r"name .* failed", "search"),
        (r"\d+ bytes", "search"),
        (r"^a\s*b?\s*c", "match"),
        (r"\S+\s*:\s*\S+!", "match"),
        (r"[^\n]{0,400}a[^\n]{0,400}b", "search"),
    ],
)
def test_a_slow_pattern_is_found(pattern: str, method: str) -> None:
    assert slow_text(pattern, 0, method)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"^(?:\d++(?:\.\d*+)?+\s*+)++$", "match"),
        (r"(?m)^[ \t]++Program", "search"),
        (r"name .{0,200} failed", "search"),
        (r"(?<!\d)\d{1,18} bytes", "search"),
        (r"[^|]*\|[^|]*\|\s*(\d+)", "match"),
        (r"\w+", "findall"),
    ],
)
def test_a_linear_pattern_is_not_blamed(pattern: str, method: str) -> None:
    assert slow_text(pattern, 0, method) is None


def test_an_unbounded_number_is_found() -> None:
    assert unbounded_number(r"port (\d+)", 0)
    assert not unbounded_number(r"port (\d{1,18}) \d+", 0)


def test_patterns_in_all_places_are_collected() -> None:
    """Compiled ones, ones in records, ones written into calls, and ones that tables of the program contain."""
    modules = {each.module.rpartition(".")[2] for each in applied()}
    assert {"imb", "espresso", "rank_deaths", "catalogue", "reframe", "frame", "microarchitectures"} <= modules
    tables = {each.module.removeprefix(FAILURES) for each in applied() if each.module.endswith(".toml")}
    assert {"launchers.toml", "pending.toml", "ssh.toml", "transports.toml"} <= tables
    assert len(applied()) > 1200
