"""A node's sockets, NUMA nodes and cores with the ranks on them: in characters, and as boxes for the page."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from seatrial.commands.placement.picture import CoreCell, Loose, NodePicture, NumaBox
from seatrial.model.words import count, few, ranges
from seatrial.render import plots

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
