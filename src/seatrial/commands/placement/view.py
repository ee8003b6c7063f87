"""The report of `seatrial placement`: the places of the ranks, and better ones."""

import shlex
from collections.abc import Iterator

import msgspec

from seatrial.commands.placement.advice import Advice
from seatrial.commands.placement.gain import Fix, Gain, GainOutcome
from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.map import core_map, legend, map_lines
from seatrial.commands.placement.picture import RankRow
from seatrial.launch.line_parser import Dialect
from seatrial.model import subject, units
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.finding_text import finding_sentence, sentence_of
from seatrial.render.json import filled
from seatrial.render.pair_view import run_report
from seatrial.render.plots import Bars, CoreKey, bars_of
from seatrial.render.report import Block, Case, Cells, Copy, Drawing, Items, Lines, Paragraph, Report, Table, rows_table

MOST_ROWS, MOST_PAGE_ROWS = 32, 500
MOST_LETTERS = 80
MOST_PICTURES, MOST_PAGE_PICTURES = 6, 24
MOST_COPIED = 16
"""Lines of a rankfile that a terminal prints to be copied."""
MOST_QUOTED = 120
"""Letters of an advised line that the first lines contain; a longer one is only below them."""
WIDE = 80
"""Narrower terminals get the fewer columns."""
NARROW_HEADINGS = ("rank", "node", "may run on", "advised")
ADVISED = "advised"
RANKS: Cells[RankRow] = {
    "rank": lambda row: str(row.rank),
    "node": lambda row: row.node,
    "on cpu": lambda row: units.UNKNOWN if row.cpu is None else str(row.cpu),
    "may run on": lambda row: row.cpus,
    "cores": lambda row: row.cores,
    "socket": lambda row: row.sockets or units.UNKNOWN,
    "NUMA": lambda row: row.numa_nodes or units.UNKNOWN,
    "adapter": lambda row: row.distance,
    "near adapters": lambda row: ", ".join(row.adapters),
    "near GPUs": lambda row: ", ".join(row.gpus),
    ADVISED: lambda row: row.advised,
}
OF_GPUS = ("near adapters", "near GPUs")
"""Columns for nodes with GPUs: data between both cross the processor unless they are near each other."""


class PlacementGain(Gain, frozen=True, kw_only=True):
    """One metric under the placement that was asked for and the advised one."""

    outcome: GainOutcome


class PlacementFields(msgspec.Struct, frozen=True, kw_only=True):
    """The places of ranks, and better ones; docs/placement.md describes each field."""

    complete: bool
    dialect: Dialect = msgspec.field(name="launcher")
    mpi_library: str
    line: tuple[str, ...]
    rows: tuple[RankRow, ...] = msgspec.field(name="ranks")
    fix: Fix
    why: str
    failure: str
    advised_line: tuple[str, ...]
    advice: Advice | None
    gains: tuple[PlacementGain, ...]
    notes: tuple[str, ...]


def placement_report(run: RunInfo, placement: Placement) -> Report:
    """The whole report."""
    return run_report(
        run,
        placement,
        headline(placement),
        payload=lambda: filled(PlacementFields, placement, run),
        terminal=lambda width: _terminal(placement, width),
        page=lambda: _page(placement),
        cases=(
            Case(name=subject.node(node), verdict=Verdict.MEASURED)
            for node in dict.fromkeys(row.node for row in placement.rows)
        ),
        brief=True,
    )


def _terminal(placement: Placement, width: int) -> Iterator[Block]:
    yield Drawing(lines=tuple(_map_lines(placement, width)))
    yield Lines(rows=tuple(_lines(placement)))
    if placement.advised_line:
        yield Paragraph(text="Recommended launch line:")
        rankfile = _rankfile(placement)
        if len(rankfile) > MOST_COPIED:
            text = f"(with rankfile.txt, {count(len(rankfile), 'line')}, from the folder logs of the archived run)"
            yield Paragraph(text=text, tight=True)
            rankfile = ()
        yield Copy(lines=(*_here_document(rankfile), shlex.join(placement.advised_line)), tight=True)
    if placement.rows:
        yield _rank_table(placement, width)


def _map_lines(placement: Placement, width: int) -> Iterator[tuple[tuple[str, str], ...]]:
    """The first drawings, how many nodes are left out, and the legend."""
    shown = placement.pictures[:MOST_PICTURES]
    for picture in shown:
        yield from (((line, ""),) for line in map_lines(picture, width, advised_row(placement)))
    rest = sum(len(picture.nodes) for picture in placement.pictures[MOST_PICTURES:])
    if rest:
        yield ((f"{count(rest, 'more node')} with other placements: see the table, or --json.", ""),)
    if signs := legend(shown):
        yield ((f"({signs})", "dim"),)


def _rankfile(placement: Placement) -> tuple[str, ...]:
    """Open MPI's rankfile, where the advised line needs it."""
    if not placement.advised_line or not placement.advice or placement.dialect is not Dialect.OPEN_MPI:
        return ()
    return tuple(placement.advice.rankfile.splitlines())


