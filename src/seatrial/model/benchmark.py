"""What a benchmark's output says: numbers with their lines, evidence of work, what is missing, and what is wrong."""

import enum
from collections.abc import Callable, Mapping

import msgspec

from seatrial.model.imported import Sense
from seatrial.model.verdict import FindingKind, Verdict

Label = str | int | float
LEAST_OF_PEAK = 0.1
"""HPL reaches 60 to 90 % of a node's peak with enough work (lists of the TOP500); a tenth has a cause worth finding."""
LEAST_OF_PATH = 0.5
"""Large messages between two nodes reach 85 % of a link and more; half of it means another link or transport."""

LEAST_OF_HOST = 0.25
"""Copies between host and GPU reach 80 % of the link, in half of its lanes or from pageable memory 40 %; less than a
quarter means another generation, or a link of few lanes."""


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
    """Describes the result, such as a residual, which gates check: a change of it is not a change of speed."""
    of_path: bool = False
    """A rate in one direction of a path between two nodes, so the limit of that path is its limit."""
    most: Callable[[Mapping[str, Label], float], float | None] | None = None
    """The limit of a number with these labels, from the rate of the links of a node; None: that rate is the limit."""
    both_ways: bool = False
    """A rate in each of the two directions between two nodes, which are under load at the same time."""
    least_share: float = 0.0
    """Share of its limit below which the best value is SLOW; 0: a small one shows no fault."""

    @property
    def sense(self) -> Sense:
        """Which values are good, in the words of imported values."""
        return Sense.HIGHER if self.better is Better.MORE else Sense.LOWER


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One printed number. `value` is in the base unit of its metric, `printed` is the text of the file."""

    metric: str
    value: float
    line: int
    """Number of the line, counted from 1; 0 if the file has no lines, such as JSON."""
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
    references: tuple[str, ...] = ()
    """What the numbers and the work were compared with, as `limit` and `requested work`; empty: nothing."""

    @property
    def valid(self) -> bool:
        """Whether its numbers can be used: it is complete, and no gate shows that they are wrong."""
        return self.complete and not any(breach.kind.verdict is Verdict.INVALID for breach in self.breaches)

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
