"""What a test run prints at its end: which tests were skipped and why, and which had to repeat a measurement."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

REPETITIONS = "repetitions"
"""The property of a test report that holds how many measurements the test repeated."""


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """One skipped test."""

    file: str
    reason: str


class RepetitionCounter:
    """Counts repeated measurements of the test that is running in this process."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        """One more repetition."""
        self._count += 1

    def take(self) -> int:
        """Repetitions since the last call."""
        count, self._count = self._count, 0
        return count


repetition_counter = RepetitionCounter()


def skip_table(skips: Sequence[Skip]) -> list[str]:
    """One line per reason, the most frequent first: how many tests, the reason, and the files with their counts."""
    reasons = Counter(skip.reason for skip in skips)
    lines = []
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        files = Counter(skip.file for skip in skips if skip.reason == reason)
        places = ", ".join(f"{file} ({number})" if number > 1 else file for file, number in sorted(files.items()))
        lines.append(f"{count:5}  {reason}: {places}")
    return lines


def repetition_table(repetitions: Iterable[tuple[str, int]]) -> list[str]:
    """One line per test that repeated a measurement, the most repetitions first."""
    some = [(test, count) for test, count in repetitions if count]
    return [f"{count:5}  {test}" for test, count in sorted(some, key=lambda item: (-item[1], item[0]))]


def plural(count: int, noun: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
