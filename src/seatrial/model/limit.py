"""What physics permits on a path, and which term binds."""

import msgspec


class LimitTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a limit: a rate, the inputs it was computed from, and where each was read."""

    name: str
    bytes_per_s: float
    inputs: dict[str, float]
    source: str
    formula: str


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The least of several terms on one path."""

    path: str
    limit_bytes_per_s: float
    binding: str
    terms: tuple[LimitTerm, ...]
    gate_bytes_per_s: float
    """Above this a measurement is INVALID: all interfaces of the slower end together could not carry it."""
