"""Requests to the probe, its results, the places of its ranks, and an estimate with its uncertainty."""

import enum
from typing import Annotated, Any

import msgspec


def node_of(place: str) -> str:
    """n1:0 -> n1: the node of a place; that of a name without a number is the name."""
    base, colon, number = place.rpartition(":")
    return base if colon and number.isdecimal() else place


class RankPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One rank. `place`: what rounds call it; `node`: the node whose facts describe its machine."""

    rank: int
    place: str
    node: str
    host: str = ""
    """The name that its machine gave."""
    cpus: tuple[int, ...] = ()
    """Logical processors on which it may run, sorted; empty: not known."""
    cpu: int | None = None
    """The one on which it was when it was asked."""
    pid: int | None = None
    clock_resolution_s: float | None = None
    """Resolution of its clock; None: not known."""
    clock_overhead_s: float | None = None
    """Time for one reading of its clock."""


class ProbeStart(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of the probe and its ranks. `variant`: under which of several settings, where there were several."""

    session: int
    ranks: tuple[RankPlace, ...]
    variant: str = ""
    failure: str = ""
    """Why it did not come up, without ranks; empty: it did."""


class DefaultStart(msgspec.Struct, frozen=True, kw_only=True):
    """One launch by the MPI's own launcher without binding options: where it places the ranks of other programs."""

    line: str
    """The launch line without the program, as a user would write it: `mpirun -n 2`."""
    nodes: tuple[str, ...] = ()
    """The node of each rank."""
    ranks: tuple[dict[str, Any], ...] = ()
    """What the ranks reported about themselves."""
    failure: str = ""
    """Why it did not come up; empty: it did."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`value` with an interval that covers the true median with probability `confidence`, from `runs` runs."""

    value: float
    low: float
    high: float
    confidence: float
    runs: int
    method: str


LONGEST_S = 1e9
"""Thirty years. What an archive has beyond it, or below zero, is damage, and would overflow statistics."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_S)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class Needs(enum.StrEnum):
    """The ranks that a kernel needs; a round runs it on one or more such sets at the same time."""

    PAIR = "pair"
    GROUP = "group"
    SINGLE = "single"
    ALL = "all"


class Kernel(enum.StrEnum):
    """The probe's kernels and what each one needs; `seatrial-probe --list` says what each one times."""

    needs: Needs

    def __new__(cls, word: str, needs: Needs) -> "Kernel":
        """A member whose value is its word in commands and archives."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.needs = needs
        return member

    PINGPONG = "pingpong", Needs.PAIR
    ONEWAY = "oneway", Needs.PAIR
    BARRIER = "barrier", Needs.GROUP
    MEMORY_COPY = "memory_copy", Needs.GROUP
    MEMORY_SCALE = "memory_scale", Needs.GROUP
    MEMORY_ADD = "memory_add", Needs.GROUP
    MEMORY_TRIAD = "memory_triad", Needs.GROUP
    MEMORY_READ = "memory_read", Needs.GROUP
    CHASE = "chase", Needs.SINGLE
    FMA = "fma", Needs.SINGLE
    NOISE_WORK = "noise_work", Needs.SINGLE
    NOISE_DETOUR = "noise_detour", Needs.SINGLE
    PIPE_SWITCH = "pipe_switch", Needs.GROUP
    PIPE_WAKE = "pipe_wake", Needs.GROUP
    TIMER_WAKE = "timer_wake", Needs.SINGLE
    TIME_SLICE = "time_slice", Needs.SINGLE
    CHASE_FAR = "chase_far", Needs.GROUP
    ALLREDUCE = "allreduce", Needs.GROUP
    ALLTOALL = "alltoall", Needs.GROUP
    STORAGE_WRITE = "storage_write", Needs.GROUP
    STORAGE_READ = "storage_read", Needs.GROUP
    STORAGE_FILES = "storage_files", Needs.GROUP
    DGEMM = "dgemm", Needs.SINGLE


class Phase(enum.StrEnum):
    """Why a round was measured."""

    PILOT = "pilot"
    SURVEY = "survey"
    NEXT = "next"
    """Repeated with fewer pairs at once or alone, to distinguish contention from the suspects of the survey."""
    RETEST = "retest"
    LAST = "last"
    """A few rounds of the survey once more, when all else has been measured: nothing changed since."""
    LOADED = "loaded"
    """Many pairs at once, deliberately: all nodes of a leaf to other leaves, or half of the nodes to the other half."""
    CURVE = "curve"
    SATURATION = "saturation"
    NODES = "nodes"
    """What each node can do by itself."""
    SOAK = "soak"
    """Links between nodes that are kept busy."""
    IMPORTED = "imported"
    """Measured by another program."""
    MAIN = "main"
    """The main figure of a benchmark, measured by another program: the first line of a comparison is about it."""
    VARIANT = "variant"
    """Measured under one of several settings that are compared: transports, placements, rails."""


class Verification(enum.StrEnum):
    """How much of the data of a round the probe compares with what was sent, outside of the times."""

    NONE = "none"
    """Also in runs that were recorded before data were compared."""
    ENDS = "ends"
    """The first iteration and the last; only the last of pairs that are measured at the same time."""
    ALL = "all"
    """These, and as many more iterations as are timed."""


class Corruption(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Data that arrived other than they were sent, in the compared iterations of one measurement."""

    source: str
    """The node that sent them; empty where several did."""
    target: str
    wrong_bytes: Count
    first_byte: Count
    """Offset of the first of them in its message."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How one kernel is run: message size, messages in flight, warm-up and timed iterations."""

    kernel: Kernel
    message_bytes: Count
    window: Count
    warmup: Count
    iterations: Count

    @property
    def window_bytes(self) -> int:
        """Bytes of all messages in flight: what one iteration of a stream carries."""
        return self.message_bytes * self.window


class RoundOfKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel that is run once on ranks of several nodes at the same time."""

    phase: Phase
    repetition: int
    shape: Shape
    variant: str = ""
    """Name of the setting under which the probe runs; empty: the site's own."""
    verify: Verification = Verification.NONE


class Round(RoundOfKernel, frozen=True, kw_only=True):
    """Pairs measured at the same time, each (source, target) by node name."""

    pairs: tuple[tuple[str, str], ...]

    def delivered(self, pair: tuple[str, str], **values: Any) -> "Measurement":  # noqa: ANN401 - its other fields
        """The measurement of one of the pairs."""
        own = {name: getattr(self, name) for name in ("phase", "repetition", "shape", "variant")}
        return Measurement(**own, source=pair[0], target=pair[1], pairs_at_once=len(self.pairs), **values)


class TimedIterations(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one round delivered for one of its pairs or groups."""

    phase: Phase
    repetition: int
    shape: Shape
    times_s: tuple[Seconds, ...]
    warmup_times_s: tuple[Seconds, ...] = ()
    verified: Count = 0
    """Iterations whose data were compared with what was sent."""
    errors: Count = 0
    """Bytes of these that arrived wrong, in all directions; `corruptions` says where."""
    corruptions: tuple[Corruption, ...] = ()
    variant: str = ""
    """Name of the setting of its round; empty: the site's own."""
    at_s: Seconds | None = None
    """When its round began, seconds since the run began; None in archives that do not record it."""


class Measurement(TimedIterations, frozen=True, kw_only=True, gc=False):
    """What one round delivered for one pair. `times_s`: one round trip, or one window with its acknowledgement."""

    source: str
    target: str
    pairs_at_once: Count = 1
    waited_s: tuple[Seconds, ...] = ()
    """How long the ranks of source and target were ready to run without a processor meanwhile, also where a
    hypervisor had it; empty: not known."""

    @property
    def pair(self) -> tuple[str, str]:
        """(source, target)."""
        return self.source, self.target


class GroupRound(RoundOfKernel, frozen=True, kw_only=True):
    """A round of a kernel that is not a pair: groups of nodes that measure at the same time.

    One group for a kernel that needs all ranks; groups of one node for a kernel that needs single ranks.
    """

    groups: tuple[tuple[str, ...], ...]
    """The groups by name of node; the first node of a group leads it."""
    folder: str = ""
    """The folder in which kernels of storage write; empty for all others, and if a recording is replayed."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What else happened on the processors of a group and on its node while the iterations ran; None: not known."""

    wall_s: Seconds
    """How long they ran."""
    switches: Count = 0
    """How often ranks had to leave their processors, in all."""
    faults: Count = 0
    """Pages that the ranks touched first or had lost."""
    throttles: Count | None = None
    """How often their cores were throttled for heat."""
    least_khz: Count | None = None
    """Frequency of the slowest of their cores at the end."""
    millicelsius: Count | None = None
    """Temperature of the hottest thermal zone."""
    others_s: Seconds | None = None
    """Processor time of all other processes of the node; only of the first group of each node."""
    interrupts: Count | None = None
    """Interrupts of the whole node."""
    microjoules: Count | None = None
    """Energy of all packages of the node."""
    cached: Count = 0
    """Ranks whose files went through the page cache, since the file system refuses O_DIRECT."""
    failed: Count = 0
    """Error number (errno) of a call on a file; 0: none failed."""
    library: Count = 0
    """Which BLAS was called, by its number in docs/probe-protocol.md; 0: none."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """When one rank of a group came to collective operations, beside the other ranks."""

    offset_s: float
    """What must be added to the rank's clock to get that of the group's first rank."""
    error_s: Seconds
    """The offset is wrong by at most this much."""
    late_s: float
    """After the first rank to arrive: median of the iterations."""
    last: Count
    """Iterations in which no other rank came later."""


class GroupMeasurement(TimedIterations, frozen=True, kw_only=True, gc=False):
    """What one round delivered for one group. `times_s`: per iteration the longest time that a rank took."""

    nodes: tuple[str, ...]
    """The nodes of the group, in the order of the round."""
    groups_at_once: Count = 1
    conditions: Conditions | None = None
    arrivals: tuple[Arrival, ...] = ()
    """The arrivals of each of `nodes`; only for collective operations."""
