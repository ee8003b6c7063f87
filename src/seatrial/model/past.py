"""What a run is compared with from the past, and what a check in a user's own job saw of the job itself."""

import msgspec

from seatrial.model.measurement import Estimate, RankPlace
from seatrial.model.node_list import expand
from seatrial.model.node_trials import Measure


class JobStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step that runs in the job beside the check."""

    number: str
    name: str
    nodes: str
    """The nodes as Slurm writes them."""

    @property
    def text(self) -> str:
        """`step 0 (app) on n[1-4]`."""
        return f"step {self.number} ({self.name}) on {self.nodes}"


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """The best values of each node in an earlier check of the same cluster; only nodes that this run has, too."""

    run: str
    started: str
    """UTC, ISO 8601."""
    out_bytes_per_s: dict[str, float] = {}
    """Node -> the most that it sent to a single partner."""
    in_bytes_per_s: dict[str, float] = {}
    """Node -> the most that it received from a single partner."""
    latency_s: dict[str, float] = {}
    """One way, to the partner with the least."""
    figures: dict[str, dict[str, float]] = {}
    """Figures of trials of the nodes themselves: name of the `run_values.RunMetric` -> node -> value."""
    seatrial: str = ""
    """The version that measured; empty where it is not kept."""


class OwnJob(msgspec.Struct, frozen=True, kw_only=True):
    """The job around a check, as its user has it."""

    job: str
    steps: tuple[JobStep, ...] = ()
    ranks: tuple[RankPlace, ...] = ()
    """The ranks of the step on the most nodes; if none runs, those that `srun` without options would start."""
    variables: dict[str, str] = {}
    """Variables of the shell that bind ranks, restrict transports or set numbers of threads."""

    @property
    def program(self) -> JobStep | None:
        """The step on the most nodes, the newest of several: that is the program, and not a shell beside it."""
        return max(self.steps, key=lambda one: (len(expand(one.nodes)), one.number.zfill(9)), default=None)

    @property
    def line(self) -> str:
        """The command line that the ranks are from."""
        return self.program.text if self.program else "srun without options"


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
    """Beyond chance and beyond the practical effect, and not in waits."""
    in_waits: bool = False
    """The node is as slow, but its ranks waited for a processor for as much of the time as it lacks."""
    figure: Measure | None = None
    """The figure of trials of the nodes themselves; None: the ratio is of pairs."""

    @property
    def loss(self) -> float:
        """Loss of speed, as a share; negative: a gain."""
        less = self.metric == "latency" if self.figure is None else not self.figure.more_is_better
        return 1 - (1 / self.ratio.value if less else self.ratio.value)
