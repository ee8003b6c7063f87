"""What physics permits on a path, and which term binds."""

import msgspec


class LimitTerm(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One term of a limit: a rate, the inputs it was computed from, and where each was read."""

    name: str
    bytes_per_s: float
    inputs: dict[str, float]
    source: str
    formula: str
    """The formula, in the names of `inputs`: evaluated with them it gives `bytes_per_s`."""
    nominal: bool = False
    """True where an input comes from a table or a name; False where all of them were read."""


class Terms(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Terms, and for each that could not be computed a sentence with the reason."""

    terms: tuple[LimitTerm, ...] = ()
    unknown: tuple[str, ...] = ()

    def __add__(self, other: "Terms") -> "Terms":
        """Both, these first; no sentence twice."""
        unknown = tuple(dict.fromkeys((*self.unknown, *other.unknown)))
        return Terms(terms=(*self.terms, *other.terms), unknown=unknown)


class Limit(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="limit"):
    """The smallest of several terms on one path."""

    path: str
    limit_bytes_per_s: float
    binding: str
    terms: tuple[LimitTerm, ...]
    gate_bytes_per_s: float
    """Above this a measurement is INVALID: all ports of the slower end together could not carry it.

    Infinite where the rate of one of them is not known; `unknown` then names it."""
    unknown: tuple[str, ...] = ()
    """Terms that are missing or that are bounds only, and why."""

    @property
    def binding_term(self) -> LimitTerm:
        """The term that binds."""
        return min(self.terms, key=lambda term: term.bytes_per_s)

    @property
    def nominal(self) -> bool:
        """Whether the term that binds is from a table or a name."""
        return self.binding_term.nominal


class NoLimit(msgspec.Struct, frozen=True, kw_only=True, tag="no-limit"):
    """No limit can be computed for this path, and why, in one sentence. Never a limit of zero or of infinity."""

    path: str
    reason: str


class ComputePeak(msgspec.Struct, frozen=True, kw_only=True, tag="arithmetic"):
    """The most double precision floating point operations per second, all cores at one frequency."""

    path: str
    flops_per_s: float
    flops_per_cycle: int
    """Per core; a fused multiply-add is two."""
    cores: int
    hz: float
    nominal: bool
    """True where the operations per cycle or the frequency come from a table or a name."""
    inputs: dict[str, float]
    source: str
    formula: str
    unknown: tuple[str, ...] = ()

    @property
    def flops_per_s_per_core(self) -> float:
        """One core's share."""
        return self.flops_per_s / self.cores


AnyLimit = Limit | NoLimit | ComputePeak


def least(path: str, found: Terms, gate_bytes_per_s: float | None = None) -> Limit | NoLimit:
    """The limit that follows from these terms. No gate: it equals the limit.

    No terms: no limit, for the reasons given.
    """
    if not found.terms:
        return NoLimit(path=path, reason="; ".join(found.unknown) or "no value that limits it could be read")
    binding = min(found.terms, key=lambda term: term.bytes_per_s)
    gate = binding.bytes_per_s if gate_bytes_per_s is None else gate_bytes_per_s
    return Limit(
        path=path,
        limit_bytes_per_s=binding.bytes_per_s,
        binding=binding.name,
        terms=found.terms,
        gate_bytes_per_s=gate,
        unknown=found.unknown,
    )
