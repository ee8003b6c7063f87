"""What the probe is asked and what it delivers."""

import enum

import msgspec


class Kernel(enum.StrEnum):
    """The probe's kernels; `seatrial-probe --list` says what each one times."""

    PINGPONG = "pingpong"
    ONEWAY = "oneway"
    BOTHWAY = "bothway"


class Phase(enum.StrEnum):
    """Why a round was measured."""

    PILOT = "pilot"
    SURVEY = "survey"
    NEXT = "next"
    """Once more, with fewer pairs at once or alone, to tell contention and the suspects of the survey apart."""
    RETEST = "retest"
    CURVE = "curve"
    SATURATION = "saturation"
    VARIANT = "variant"
    """Under one of several settings that are compared: transports, placements, rails."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How one kernel is run: message size, messages in flight, warm-up and timed iterations."""

    kernel: Kernel
    message_bytes: int
    window: int
    warmup: int
    iterations: int


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs measured at the same time, each (source, target) by node name."""

    phase: Phase
    repetition: int
    shape: Shape
    pairs: tuple[tuple[str, str], ...]
    variant: str = ""
    """Name of the setting under which the probe runs; empty: the site's own."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one round delivered for one pair. `times_s`: one round trip, or one window with its acknowledgement."""

    phase: Phase
    repetition: int
    shape: Shape
    source: str
    target: str
    times_s: tuple[float, ...]
    warmup_times_s: tuple[float, ...] = ()
    pairs_at_once: int = 1
    errors: int = 0
    variant: str = ""
    """As its round's."""

    @property
    def pair(self) -> tuple[str, str]:
        """(source, target)."""
        return self.source, self.target
