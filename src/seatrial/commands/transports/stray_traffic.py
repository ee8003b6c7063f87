"""Whether the bytes kept to the one rail that the MPI was held to, by the counters of the first default's start."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from seatrial.commands.transports.effects import PASSED
from seatrial.model.transport import Role, VariantNote
from seatrial.model.units import share
from seatrial.model.verdict import Verdict

WHOLE = 0.9
"""A rail that counted this share of the bytes sent carried them; what others counted meanwhile was others' traffic."""


class Stray(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing can be said of the rail; without a verdict: the bytes kept to it."""

    verdict: Verdict | None = None
    reason: str = ""


HELD = Stray()


def strayed(rail: str, notes: Sequence[VariantNote]) -> Stray:
    """INVALID where another device counted what the rail should have, INCONCLUSIVE where none did.

    A rail's counter is that of its interface, or of its HCA's port: mlx5_0:1 counts as mlx5_0/1.
    """
    note = next((one for one in notes if one.variant.role is Role.DEFAULT and one.counted and one.sent_bytes), None)
    if note is None:
        return _open(rail, "the byte counters could not be read")
    device = rail.replace(":", "/")
    shares = {name: _shares(name, note) for name in dict.fromkeys(one.device for one in note.counted)}
    if device not in shares:
        return _open(rail, "it has no byte counter")
    own = min(shares.pop(device))
    if own >= WHOLE:
        return HELD
    others = {name: max(parts) for name, parts in shares.items() if max(parts) >= PASSED}
    if others:
        said = ", ".join(f"{name} counted {share(part)} of the bytes" for name, part in others.items())
        what = f"the setting did not hold the MPI to {rail}: {said}, {rail} {share(own)}"
        return Stray(verdict=Verdict.INVALID, reason=what)
    return _open(rail, f"it counted {share(own)} of them, and no other device the rest")


def _open(rail: str, why: str) -> Stray:
    return Stray(verdict=Verdict.INCONCLUSIVE, reason=f"nothing shows that the bytes went over {rail}: {why}")


def _shares(name: str, note: VariantNote) -> tuple[float, ...]:
    """Of the bytes sent, node by node; 0 at one without such a device."""
    by_node: defaultdict[str, int] = defaultdict(int)
    for one in note.counted:
        by_node[one.node] += one.counted_bytes if one.device == name else 0
    return tuple(counted / note.sent_bytes for counted in by_node.values())
