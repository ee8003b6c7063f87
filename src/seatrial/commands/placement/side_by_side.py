"""Launch lines side by side: whether each places its ranks as the first one does, and where they differ."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.picture import RankRow
from seatrial.model.errors import ExitCode
from seatrial.model.node_list import node_list
from seatrial.model.verdict import Verdict
from seatrial.model.words import by_text, count, natural_sorted
from seatrial.node.processor_sets import listed
from seatrial.render.finding_text import sentence_of
from seatrial.render.report import Block, Report, rows_table

MOST_RANKS = 16
"""Differing ranks that a table shows."""


class PlacedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line, and how its ranks are placed; docs/placement.md describes each field."""

    line: tuple[str, ...]
    ranks: tuple[RankRow, ...]
    complete: bool
    elsewhere: tuple[int, ...]
    """Ranks on another node than under the first line, or under one of both only."""
    bound_otherwise: tuple[int, ...]
    """Ranks on the same node that may run on other processors."""
    findings: str
    """What is wrong with its placement, as headlines say it."""


class SideBySide(msgspec.Struct, frozen=True, kw_only=True):
    """The lines in their order; the first is the reference. docs/placement.md describes each field."""

    alike: bool | None
    """None: the ranks of some line are not known."""
    lines: tuple[PlacedLine, ...]


def side_by_side(placements: Sequence[Placement]) -> SideBySide:
    """Each line compared with the first."""
    lines = tuple(_placed(one, placements[0]) for one in placements)
    whole = all(line.complete and line.ranks for line in lines)
    alike = not any(line.elsewhere or line.bound_otherwise for line in lines)
    return SideBySide(alike=alike if whole else None, lines=lines)


def _placed(placement: Placement, reference: Placement) -> PlacedLine:
    mine, theirs = ({row.rank: row for row in each.rows} for each in (placement, reference))
    both = sorted(mine.keys() & theirs.keys())
    elsewhere = [rank for rank in both if mine[rank].node != theirs[rank].node]
    return PlacedLine(
        line=placement.line,
        ranks=placement.rows,
        complete=placement.complete and not placement.failure,
        elsewhere=tuple(sorted([*elsewhere, *(mine.keys() ^ theirs.keys())])),
        bound_otherwise=tuple(rank for rank in both if rank not in elsewhere and mine[rank].cpus != theirs[rank].cpus),
        findings=sentence_of(placement.findings),
    )


def side_by_side_report(compared: SideBySide) -> Report:
    """The whole report. A difference is not a fault: its verdict is NOTE."""
    word = Verdict.INCONCLUSIVE if compared.alike is None else Verdict.PASS if compared.alike else Verdict.NOTE
    return Report(
        kind="placements",
        word=word.value,
        sentence=_sentence(compared),
        exit_code=ExitCode.INCOMPLETE if compared.alike is None else ExitCode.PASS,
        payload=lambda: compared,
        terminal=lambda _: _blocks(compared),
        page=lambda: _blocks(compared),
    )


def _sentence(compared: SideBySide) -> str:
    lines = count(len(compared.lines), "line")
    if compared.alike is None:
        return f"the {lines} cannot be compared: not all said where their ranks are"
    ranks = count(len(compared.lines[0].ranks), "rank")
    if compared.alike:
        return f"the {lines} are the same: {ranks} on the same nodes and processors"
    differing = [line for line in compared.lines if line.elsewhere or line.bound_otherwise]
    first = differing[0]
    parts = [f"{len(first.elsewhere)} elsewhere"] if first.elsewhere else []
    parts += [f"{len(first.bound_otherwise)} on other processors"] if first.bound_otherwise else []
    return f"line {compared.lines.index(first) + 1} differs from line 1: of {ranks} {', '.join(parts)}"


def _blocks(compared: SideBySide) -> Iterator[Block]:
    heads = ("#line", "~launch line", "#ranks", "~ranks per node", "~of each rank", "~wrong with it")
    lines = (
        (str(place), shlex.join(line.line), str(len(line.ranks)), _per_node(line), _masks(line), line.findings)
        for place, line in enumerate(compared.lines, start=1)
    )
    yield rows_table(heads, lines, None)
    ranks = ("#rank", *(f"line {place}" for place in range(1, len(compared.lines) + 1)))
    yield rows_table(ranks, _differences(compared), MOST_RANKS, "Ranks that differ: node and processors")


def _differences(compared: SideBySide) -> Iterator[tuple[str, ...]]:
    of_line = [{row.rank: f"{row.node} {row.cpus}" for row in line.ranks} for line in compared.lines]
    differing = {rank for line in compared.lines for rank in (*line.elsewhere, *line.bound_otherwise)}
    for rank in sorted(differing):
        yield str(rank), *(places.get(rank, "none") for places in of_line)


def _per_node(line: PlacedLine) -> str:
    """`24 on n[1-2]`."""
    alike = by_text(Counter(row.node for row in line.ranks).items())
    return ", ".join(f"{number} on {node_list(natural_sorted(nodes))}" for number, nodes in sorted(alike.items()))


def _masks(line: PlacedLine) -> str:
    """`1 processor`, `2 to 24 processors`: what each rank may run on."""
    sizes = sorted({len(listed(row.cpus) or ()) for row in line.ranks})
    if not sizes:
        return "unknown"
    return count(sizes[0], "processor") if len(sizes) == 1 else f"{sizes[0]} to {count(sizes[-1], 'processor')}"
