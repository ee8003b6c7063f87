"""What a benchmark declares: how its output is recognised and read, its metrics, gates, scaling rule and parameters."""

import enum
import re
from collections.abc import Callable, Mapping

import msgspec

from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, Better, Metric, Output, Result
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import unit_named
from seatrial.model.verdict import FindingKind

AUTO = "auto"
"""Instead of the value of a parameter: the plan chooses it. Instead of a benchmark's name: the output shows which."""
SIZE = re.compile(r"(?P<number>[0-9]{1,15})(?P<unit>[KMGT]iB|B|)")
LEFT_FREE = 0.1
"""Share of the free space that a run leaves alone."""
PAIR = 2
PAIR_BYTES = 1 << 22
"""Default of the largest message between two ranks."""


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
    """The power of the work with which it grows in weak scaling: 1/2 for the order of a matrix. 0: it stays."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How `seatrial bench run` carries a benchmark out."""

    programs: tuple[str, ...]
    """Names of the main program, the first that a node has is taken."""
    package: str
    """The Debian package that has it; empty: there is none."""
    program_parameter: str = ""
    """The parameter that names the program, in place of `programs`; empty: none does."""
    plan: Callable[[BenchmarkRequest], BenchmarkPlan]
    """The programs and inputs. Raises UsageError for a parameter."""
    parameters: tuple[Parameter, ...] = ()
    nodes: int = 1
    """How many are taken where nobody says it."""
    ranks_per_node: int = 0
    """Ranks on each node unless the user says otherwise; 0: one for each core."""
    grows: bool = False
    """Whether its work grows with the ranks by itself, so that there is no strong scaling."""
    case: bool = False
    """Whether it needs a folder of the user's, given with --case."""


class AlikeNumbers(msgspec.Struct, frozen=True):
    """Numbers of one metric and one setting that lie close together although these labels differ."""

    labels: tuple[str, ...]
    most: float
    """The ratio of the largest to the smallest from which on they are uneven."""
    in_turn: bool = False
    """Whether the numbers have no setting, which may change from run to run: only those that are worse than one before
    and one behind them are uneven."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark.

    `marks`: regular expressions, one of which occurs in every output from its first lines on. `beginnings`: texts with
    which outputs begin, to recognise one that was cut off within them. `parts`: expressions of further lines that only
    this program prints, to recognise an output whose first lines are missing.
    """

    name: str
    title: str
    requires: str
    """Programs, packages and input files that a run needs."""
    marks: tuple[str, ...]
    beginnings: tuple[str, ...]
    parts: tuple[str, ...] = ()
    parse: Callable[[str], Output]
    parse_up_to: Callable[[str, int], Output] | None = None
    """Parses outputs without a closing line, up to the largest message in bytes that the command line says."""
    metrics: tuple[Metric, ...]
    main_metric: str
    """The metric of scaling curves and of comparisons between nodes."""
    main_labels: dict[str, str] = {}
    """Labels of the main metric's value for scaling curves, if an output has several parts."""
    tried: tuple[str, ...] = ("bytes",)
    """Labels of what a run tries several of, such as message sizes: the best one shows what is possible."""
    alike: tuple[AlikeNumbers, ...] = ()
    """Numbers that lie close together besides repetitions, which have equal labels and one setting."""
    evidence: tuple[str, ...]
    """Names of the evidence of work that is read."""
    gates: tuple[FindingKind, ...]
    """Validity gates of its own; those of every benchmark are in `gates.EVERY`."""
    complete: str
    """What shows that an output is complete."""
    contains: tuple[str, ...] = ()
    """Names of benchmarks whose outputs are parts of its own."""
    as_pairs: str = ""
    """How its outputs are read as a table of pairs of nodes; empty: they are none."""
    own_limits: bool = False
    """Whether the program compares its numbers with limits of its own, so that an output without breaches passes."""
    scaling: Scaling = Scaling.NONE
    launch: Launch | None = None
    """None: its outputs are only read."""

    @property
    def main(self) -> Metric:
        """The metric called `main_metric`."""
        return next(metric for metric in self.metrics if metric.name == self.main_metric)

    def main_result(self, output: Output) -> Result | None:
        """The best value of the main metric over what is tried; of several parts the main one, else the first."""
        every = [item for item in output.results if item.metric == self.main_metric]
        values = [item for item in every if self.main_labels.items() <= item.labels.items()] or every
        if not values:
            return None
        best = (max if self.main.better is Better.MORE else min)(values, key=lambda item: item.value)
        return best if any(label in best.labels for label in self.tried) else values[0]


def completed(given: Mapping[str, str], declared: tuple[Parameter, ...]) -> dict[str, str]:
    """All declared parameters with what was given, or their defaults. Raises UsageError for an unknown one."""
    names = [parameter.name for parameter in declared]
    unknown = [name for name in given if name not in names]
    if unknown:
        has = f"It has {', '.join(names)}." if names else "It has none."
        raise UsageError(f"--set {unknown[0]}={given[unknown[0]]}: there is no parameter {unknown[0]!r}.", has)
    return {parameter.name: given.get(parameter.name, parameter.default) for parameter in declared}


def whole(parameters: Mapping[str, str], name: str, least: int, most: int) -> int:
    """A whole number. Raises UsageError that shows the value."""
    text = parameters[name]
    if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise UsageError(f"--set {name}={text}: it must be a whole number from {least} to {most}.", "Correct it.")
    return int(text)


def choice(parameters: Mapping[str, str], name: str, options: tuple[str, ...]) -> str:
    """One of the options. Raises UsageError that shows the value and the options."""
    value = parameters[name]
    if value not in options:
        raise UsageError(f"--set {name}={value} is not a valid {name}.", f"Choose from {', '.join(options)}.")
    return value


def size_bytes(parameters: Mapping[str, str], name: str) -> int:
    """A size in bytes. Raises UsageError that shows the value."""
    return size_of(parameters[name], f"--set {name}={parameters[name]}")


def size_of(text: str, what: str) -> int:
    """`65536` and `64KiB` in bytes. Raises UsageError that begins with `what` for 0 and for any other text."""
    match = SIZE.fullmatch(text)
    if not match or not int(match["number"]):
        raise UsageError(f"{what} is not a size.", "Write 65536, 64KiB or 4GiB.")
    return int(match["number"]) * int(unit_named(match["unit"] or "B").factor)


def share(parameters: Mapping[str, str], name: str) -> float:
    """A percentage as a share. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]{1,2}(?:\.[0-9]{1,3})?) ?%", parameters[name])
    if not match or not float(match[1]):
        raise UsageError(f"--set {name}={parameters[name]} is not a share below 100 %.", "Write 80%.")
    return float(match[1]) / 100


def largest_message(request: BenchmarkRequest, default: int) -> int:
    """The parameter `largest` in bytes; `default` if it is automatic."""
    return default if request.parameters["largest"] == AUTO else size_bytes(request.parameters, "largest")


def check_space(request: BenchmarkRequest, wanted: int, what: str) -> None:
    """Raises UsageError if the scratch folder has too little space."""
    if wanted > (1 - LEFT_FREE) * request.free_bytes:
        raise UsageError(
            f"{what} do not fit: the scratch folder has {request.free_bytes / 1e9:.1f} GB free, and a tenth of it is "
            "left alone.",
            "Give smaller ones, or another --scratch.",
        )
