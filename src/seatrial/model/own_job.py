"""What a check inside a user's own job saw of the job itself, and what its nodes did in earlier runs."""

import msgspec

from seatrial.model.node_list import expand
from seatrial.model.placement import RankPlace


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
    earlier: tuple[EarlierRun, ...] = ()
    """The newest first."""

    @property
    def program(self) -> JobStep | None:
        """The step on the most nodes, the newest of several: that is the program, and not a shell beside it."""
        return max(self.steps, key=lambda one: (len(expand(one.nodes)), one.number.zfill(9)), default=None)

    @property
    def line(self) -> str:
        """The command line that the ranks are from."""
        return self.program.text if self.program else "srun without options"
