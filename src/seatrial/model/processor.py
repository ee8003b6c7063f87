"""What a node's processors are and how they are set."""

import msgspec

IN_NAME = "the model's name"
"""Where a base frequency is from that nobody measured or set: the maker's word in the processor's name."""


class IdleState(msgspec.Struct, frozen=True, kw_only=True):
    """One C-state of processor 0."""

    name: str
    latency_s: float | None
    disabled: bool


class ProcessorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Frequencies in Hz. Tuples over processors are in the order of their numbers."""

    vendor: str = ""
    microcode: str = ""
    instruction_sets: tuple[str, ...] = ()
    """The vector and matrix extensions that are there, in /proc/cpuinfo's words: sse2 avx avx2 fma avx512f."""
    family: int | None = None
    model_number: int | None = None
    stepping: int | None = None
    frequency_driver: str = ""
    governors: dict[str, int] = {}
    """Governor -> on how many processors."""
    energy_preferences: dict[str, int] = {}
    minimum_hz: tuple[float, ...] = ()
    maximum_hz: tuple[float, ...] = ()
    """What the policy allows (scaling_max_freq)."""
    hardware_maximum_hz: tuple[float, ...] = ()
    """cpuinfo_max_freq: with turbo, where there is turbo."""
    present_hz: tuple[float, ...] = ()
    """A sample of an instant."""
    base_hz: float | None = None
    base_hz_source: str = ""
    """cpufreq/base_frequency, acpi_cppc/nominal_freq, hwloc's FrequencyBaseMHz, or IN_NAME."""
    turbo: bool | None = None
    smt_active: bool | None = None
    idle_states: tuple[IdleState, ...] = ()
    mitigations: dict[str, str] = {}
    """Vulnerability -> what the kernel does about it, in its words."""
    throttle_events: int | None = None
    """Sum of core and package thermal throttle counts since boot."""
    allowed: tuple[int, ...] = ()
    """Processors on which this job may run (its cpuset, and Cpus_allowed_list of the collector)."""
