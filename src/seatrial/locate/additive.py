"""Every node's share in a nearly complete table: y[i, j] = level + out[i] + into[j] + noise, on logarithms.

Median polish to start with (Tukey, Exploratory Data Analysis, 1977), then iterated least squares with Tukey's biweight.
"""

from statistics import NormalDist

import msgspec
import numpy as np

from seatrial.model.pair_table import Flags, Reals
from seatrial.statistics.estimates import array_median, robust_scale

CUT = 4.685
"""Residual scales beyond which a cell has no weight: 95 % efficiency if the noise is normal."""
EFFICIENCY = 0.90
"""The efficiency with outliers, gaps and an estimated scale: so that 1 % of healthy tables at most get a name."""
TRUNCATION = 3.0
TRUNCATED_VARIANCE = 1 - 2 * TRUNCATION * NormalDist().pdf(TRUNCATION) / (2 * NormalDist().cdf(TRUNCATION) - 1)
"""Variance of a standard normal variable within ±TRUNCATION."""
LEAST_WEIGHT = 0.2
"""Share of a node's cells that must keep weight, else the node moves to the median of its cells."""
CLOSE = 0.02
"""The iteration ends when no effect moves by more than this part of its standard error."""
BLOCK = 512
SAMPLE = 1 << 20


class AdditiveFit(msgspec.Struct, frozen=True, kw_only=True):
    """Effects relative to the reference nodes' centre, negative for a slow node; NaN where a node has no cell.

    `out_count` and `in_count`: cells with reference nodes that the effects rest on. `scale`: of the residuals between
    reference nodes, with `degrees` of freedom.
    """

    level: float
    out: Reals
    into: Reals
    out_count: Reals
    in_count: Reals
    scale: float
    degrees: float


def additive_fit(y: Reals, reference: Flags, floor: float, start: AdditiveFit | None = None) -> AdditiveFit:
    """`y[i, j]` (n×n): log of what goes from i to j, NaN where nothing is known. `reference`: nodes to compare with.

    Cells between two nodes outside the reference have no weight: there the slower end decides, and effects do not add.
    `floor`: the least residual scale, from the resolution of the data.
    """
    with np.errstate(invalid="ignore"):
        level, out, into = (start.level, start.out, start.into) if start else _polished(y, reference)
        level, out, into = _centred(level, np.nan_to_num(out), np.nan_to_num(into), reference)
        places = np.flatnonzero(reference)
        cells = int(np.count_nonzero(np.isfinite(y[np.ix_(places, places)])))
        # Residuals are stretched, since the effects were fitted to them.
        freedom = float(np.sqrt(cells / max(cells - 2 * len(places) + 1, 1))) if cells else 1.0
        scale = max(_first_scale(y, level, out, into, reference) * freedom, floor)
        sweeps = 40 if len(y) <= 256 else 8
        for _ in range(sweeps):
            step = _Sweep(y, level, out, into, reference, scale)
            moved_out, moved_in = step.row_step, step.column_step
            scale = max(step.scale * freedom, floor)
            level, out, into = _centred(level, out + moved_out, into + moved_in, reference)
            if max(np.abs(moved_out).max(), np.abs(moved_in).max()) < CLOSE * scale / np.sqrt(len(y)):
                break
    return AdditiveFit(
        level=level,
        out=np.where(step.row_count > 0, out, np.nan),
        into=np.where(step.column_count > 0, into, np.nan),
        out_count=step.row_count,
        in_count=step.column_count,
        scale=scale,
        degrees=max(step.cells - 2 * int(reference.sum()) + 1, 1),
    )


