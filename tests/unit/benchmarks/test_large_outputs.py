"""Large outputs are read in memory and time that grow no faster than the text."""

import time
import tracemalloc

import pytest

from seatrial.benchmarks import reading
from seatrial.benchmarks.catalogue import parse_auto
from seatrial.benchmarks.reading import OutputLine, lines_of
from seatrial.importers.printed_text import plain
from tests.support import benchmark_outputs as outputs

LARGE = 200_000
MOST_TIMES = 7
"""The text and what is made of it: a copy without prefixes, eight bytes for each line, the numbers."""


@pytest.mark.parametrize("first", ["", "[1,0]<stdout>: "])
def test_an_output_of_many_lines_takes_a_few_times_its_size(first: str) -> None:
    text = "".join(f"{first}{line}\n" for line in outputs.hpl().splitlines())
    text += f"{first}another line\n" * (LARGE // len(f"{first}another line\n"))
    parse_auto(outputs.hpl())  # compiles patterns
    tracemalloc.start()
    _, output = parse_auto(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert output.values("rate_flops_per_s")
    assert peak < MOST_TIMES * len(text)


def test_time_grows_with_the_number_of_tables_only() -> None:
    def took_s(times: int) -> float:
        text = outputs.osu() * times
        best = float("inf")
        for _ in range(3):
            began = time.thread_time()
            parse_auto(text)
            best = min(best, time.thread_time() - began)
        return best

    assert took_s(400) < 8 * took_s(100)


def test_numbers_beyond_the_bound_are_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_RESULTS", 10)
    _, output = parse_auto(outputs.osu())
    assert len(output.results) == 10
    assert "it has more than 10 numbers: those behind are not read" in output.missing


def test_parts_that_are_missing_without_end_are_not_all_kept() -> None:
    """Each would be compared with all others, and printed."""
    _, output = parse_auto("Main table size   = 2^20 = 1048576 words\n" * 1000)
    assert 1 < len(output.missing) <= reading.MOST_BREACHES


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "a\n\nb\n", "\n", "\n\n"])
def test_lines_are_those_of_the_text(text: str) -> None:
    lines = lines_of(text)
    expected = [OutputLine(number, line) for number, line in enumerate(text.split("\n"), 1)]
    expected = expected[:-1] if expected[-1].text == "" else expected
    assert list(lines) == expected
    assert len(lines) == len(expected)
    assert list(reversed(lines)) == expected[::-1]
    for start in range(-1, 4):
        assert list(lines[start:]) == expected[start:]
        assert list(lines[:start]) == expected[:start]
    if expected:
        assert lines[-1] == expected[-1]


def test_an_empty_line_keeps_its_number_where_prefixes_are_removed() -> None:
    assert plain("0: a\n0: \n0: b\n" * 3) == "a\n\nb\n" * 3


def test_a_word_in_place_of_a_rate_is_not_compared() -> None:
    text = outputs.osu_rates(2).replace("1996.01", "Pass")
    rows = [line for line in text.splitlines() if line[:1].isdigit()]
    broken = text.replace(rows[3], "8   -   Pass")
    assert parse_auto(broken)[1].results
