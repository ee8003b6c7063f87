"""The words in which a subject is judged, and what a finding is."""

import enum

import msgspec

from seatrial.model.measurement import Estimate
from seatrial.model.subject import Direction, Subject


class Verdict(enum.StrEnum):
    """The judgement on a number or on a fact, in the order of severity.

    UNSTABLE: good in some runs and bad in others. NOT_RUN: planned, never measured. MISCONFIGURED: a fact is known to
    be bad or differs from the peers', and no measurement shows what it costs.
    """

    PASS = "PASS"  # noqa: S105 - a verdict, no password
    NOT_RUN = "NOT_RUN"
    INCONCLUSIVE = "INCONCLUSIVE"
    MISCONFIGURED = "MISCONFIGURED"
    UNSTABLE = "UNSTABLE"
    SLOW = "SLOW"
    INVALID = "INVALID"

    @property
    def gravity(self) -> int:
        """0 for PASS, rising to INVALID; the worst of several verdicts is the most severe."""
        return _GRAVITY[self]


_GRAVITY = {verdict: place for place, verdict in enumerate(Verdict)}


def worst(verdicts: list[Verdict]) -> Verdict:
    """The most severe of them; PASS for an empty list."""
    return max(verdicts, key=lambda verdict: verdict.gravity, default=Verdict.PASS)


class FindingKind(enum.StrEnum):
    """What can be wrong, one word each; docs/findings.md explains each and what to do."""

    NODE_DOWN = "node-down"
    RANK_DIED = "rank-died"
    PAIR_HANGS = "pair-hangs"
    PACKET_LOSS = "packet-loss"
    SLOW_LINK = "slow-link"
    SLOW_UPLINK = "slow-uplink"
    SLOW_CABLE = "slow-cable"
    SLOW_SPINE = "slow-spine"
    SLOW_PAIR = "slow-pair"
    SLOW_FABRIC = "slow-fabric"
    HIGH_LATENCY = "high-latency"
    SLOW_RAIL = "slow-rail"
    RAILS_HELD_BACK = "rails-held-back"
    UNSTABLE_LINK = "unstable-link"
    MTU_DIFFERS = "mtu-differs"
    FASTER_THAN_PHYSICS = "faster-than-physics"
    PCIE_LINK_DEGRADED = "pcie-link-degraded"
    PORT_DOWN = "port-down"
    NO_SUBNET_MANAGER = "no-subnet-manager"
    PORT_RATE_DIFFERS = "port-rate-differs"
    INTERFACE_SPEED_DIFFERS = "interface-speed-differs"
    ERROR_COUNTERS_RISING = "error-counters-rising"
    HCA_MISSING = "hca-missing"
    DEVICE_MISSING = "device-missing"
    PCIE_STARVES_PORT = "pcie-starves-port"
    HALF_DUPLEX = "half-duplex"
    GOVERNOR = "governor"
    FREQUENCY_CAPPED = "frequency-capped"
    THROTTLED = "throttled"
    TURBO_OFF = "turbo-off"
    POWER_LIMIT_DIFFERS = "power-limit-differs"
    MEMORY_ERRORS = "memory-errors"
    CORES_DIFFER = "cores-differ"
    MEMORY_DIFFERS = "memory-differs"
    MEMORY_CHANNEL_EMPTY = "memory-channel-empty"
    MEMORY_SLOW = "memory-slow"
    MOUNT_DEAD = "mount-dead"
    MOUNT_MISSING = "mount-missing"
    MEMLOCK_TOO_SMALL = "memlock-too-small"
    RANKS_SHARE_CORE = "ranks-share-core"
    SMT_SIBLINGS_USED = "smt-siblings-used"
    RANKS_UNBOUND = "ranks-unbound"
    RANK_ACROSS_SOCKETS = "rank-across-sockets"
    NIC_FAR_FROM_RANKS = "nic-far-from-ranks"
    THREADS_SHARE_CORE = "threads-share-core"
    MEMORY_FAR_FROM_RANKS = "memory-far-from-ranks"
    PCIE_PAYLOAD_SMALL = "pcie-payload-small"
    FIRMWARE_MODE = "firmware-mode"
    SMT_DIFFERS = "smt-differs"
    CLOCK_UNSYNCHRONISED = "clock-unsynchronised"
    CLOCK_SOURCE_DIFFERS = "clock-source-differs"
    KERNEL_DIFFERS = "kernel-differs"
    KERNEL_PARAMETERS_DIFFER = "kernel-parameters-differ"
    SCHEDULER_GRANULARITY_DIFFERS = "scheduler-granularity-differs"
    SYSCTL_DIFFERS = "sysctl-differs"
    HUGE_PAGES_DIFFER = "huge-pages-differ"
    IDLE_STATES_DIFFER = "idle-states-differ"
    HCA_FIRMWARE_DIFFERS = "hca-firmware-differs"
    BIOS_DIFFERS = "bios-differs"
    MICROCODE_DIFFERS = "microcode-differs"
    MITIGATIONS_DIFFER = "mitigations-differ"
    MODULE_VERSION_DIFFERS = "module-version-differs"
    MOUNT_OPTIONS_DIFFER = "mount-options-differ"
    SOFTWARE_DIFFERS = "software-differs"
    MPI_BUILD_DIFFERS = "mpi-build-differs"
    MPI_SETTINGS_DIFFER = "mpi-settings-differ"
    DRIVER_MISSING = "driver-missing"
    SLOWER_THAN_ALTERNATIVE = "slower-than-alternative"


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to confirm or refute a suspicion, and how it ended."""

    description: str
    outcome: str
    confirmed: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict to report: the subject, the fault, its size and reference, the evidence, and the remedy."""

    kind: str
    """A `FindingKind`, or the kind that a rule about facts declares."""
    subject: Subject
    verdict: Verdict
    statement: str
    remedy: str
    direction: Direction = Direction.BOTH
    ambiguous_with: tuple[Subject, ...] = ()
    """Other subjects that these measurements cannot distinguish from this one."""
    metric: str = ""
    """`bandwidth_bytes_per_s`, `latency_s`, or empty where a fact and no number is at fault."""
    measured: Estimate | None = None
    limit: float | None = None
    limit_name: str = ""
    peers: float | None = None
    peers_name: str = ""
    """What the number of the peers is."""
    of_peers: Estimate | None = None
    """Its bandwidth or latency as a share of that of its peers, measured in the same minutes."""
    pairs: tuple[str, ...] = ()
    """The pairs that show it, "source>target"."""
    experiments: tuple[Experiment, ...] = ()

    @property
    def rank(self) -> tuple[bool, int]:
        """Findings sort by it: faults that were measured (lost nodes, too) before facts, then the most severe first."""
        return self.verdict is Verdict.MISCONFIGURED, -self.verdict.gravity
