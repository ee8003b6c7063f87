"""What a benchmark's output says: numbers with their lines, evidence of work, what is missing, and what is wrong."""

import enum

import msgspec

from seatrial.model.imported import Sense
from seatrial.model.verdict import FindingKind

Label = str | int | float


class Better(enum.StrEnum):
    """The direction in which a metric improves."""

    MORE = "more"
    LESS = "less"


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A number that a benchmark prints. `name` ends in its base unit; `unit` is that unit as people write it."""

    name: str
    unit: str
    better: Better
    meaning: str
    of_problem: bool = False
    """A rate of steps of the whole problem: with more work it falls, while a rate of work does not."""
    of_result: bool = False
    """Of the result, such as a residual, which gates check: a change of it is not a change of speed."""

    @property
    def sense(self) -> Sense:
        """As imported values have it."""
        return Sense.HIGHER if self.better is Better.MORE else Sense.LOWER


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One printed number. `value` is in the base unit of its metric, `printed` is the text of the file."""

    metric: str
    value: float
    line: int
    """From 1; 0 where the file has no lines, as JSON."""
    printed: str
    labels: dict[str, Label]
    """What the number belongs to: test, message bytes, ranks, operation."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What shows how much work was done: ranks, hosts, iterations, cells, a residual."""

    name: str
    value: Label
    line: int


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A validity gate that the output does not pass, with the line that shows it."""

    kind: FindingKind
    reason: str
    line: int = 0
    text: str = ""


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read from one output."""

    benchmark: str
    version: str = ""
    results: tuple[Result, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    breaches: tuple[Breach, ...] = ()
    missing: tuple[str, ...] = ()
    """Why it is incomplete: what a complete output of this benchmark has and this one lacks."""
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def work(self, name: str) -> Label | None:
        """The last evidence of that name."""
        return next((item.value for item in reversed(self.evidence) if item.name == name), None)

    def values(self, metric: str) -> list[float]:
        """All values of a metric, in the order of the file."""
        return [result.value for result in self.results if result.metric == metric]
