"""A benchmark: what is to be run, and what its output says: numbers with their lines, what is missing or wrong."""

import enum
from collections.abc import Callable, Mapping

import msgspec

from seatrial.model.imported import Sense
from seatrial.model.verdict import FindingKind, Verdict


class BenchmarkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is made from: the nodes, what one of them has, and what the user asked for."""

    program: str
    """The main program, by its path or name."""
    nodes: int
    ranks_per_node: int
    memory_bytes: int = 0
    """Memory of the node that has least, shared by the nodes of one kernel; 0: unknown."""
    cache_bytes: int = 0
    """Last-level caches of a node together; 0: not known."""
    budget_s: float = 0.0
    """Time limit of all programs together; 0: none."""
    peak_flops_per_s: float = 0.0
    """Peak of one node; 0: unknown."""
    sharing: int = 1
    """Nodes that share the processors of one kernel."""
    largest_nodes: int = 0
    """Nodes of the largest point of its weak scaling series; 0: it is of none."""
    free_bytes: int = 0
    """Free space of the scratch folder."""
    parameters: dict[str, str] = {}
    """All that the benchmark declares, with their defaults."""
    case: dict[str, str] = {}
    """Files of the user's case by their path in it; the text of those below `system`, others empty."""

    @property
    def ranks(self) -> int:
        """The number of ranks on all nodes together."""
        return self.nodes * self.ranks_per_node


class BenchmarkStep(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a run, in the order in which they are started."""

    name: str
    argv: tuple[str, ...]
    mpi: bool = True
    """Started on all ranks by the launcher; else once, on the first node."""
    single: bool = False
    """An MPI program that is started as one rank on the first node. Without the launcher it could not initialise MPI.
    """
    output: str = ""
    """The file in the scratch folder that has its results, as a pattern: the newest one; empty: standard output."""
    judged: bool = True
    """Whether its output is part of the benchmark's output."""


class BenchmarkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The programs, the input files that are written for them, and the work that the output must show."""

    steps: tuple[BenchmarkStep, ...]
    files: dict[str, str] = {}
    """Path in the scratch folder -> text."""
    expected: dict[str, str] = {}
    """Name of evidence -> value."""
    largest_bytes: int = 0
    """Largest message that was requested; for outputs without a closing line."""
    inputs: str = ""
    """Hash of the user's case, names and contents; empty: there is none."""
    notes: tuple[str, ...] = ()
    """What was chosen, and from what."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended. `returncode` is negative for a signal, which ended its launcher if it has one."""

    returncode: int
    seconds: float
    timed_out: bool = False
    interrupted: bool = False


class StepResult(Ended, frozen=True, kw_only=True):
    """One program that was started, and how it ended."""

    name: str
    argv: tuple[str, ...]
    """The words of the command, the launcher's own among them."""
    output: str = ""
    errors: str = ""
    """The end of standard error."""
    samples: str = ""
    """What nvidia-smi printed of the node's GPUs meanwhile; empty: it was not asked, or is not there."""
    judged: bool = True

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with success."""
        return self.returncode == 0 and not self.timed_out and not self.interrupted


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


UNITS = (
    ("_bytes_per_s", "B/s"), ("_flops_per_s", "flop/s"), ("_per_s", "1/s"), ("_s", "s"), ("ns_per_day", "ns/day"),
    ("_ry", "Ry"), ("_celsius", "°C"), ("", ""),
)  # fmt: skip
"""End of a metric's name, and the unit as people write it; the first that fits counts."""
MORE_IS_BETTER = ("_per_s", "_per_day", "overlap_share", "passed_tests")
"""Ends of names of metrics of which more is better."""


class Metric(msgspec.Struct, frozen=True):
    """A number that a benchmark prints. `name` ends in its base unit, from which unit and better direction follow."""

    name: str
    meaning: str
    stated_unit: str | None = None
    """The unit, as people write it, of a metric whose name does not end in it."""
    stated_better: Better | None = None
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
    def unit(self) -> str:
        """The base unit as people write it; empty for counts and shares."""
        if self.stated_unit is not None:
            return self.stated_unit
        return next(unit for end, unit in UNITS if self.name.endswith(end))

    @property
    def better(self) -> Better:
        """The direction in which the metric improves."""
        return self.stated_better or (Better.MORE if self.name.endswith(MORE_IS_BETTER) else Better.LESS)

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
    setting: str = ""
    """How it was measured, as far as the output shows it: numbers with equal labels and one setting are repetitions.
    Empty: too little is known to compare them."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What shows how much work was done: ranks, hosts, iterations, cells, a residual."""

    name: str
    value: Label
    line: int


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A validity gate that the output does not pass, with the line that shows it."""

    kind: FindingKind
    reason: str
    brief: str = ""
    """The reason in a few words, as in a first line; empty: it is short itself."""
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
    unchecked: bool = False
    """The program's own check of its data was off: nothing shows that they are right, so that it does not pass."""

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
