"""What a table of pairs gives away: parts at fault, parts that cannot be told apart, pairs that change."""

import msgspec

from seatrial.model.subject import Direction, Subject


class LocatedFault(msgspec.Struct, frozen=True, kw_only=True):
    """One part that explains slow or late pairs.

    `loss_ratio` is the share of what peers do that is missing: 0.05 for 5 % less bandwidth; of latency, the share by
    which it is longer. `low` and `high` enclose it; `evidence` are pairs, "source>target".
    """

    subject: Subject
    metric: str
    direction: Direction
    loss_ratio: float
    low: float
    high: float
    evidence: tuple[str, ...]

    @property
    def kind(self) -> str:
        """node, uplink or link: the kind of its subject."""
        return self.subject.kind.value


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of which one or several are at fault, and these pairs cannot tell which."""

    subjects: tuple[Subject, ...]
    metric: str
    loss_ratio: float
    evidence: tuple[str, ...]


class Unstable(msgspec.Struct, frozen=True, kw_only=True):
    """A pair or node whose numbers are good and bad in turn, or were bad once and never measured again."""

    subject: Subject
    metric: str
    why: str
    evidence: tuple[str, ...]


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, worst first, and the lines that were drawn: metric -> ratio to the peers below which a pair is bad."""

    faults: tuple[LocatedFault, ...]
    ambiguous: tuple[Undecided, ...]
    unstable: tuple[Unstable, ...]
    """The first of them."""
    unstable_pairs: int = 0
    """All of them."""
    lines: dict[str, float]
    wrongly_left: float | None
    """Expected number of healthy nodes that no partner acquits, at the stated share of slow nodes; None: no pairs."""
