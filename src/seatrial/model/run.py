"""run.json, and everything that is known of a run when its archive is read."""

import enum
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.model.benchmark import BenchmarkPlan, StepResult
from seatrial.model.fabric import NO_FABRIC, Fabric, Wiring
from seatrial.model.facts import NodeFacts
from seatrial.model.loss import CappedPair, SessionLoss
from seatrial.model.measurement import DefaultStart, GroupMeasurement, Measurement, ProbeStart
from seatrial.model.past import OwnJob, Past
from seatrial.model.settings import CheckSettings, NodesSettings, Settings, SiteProgram
from seatrial.model.words import moment_of

PARTITION_WORD = "partition="
"""Begins the words among the features of a node that are names of its partitions."""
KIND_WORD = "kind="
"""Begins the word among the features of a node that is the kind that the site's file declares for it."""


class Ending(enum.StrEnum):
    """How a run ended. RUNNING in a folder that no process writes to any more means: killed."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    RECOVERED = "recovered"
    DAMAGED = "damaged"
    """Set by the reader, never stored: the files are not those with which the run was closed."""


class RunKind(enum.StrEnum):
    """Which command a run is of; written at the start of every run."""

    CHECK = "check"
    CURVE = "curve"
    RAILS = "rails"
    SATURATE = "saturate"
    PLACEMENT = "placement"
    TRANSPORTS = "transports"
    NODES = "nodes"
    SOAK = "soak"
    RUN = "run"
    IMPORT = "import"
    """Nothing was measured: values of other programs."""

    @property
    def command(self) -> str:
        """The command as it is typed."""
        words = {
            RunKind.CURVE: "link",
            RunKind.RAILS: "link --rails",
            RunKind.SATURATE: "link --ranks-per-node",
            RunKind.TRANSPORTS: "link --transports",
            RunKind.RUN: "bench run",
            RunKind.SOAK: "nodes --for",
        }
        return f"seatrial {words.get(self, self.value)}"


class NodeCause(enum.StrEnum):
    """Why a node was not measured, for decisions; `NodeState.reason` says it to a person."""

    UNKNOWN = ""
    BUSY = "busy"
    """It runs the jobs of others, or Slurm has planned it for one."""
    UNAVAILABLE = "unavailable"
    """Down, drained, reserved or powered down."""
    RESUME_TIMEOUT = "resume-timeout"
    """Slurm woke it, and it did not come up within ResumeTimeout."""
    SILENT = "silent"
    """It gave no facts or stopped answering."""
    RANK_DIED = "rank-died"
    """The node's ranks died repeatedly; the node itself answers."""
    NODE_HOURS = "node-hours"
    """Left out to stay within --node-hours."""


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """A requested node that could not be measured or stopped answering, and what was observed."""

    node: str
    reason: str
    """A sentence for the report; nothing is decided by its text."""
    fault: bool
    """False where it was drained on purpose or is busy."""
    rank_died: bool = False
    """It answers, and was left out because its ranks died repeatedly."""
    cause: NodeCause = NodeCause.UNKNOWN


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """Which pairs were to be measured and what such a design can and cannot see."""

    name: str
    pairs_at_once: int
    repetitions: int
    rounds: int
    ordered_pairs: int
    planned_pairs: int
    statement: str
    measured: int = 0
    """Measurements of pairs in all, of all phases and both kernels; counted when the run is judged."""
    measured_pairs: int = 0
    """Different ordered pairs among them."""
    variants: tuple[str, ...] = ()
    """Settings that were to be compared, by the names that their samples bear."""


class PairFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The figure that a check reads from each start of a program, as the first valid output shows it."""

    benchmark: str
    metric: str
    of_path: bool
    """Whether the limit of the path between the nodes is its limit."""
    both_ways: bool
    """Whether one start measures both directions of its pair."""
    unchecked: bool = False
    """Whether the program did not check the data that it received."""

    @property
    def of_gpus(self) -> bool:
        """Whether data are sent from the memory of a GPU to that of another: a rank of nccl-tests has one."""
        return self.benchmark == "nccl-tests"


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What a run held when it was closed; docs/archive.md describes each field."""

    journal_bytes: int
    journal_entries: int
    journal_sha256: str
    measurements: int
    samples: int
    """Timed samples, warm-up iterations not included."""
    files: int = 0
    """Number of files that files.sha256 lists: facts and fabric.json."""
    files_sha256: str = ""
    """SHA-256 of files.sha256 itself."""


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The content of run.json."""

    format: int
    run: str
    seatrial: str
    command: tuple[str, ...]
    started: str
    """UTC, ISO 8601."""
    ended: str = ""
    ending: Ending = Ending.RUNNING
    reason: str = ""
    launcher: str
    cluster: str = ""
    controllers: tuple[str, ...] = ()
    """Hosts of the controllers of that cluster, without their domains; empty: not recorded."""
    job: str = ""
    nodes: tuple[str, ...] = ()
    mpi_library: str = ""
    started_by: str = ""
    """What started ranks in place of the site's own srun: `mpiexec`, `srun --mpi=pmi2`; empty: that srun, the srun of
    --mpi, or no Slurm."""
    fabric: Fabric = NO_FABRIC
    design: Design | None = None
    features: dict[str, tuple[str, ...]] = {}
    """Node -> its active features in the scheduler, `partition=NAME` for each partition that has it, and `kind=NAME`
    where the site declares its kind."""
    lost: tuple[NodeState, ...] = ()
    hanging_pairs: tuple[tuple[str, str], ...] = ()
    capped_pairs: tuple[CappedPair, ...] = ()
    """Pairs of the survey that were left out, since they cross a part that is known to be faulty."""
    seed: int = 0
    environment: str = ""
    """The SPEC of what the probe was built and started in."""
    wrap: str = ""
    """The side of srun on which the environment was entered, `inside` or `outside`; empty without one."""
    kind: RunKind
    effect: float | None = None
    """The requested practical effect of bandwidth, as a share; None: the default."""
    latency_effect: float | None = None
    """The requested practical effect of latency, as a share; None: the default."""
    settings: Settings | None = None
    """What the command was asked to do; None: values of another program were imported."""
    own_job: OwnJob | None = None
    """The job of a check in a user's own job, whose report says whether the machine or the job is at fault."""
    figure: PairFigure | None = None
    """The figure of a check that starts a program on pairs; None: the probe measured, or no start was valid yet."""
    past: Past | None = None
    """The past of a check with a baseline: what its nodes did in the runs of it."""
    contents: Contents | None = None
    """None while the run is open."""

    @property
    def program(self) -> SiteProgram | None:
        """The program that is started on pairs of nodes, or on each node, in place of the probe; None: none is."""
        if isinstance(self.settings, NodesSettings):
            return self.settings.program
        return self.settings.pair_program if isinstance(self.settings, CheckSettings) else None

    @property
    def seconds(self) -> float | None:
        """How long it took, to the second in which it ended; None where one of its times cannot be read."""
        try:
            return max((moment_of(self.ended) - moment_of(self.started)).total_seconds(), 0.0)
        except ValueError:
            return None

    @property
    def had_nodes(self) -> bool:
        """Whether it had nodes at all; Slurm may have granted none."""
        return bool(self.job) or self.launcher != "slurm" or self.ending is Ending.COMPLETE

    @property
    def whole(self) -> bool:
        """Whether it came to its end with all its nodes."""
        return self.ending is Ending.COMPLETE and not any(state.node in self.nodes for state in self.lost)


def run_kind(info: RunInfo) -> RunKind:
    """The kind of a run."""
    return info.kind


def with_kinds(facts: Mapping[str, NodeFacts], features: Mapping[str, tuple[str, ...]]) -> dict[str, NodeFacts]:
    """The facts, each with the kind that the words of its node declare."""
    kinds = {node: word.removeprefix(KIND_WORD) for node, words in features.items() for word in words if is_kind(word)}
    return {
        node: msgspec.structs.replace(node_facts, kind=kinds[node]) if node in kinds else node_facts
        for node, node_facts in facts.items()
    }


def is_kind(word: str) -> bool:
    """Whether a word among the features of a node is its declared kind."""
    return word.startswith(KIND_WORD)


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The input of every verdict and every report."""

    info: RunInfo
    planned: tuple[tuple[str, str], ...]
    """Ordered pairs that the survey was to measure."""
    facts: Mapping[str, NodeFacts]
    facts_after: Mapping[str, NodeFacts]
    measurements: Sequence[Measurement]
    """Measurements of pairs; those of a soak may be read from its journal each time."""
    group_measurements: Sequence[GroupMeasurement] = ()
    """Measurements of kernels that are not pairs."""
    starts: tuple[ProbeStart, ...] = ()
    """Launches of the probe, in order, with the places that their ranks reported."""
    default_start: DefaultStart | None = None
    """The places that the MPI's own launcher would have chosen for the ranks, if it was tried."""
    losses: tuple[SessionLoss, ...] = ()
    """Sessions of the probe that were lost, in order."""
    sessions: int = 0
    """How often the probe was started."""
    wiring: Wiring | None = None
    """The fabric's cables and routes, where they were given."""
    plan: BenchmarkPlan | None = None
    """The plan of a benchmark."""
    steps: tuple[StepResult, ...] = ()
    """Programs of a benchmark, in order."""
    damage: tuple[str, ...] = ()
    """How the files of a closed run differ from what was recorded when it was closed, a sentence each."""

    @property
    def fabric(self) -> Wiring:
        """All that is known of the fabric: cables, else leaves."""
        return self.wiring or self.info.fabric
