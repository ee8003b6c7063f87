"""What runs measured, in columns: one value for each run and subject of a metric, ready to be compared."""

import enum
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.imported import Sense
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.node_trials import Measure
from seatrial.model.subject import Subject, SubjectKind
from seatrial.model.units import BANDWIDTH, FLOP_RATE, LATENCY, SHARE, size

Reals = NDArray[np.float64]


UNITS = {"B/s": BANDWIDTH, "s": LATENCY, "flop/s": FLOP_RATE}
"""Units of imported values that reports scale."""


class VerifiedData(enum.StrEnum):
    """How much of the data of a run was compared with what was sent, from least to most."""

    NOTHING = "nothing"
    ENDS = "first and last iterations"
    ALL = "all iterations"


class RunMetric(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """What was measured: values of two runs are compared only where all of this is the same."""

    phase: Phase
    variant: str
    """Name of the setting; of a saturation the number of ranks at once; of storage the folder; else empty."""
    kernel: Kernel | Sense | Measure
    """The kernel; for imported values which of them are good (`variant` is then name and unit); for trials the figure.
    """
    message_bytes: int
    """Bytes of a message; of memory trials the bytes of an array, as a power of two."""
    window_messages: int

    @property
    def unit(self) -> str:
        """`latency_s` or `bandwidth_bytes_per_s`."""
        if isinstance(self.kernel, Measure):
            return "" if self.kernel.metric == SHARE else self.kernel.metric
        if isinstance(self.kernel, Sense):
            return UNITS.get(self.printed_unit, "")
        return LATENCY if self.kernel is Kernel.PINGPONG else BANDWIDTH

    @property
    def printed_unit(self) -> str:
        """The declared unit of a number that a program printed, such as `flop/s`; empty if unknown."""
        return self.variant.rpartition(" [")[2].removesuffix("]") if self.variant.endswith("]") else ""

    @property
    def name(self) -> str:
        """The name in reports and in `seatrial history`: `bandwidth 1 MiB x 4`, `latency 8 B`."""
        if isinstance(self.kernel, Measure):
            return self._figure(self.kernel)
        if isinstance(self.kernel, Sense):
            return self.variant
        words = "latency" if self.unit == LATENCY else "bandwidth"
        window = f" x {self.window_messages}" if self.window_messages > 1 else ""
        where = "" if self.phase is Phase.SURVEY else f", {self.phase.value}"
        setting = f" {self.variant}" if self.variant else ""
        return f"{words} {size(self.message_bytes)}{window}{where}{setting}"

    @property
    def sign(self) -> int:
        """+1 where a larger value is slower, -1 where it is faster."""
        if isinstance(self.kernel, Measure):
            return -1 if self.kernel.more_is_better else 1
        return 1 if self.kernel in (Kernel.PINGPONG, Sense.LOWER) else -1

    @property
    def main(self) -> bool:
        """Whether it is the main figure of a benchmark."""
        return self.phase is Phase.MAIN

    @property
    def plateau_bytes(self) -> int:
        """Bytes of a message where this is the bandwidth of a curve, which settles at the largest; 0 for all others."""
        return self.message_bytes if self.phase is Phase.CURVE and self.unit == BANDWIDTH else 0

    @property
    def of_nodes(self) -> bool:
        """Whether its columns are nodes, each as a pair with itself: figures of trials, and imported values."""
        return isinstance(self.kernel, Sense | Measure)

    def _figure(self, measure: Measure) -> str:
        """`STREAM triad of all cores, arrays of 64 MiB`; a share is the time that the work takes with it."""
        where = f", {self.variant}" if self.variant else ""
        arrays = f", arrays of {size(self.message_bytes)}" if self.message_bytes else ""
        return f"{'slowdown by ' if measure.metric == SHARE else ''}{measure.label}{arrays}{where}"

    @property
    def together(self) -> str:
        """What all its columns together are."""
        return "all nodes" if self.of_nodes else "all pairs"

    def whose(self, subject: Subject) -> str:
        """The subject's name; of the fabric what all columns together are."""
        return self.together if subject.kind is SubjectKind.FABRIC else subject.name


class BaselineLevel(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric of one subject is in a baseline, on the scale of a history of the same pairs."""

    name: str
    value: float
    """Seconds or bytes per second; the middle of the runs of the baseline."""


class MetricTable(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one metric: rows are runs, columns are pairs of nodes."""

    metric: RunMetric
    pairs: tuple[tuple[str, str], ...]
    """Data flows from the first to the second; latency holds for both directions."""
    values: Reals
    """Seconds or bytes per second; NaN where a run has none."""
    iteration_spread: Reals
    """Standard deviation of the logarithm over iterations of a round in each run, the median over pairs."""
    round_spread: Reals
    """Standard deviation of the logarithm over the rounds of a pair in each run; NaN if each pair has one."""
    pairs_at_once: Reals
    """Most pairs that were measured at the same time, in each run."""
    iterations: Reals
    """Iterations of a round in each run, the median."""
    compared: tuple[VerifiedData | None, ...]
    """Amount of verified data in each run; None if the run has nothing of this metric."""

    def rows(self, rows: Sequence[int]) -> "MetricTable":
        """A table of these runs, in this order; a run may occur twice."""
        rows = list(rows)
        return msgspec.structs.replace(
            self,
            values=self.values[rows],
            iteration_spread=self.iteration_spread[rows],
            round_spread=self.round_spread[rows],
            pairs_at_once=self.pairs_at_once[rows],
            iterations=self.iterations[rows],
            compared=tuple(self.compared[row] for row in rows),
        )


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a baseline remembers it: what it was, and under which conditions it measured."""

    run: str
    kind: str
    started: str
    """UTC, ISO 8601."""
    ended: str = ""
    nodes: tuple[str, ...] = ()
    """Nodes that were measured."""
    leaf_of: dict[str, str] = {}
    """Leaf switch by node, where it is known."""
    seatrial: str = ""
    """The version that measured."""
    cluster: str = ""
    controllers: tuple[str, ...] = ()
    launcher: str = ""
    mpi_library: str = ""
    mpi: str = ""
    """srun's --mpi, as it was requested."""
    started_by: str = ""
    """What started ranks in place of the site's own srun; see RunInfo."""
    mpirun_options: tuple[str, ...] = ()
    environment: str = ""
    wrap: str = ""
    ranks_per_node: float | None = None
    """None: the run does not say."""
    seconds: float | None = None
    """Seconds from start to end; None if the run did not end."""
    benchmark: str = ""
    """What was run, with which parameters, on how many nodes; empty for what is not a benchmark."""
