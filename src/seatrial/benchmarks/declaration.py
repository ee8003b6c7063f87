"""What a benchmark declares: how its output is recognised and read, its metrics, gates and scaling rule."""

import enum
from collections.abc import Callable

import msgspec

from seatrial.model.benchmark import Metric, Output
from seatrial.model.benchmark_run import Plan, Request
from seatrial.model.verdict import FindingKind

AUTO = "auto"
"""In place of the name of a benchmark: the one that is recognised in the output."""


class Scaling(enum.StrEnum):
    """How a benchmark's figures over nodes are compared: same work, same work per node, or not at all."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """What a user can choose for a run with `--set NAME=VALUE`."""

    name: str
    default: str
    meaning: str
    grows: float = 0.0
    """In weak scaling it grows as the work to this power: 1/2 for the order of a matrix. 0: it stays."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How `seatrial run` carries a benchmark out."""

    programs: tuple[str, ...]
    """Names of the main program, the first that a node has is taken."""
    package: str
    """The Debian package that has it; empty: there is none."""
    program_parameter: str = ""
    """The parameter that names the program, in place of `programs`; empty: none does."""
    plan: Callable[[Request], Plan]
    """The programs and inputs. Raises UsageError for a parameter."""
    parameters: tuple[Parameter, ...] = ()
    nodes: int = 1
    """How many are taken where nobody says it."""
    ranks_per_node: int = 0
    """The same; 0: one for each core."""
    grows: bool = False
    """Whether its work grows with the ranks by itself, so that there is no strong scaling."""
    case: bool = False
    """Whether it needs a folder of the user's, given with --case."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark.

    `marks`: regular expressions, one of which occurs in every output from its first lines on. `beginnings`: texts with
    which outputs begin, to recognise one that was cut off within them.
    """

    name: str
    title: str
    requires: str
    """Programs, packages and input files that a run needs."""
    marks: tuple[str, ...]
    beginnings: tuple[str, ...]
    parse: Callable[[str], Output]
    parse_up_to: Callable[[str, int], Output] | None = None
    """The same for a largest message in bytes that the command line says; for outputs without a closing line."""
    metrics: tuple[Metric, ...]
    main_metric: str
    """The metric of scaling curves and of comparisons between nodes."""
    main_labels: dict[str, str] = {}
    """Of the value of the main metric that scaling curves take, where an output has several parts."""
    evidence: tuple[str, ...]
    """Names of the evidence of work that is read."""
    gates: tuple[FindingKind, ...]
    """Validity gates of its own; those of every benchmark are in `gates.EVERY`."""
    complete: str
    """What shows that an output is complete."""
    scaling: Scaling = Scaling.NONE
    launch: Launch | None = None
    """None: its outputs are only read."""

    @property
    def main(self) -> Metric:
        """The metric called `main_metric`."""
        return next(metric for metric in self.metrics if metric.name == self.main_metric)
