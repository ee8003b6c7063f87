"""What each measuring command is asked to do. All defaults of its options are defined here, and only here.

A run keeps its settings in run.json; a job in Slurm's queue receives them as a file.
"""

import enum
from pathlib import Path

import msgspec

CHECK_BUDGET_S = 600.0
OWN_JOB_ANSWER_S = 30.0
"""Time in which a check inside one's own job answers, where no budget is given."""
PAIR_BUDGET_S = 300.0
"""The budget of commands that measure one pair or one launch line: link, placement."""
CURVE_MOST_BYTES = 4 << 20
CURVE_PER_OCTAVE = 2
PLACEMENT_STARTS = 6
RUN_BUDGET_S = 3600.0
"""Time limit of a benchmark."""
NODES_REPETITIONS = 3
"""Repetitions of each trial of a node."""
MOST_REPETITIONS = 100
"""Most repetitions of a benchmark by one command."""
PRACTICAL = 0.02
"""A change by a smaller share does not matter, unless the command line says otherwise."""
TRANSPORTS_STARTS = 4
DOCTOR_WAIT_S = 60.0
"""Time for `seatrial doctor` to wait in the Slurm queue."""


class Start(enum.StrEnum):
    """What starts ranks in an allocation of Slurm's."""

    AUTO = "auto"
    """srun, and mpiexec where none of srun's types of --mpi works with the MPI."""
    SRUN = "srun"
    MPIEXEC = "mpiexec"
    """The MPI's own launcher."""


class SlurmRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a site's rules want every job to ask for; empty: what Slurm and its environment variables say."""

    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    """Features of nodes, in Slurm's notation: hdr&(rome|milan). It also selects the nodes."""
    exclude: tuple[str, ...] = ()
    """Nodes that are never taken."""
    gres: str = ""
    arguments: tuple[str, ...] = ()
    """Arguments of salloc, sbatch and srun alike, each one word."""

    @property
    def options(self) -> tuple[tuple[str, object], ...]:
        """Each option of the command line, and what is given for it."""
        own = {name: getattr(self, name) for name in self.__struct_fields__ if name != "arguments"}
        return (*((f"--{name}", value) for name, value in own.items()), ("--slurm-arg", self.arguments))


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of place and manner that all measuring commands share."""

    archive: Path
    launcher: str = "auto"
    nodes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Hosts to measure without Slurm, over ssh; with `nodes` only those of them."""
    mpirun_options: tuple[str, ...] = ()
    """More words for the MPI's own launcher, on hosts and in an allocation."""
    partition: str = ""
    slurm: SlurmRequest = SlurmRequest()
    budget_s: float = PAIR_BUDGET_S
    wait_s: float = 600.0
    """Maximum time to wait in the Slurm queue."""
    round_timeout_s: float = 10.0
    ranks: int = 2
    """Ranks of the local launcher."""
    mpi: str = ""
    start: Start = Start.AUTO
    mpicc: str = ""
    probe: Path | None = None
    probe_dir: Path | None = None
    environment: str = ""
    """The environment in which the probe is built and started, as docs/environments.md describes it."""
    wrap: str = "auto"
    """The side of srun on which the environment is entered: auto, inside, outside."""
    idle_only: bool = False
    """Take only nodes that are free now, and never wait in the queue."""
    node_hours: float = 0.0
    """Node-hour limit of the allocation; 0: no limit."""
    replay: Path | None = None
    run: str = ""
    """The run's name; empty: a new one."""
    seed: int = 1
    verify: bool = False
    """Compare the data of all iterations with what was sent, not only those of the first and the last."""
    kinds: dict[str, tuple[str, ...]] = {}
    """Kind -> its nodes, as the site's file declares them."""
    quick_facts: bool = True
    """Do not read the facts that take long: which components the libraries contain."""
    from_site: tuple[str, ...] = ()
    """Options that the site's file set, and not the command line: --account."""
    command: tuple[str, ...] = ()
    """The words of the command line, for the report."""

    @property
    def for_slurm(self) -> str:
        """The first option that only Slurm heeds and that the command line, not the site's file, gives; else empty."""
        options: tuple[tuple[str, object], ...] = (
            ("--partition", self.partition),
            *self.slurm.options,
            ("--idle-only", self.idle_only),
            ("--node-hours", self.node_hours),
            ("--start srun", self.start is Start.SRUN),
        )
        return next((name for name, given in options if given and name.split()[0] not in self.from_site), "")


class SiteProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program of the site that is started in place of the probe's kernels: on pairs of nodes, or on each node."""

    words: tuple[str, ...]
    """The command, the same for every start."""
    declared: str = ""
    """The file that declares it; empty: its output shows which known benchmark it is."""
    definition: str = ""
    """The text of that file."""


class CheckSettings(SiteSettings, frozen=True, kw_only=True, tag_field="kind", tag="check"):
    """The options of `seatrial check`."""

    budget_s: float = CHECK_BUDGET_S
    returning: tuple[str, ...] = ()
    """Nodes of which the check says whether they may return to service; the others are their partners."""
    drained: tuple[str, ...] = ()
    """Returning nodes that somebody had drained before: the reason stays."""
    design: str = "auto"
    """A `pairs.survey.DesignChoice`."""
    sample: int = 0
    """Measure only this many of the nodes, spread over the leaf switches; 0: all."""
    one_per_leaf: bool = False
    """Measure one node of each leaf switch."""
    pairs_at_once: int = 0
    """0: half the nodes, or one where nodes share a kernel."""
    loaded: bool = True
    """Also measure rounds in which many nodes send at once, for the bandwidth of uplinks."""
    node_trials: bool = False
    """Also try memory, arithmetic, noise, scheduler and storage of each node. `seatrial check` sets it unless
    --no-nodes is given."""
    storage: Path | None = None
    """The folder in which storage is tried with the nodes; None: the archive."""
    fabric: str = ""
    """A file with the output of ibnetdiscover, or `live`; empty: only leaf switches are known."""
    routes: str = ""
    """A file with forwarding tables, or `live`."""
    leaves: str = ""
    """A file with the leaf switch of each node, in place of what Slurm knows."""
    device: str = ""
    """The adapter that each node uses where it has several, such as mlx5_1; empty: the first."""
    effect: float | None = None
    """Smallest loss of bandwidth that is a fault, as a share; None: the default of `locate.effects`."""
    latency_effect: float | None = None
    """Smallest excess of latency that is a fault, as a share; None: the default."""
    pair_program: SiteProgram | None = None
    """The program whose figure is measured of each pair; None: the probe's latency and bandwidth."""
    ranks_per_node: tuple[int, ...] | None = None
    """Numbers of ranks per node at which pairs are measured besides; none named: 1, 2, 4, ... up to all cores. None:
    one rank per node."""
    answer_s: float | None = None
    """The time until the answer, for a user's own job; 0: as long as the budget takes. None: another kind of check."""
    baseline: str = ""
    """Runs or a baseline that the nodes are compared with, as `seatrial compare` takes them; empty: none."""
    threshold: float = 0.0
    """The score from which on findings of separate slices of `seatrial qualify` make a node bad; 0: a check whose
    findings count by themselves."""
    html: Path | None = None
    """The file to which a detached check writes its page when it ends."""
    markdown: Path | None = None
    junit: Path | None = None
    plot: Path | None = None

    @property
    def site(self) -> SiteSettings:
        """The shared options."""
        return self


class CurveSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="curve"):
    """The options of `seatrial link`."""

    site: SiteSettings
    ends: tuple[str, ...] = ()
    """The two nodes; none: the only two there are."""
    most_bytes: int = CURVE_MOST_BYTES
    """The largest message."""
    per_octave: int = CURVE_PER_OCTAVE
    """Message sizes for each doubling."""


class RailsSettings(CurveSettings, frozen=True, kw_only=True, tag="rails"):
    """The options of `seatrial link --rails`."""

    rails: tuple[str, ...] = ()
    """Empty: all rails of the fastest kind that both nodes have."""


class SaturateSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="saturate"):
    """The options of `seatrial link --ranks-per-node`."""

    site: SiteSettings
    ends: tuple[str, ...] = ()
    """The two nodes; none: the only two there are."""
    ranks: tuple[int, ...] = ()
    """Numbers of ranks that send at once, in turn; empty: doubled up to the number of cores."""


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="placement"):
    """The options of `seatrial placement`."""

    site: SiteSettings
    words: tuple[str, ...]
    """The launch line."""
    program: str = ""
    """The word that is the program; empty: found in the line."""
    cores: int | None = None
    """Cores for each rank; None: as the line says."""
    starts: int = PLACEMENT_STARTS
    """Launches of each placement; 0: only read where the ranks are."""


class TransportsSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="transports"):
    """The options of `seatrial link --transports`."""

    site: SiteSettings
    ends: tuple[str, ...] = ()
    within: str = ""
    """A node: two ranks on it instead of one on each of two nodes."""
    starts: int = TRANSPORTS_STARTS
    """Starts of the probe under each variant."""
    rails: tuple[str, ...] | None = None
    """Each alone; none named: those of the fastest kind that both nodes have. None: the MPI chooses."""


class Trial(enum.StrEnum):
    """What `seatrial nodes` tries on each node."""

    MEMORY = "memory"
    ARITHMETIC = "arithmetic"
    NOISE = "noise"
    PIPE = "pipe"
    SCHEDULER = "scheduler"
    COLLECTIVES = "collectives"
    STORAGE = "storage"


SOAK_TRIALS = tuple(trial for trial in Trial if trial is not Trial.STORAGE)
"""A file system is shared with others, whom hours of writing would disturb."""


class NodesSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="nodes"):
    """The options of `seatrial nodes`."""

    site: SiteSettings
    trials: tuple[Trial, ...] = tuple(Trial)
    program: SiteProgram | None = None
    """Started on each node in place of the trials."""
    length_s: float = 0.0
    """How long the program is repeated; 0: as often as `repetitions` says."""
    repetitions: int = NODES_REPETITIONS
    storage: Path | None = None
    """The folder in which storage is tried; None: the archive."""
    baseline: str = ""
    """The baseline, named as in a check."""


class SoakSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="soak"):
    """The options of `seatrial nodes --for`; the site's budget is how long it lasts."""

    site: SiteSettings
    trials: tuple[Trial, ...] = SOAK_TRIALS


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="run"):
    """The options of `seatrial bench run`."""

    site: SiteSettings
    benchmark: str
    """The benchmark's name, or the file that declares it."""
    definition: str = ""
    """The text of that file."""
    program: str = ""
    """The main program; empty: one of those that the benchmark declares."""
    node_count: int = 0
    """How many nodes; 0: the named ones, else as the benchmark declares."""
    ranks: int = 0
    """Ranks on all nodes together; 0: as the benchmark declares."""
    parameters: dict[str, str] = {}
    """What --set changed."""
    limits: dict[str, float] = {}
    """Metric -> value in base units; better is not possible."""
    case: Path | None = None
    """A folder with the user's input, which is copied."""
    scratch: Path | None = None
    """The folder in which the programs run; None: beside the archive."""
    keep: bool = False
    """Leave the scratch folder as it is."""
    largest_nodes: int = 0
    """Nodes of the largest point of a weak scaling series, since all points keep the memory that fits its time."""
    prepare: tuple[str, ...] = ()
    """A command that runs once on each node before the programs; empty: none."""
    baseline: str = ""
    """The baseline, named as in a check; empty: the last run that was made alike."""


Settings = (
    CheckSettings
    | CurveSettings
    | RailsSettings
    | SaturateSettings
    | PlacementSettings
    | TransportsSettings
    | NodesSettings
    | SoakSettings
    | RunSettings
)
"""The settings of a run; `kind` in JSON says which."""
DEFAULTS = CheckSettings(archive=Path())
