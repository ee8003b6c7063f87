"""What a cluster carries when many of its nodes send at once, leaf by leaf and in all."""

import msgspec

from seatrial.model.estimate import Estimate
from seatrial.model.subject import Direction


class LeafLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf while all of its nodes that took part send to other leaves, or receive from them."""

    leaf: str
    direction: Direction
    nodes: int
    """That sent or received at once."""
    bytes_per_s: Estimate
    """Of all of them together, one value a round."""
    alone_bytes_per_s: float
    """What the same nodes reach one at a time, added up."""
    of_peers: float | None = None
    """Share of what other leaves carry in rounds of the same kind, 1 where alike; None: there is nothing to compare."""

    @property
    def share(self) -> float:
        """What is left to a node under load, as a share of what it reaches alone."""
        return self.bytes_per_s.value / self.alone_bytes_per_s


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of all rounds under load."""

    rounds: int
    leaves: tuple[LeafLoad, ...] = ()
    bisection_bytes_per_s: Estimate | None = None
    """Of all pairs together while half of the nodes send to the other half; the median over such rounds."""
    bisection_pairs: int = 0
    """In one such round."""
    bisection_share: float | None = None
    """Of what the same pairs reach one at a time."""
    oversubscription: float | None = None
    """Measured: how many times what they carry under load the nodes of a leaf could send; the median over leaves. 1
    where uplinks hold nobody back."""
    design_oversubscription: float | None = None
    """The same by the widths and speeds of the cables; None where these are not known."""