class _Sweep:
    """One step of weighted least squares, rows first and columns after them, in blocks of rows to save memory."""

    def __init__(self, y: Reals, level: float, out: Reals, into: Reals, reference: Flags, scale: float) -> None:
        count = len(y)
        partner = reference.astype(y.dtype)
        self.row_step, self.row_count = np.zeros(count), np.zeros(count)
        column_sum, column_weight, self.column_count = np.zeros(count), np.zeros(count), np.zeros(count)
        square, self.cells = 0.0, 0
        columns = (into + level).astype(y.dtype)
        for begin in range(0, count, BLOCK):
            rows = slice(begin, begin + BLOCK)
            residual = y[rows] - columns
            residual -= out[rows, None].astype(y.dtype)
            known = np.isfinite(residual)
            residual[~known] = 0
            weight = residual / (CUT * scale)
            weight *= weight
            np.subtract(1, weight, out=weight)
            np.maximum(weight, 0, out=weight)
            weight *= weight
            weight *= known
            near = np.abs(residual) < TRUNCATION * scale
            near &= known & reference[rows, None] & reference
            square += float(np.vdot(residual[near], residual[near]))
            self.cells += int(np.count_nonzero(near))
            weighted = weight * residual
            counts = known @ partner
            step = _quotient(weighted @ partner, weight @ partner, counts)
            step = _rescued(step, weight @ partner, counts, residual, known & reference)
            self.row_step[rows], self.row_count[rows] = step, counts
            own = partner[rows]
            column_sum += own @ weighted - (own * step.astype(y.dtype)) @ weight
            column_weight += own @ weight
            self.column_count += own @ known
        self.column_step = _quotient(column_sum, column_weight, self.column_count)
        self.scale = float(np.sqrt(square / max(self.cells, 1) / TRUNCATED_VARIANCE))


def _quotient(total: Reals, weight: Reals, count: Reals) -> Reals:
    enough = weight > LEAST_WEIGHT * np.maximum(count, 1)
    return np.where(enough, total / np.where(enough, weight, 1), 0.0)


def _rescued(step: Reals, weight: Reals, counts: Reals, residual: Reals, measured: Flags) -> Reals:
    """Rows whose cells all lie far off move to the median of their cells at once."""
    lost = (weight <= LEAST_WEIGHT * counts) & (counts > 0)
    for row in np.flatnonzero(lost).tolist():
        step[row] = np.median(residual[row, measured[row]])
    return step


def _polished(y: Reals, reference: Flags) -> tuple[float, Reals, Reals]:
    """Two rounds of median polish over the cells with reference nodes."""
    count = len(y)
    out, into = np.zeros(count), np.zeros(count)
    blocks = [slice(begin, begin + BLOCK) for begin in range(0, count, BLOCK)]
    for _ in range(2):
        for block in blocks:
            out[block] = medians((y[block] - into.astype(y.dtype))[:, reference])
        for block in blocks:
            into[block] = medians((y[:, block].T - out.astype(y.dtype))[:, reference])
    return 0.0, out, into


def medians(rows: Reals) -> Reals:
    """The median of every row, NaN left out; 0 for a row of nothing else."""
    ordered = np.sort(rows, axis=1)
    count = np.count_nonzero(~np.isnan(rows), axis=1)
    if not rows.shape[1]:
        return np.zeros(len(rows))
    places = np.stack([np.maximum(count - 1, 0) // 2, np.minimum(count // 2, rows.shape[1] - 1)], axis=1)
    middle = np.take_along_axis(ordered, places, axis=1).mean(axis=1)
    return np.where(count > 0, middle, 0.0)


def _centred(level: float, out: Reals, into: Reals, reference: Flags) -> tuple[float, Reals, Reals]:
    outward, inward = location(out[reference]), location(into[reference])
    return level + outward + inward, out - outward, into - inward


def location(values: Reals) -> float:
    """Biweight location of a few numbers: the centre of the majority, nearly as sharp as a mean."""
    centre = array_median(values)
    width = CUT * robust_scale(values, centre)
    if width == 0:
        return centre
    for _ in range(3):
        weight = np.maximum(1 - ((values - centre) / width) ** 2, 0) ** 2
        centre = float(weight @ values / weight.sum())
    return centre


def _first_scale(y: Reals, level: float, out: Reals, into: Reals, reference: Flags) -> float:
    """Median absolute residual between reference nodes, of at most about SAMPLE cells."""
    places = np.flatnonzero(reference)
    step = max(int(np.ceil(len(places) ** 2 / SAMPLE)), 1)
    rows = places[::step]
    residual = y[np.ix_(rows, places)] - level - out[rows, None] - into[places]
    sizes = np.abs(residual[np.isfinite(residual)])
    return robust_scale(sizes, 0.0) if sizes.size else 0.0
