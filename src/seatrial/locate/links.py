"""Cables at fault, from numbers of pairs whose routes are known."""

from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.locate.bottleneck import Ways, explain
from seatrial.locate.effects import SCATTERS
from seatrial.locate.scale import relative_scale
from seatrial.model.pair_table import Reals

LEAST_LACK = 0.01
"""A row is bad only if it lacks at least this share of what its peers have."""


class HopSuspects(msgspec.Struct, frozen=True, kw_only=True):
    """Hops (directions of cables) of which one is at fault, and no row tells which; `rows` are those that it explains.

    `ratio` is the best that went through: what the faulty one leaves.
    """

    hops: tuple[int, ...]
    rows: tuple[int, ...]
    ratio: float


class HopVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """`suspects`, those that explain most first; `unexplained` rows; hops that a good row crossed; the line drawn."""

    suspects: tuple[HopSuspects, ...]
    unexplained: tuple[int, ...]
    acquitted: frozenset[int]
    line: float


def locate_hops(bandwidth: Reals, paths: Sequence[Sequence[int]], hops: int) -> HopVerdict:
    """Which of `hops` hops explain the slow rows; `paths[row]` are the hops that row crosses.

    Rows with no path, or no number, are left out of account. The peers are all rows: in a fabric of one speed a pair's
    place does not decide its bandwidth. See `explain` for the method.
    """
    measured = np.flatnonzero(np.isfinite(bandwidth) & (bandwidth > 0))
    chosen = [row for row in measured.tolist() if paths[row]]
    if not chosen:
        return HopVerdict(suspects=(), unexplained=(), acquitted=frozenset(), line=0.0)
    ratio = bandwidth[chosen] / float(np.median(bandwidth[chosen]))
    scatter = relative_scale(ratio)
    line = 1 - max(LEAST_LACK, SCATTERS * scatter)
    lengths = [len(paths[row]) for row in chosen]
    ways = Ways(
        row=np.repeat(np.arange(len(chosen)), lengths),
        part=np.concatenate([np.asarray(paths[row], dtype=np.intp) for row in chosen]),
        parts=hops,
    )
    found = explain(ratio, ways, line, 3 * scatter)
    return HopVerdict(
        suspects=tuple(
            HopSuspects(
                hops=blame.parts,
                rows=tuple(chosen[row] for row in blame.rows.tolist()),
                ratio=float(found.best[list(blame.parts)].max()),
            )
            for blame in found.blamed
        ),
        unexplained=tuple(chosen[row] for row in found.unexplained.tolist()),
        acquitted=frozenset(np.flatnonzero(found.best >= line).tolist()),
        line=line,
    )
