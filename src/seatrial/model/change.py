"""A part of the cluster that changed while it was measured."""

import enum

import msgspec

from seatrial.model.subject import Direction, Subject


class ChangeKind(enum.StrEnum):
    """How a part changed."""

    DROP = "drop"
    """Good, then bad until the end."""
    RECOVERY = "recovery"
    """Bad from the start, then good."""
    FLAPPING = "flapping"
    """Good and bad in turn."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A part whose values changed while it was measured, and the others' did not."""

    subject: Subject
    direction: Direction
    kind: ChangeKind
    p: float
    """Probability of such a change anywhere in a run in which nothing changes, at most."""
    since_s: float
    """Time of the change; of flapping, when it was first seen to be bad. Seconds since the run began."""
    since_low_s: float
    since_high_s: float
    loss_before: float
    """Share missing before the change, beside the usual value: 0 for good. Of flapping: while it is good."""
    loss_after: float
    """After the change. Of flapping: while it is bad."""
    pairs: tuple[tuple[str, str], ...]
    """Ordered pairs that were seen bad because of it."""
    bad_values: int
    good_values: int
    spells: int = 1
    """How often it was seen to be bad."""
    period_s: float | None = None
    """Of flapping; None where the values show no rhythm."""
    ambiguous_with: tuple[Subject, ...] = ()
    """Other parts that have the very same bad values."""
