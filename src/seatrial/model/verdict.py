"""The words in which a subject is judged, what a finding is, and every kind of finding in one table."""

import enum
from typing import Annotated

import msgspec
from msgspec import Meta

from seatrial.model.errors import ExitCode
from seatrial.model.measurement import Estimate
from seatrial.model.subject import Direction, Subject


class Verdict(enum.StrEnum):
    """The judgement on a number or on a fact, in the order of severity.

    MEASURED: a number that was compared with nothing: no limit, no peers, no past. NOTE: worth knowing, and nothing is
    at fault. UNSTABLE: good in some runs and bad in others. NOT_RUN: planned, never measured. MISCONFIGURED: a fact is
    known to be bad or differs from the peers', and no measurement shows what it costs. DOWN: it does not answer, or
    delivers nothing. BLOCKED: it prevents a launch.
    """

    PASS = "PASS"  # noqa: S105 - a verdict, no password
    MEASURED = "MEASURED"
    NOTE = "NOTE"
    NOT_RUN = "NOT_RUN"
    INCONCLUSIVE = "INCONCLUSIVE"
    MISCONFIGURED = "MISCONFIGURED"
    UNSTABLE = "UNSTABLE"
    SLOW = "SLOW"
    DOWN = "DOWN"
    BLOCKED = "BLOCKED"
    INVALID = "INVALID"

    @property
    def gravity(self) -> int:
        """0 for PASS, rising to INVALID; the worst of several verdicts is the most severe."""
        return _GRAVITY[self]


_GRAVITY = {verdict: place for place, verdict in enumerate(Verdict)}


GOOD = (Verdict.PASS, Verdict.NOTE)
"""Judged, and nothing is at fault."""
UNDECIDED = (Verdict.NOT_RUN, Verdict.INCONCLUSIVE)
INCOMPLETE = "INCOMPLETE"
"""The word of a report in which nothing is at fault and numbers are missing."""
AT_FAULT = frozenset(Verdict) - {*GOOD, Verdict.MEASURED, *UNDECIDED}
"""Something is wrong, and not only worth knowing or not tried."""


def exit_code(word: str, *, complete: bool = True) -> ExitCode:
    """The exit code of a report that begins with `word`: findings before incompleteness, see docs/exit-codes.md.

    A word that is not a verdict, such as INCOMPLETE, leaves the question open. `complete`: all that was planned was
    measured.
    """
    if word in AT_FAULT:
        return ExitCode.FINDINGS
    return ExitCode.PASS if complete and word in (*GOOD, Verdict.MEASURED) else ExitCode.INCOMPLETE


def worst(verdicts: list[Verdict]) -> Verdict:
    """The most severe of them; PASS for an empty list."""
    return max(verdicts, key=lambda verdict: verdict.gravity, default=Verdict.PASS)


FACT, DOWN, BLOCKED = Verdict.MISCONFIGURED, Verdict.DOWN, Verdict.BLOCKED
SLOW, UNSTABLE, INVALID = Verdict.SLOW, Verdict.UNSTABLE, Verdict.INVALID


