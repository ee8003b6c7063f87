"""A curve drawn with characters, both axes logarithmic."""

import math
from collections.abc import Sequence

HEIGHT = 12
LEAST_COLUMNS = 20


def plot_lines(
    points: Sequence[tuple[float, float]],
    *,
    columns: int,
    labels: tuple[str, str],
    marks: Sequence[float] = (),
    ends: tuple[str, str] = ("", ""),
) -> list[str]:
    """`points` (x, y), all positive, as lines of text; `labels`: of the highest and the lowest y; `ends`: of x.

    `marks`: values of x at which a vertical line stands behind the points.
    """
    margin = max(len(label) for label in labels)
    width = max(columns - margin - 2, LEAST_COLUMNS)
    xs, ys = ([math.log(value) for value in axis] for axis in zip(*points, strict=True))
    grid = [[" "] * width for _ in range(HEIGHT)]
    for mark in marks:
        if min(xs) <= math.log(mark) <= max(xs):
            for row in grid:
                row[_place(math.log(mark), xs, width)] = "┊"
    for x, y in zip(xs, ys, strict=True):
        grid[HEIGHT - 1 - _place(y, ys, HEIGHT)][_place(x, xs, width)] = "•"
    said = [labels[0], *[""] * (HEIGHT - 2), labels[1]]
    lines = [f"{label:>{margin}} │{''.join(row).rstrip()}" for label, row in zip(said, grid, strict=True)]
    lines.append(f"{'':>{margin}} └{'─' * width}")
    room = max(width - len(ends[0]), 1)
    lines.append(f"{'':>{margin}}  {ends[0]}{ends[1]:>{room}}")
    return lines


def _place(value: float, all_values: Sequence[float], count: int) -> int:
    low, high = min(all_values), max(all_values)
    return round((value - low) / (high - low) * (count - 1)) if high > low else 0
