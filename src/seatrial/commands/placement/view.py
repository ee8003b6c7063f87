"""The report of `seatrial placement`: the places of the ranks, and better ones."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from seatrial.commands.placement.advice import Advice
from seatrial.commands.placement.gain import Fix, Gain, GainOutcome
from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.picture import CoreCell, Loose, NodePicture, NumaBox, RankRow
from seatrial.launch.line_parser import Dialect
from seatrial.model import subject, units
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, few, ranges
from seatrial.render import plots
from seatrial.render.finding_text import finding_sentence, sentence_of
from seatrial.render.json import filled
from seatrial.render.pair_view import run_report
from seatrial.render.plots import Bars, CoreKey, bars_of
from seatrial.render.report import Block, Case, Cells, Copy, Drawing, Items, Lines, Paragraph, Report, Table, rows_table

LEAST_CELLS = 8
LABEL = 8
MOST_NAMES = 40
NOBODY, NOT_OURS = ".", "-"


def map_lines(picture: NodePicture, width: int, advised: str = "advised") -> Iterator[str]:
    """One drawing, at most `width` columns wide where a cell fits into it. `advised`: what that row is called."""
    yield node_title(picture)
    for loose in picture.loose:
        yield f"  {'now':<{LABEL}} {loose_text(loose)}"
    rows = ["core", *(["now"] if any(core.now for core in _cells(picture)) else [])]
    rows += [advised] if picture.advised else []
    waiting: list[NumaBox] = []
    for box in picture.boxes:
        if not box.adapters and not any(core.touched for core in box.cores):
            waiting.append(box)
            continue
        yield from _untouched(waiting)
        waiting = []
        yield from _box(box, rows, _cell_width(picture), width)
    yield from _untouched(waiting)


def _cells(picture: NodePicture) -> Iterator[CoreCell]:
    for box in picture.boxes:
        yield from box.cores


def _cell_width(picture: NodePicture) -> int:
    texts = [each for core in _cells(picture) for each in (str(core.first), *_texts(core))]
    return max(map(len, texts), default=1) + 1


def _texts(core: CoreCell) -> tuple[str, str]:
    return cell_text(core.now, core), cell_text(core.advised, core)


def loose_text(loose: Loose) -> str:
    """ranks 0-3 on any of cores 0-15, which they may share."""
    whose = f"rank {loose.ranks[0]}" if len(loose.ranks) == 1 else f"ranks {ranges(loose.ranks)}"
    return f"{whose} on any of cores {ranges(loose.cores)}, which they may share"


def node_title(picture: NodePicture) -> str:
    """n1; n[1-8], alike: the ranks of n1 are drawn."""
    if len(picture.nodes) == 1:
        return picture.nodes[0]
    return f"{few(picture.nodes, MOST_NAMES)}, alike: the ranks of {picture.nodes[0]} are drawn"


def box_title(box: NumaBox) -> str:
    """socket 1, NUMA 1: mlx5_0."""
    known = [("socket", box.package), ("NUMA", box.numa_node)]
    where = ", ".join(f"{what} {number}" for what, number in known if number is not None) or "sockets not known"
    return where + (f": {', '.join(box.adapters)}" if box.adapters else "")


def cell_text(ranks: Sequence[int], core: CoreCell) -> str:
    """The rank; of two both, of more how many."""
    if not ranks:
        return NOBODY if core.ours else NOT_OURS
    return ",".join(map(str, ranks)) if len(ranks) <= 2 else f"x{len(ranks)}"


def legend(pictures: Sequence[NodePicture]) -> str:
    """The meaning of the signs that occur; empty where there are none."""
    cells = [core for picture in pictures for core in _cells(picture)]
    advised = any(picture.advised for picture in pictures)
    signs = []
    if any(core.ours and not (core.now and (core.advised or not advised)) for core in cells):
        signs.append(f"{NOBODY} no rank bound")
    if any(not core.ours for core in cells):
        signs.append(f"{NOT_OURS} not this job's")
    if any(len(ranks) == 2 for core in cells for ranks in (core.now, core.advised)):
        signs.append("0,1 two ranks on one core")
    if any(len(ranks) > 2 for core in cells for ranks in (core.now, core.advised)):
        signs.append("x3 three ranks on one core")
    return "; ".join(signs)


def _box(box: NumaBox, rows: Sequence[str], wide: int, width: int) -> Iterator[str]:
    last = max((place for place, core in enumerate(box.cores) if core.touched), default=-1)
    shown = box.cores[: max(last + 1, LEAST_CELLS)]
    rest = len(box.cores) - len(shown)
    more = f"; {count(rest, 'more core')}, no rank bound" if rest else ""
    yield f"  {box_title(box)}{more}"
    each = max((width - LABEL - 2) // wide, 1)
    for first in range(0, len(shown), each):
        part = shown[first : first + each]
        for name in rows:
            cells = [str(core.first) if name == "core" else _texts(core)[name != "now"] for core in part]
            yield f"  {name:<{LABEL}}{''.join(f'{cell:>{wide}}' for cell in cells)}"


def _untouched(boxes: Sequence[NumaBox]) -> Iterator[str]:
    if boxes:
        cores = ranges(core.first for box in boxes for core in box.cores)
        sockets = {box.package for box in boxes}
        numa_nodes = [box.numa_node for box in boxes if box.numa_node is not None]
        if len(boxes) > 1 and len(sockets) == 1 and len(numa_nodes) == len(boxes):
            where = f"{box_title(boxes[0]).rpartition(' ')[0]} {ranges(numa_nodes)}"
        else:
            where = " to ".join(dict.fromkeys(box_title(box) for box in (boxes[0], boxes[-1])))
        yield f"  {where}: cores {cores}, no rank bound"


def core_map(picture: NodePicture, advised: str) -> plots.CoreMap:
    """The map of the cores for the page. `advised`: name of the second placement."""
    sides = [_side(picture, "now")] + ([_side(picture, advised)] if picture.advised else [])
    notes = tuple(f"Now {loose_text(loose)}." for loose in picture.loose)
    return plots.CoreMap(heading=node_title(picture), notes=notes, sides=tuple(sides))


def _side(picture: NodePicture, name: str) -> plots.CoreSide:
    """All sockets of a node with the ranks of one placement."""
    now = name == "now"
    roaming = {core for loose in picture.loose for core in loose.cores} if now else set[int]()
    sockets = groupby(sorted(picture.boxes, key=_socket), key=_socket)
    return plots.CoreSide(
        title=name, sockets=tuple(tuple(_page_box(box, now, roaming) for box in boxes) for _, boxes in sockets)
    )


def _socket(box: NumaBox) -> int:
    return -1 if box.package is None else box.package


def _page_box(box: NumaBox, now: bool, roaming: set[int]) -> plots.CoreBox:
    cells = (_page_cell(core, core.now if now else core.advised, core.first in roaming) for core in box.cores)
    return plots.CoreBox(title=box_title(box), near=bool(box.adapters), cells=tuple(cells))


def _page_cell(core: CoreCell, ranks: Sequence[int], roaming: bool) -> plots.DrawnCore:
    if len(ranks) > 1:
        style, use = "shared", f"ranks {ranges(ranks)}"
    elif ranks:
        style, use = "one", f"rank {ranges(ranks)}"
    elif roaming:
        style, use = "roaming", "ranks that are not bound"
    else:
        style, use = ("free", "no rank") if core.ours else ("foreign", "not this job's")
    text = "" if not ranks else ",".join(map(str, ranks)) if len(ranks) <= 2 else f"{len(ranks)}×"
    return plots.DrawnCore(core=core.first, style=style, text=text, hover=f"core {core.first}: {use}")


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
        why = placement.failure or "it is not known where the ranks are"
        return "; ".join(filter(None, (sentence_of(placement.findings), why)))
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
