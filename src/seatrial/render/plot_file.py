"""The pictures of a report in a file, SVG, PNG or PDF: what its page draws, at the same places.

Each picture is described once, by the block that a page draws as inline SVG; `DRAWN` has the kinds of blocks that are
pictures.
"""

import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from seatrial.model.errors import SeatrialError
from seatrial.model.words import count
from seatrial.render.device_map import BINDS, DeviceMap
from seatrial.render.distribution import Distribution
from seatrial.render.escape import shorten
from seatrial.render.forest import Factor, Factors, Forest
from seatrial.render.matrix import PATTERNS, Key, Matrix, Panels, Words
from seatrial.render.node_map import NodeMap
from seatrial.render.plot_sheet import Sheet, drawing
from seatrial.render.plot_style import WHITE, colours, words_on
from seatrial.render.plots import Bars, CoreBox, CoreMap, Plot
from seatrial.render.report import Block, Report

LEAST_WIDTH, MOST_BESIDE, MARGIN, GAP = 1000, 1240, 20, 18
"""Pixels of a sheet, of one that is wider so that two pictures fit beside each other, of the white border, and between
pictures.
"""
MOST_PICTURES = 12
"""Pictures on one sheet, the first."""
LETTER, BOLD = 7.2, 9.2
"""Pixels of a letter of 12 pixels, and of a bold one of 13, about."""
TITLE, LINE, HEAD = 17, 16, 22
"""Pixels of the letters of the title, of a line of small letters, and of the title of a picture."""
MOST_TITLE_LINES = 3
MARKERS, DASHES = "osD^vP<>", ("-", "--", "-.", ":")
"""Marks and lines of curves, which differ without colour, too."""
LINES = {"limit": "-", "peers": "--", "threshold": ":"}
"""Lines of references by their style."""
NAMES, AXIS, NUMBERS = 340, 300, 320
"""Pixels of the columns of bars and forest plots."""
ASIDE = 130
"""Letters of a line on how to read a picture."""
ROW, CELL, NODE = 24, 38, (74, 20)
"""Pixels of a row of bars, of a core, and of a node."""
MOST_CORES, MOST_NODES = 16, 12
"""Cells in a row."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One picture to draw: its title, the size in pixels of what is below, and what draws that from a place on."""

    title: str
    width: float
    height: float
    draw: Callable[[Sheet, float, float], None]


def as_plot(report: Report, form: str) -> bytes:
    """All pictures of the page below the verdict. `form`: svg, png or pdf. Raises SeatrialError if there is none."""
    pictures = list(pictures_of(report.page()))
    if not pictures:
        raise SeatrialError("There is nothing to draw: no picture goes with this result.", "Read the text.")
    shown = [picture for block in pictures[:MOST_PICTURES] for picture in DRAWN[type(block)](block)]
    left_out = len(pictures) - MOST_PICTURES
    widths = [picture.width + 2 * MARGIN for picture in shown]
    both = (one.width + GAP + other.width + 2 * MARGIN for one, other in pairwise(shown))
    width = max(LEAST_WIDTH, *widths, *(total for total in both if total <= MOST_BESIDE))
    title = textwrap.wrap(report.headline or report.title, int((width - 2 * MARGIN) / (LETTER * TITLE / 12)))
    if len(title) > MOST_TITLE_LINES:
        title[MOST_TITLE_LINES - 1] += " …"
    places = list(_placed(shown, width, MARGIN + (TITLE + 5) * len(title[:MOST_TITLE_LINES]) + GAP))
    end = max(top + HEAD + picture.height for picture, _, top in places)
    more = (f"{count(left_out, 'more picture')} on the page (--html)",) if left_out > 0 else ()
    about = " · ".join((*report.about, *more, "seatrial"))
    with drawing():
        sheet = Sheet(width, end + 2 * LINE + MARGIN)
        for number, line in enumerate(title[:MOST_TITLE_LINES]):
            sheet.words(MARGIN, MARGIN + TITLE + (TITLE + 5) * number, line, size=TITLE, bold=True)
        for picture, left, top in places:
            sheet.words(left, top + 14, picture.title, bold=True, size=13)
            picture.draw(sheet, left, top + HEAD)
        sheet.words(MARGIN, end + 2 * LINE, shorten(about, int(width / 6)), size=11, colour=colours().names["soft"])
        return sheet.file(form)


