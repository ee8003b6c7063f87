"""What a run is compared with from the past: values of its nodes in the runs of a baseline, and what changed since."""

import msgspec

from seatrial.model.measurement import Estimate
from seatrial.model.node_trials import Measure
from seatrial.model.own_job import EarlierRun

Scalar = str | int | float | bool | None


class FactChange(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is not what it was, and the nodes on which it changed in this way; None: absent."""

    fact: str
    before: Scalar
    after: Scalar
    nodes: tuple[str, ...]
    along_with: tuple[str, ...] = ()
    """Facts of the same family that changed on the same nodes."""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """The reference that a run was given. It stays with the run, whatever becomes of the baseline."""

    name: str
    """The past as the command line names it."""
    label: str = ""
    """The name in texts; empty: `name`."""
    runs: tuple[EarlierRun, ...]
    """Oldest first."""
    mpi_library: str = ""
    """The MPI library of the newest run; empty if unknown."""
    facts_run: str = ""
    """The newest run with facts; empty: none has any."""
    changed: tuple[FactChange, ...] = ()
    """Facts that changed since that run, those with the greatest known cost first."""

    @property
    def called(self) -> str:
        """The label, else the name."""
        return self.label or self.name


class PastRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One node in one metric, compared with the past."""

    node: str
    metric: str
    """`out` and `in`: bandwidth of its best pair; `latency`: one way, of its nearest pair; else a figure's name."""
    ratio: Estimate
    """Now over then; infinite bounds where one run cannot give any."""
    slower: bool
    """Beyond chance and beyond the practical effect."""
    figure: Measure | None = None
    """The figure of trials of the nodes themselves; None: the ratio is of pairs."""

    @property
    def loss(self) -> float:
        """Loss of speed, as a share; negative: a gain."""
        less = self.metric == "latency" if self.figure is None else not self.figure.more_is_better
        return 1 - (1 / self.ratio.value if less else self.ratio.value)
