"""A number with its uncertainty and the way it was got."""

import msgspec


class Estimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`value` with an interval that covers the true median with probability `confidence`, from `runs` runs."""

    value: float
    low: float
    high: float
    confidence: float
    runs: int
    method: str
