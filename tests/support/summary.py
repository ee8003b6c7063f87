"""What a test run prints at its end: which tests had to repeat a measurement. Skips are listed by `pytest -rs`."""

from collections.abc import Iterable

REPETITIONS = "repetitions"
"""The property of a test report that holds how many measurements the test repeated."""


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


def repetition_table(repetitions: Iterable[tuple[str, int]]) -> list[str]:
    """One line per test that repeated a measurement, the most repetitions first."""
    some = [(test, count) for test, count in repetitions if count]
    return [f"{count:5}  {test}" for test, count in sorted(some, key=lambda item: (-item[1], item[0]))]


def plural(count: int, noun: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
