"""What a benchmark declares: how its output is recognised and read, its metrics, gates and scaling rule."""

import enum
from collections.abc import Callable

import msgspec

from seatrial.model.benchmark import Metric, Output
from seatrial.model.verdict import FindingKind


class Scaling(enum.StrEnum):
    """How a benchmark's figures over nodes are compared: same work, same work per node, or not at all."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


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
    evidence: tuple[str, ...]
    """Names of the evidence of work that is read."""
    gates: tuple[FindingKind, ...]
    """Validity gates of its own; those of every benchmark are in `gates.EVERY`."""
    complete: str
    """What shows that an output is complete."""
    scaling: Scaling = Scaling.NONE
