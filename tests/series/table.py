"""The table of a series: pure."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

HEADS = ("scenario", "right", "median s", "longest s", "verdicts")


class Wrong(TypedDict):
    """One run that was not right."""

    run: int
    kept: str
    complaints: list[str]


class Row(TypedDict):
    """One scenario. `runs` were asked for; those that a failed trial did not come to count as wrong."""

    scenario: str
    runs: int
    right: int
    median_s: float
    longest_s: float
    verdicts: dict[str, int]
    complaints: dict[str, int]
    wrong: list[Wrong]


def row(name: str, runs: int, found: Mapping[str, Any]) -> Row:
    """The row of a scenario from what `lab trial --json` printed of it; empty where the trial failed."""
    seconds = [float(one["seconds"]) for one in found.get("results", ())]
    wrong: list[Wrong] = list(found.get("wrong", ()))
    kinds = Counter(complaint.split(" (")[0] for one in wrong for complaint in one["complaints"])
    if len(seconds) < runs:
        kinds["the trial ended early"] += runs - len(seconds)
    return Row(
        scenario=name,
        runs=runs,
        right=len(seconds) - len(wrong),
        median_s=statistics.median(seconds) if seconds else 0.0,
        longest_s=max(seconds, default=0.0),
        verdicts=dict(found.get("verdicts", {})),
        complaints=dict(kinds.most_common()),
        wrong=wrong,
    )


def text(rows: Sequence[Row]) -> str:
    """All rows as aligned text; below a row that was not right all the time, what went wrong and the archives."""
    cells = [HEADS, *(_cells(one) for one in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    lines = []
    for place, line in enumerate(cells):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if place:
            lines += _details(rows[place - 1])
    return "\n".join(lines)


def _cells(one: Row) -> tuple[str, ...]:
    verdicts = ", ".join(f"{verdict} {count}" for verdict, count in one["verdicts"].items())
    right = f"{one['right']}/{one['runs']}"
    return one["scenario"], right, f"{one['median_s']:.1f}", f"{one['longest_s']:.1f}", verdicts


def _details(one: Row) -> list[str]:
    lines = [f"    {count} x {complaint}" for complaint, count in one["complaints"].items()]
    return lines + [f"    run {wrong['run']}: {wrong['kept']}" for wrong in one["wrong"] if wrong["kept"]]