class FindingKind(enum.StrEnum):
    """What can be wrong: the word, its verdict, what it means after the name of its subject, and its page in docs/.

    A finding of a kind may weigh less than its verdict here: an obstacle of a launch can be a note, or not tried.
    """

    verdict: Verdict
    meaning: str
    page: str

    def __new__(cls, word: str, verdict: Verdict, meaning: str, page: str = "findings") -> "FindingKind":
        """A member is its word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.verdict, member.meaning, member.page = verdict, meaning, page
        return member

    # Of measurements.
    NODE_DOWN = "node-down", DOWN, "does not answer"
    RANK_DIED = "rank-died", UNSTABLE, "ranks died repeatedly"
    PAIR_HANGS = "pair-hangs", DOWN, "does not deliver messages"
    PACKET_LOSS = "packet-loss", UNSTABLE, "loses packets"
    SLOW_LINK = "slow-link", SLOW, "link is slow"
    SLOW_UPLINK = "slow-uplink", SLOW, "slow"
    SLOW_CABLE = "slow-cable", SLOW, "slow"
    SLOW_SPINE = "slow-spine", SLOW, "slow with all its cables"
    SLOW_PAIR = "slow-pair", SLOW, "path is slow"
    SLOW_FABRIC = "slow-fabric", SLOW, "all paths are slow"
    HIGH_LATENCY = "high-latency", SLOW, "latency is high"
    SLOW_RAIL = "slow-rail", SLOW, "one rail is slow"
    RAILS_HELD_BACK = "rails-held-back", SLOW, "rails together are slower than their limit"
    LOW_MEMORY_BANDWIDTH = "low-memory-bandwidth", SLOW, "memory bandwidth is low"
    HIGH_MEMORY_LATENCY = "high-memory-latency", SLOW, "memory latency is high"
    SLOW_ARITHMETIC = "slow-arithmetic", SLOW, "arithmetic is slow"
    HIGH_NOISE = "high-noise", SLOW, "noise is high"
    WORSE_UNDER_LOAD = "worse-under-load", UNSTABLE, "becomes worse under load"
    SLOW_SCHEDULER = "slow-scheduler", SLOW, "processes wait long for each other"
    DELAYS_OTHERS = "delays-others", SLOW, "comes late to collective operations, and all others wait for it"
    WAITS_FOR_PROCESSOR = "waits-for-processor", SLOW, "ranks wait for a processor"
    SLOW_STORAGE = "slow-storage", SLOW, "storage is slow"
    PROGRAM_SLOW = "program-slow", SLOW, "is slower than its peers in a program of the site"
    WRONG_RESULT = "wrong-result", INVALID, "computes wrong results"
    PORT_NEEDS_RANKS = "port-needs-ranks", SLOW, "one rank cannot drive the port"
    SLOWER_THAN_BEFORE = "slower-than-before", SLOW, "is slower than it was"
    UNSTABLE_LINK = "unstable-link", UNSTABLE, "unstable"
    FASTER_THAN_PHYSICS = "faster-than-physics", INVALID, "number is faster than physics permits"
    DATA_CORRUPT = "data-corrupt", INVALID, "corrupts data"
    NO_USABLE_NUMBER = "no-usable-number", DOWN, "was measured without a usable number"
    DRIVER_MISSING = "driver-missing", FACT, "MPI lacks the driver of its adapter"
    SLOWER_THAN_ALTERNATIVE = "slower-than-alternative", SLOW, "another transport is faster"

    # Of facts.
    MTU_DIFFERS = "mtu-differs", FACT, "MTU differs"
    PCIE_LINK_DEGRADED = "pcie-link-degraded", FACT, "PCIe link trained below its capability"
    PORT_DOWN = "port-down", FACT, "port is down"
    NO_SUBNET_MANAGER = "no-subnet-manager", FACT, "no subnet manager"
    SUBNET_MANAGER_DIFFERS = "subnet-manager-differs", FACT, "another subnet manager"
    SUBNET_SHARED = "subnet-shared", FACT, "separate fabrics share one subnet prefix"
    PORT_NARROW = "port-narrow", FACT, "port has lost lanes"
    PORT_RATE_DIFFERS = "port-rate-differs", FACT, "port rate differs"
    INTERFACE_SPEED_DIFFERS = "interface-speed-differs", FACT, "interface speed differs"
    ERROR_COUNTERS_RISING = "error-counters-rising", FACT, "error counters rise"
    HCA_MISSING = "hca-missing", FACT, "adapter is missing"
    DEVICE_MISSING = "device-missing", FACT, "device is missing"
    PCIE_STARVES_PORT = "pcie-starves-port", FACT, "PCIe slot is slower than the port"
    HALF_DUPLEX = "half-duplex", FACT, "interface is in half duplex"
    GOVERNOR = "governor", FACT, "frequency governor"
    FREQUENCY_CAPPED = "frequency-capped", FACT, "frequency is capped"
    PROCESSOR_QUOTA = "processor-quota", FACT, "a quota limits its processor time"
    THROTTLED = "throttled", FACT, "processors were throttled"
    HOTTER_THAN_PEERS = "hotter-than-peers", FACT, "is hotter than its peers"
    FAN_STOPPED = "fan-stopped", FACT, "a fan does not turn"
    HARDWARE_ALARM = "hardware-alarm", FACT, "a sensor reports an alarm"
    KERNEL_LOG = "kernel-log", FACT, "the kernel reports hardware errors"
    PCIE_ERRORS = "pcie-errors", FACT, "PCIe errors"
    TURBO_OFF = "turbo-off", FACT, "turbo is off"
    POWER_LIMIT_DIFFERS = "power-limit-differs", FACT, "power limit differs"
    MEMORY_ERRORS = "memory-errors", FACT, "memory errors"
    MACHINE_DIFFERS = "machine-differs", FACT, "is a different machine"
    CORES_DIFFER = "cores-differ", FACT, "number of cores differs"
    MEMORY_INTERLEAVED = "memory-interleaved", FACT, "memory is interleaved across sockets"
    MEMORY_DIFFERS = "memory-differs", FACT, "memory size differs"
    MEMORY_CHANNEL_EMPTY = "memory-channel-empty", FACT, "memory channel is empty"
    MEMORY_SLOW = "memory-slow", FACT, "memory runs below its rate"
    MOUNT_DEAD = "mount-dead", FACT, "mount does not answer"
    MOUNT_MISSING = "mount-missing", FACT, "mount is missing"
    MEMLOCK_TOO_SMALL = "memlock-too-small", FACT, "limit of locked memory is too small"
    RANKS_SHARE_CORE = "ranks-share-core", FACT, "ranks share a core"
    SMT_SIBLINGS_USED = "smt-siblings-used", FACT, "ranks share cores through SMT"
    RANKS_UNBOUND = "ranks-unbound", FACT, "ranks are not bound"
    RANK_ACROSS_SOCKETS = "rank-across-sockets", FACT, "a rank spans sockets"
    NIC_FAR_FROM_RANKS = "nic-far-from-ranks", FACT, "adapter is far from the ranks"
    THREADS_SHARE_CORE = "threads-share-core", FACT, "threads share a core"
    MEMORY_FAR_FROM_RANKS = "memory-far-from-ranks", FACT, "memory is far from the ranks"
    PCIE_PAYLOAD_SMALL = "pcie-payload-small", FACT, "PCIe payload is small"
    PCIE_READ_REQUEST_SMALL = "pcie-read-request-small", FACT, "PCIe read requests are small"
    ADAPTER_PLACE_DIFFERS = "adapter-place-differs", FACT, "adapter is on another NUMA node"
    FIRMWARE_MODE = "firmware-mode", FACT, "firmware settings differ"
    SMT_DIFFERS = "smt-differs", FACT, "SMT differs"
    HARDWARE_CHANGED = "hardware-changed", FACT, "hardware or modes changed since it was good"
    CLOCK_UNSYNCHRONISED = "clock-unsynchronised", FACT, "clock is not synchronised"
    CLOCK_SOURCE_DIFFERS = "clock-source-differs", FACT, "clock source differs"
    KERNEL_DIFFERS = "kernel-differs", FACT, "kernel differs"
    KERNEL_PARAMETERS_DIFFER = "kernel-parameters-differ", FACT, "kernel parameters differ"
    SCHEDULER_GRANULARITY_DIFFERS = "scheduler-granularity-differs", FACT, "granularity of the scheduler differs"
    SYSCTL_DIFFERS = "sysctl-differs", FACT, "sysctl settings differ"
    HUGE_PAGES_DIFFER = "huge-pages-differ", FACT, "huge pages differ"
    IDLE_STATES_DIFFER = "idle-states-differ", FACT, "idle states differ"
    HCA_FIRMWARE_DIFFERS = "hca-firmware-differs", FACT, "adapter firmware differs"
    BIOS_DIFFERS = "bios-differs", FACT, "BIOS differs"
    MICROCODE_DIFFERS = "microcode-differs", FACT, "microcode differs"
    MITIGATIONS_DIFFER = "mitigations-differ", FACT, "mitigations differ"
    MODULE_VERSION_DIFFERS = "module-version-differs", FACT, "kernel module version differs"
    MOUNT_OPTIONS_DIFFER = "mount-options-differ", FACT, "mount options differ"
    SOFTWARE_DIFFERS = "software-differs", FACT, "software differs"
    MPI_BUILD_DIFFERS = "mpi-build-differs", FACT, "MPI build differs"
    MPI_SETTINGS_DIFFER = "mpi-settings-differ", FACT, "MPI settings differ"

    GPU_FAULT = "gpu-fault", FACT, "a GPU reports a fault"
    GPU_MISSING = "gpu-missing", FACT, "a GPU is missing"
    GPU_LINK_DEGRADED = "gpu-link-degraded", FACT, "PCIe link of a GPU is below its capability under load"
    NVLINK_DOWN = "nvlink-down", FACT, "NVLinks are inactive"
    GPU_SLOWED = "gpu-slowed", FACT, "heat or hardware lowers the clock of a GPU"
    GPU_PATH_DIFFERS = "gpu-path-differs", FACT, "GPU and adapter are elsewhere than on its peers"
    GPU_PERSISTENCE_OFF = "gpu-persistence-off", FACT, "persistence mode of GPUs is off"
    GPU_SETTINGS_DIFFER = "gpu-settings-differ", FACT, "settings of GPUs differ"
    GPU_SOFTWARE_DIFFERS = "gpu-software-differs", FACT, "driver or firmware of GPUs differs"

    # Worth knowing of facts, and no fault.
    GPU_ADAPTER_APART = "gpu-adapter-apart", Verdict.NOTE, "GPUs and adapters are not below one switch"
    ACS_REDIRECTS = "acs-redirects", Verdict.NOTE, "PCIe switches send what GPUs exchange through the root complex"
    IOMMU_TRANSLATES = "iommu-translates", Verdict.NOTE, "the IOMMU translates what GPUs and adapters exchange"
    SOCKETS_DIFFER = "sockets-differ", Verdict.NOTE, "one processor is hotter than the other"
    FAN_SILENT = "fan-silent", Verdict.NOTE, "a fan does not turn or is not connected"
    TURBO_DISABLED = "turbo-disabled", Verdict.NOTE, "turbo is off, and no peer has it"
    TRANSPORT_NOT_BUILT = "transport-not-built", Verdict.NOTE, "MPI lacks a transport that it was configured with"
    RAILS_IN_SUBNETS = "rails-in-subnets", Verdict.NOTE, "rails lie in different subnets"

    # Of a user's own job.
    JOB_BINDING = "job-binding", FACT, "settings leave ranks unbound"
    JOB_TRANSPORT = "job-transport", FACT, "messages do not take the fastest way"

    # Of a fabric's map and forwarding tables.
    MAP_INCOMPLETE = "map-incomplete", Verdict.INCONCLUSIVE, "is incomplete", "fabric"
    DUPLICATE_GUID = "duplicate-guid", FACT, "is used twice", "fabric"
    DUPLICATE_LID = "duplicate-lid", FACT, "is used twice", "fabric"
    NO_LID = "no-lid", FACT, "without a LID", "fabric"
    LINK_NOT_ACTIVE = "link-not-active", FACT, "is not active", "fabric"
    LINK_FAILING = "link-failing", FACT, "loses its link", "fabric"
    LINK_NARROW = "link-narrow", FACT, "trained to too few lanes", "fabric"
    LINK_RATE_UNKNOWN = "link-rate-unknown", FACT, "rate is not known", "fabric"
    LINK_BELOW_PEERS = "link-below-peers", FACT, "trained below comparable cables", "fabric"
    LINK_BELOW_SUPPORT = "link-below-support", FACT, "trained below what both ends support", "fabric"
    LINK_ENDS_DISAGREE = "link-ends-disagree", FACT, "ends disagree", "fabric"
    CABLES_MISSING = "cables-missing", FACT, "cables are missing", "fabric"
    NOT_IN_MAP = "not-in-map", FACT, "is not in the map", "fabric"
    LINK_MISPLACED = "link-misplaced", FACT, "is at another switch than its peers", "fabric"
    LINK_ERRORS_RISING = "link-errors-rising", FACT, "errors rise", "fabric"
    FABRIC_ERROR = "fabric-error", FACT, "ibdiagnet reports an error", "fabric"
    TABLE_MISSING = "table-missing", FACT, "forwarding table is missing", "fabric"
    DESTINATION_UNREACHABLE = "destination-unreachable", FACT, "destinations are unreachable", "fabric"
    ROUTE_IN_A_CIRCLE = "route-in-a-circle", FACT, "routes lead in a circle", "fabric"

    # Of a benchmark's output, and of a curve of several.
    NOT_A_NUMBER = "not-a-number", INVALID, "prints a number that is not finite", "benchmarks"
    ZERO_RESULT = "zero-result", INVALID, "prints a rate that is not positive, or a negative time", "benchmarks"
    CONSTANT_RESULTS = "constant-results", INVALID, "prints the same number where change is expected", "benchmarks"
    ABOVE_LIMIT = "above-limit", INVALID, "is faster than its limit", "benchmarks"
    RESIDUAL_FAILED = "residual-failed", INVALID, "failed its own check of the result", "benchmarks"
    RESIDUAL_MISSING = "residual-missing", INVALID, "did not check its result", "benchmarks"
    WORK_SKIPPED = "work-skipped", INVALID, "left out part of the work", "benchmarks"
    RUN_TOO_SHORT = "run-too-short", INVALID, "ended too fast for the work", "benchmarks"
    NUMBERS_DISAGREE = "numbers-disagree", INVALID, "prints numbers that contradict each other", "benchmarks"
    ITERATIONS_DIFFER = "iterations-differ", INVALID, "did another number of iterations", "benchmarks"
    RANKS_DIFFER = "ranks-differ", INVALID, "ran on other ranks or hosts than requested", "benchmarks"
    CLOCK_BACKWARDS = "clock-backwards", INVALID, "has a clock that goes backwards", "benchmarks"
    PROGRAM_FAILED = "program-failed", INVALID, "reports an error of the program", "benchmarks"
    OUTPUT_TRUNCATED = "output-truncated", INVALID, "is cut off", "benchmarks"
    MESH_DIFFERS = "mesh-differs", INVALID, "has another mesh or decomposition", "benchmarks"
    WORK_DIFFERS = "work-differs", INVALID, "did other work than the rest of the curve", "benchmarks"
    GPU_BELOW_PEERS = (
        "gpu-below-peers", Verdict.INCONCLUSIVE, "has a GPU that is slower than its others, in one run", "benchmarks"
    )  # fmt: skip
    UNEVEN_NUMBERS = "uneven-numbers", Verdict.NOTE, "has a number that is far off those beside it", "benchmarks"
    DIAGNOSTIC_FAILED = "diagnostic-failed", DOWN, "has a GPU that fails its diagnostic", "benchmarks"
    DIAGNOSTIC_SETTING = "diagnostic-setting", FACT, "has a setting that the diagnostic rejects", "benchmarks"
    DIAGNOSTIC_SKIPPED = "diagnostic-skipped", Verdict.INCONCLUSIVE, "left out tests of the diagnostic", "benchmarks"
    FAR_BELOW_LIMIT = "far-below-limit", SLOW, "is far below its limit", "benchmarks"
    BIMODAL = "bimodal-point", UNSTABLE, "has runs of two kinds", "benchmarks"
    SLOWER_WITH_MORE = "slower-with-more", SLOW, "is slower than a smaller size", "benchmarks"
    SUPERLINEAR = "superlinear-speedup", INVALID, "is faster than linear, and nothing explains it", "benchmarks"

    # Of jobs in accounting.
    SLOW_JOBS = "slow-jobs", SLOW, "jobs take longer there", "jobs"
    FAILING_JOBS = "failing-jobs", UNSTABLE, "jobs fail there more often", "jobs"
    JOBS_SLOWER = "jobs-slower", SLOW, "jobs became slower", "jobs"

    # Of an acceptance.
    BELOW_THRESHOLD = "below-threshold", SLOW, "does not reach its threshold", "acceptance"

    # Of a launch, in the order in which reports list nodes that are not available.
    STEP_PASSED = "step-passed", Verdict.PASS, "works", "doctor"
    NO_SLURM = "no-slurm", BLOCKED, "Slurm commands are missing", "doctor"
    CONTROLLER_SILENT = "controller-silent", BLOCKED, "Slurm does not answer", "doctor"
    SLURM_VERSIONS = "slurm-versions", BLOCKED, "Slurm versions are incompatible", "doctor"
    JOB_VARIABLES = "job-variables", BLOCKED, "variables of the job are wrong", "doctor"
    SRUN_VARIABLES = "srun-variables", BLOCKED, "variables change how srun starts", "doctor"
    SETTING_LEFT = "setting-left", BLOCKED, "a setting was left changed", "doctor"
    NODE_DRAINED = "node-drained", BLOCKED, "is out of service", "doctor"
    NODE_SUSPENDED = "node-suspended", BLOCKED, "is suspended", "doctor"
    NODE_RESERVED = "node-reserved", BLOCKED, "is reserved", "doctor"
    NODE_OTHERWISE = "node-otherwise", BLOCKED, "is not available", "doctor"
    NO_ROOM = "no-room", BLOCKED, "nodes are in use", "doctor"
    PARTITION_REFUSES = "partition-refuses", BLOCKED, "the partition does not allow the job", "doctor"
    NO_ALLOCATION = "no-allocation", BLOCKED, "Slurm refused the allocation", "doctor"
    NO_MPI = "no-mpi", BLOCKED, "the probe cannot be built", "doctor"
    NODE_SILENT = "node-silent", BLOCKED, "nothing can be started", "doctor"
    HOSTNAME_DIFFERS = "hostname-differs", BLOCKED, "host name differs from Slurm's", "doctor"
    CLOCK_DIFFERS = "clock-differs", BLOCKED, "clock differs", "doctor"
    PROGRAM_MISSING = "program-missing", BLOCKED, "the probe is missing", "doctor"
    LIBRARY_MISSING = "library-missing", BLOCKED, "libraries are missing", "doctor"
    MPI_DIFFERS = "mpi-differs", BLOCKED, "MPI libraries differ", "doctor"
    ENVIRONMENT = "environment", BLOCKED, "the environment prevents a launch", "doctor"
    MPI_TYPE = "mpi-type", BLOCKED, "the type of --mpi does not work", "doctor"
    MPIRUN = "mpirun", BLOCKED, "mpirun does not start ranks", "doctor"
    NO_START = "no-start", BLOCKED, "the probe does not start", "doctor"
    JOB_FAILED = "job-failed", BLOCKED, "the job failed", "doctor"
    NO_TRAFFIC = "no-traffic", BLOCKED, "no message passes", "doctor"


OF_LINKS = frozenset(
    {FindingKind.SLOW_LINK, FindingKind.SLOW_UPLINK, FindingKind.SLOW_CABLE, FindingKind.SLOW_SPINE,
     FindingKind.SLOW_PAIR, FindingKind.SLOW_FABRIC, FindingKind.SLOW_RAIL, FindingKind.HIGH_LATENCY,
     FindingKind.PACKET_LOSS, FindingKind.PAIR_HANGS, FindingKind.UNSTABLE_LINK}
)  # fmt: skip
"""What messages between nodes show, and trials do not."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to confirm or refute a suspicion, and how it ended."""

    description: str
    outcome: str
    confirmed: bool