def pictures_of(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks that are pictures, those of panels one by one."""
    for block in blocks:
        if isinstance(block, Panels):
            yield from pictures_of(block.panels)
        elif type(block) in DRAWN:
            yield block


def _placed(pictures: Sequence[Picture], width: float, top: float) -> Iterator[tuple[Picture, float, float]]:
    """Pictures from left to right where two fit beside each other, else below each other."""
    left, height = float(MARGIN), 0.0
    for picture in pictures:
        if left > MARGIN and left + picture.width > width - MARGIN:
            left, top, height = float(MARGIN), top + height + GAP, 0.0
        yield picture, left, top
        left, height = left + picture.width + GAP, max(height, HEAD + picture.height)


def _plot(block: Plot) -> Iterator[Picture]:
    svg, palette = block.svg, colours()
    soft, ink = palette.names["soft"], palette.names["text"]

    def draw(sheet: Sheet, left: float, top: float) -> None:
        high, low = top + svg.top, top + svg.bottom
        for x, label in svg.x_ticks:
            sheet.line([left + x] * 2, [high, low], palette.names["line"])
            sheet.words(left + x, low + 18, label, anchor="middle", colour=soft)
        for y, label in svg.y_ticks:
            sheet.line([left + svg.left, left + svg.right], [top + y] * 2, palette.names["line"])
            sheet.words(left + svg.left - 6, top + y + 4, label, anchor="end", colour=soft)
        for x in svg.marks:
            sheet.line([left + x] * 2, [high, low], soft, 1, "--")
        for y, _ in svg.levels:
            sheet.line([left + svg.left, left + svg.right], [top + y] * 2, ink, 1.5)
        for number, curve in enumerate(svg.curves):
            colour = palette.curves[curve.colour]
            xs, ys = [left + dot.x for dot in curve.dots], [top + dot.y for dot in curve.dots]
            sheet.line(xs, ys, colour, 1.5, DASHES[number % len(DASHES)])
            for dot in curve.dots:
                sheet.line([left + dot.x] * 2, [top + dot.low, top + dot.high], colour, 1.2)
            sheet.dots(xs, ys, colour, MARKERS[number % len(MARKERS)])
            sheet.words(left + curve.label_x, top + curve.label_y, curve.label, colour=colour, bold=True, halo=True)
        for y, label in svg.levels:
            sheet.words(left + svg.left + 6, top + y - 6, label, halo=True)
        if svg.mark_text:
            sheet.words(left + svg.marks[0] + 6, low - 8, svg.mark_text, halo=True)
        sheet.words(left + 6, top + 16, svg.y_title, colour=soft)
        sheet.words(left + (svg.left + svg.right) / 2, top + svg.height - 8, svg.x_title, anchor="middle", colour=soft)

    yield Picture(title=block.title, width=svg.width, height=svg.height, draw=draw)


def _matrix(block: Matrix) -> Iterator[Picture]:
    svg, palette = block.svg, colours()
    width = max(svg.width, BOLD * len(block.caption))
    keys = _key_places(block.key, width)

    def draw(sheet: Sheet, left: float, top: float) -> None:
        x, y = left + svg.left, top + svg.top
        sheet.areas([(x, y, svg.side, svg.side)], palette.names["absent"])
        squares: dict[tuple[str, int], list[tuple[float, float, float, float]]] = defaultdict(list)
        for square in block.cells:
            place = (x + square.column * svg.cell, y + square.row * svg.cell, svg.cell, svg.cell)
            squares[square.style, square.shade].append(place)
        for (style, shade), corners in squares.items():
            sheet.areas(corners, palette.of(style, shade), PATTERNS.get(style, "") if svg.patterned else "")
        for at in (at for at in range(1, len(block.groups)) if block.groups[at] != block.groups[at - 1]):
            sheet.line([x, x + svg.side], [y + at * svg.cell] * 2, palette.names["text"], 2)
            sheet.line([x + at * svg.cell] * 2, [y, y + svg.side], palette.names["text"], 2)
        _words(sheet, svg.words, left, top, size=min(12, svg.cell))
        for styles, texts in svg.numbers:
            style, shade_word = styles.split()
            colour = words_on(palette.of(style, int(shade_word[-1])))
            _words(sheet, texts, left, top, colour, 12 if svg.cell >= 32 else 9.5)
        _keys(sheet, keys, left, top + svg.height + 6)

    yield Picture(title=block.caption, width=width, height=svg.height + 6 + _key_height(keys), draw=draw)


def _distribution(block: Distribution) -> Iterator[Picture]:
    svg, palette = block.svg, colours()
    keys = _key_places(block.key, svg.width)

    def draw(sheet: Sheet, left: float, top: float) -> None:
        for y, label in svg.y_ticks:
            sheet.line([left + svg.left, left + svg.right], [top + y] * 2, palette.names["line"])
            sheet.words(left + svg.left - 6, top + y + 4, label, anchor="end", size=11)
        for x, label in svg.x_ticks:
            sheet.words(left + x, top + svg.bottom + 18, label, anchor="middle", size=11)
        for bar in svg.bars:
            corners = [(left + bar.x, top + bar.y, bar.width, bar.height)]
            sheet.areas(corners, palette.of(bar.style), PATTERNS.get(bar.style, ""))
        for line in svg.references:
            sheet.line([left + line.x] * 2, [top + line.top, top + svg.bottom], palette.names["text"], 1.5,
                       LINES.get(line.style, "-"))  # fmt: skip
        _words(sheet, [line.words for line in svg.references], left, top, size=11)
        _words(sheet, [svg.y_title], left, top, palette.names["soft"], 11)
        _keys(sheet, keys, left, top + svg.height)

    yield Picture(title=block.caption, width=svg.width, height=svg.height + _key_height(keys), draw=draw)


def _words(sheet: Sheet, texts: Iterable[Words], left: float, top: float, colour: str = "", size: float = 12) -> None:
    for words in texts:
        ink = colour or colours().names["soft" if words.style in ("axis-name", "group") else "text"]
        halo = words.style.startswith("reference")
        place = left + words.x, top + words.y
        sheet.words(*place, words.text, anchor=words.anchor, colour=ink, size=size, turned=words.turned, halo=halo)


def _key_places(keys: Sequence[Key], width: float) -> list[tuple[Key, float, float]]:
    """Keys from left to right, on as many lines as they need."""
    placed, left, top = [], 0.0, 0.0
    for key in keys:
        room = 20 + LETTER * len(key.text) + 14
        if left and left + room > width:
            left, top = 0.0, top + LINE + 2
        placed.append((key, left, top))
        left += room
    return placed


def _key_height(keys: Sequence[tuple[Key, float, float]]) -> float:
    return keys[-1][2] + LINE + 2 if keys else 0.0


def _keys(sheet: Sheet, keys: Sequence[tuple[Key, float, float]], left: float, top: float) -> None:
    palette = colours()
    for key, x, y in keys:
        face = palette.names["absent"] if key.style == "absent" else palette.of(key.style)
        sheet.areas([(left + x, top + y + 2, 12, 12)], face, PATTERNS.get(key.style, ""))
        sheet.words(left + x + 18, top + y + 13, key.text, colour=palette.names["soft"], size=11)


def _forest(block: Forest) -> Iterator[Picture]:
    """One picture a metric, with all names: each can be read alone. The first one says how to read them."""
    for number, metric in enumerate(block.metrics):
        yield _factors(block.names, metric, () if number else textwrap.wrap(block.aside, ASIDE))


def _factors(names: Sequence[str], metric: Factors, aside: Sequence[str]) -> Picture:
    palette = colours()
    above_axis = LINE * len(aside) + 20

    def draw(sheet: Sheet, left: float, top: float) -> None:
        for number, line in enumerate(aside):
            sheet.words(left, top + 10 + LINE * number, line, colour=palette.names["soft"], size=11)
        x, y = left + NAMES, top + above_axis
        end = y + ROW * len(names)
        below, above = (x + AXIS * part / 100 for part in (metric.below, metric.above))
        sheet.areas([(below, y, above - below, end - y)], palette.names["absent"])
        for part, text in ((0.0, f"1/{metric.span}"), (50.0, "1"), (100.0, f"{metric.span} times")):
            sheet.line([x + AXIS * part / 100] * 2, [y, end], palette.names["soft"], 1, "-" if part == 50 else ":")
            sheet.words(x + AXIS * part / 100, y - 6, text, anchor="middle", colour=palette.names["soft"], size=11)
        for number, (name, row) in enumerate(zip(names, metric.rows, strict=True)):
            middle = y + ROW * (number + 0.5)
            sheet.words(left, middle + 4, shorten(name, int(NAMES / LETTER)))
            _factor(sheet, row, x, middle)
            sheet.words(x + AXIS + 14, middle + 4, shorten(row.text, int(NUMBERS / LETTER)))

    height = above_axis + ROW * len(names) + 8
    return Picture(title=metric.title, width=NAMES + AXIS + NUMBERS, height=height, draw=draw)


def _factor(sheet: Sheet, row: Factor, x: float, middle: float) -> None:
    if row.low is None:
        return
    palette = colours()
    worse, unsure = row.style in ("slower", "hobbled", "without"), row.style == "inconclusive"
    colour = palette.names["slow" if worse else "unsure" if unsure else "link"]
    sheet.line([x + AXIS * row.low / 100, x + AXIS * row.high / 100], [middle] * 2, colour, 6)
    sheet.line([x + AXIS * row.value / 100] * 2, [middle - 7, middle + 7], palette.names["text"], 3)


def _bars(block: Bars) -> Iterator[Picture]:
    palette = colours()

    def draw(sheet: Sheet, left: float, top: float) -> None:
        for number, bar in enumerate(block.bars):
            x, middle = left + NAMES, top + ROW * (number + 0.5)
            first = number == 0 and not block.alike
            sheet.words(left, middle + 4, shorten(bar.name, int(NAMES / LETTER)))
            sheet.areas([(x, middle - 8, AXIS * bar.value / 100, 16)], palette.names["unsure" if first else "pass"])
            if bar.low != bar.high:
                low, high = x + AXIS * bar.low / 100, x + AXIS * bar.high / 100
                sheet.line([low, high], [middle] * 2, WHITE, 4)
                sheet.line([low, high], [middle] * 2, palette.names["text"], 1.6)
                for end in (low, high):
                    sheet.line([end, end], [middle - 5, middle + 5], palette.names["text"], 1.6)
            sheet.words(x + AXIS + 14, middle + 4, shorten(bar.text, int(NUMBERS / LETTER)))
        sheet.line([left + NAMES] * 2, [top - 2, top + 2 + ROW * len(block.bars)], palette.names["soft"])

    height = ROW * len(block.bars) + 8
    yield Picture(title=block.caption, width=NAMES + AXIS + NUMBERS, height=height, draw=draw)


def _cores(block: CoreMap) -> Iterator[Picture]:
    for side in block.sides:
        boxes = [box for socket in side.sockets for box in socket]
        yield _core_side(f"{block.heading}: {side.title}", boxes)


def _core_side(title: str, boxes: Sequence[CoreBox]) -> Picture:
    palette = colours()
    heights = [LINE + 4 + (CELL + 3) * -(-len(box.cells) // MOST_CORES) for box in boxes]
    faces = {"one": palette.names["pass"], "shared": palette.names["slow"], "roaming": palette.names["unstable"]}

    def draw(sheet: Sheet, left: float, top: float) -> None:
        for box, height in zip(boxes, heights, strict=True):
            if box.near:
                sheet.areas([(left - 8, top, 4, height - 4)], palette.names["pass"])
            sheet.words(left, top + 12, box.title, colour=palette.names["soft"], size=11, bold=box.near)
            for number, core in enumerate(box.cells):
                x = left + (CELL + 3) * (number % MOST_CORES)
                y = top + LINE + (CELL + 3) * (number // MOST_CORES)
                face = faces.get(core.style, palette.names["absent" if core.style == "foreign" else "page"])
                hatch = "lines" if core.style == "roaming" else ""
                sheet.areas([(x, y, CELL, CELL)], face, hatch, edge=palette.names["line"])
                sheet.words(x + CELL / 2, y + 11, str(core.core), anchor="middle", colour=words_on(face), size=8)
                sheet.words(
                    x + CELL / 2, y + 27, shorten(core.text, 6), anchor="middle", colour=words_on(face), size=11
                )
            top += height

    widest = max((min(len(box.cells), MOST_CORES) for box in boxes), default=1)
    return Picture(
        title=title,
        width=max((CELL + 3) * widest, BOLD * max(len(title), *(len(box.title) for box in boxes))),
        height=sum(heights),
        draw=draw,
    )


def _node_map(block: NodeMap) -> Iterator[Picture]:
    palette = colours()
    width, height = NODE if block.named else (18, 18)
    most = MOST_NODES if block.named else 4 * MOST_NODES
    heights = [LINE + 6 + (height + 2) * -(-len(leaf.nodes) // most) for leaf in block.leaves]
    keys = _key_places(block.key, LEAST_WIDTH - 2 * MARGIN)

    def draw(sheet: Sheet, left: float, top: float) -> None:
        for leaf, room in zip(block.leaves, heights, strict=True):
            sheet.words(left, top + 12, leaf.title, colour=palette.names["soft"], size=11)
            for number, node in enumerate(leaf.nodes):
                x, y = left + (width + 2) * (number % most), top + LINE + (height + 2) * (number // most)
                face = palette.of(node.style)
                text = f"{shorten(node.name.text, 9)} {node.mark}".strip() if block.named else node.mark
                sheet.areas([(x, y, width, height)], face)
                sheet.words(x + width / 2, y + height - 6, text, anchor="middle", colour=words_on(face), size=10)
            top += room
        _keys(sheet, keys, left, top + 4)

    total = (width + 2) * min(max((len(leaf.nodes) for leaf in block.leaves), default=1), most)
    title = f"{block.title}, n = {sum(len(leaf.nodes) for leaf in block.leaves)}"
    yield Picture(title=title, width=total, height=4 + sum(heights) + _key_height(keys), draw=draw)


def _devices(block: DeviceMap) -> Iterator[Picture]:
    svg, palette = block.svg, colours()
    soft, slow = palette.names["soft"], palette.names["slow"]

    def draw(sheet: Sheet, left: float, top: float) -> None:
        for link in svg.links:
            colour, width = (slow, 4) if link.style == BINDS else (soft, 1.5)
            sheet.line([left + link.x] * 2, [top + link.top, top + link.bottom], colour, width)
            for y, text in link.words:
                sheet.words(left + link.x + 6, top + y, text, colour=soft, size=11)
        for box in svg.boxes:
            face = palette.names["absent" if box.style in ("processor", "bus") else "page"]
            edge = slow if BINDS in box.style else soft
            sheet.areas([(left + box.x, top + box.y, box.width, box.height)], face, edge=edge)
            sheet.words(left + box.x + 6, top + box.y + 16, box.title)
            for y, text in box.lines:
                sheet.words(left + box.x + 6, top + y, text, colour=soft, size=11)

    yield Picture(title=block.title, width=svg.width, height=svg.height, draw=draw)


DRAWN: dict[type[Block], Callable[..., Iterator[Picture]]] = {
    Plot: _plot,
    Matrix: _matrix,
    Distribution: _distribution,
    Forest: _forest,
    Bars: _bars,
    CoreMap: _cores,
    NodeMap: _node_map,
    DeviceMap: _devices,
}
"""What draws each kind of block that is a picture."""