def _here_document(rankfile: tuple[str, ...]) -> tuple[str, ...]:
    return ("cat > rankfile.txt <<END", *rankfile, "END") if rankfile else ()


def _page(placement: Placement) -> Iterator[Block]:
    if placement.advised_line:
        text = (*_here_document(_rankfile(placement)), shlex.join(placement.advised_line))
        yield Copy(title="Recommended launch line", lines=text)
    yield from _core_maps(placement)
    for place, gain in enumerate(placement.gains):
        yield _bars(gain, "What was measured" if place == 0 else "")
    yield Lines(title="The launch line", rows=(("asked", shlex.join(placement.line)), *_other_launchers(placement)))
    yield Items(title="Caveats", items=placement.notes)
    if placement.rows:
        yield _rank_table(placement, None)


def _core_maps(placement: Placement) -> Iterator[Block]:
    if not placement.pictures:
        return
    yield CoreKey(title="Where the ranks are")
    for picture in placement.pictures[:MOST_PAGE_PICTURES]:
        yield core_map(picture, advised_row(placement))
    if rest := sum(len(picture.nodes) for picture in placement.pictures[MOST_PAGE_PICTURES:]):
        text = f"{count(rest, 'more node')} with other placements: see the table, or the JSON report."
        yield Paragraph(text=text, aside=True)


def headline(placement: Placement) -> str:
    """How many ranks, what was found, and what became of the fix."""
    nodes = len({row.node for row in placement.rows})
    where = f"{count(len(placement.rows), 'rank')} on {count(nodes, 'node')}"
    if not placement.rows:
        return placement.failure or "it is not known where the ranks are"
    faults = sentence_of(placement.findings) or next(map(finding_sentence, placement.findings), "nothing found")
    result = [f"{faults}, {where}" if placement.findings else f"{where}: {faults}"]
    if placement.advised_line and len(line := shlex.join(placement.advised_line)) <= MOST_QUOTED:
        result.append(f"write {line}")
    if placement.fix is not Fix.NONE:
        result.append(_fix_text(placement))
    return "; ".join(result)


def advised_row(placement: Placement) -> str:
    """What the advised placement is called: one that is not recommended was only tried."""
    return "tried" if placement.fix is not Fix.NONE and not placement.advised_line else "advised"


def _fix_text(placement: Placement) -> str:
    if placement.fix is Fix.PROVED:
        return f"the fix is proved: {placement.why}"
    if placement.fix is Fix.WITHDRAWN:
        return f"the fix is withdrawn: {placement.why}"
    if not placement.advised_line:
        return f"no launch line is recommended: {placement.why}"
    return f"the fix is not proved: {placement.why}"


def _rank_table(placement: Placement, width: int | None) -> Table:
    """All ranks; for a terminal of that `width` fewer of them, and fewer columns where it is narrow."""
    shown = [name for name in RANKS if width is None or width >= WIDE or name in NARROW_HEADINGS]
    if not any(row.gpus for row in placement.rows):
        shown = [name for name in shown if name not in OF_GPUS]
    if width is not None and not any(row.advised for row in placement.rows):
        shown.remove(ADVISED)
    most = MOST_PAGE_ROWS if width is None else MOST_ROWS
    rows = [[RANKS[name](row) for name in shown] for row in placement.rows]
    heads = [advised_row(placement) if name == ADVISED else name for name in shown]
    return rows_table(heads, rows, most, "All ranks" if width is None else "")


def _lines(placement: Placement) -> Iterator[tuple[str, str]]:
    """Label and sentence of all that a terminal shows beside findings and drawings."""
    yield "asked", shlex.join(placement.line)
    for gain in placement.gains:
        asked, advised = (units.estimate(one, gain.metric) for one in (gain.asked, gain.advised))
        yield gain.text.partition(" ")[0], f"{asked} as it is"
        yield "", f"{advised} as advised; {gain.outcome.value}"
    for remedy in dict.fromkeys(finding.remedy for finding in placement.findings):
        yield "to do", remedy
    yield from _other_launchers(placement)
    for note in placement.notes:
        yield "note", note


def _other_launchers(placement: Placement) -> Iterator[tuple[str, str]]:
    if placement.advice and placement.advised_line:
        if placement.advice.srun and placement.dialect is not Dialect.SRUN:
            yield "by srun", _short(placement.advice.srun)
        if placement.advice.hydra and placement.dialect is not Dialect.HYDRA:
            yield "by Hydra", _short(placement.advice.hydra)
        if placement.dialect is not Dialect.OPEN_MPI:
            yield "Open MPI", "logs/rankfile.txt in the folder of the run"


def _bars(gain: Gain, title: str) -> Bars:
    """Both placements on one axis from zero."""
    name = "Bandwidth, longer is better" if gain.metric == units.BANDWIDTH else "Latency, shorter is better"
    return bars_of(
        f"{name}. {gain.text}: {gain.outcome.value}",
        [
            (name, (one.low, one.value, one.high), units.estimate(one, gain.metric))
            for name, one in (("as it is", gain.asked), ("as advised", gain.advised))
        ],
        title=title,
    )


def _short(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    return text if len(text) <= MOST_LETTERS else "see --json: the line is long"
