"""Pairs that a survey left out since they cross a part that is known to be faulty."""

import enum
from collections.abc import Iterable

import msgspec

from seatrial.model.measurement import Kernel, Measurement, Phase


class CapCause(enum.StrEnum):
    """Why pairs across a part cost too much to measure all of them."""

    LOSS = "loss"
    """Small round trips waited for a retransmission."""
    HANG = "hang"
    """Pairs did not answer."""
    SLOW = "slow"
    """Windows took several times the usual."""


class CappedPair(msgspec.Struct, frozen=True, kw_only=True):
    """An ordered pair of the survey that was left out, and the part for which it was."""

    source: str
    target: str
    part: str
    """The text of a `Subject`: node:n3, uplink:leaf1."""
    cause: CapCause

    @property
    def pair(self) -> tuple[str, str]:
        """(source, target)."""
        return self.source, self.target


def unmeasured(capped: Iterable[CappedPair], measurements: Iterable[Measurement]) -> tuple[CappedPair, ...]:
    """Those of the pairs whose bandwidth was not measured in any phase that a verdict counts."""
    measured = {
        one.pair
        for one in measurements
        if one.shape.kernel is Kernel.ONEWAY and one.times_s and one.phase not in (Phase.PILOT, Phase.VARIANT)
    }
    return tuple(one for one in dict.fromkeys(capped) if one.pair not in measured)