class ComparisonOutcome(enum.StrEnum):
    """The second set of runs compared with the first."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    """Shown to differ by less than the practical threshold."""
    INCONCLUSIVE = "inconclusive"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict to report: the subject, the fault, its size and reference, the evidence, and the remedy."""

    kind: Annotated[FindingKind, Meta(description="One of the kinds in docs/findings.md.")]
    subject: Annotated[Subject, Meta(description="What is at fault: node:n3, uplink:leaf1, pair:n1>n2.")]
    verdict: Verdict
    statement: Annotated[str, Meta(description="What is wrong.")]
    remedy: Annotated[str, Meta(description="What to do.")]
    brief: Annotated[str, Meta(description="What is wrong in a few words, as in headlines.")] = ""
    """Empty until it is printed: by its numbers or its kind."""
    step: Annotated[str, Meta(description="The step of a launch that showed it, or empty.")] = ""
    printed: Annotated[str, Meta(description="What programs printed, its last lines, or empty.")] = ""
    direction: Direction = Direction.BOTH
    ambiguous_with: Annotated[
        tuple[Subject, ...], Meta(description="Subjects that these measurements cannot distinguish from it.")
    ] = ()
    metric: Annotated[str, Meta(description="What the numbers are: bandwidth_bytes_per_s, latency_s or empty.")] = ""
    measured: Estimate | None = None
    limit: float | None = None
    limit_name: str = ""
    peers: float | None = None
    peers_name: str = ""
    """What the number of the peers is."""
    of_peers: Estimate | None = None
    """The subject's bandwidth or latency as a share of that of its peers, measured in the same minutes."""
    pairs: Annotated[tuple[str, ...], Meta(description="The pairs or cables that show it.")] = ()
    experiments: tuple[Experiment, ...] = ()

    @property
    def names_fault(self) -> bool:
        """Whether it names a part that is at fault; a number that cannot be right shows only that it is wrong."""
        if self.verdict is Verdict.INVALID:
            return self.kind in (FindingKind.DATA_CORRUPT, FindingKind.WRONG_RESULT)
        return self.at_fault

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Findings sort by it: faults that were measured (lost nodes, too), facts, and last what is not decided or a
        note; of each the most severe first."""
        return not self.at_fault, self.verdict is Verdict.MISCONFIGURED, -self.verdict.gravity

    @property
    def at_fault(self) -> bool:
        """Whether something is wrong, and not only worth knowing or not tried."""
        return self.verdict in AT_FAULT


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a run and everything else that was found."""

    verdict: Verdict
    """MEASURED where there is nothing to compare the numbers with, and nothing else is wrong."""
    complete: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...]

    @property
    def word(self) -> str:
        """The word with which a report begins, and which makes the exit code: a finding before what is not decided."""
        word = worst([self.verdict, *(finding.verdict for finding in self.findings if finding.at_fault)])
        return INCOMPLETE if word in (*GOOD, Verdict.MEASURED) and not self.complete else word.value

    @property
    def exit_code(self) -> ExitCode:
        """The exit code, as of a check: findings before incompleteness."""
        return exit_code(self.word, complete=self.complete)
