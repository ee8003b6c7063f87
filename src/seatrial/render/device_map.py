"""A picture of a node's devices: processors, switches, adapters and GPUs, with the link above each and what it carries.

A part is as wide as all that is below it, so that every link is a vertical line. Processors are drawn below each other.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from seatrial.render.escape import shorten
from seatrial.render.report import Block, Table, columns

COLUMN, GAP, MARGIN = 188, 14, 12
"""Pixels of the column of a device, of the room between two, and around everything."""
BAR, TITLE, LINE = 24, 22, 15
"""Pixels of the height of a processor or a switch, of the title of a device, and of each line below it."""
LINK_ROOM, BUS_ROOM = 58, 42
"""Pixels between a part and what is below it, with three lines of words, and above the links between GPUs."""
LETTER, SMALL = 7.0, 6.0
"""Pixels of a letter of 12 pixels, and of one of 11, about."""
BINDS = "binds"
TREE_HEADS = columns("part", "~link above it", "#link carries", "#path carries", "#measured", "~what binds")
BRANCH, LAST, BEAM, BLANK = "├─\u00a0", "└─\u00a0", "│\u00a0\u00a0", "\u00a0\u00a0\u00a0"
"""Pieces of the tree in a table; spaces that a page does not join."""


class DevicePart(msgspec.Struct, kw_only=True):
    """A processor, a switch or a device, with the link above it and all that is below it."""

    title: str
    style: str
    """Class by which page.css colours it: `processor`, `bridge`, `gpu` or `adapter`."""
    lines: tuple[str, ...] = ()
    """What else is in its box."""
    link: tuple[str, ...] = ()
    """The state of the link above it, and what both ends can do if that is more."""
    carries: str = ""
    """What that link carries in one direction."""
    link_binds: bool = False
    """Whether that link limits a device on the way below it."""
    path: str = ""
    """What the whole path of a device carries."""
    binds: str = ""
    """What limits the path, in words."""
    itself_binds: bool = False
    """Whether the device limits its path, as the ports of an adapter do, and not a link."""
    measured: str = ""
    bus: tuple[str, ...] = ()
    """Links to the other GPUs of the node, and what they carry together."""
    below: list["DevicePart"] = []


class MapBox(msgspec.Struct, frozen=True, kw_only=True):
    """A part on the page."""

    x: float
    y: float
    width: float
    height: float
    style: str
    title: str
    lines: tuple[tuple[float, str], ...]
    """Places on the vertical axis, and texts."""
    hover: str
    bus: tuple[str, ...] = ()
    """Links of a GPU to the other ones."""


class MapLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link on the page, from above down, with its words beside it."""

    x: float
    top: float
    bottom: float
    style: str
    words: tuple[tuple[float, str], ...]


class MapPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The picture in the coordinates of its SVG."""

    width: float
    height: float
    boxes: tuple[MapBox, ...]
    links: tuple[MapLink, ...]


class DeviceMap(Block, frozen=True, kw_only=True):
    """The devices of a node; `parts`: its processors."""

    kind: ClassVar[str] = "devices"
    parts: tuple[DevicePart, ...]
    bus_title: str
    """What joins the GPUs of the node."""
    aside: str

    @property
    def svg(self) -> MapPlaces:
        """The places of everything on the page."""
        return _places(self)

    @property
    def table(self) -> Table:
        """What the picture shows as a tree that can be read without it."""
        return Table(title=f"{self.title}: numbers", columns=TREE_HEADS, rows=tuple(_rows(self.parts)), folded=True)


def _places(block: DeviceMap) -> MapPlaces:
    boxes: list[MapBox] = []
    links: list[MapLink] = []
    top = widest = float(MARGIN)
    for part in block.parts:
        _put(part, MARGIN, top, boxes, links)
        own = [box for box in boxes if box.y >= top]
        bottom = max(box.y + box.height for box in own)
        if joined := [box for box in own if box.bus]:
            bottom = _join(block.bus_title, joined, bottom + BUS_ROOM, boxes, links)
        widest = max(widest, *(box.x + box.width for box in own))
        top = bottom + 2 * MARGIN
    return MapPlaces(width=widest + MARGIN, height=top, boxes=tuple(boxes), links=tuple(links))


def _put(part: DevicePart, left: float, top: float, boxes: list[MapBox], links: list[MapLink]) -> None:
    """A part with its upper left corner there, and below it all that it has below it."""
    width, height = _width(part), TITLE + LINE * len(part.lines) if part.lines or not part.below else BAR
    most = int((width - 12) / LETTER)
    boxes.append(
        MapBox(
            x=left,
            y=top,
            width=width,
            height=height,
            style=f"{part.style} {BINDS}" if part.itself_binds else part.style,
            title=shorten(part.title, most),
            lines=tuple((top + TITLE + LINE * (row + 0.6), shorten(text, most)) for row, text in enumerate(part.lines)),
            hover=": ".join(filter(None, (part.title, part.binds and f"{part.path} at most, {part.binds}"))),
            bus=part.bus,
        )
    )
    for lower in part.below:
        own, bottom = _width(lower), top + height
        carries = f"{lower.carries}, {BINDS}" if lower.carries and lower.link_binds else lower.carries
        words = [text for text in (*lower.link, carries) if text]
        links.append(
            MapLink(
                x=left + own / 2,
                top=bottom,
                bottom=bottom + LINK_ROOM,
                style=BINDS if lower.link_binds else "",
                words=_beside(bottom, words),
            )
        )
        _put(lower, left, bottom + LINK_ROOM, boxes, links)
        left += own + GAP


def _beside(top: float, words: Sequence[str]) -> tuple[tuple[float, str], ...]:
    """The words at the right of a link that begins at `top`, one below the other."""
    room = int((COLUMN / 2 + GAP - 6) / SMALL)
    return tuple((top + LINE * (row + 1), shorten(text, room)) for row, text in enumerate(words))


def _width(part: DevicePart) -> float:
    return sum(map(_width, part.below)) + GAP * (len(part.below) - 1) if part.below else COLUMN


def _join(title: str, joined: list[MapBox], top: float, boxes: list[MapBox], links: list[MapLink]) -> float:
    """A bar below the GPUs that have links to others; where it ends below."""
    for box in joined:
        middle, bottom = box.x + box.width / 2, box.y + box.height
        links.append(MapLink(x=middle, top=bottom, bottom=top, style="bus", words=_beside(bottom, box.bus)))
    left, right = joined[0].x, joined[-1].x + joined[-1].width
    boxes.append(MapBox(x=left, y=top, width=right - left, height=BAR, style="bus", title=title, lines=(), hover=title))
    return top + BAR


def _rows(parts: Sequence[DevicePart], before: str = "") -> Iterator[tuple[str, ...]]:
    """The rows of some parts and of all that is below them, with the lines of the tree."""
    for part in parts:
        last = part is parts[-1]
        title = f"{before}{LAST if last else BRANCH}{part.title}"
        yield title, " ".join(part.link), part.carries, part.path, part.measured, part.binds
        below = f"{before}{BLANK if last else BEAM}"
        if part.bus:
            links, rate = part.bus
            yield f"{below}{LAST}{links}", "", rate, "", "", ""
        yield from _rows(part.below, below)
