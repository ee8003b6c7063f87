"""The table of stories: pure."""

from collections.abc import Sequence

import msgspec

MOST_S = 300.0
"""Seconds of the product's own time that a story may take."""
HEADS = ("story", "steps", "seconds", "repeated", "verdict")


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One story as it went. `repeated`: steps that were carried out again since the machine was busy."""

    story: str
    steps: int
    seconds: float
    repeated: int
    complaints: tuple[str, ...] = ()
    stands_in: str = ""


def text(results: Sequence[Told]) -> str:
    """A line for each; below it what was not as pinned, and what stands in for something else."""
    cells = [HEADS, *(_cells(each) for each in results)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    lines = []
    for line, told in zip(cells, [None, *results], strict=True):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if told is not None:
            lines += [f"    {words}" for words in (*told.complaints, told.stands_in) if words]
    return "\n".join(lines)


def _cells(told: Told) -> tuple[str, ...]:
    verdict = "WRONG" if told.complaints else "as pinned"
    return told.story, str(told.steps), f"{told.seconds:.0f}", str(told.repeated), verdict
