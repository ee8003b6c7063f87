"""Parses what `ibdiagnet` writes: the map in its `ibdiagnet2.db_csv`, and the problems in its log.

The tables of a db_csv are between START_NODES and END_NODES, and so on; their first line names the columns. A line of
the log that begins with `-E-` is an error. Lines that begin with `-W-` count if they are about a link's width, speed or
state, or about a counter of errors: the others are warnings about firmware, cables and names.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from seatrial.fabric.counters import IBDIAGNET_NAMES
from seatrial.fabric.link_problem import ACTIVATE, RESEAT, problem, rate_text
from seatrial.fabric.map_lines import MapLines, Rate, kind_of
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_LID, DeviceKind, End, FabricDevice, FabricMap
from seatrial.model.hca import ACTIVE, LOGICAL, PHYSICAL, PortStates
from seatrial.model.subject import FABRIC, Subject, device, link
from seatrial.model.unit_text import count_of
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import some

SOURCE, LOG = "ibdiagnet2.db_csv", "ibdiagnet"
TABLE = re.compile(r"^START_(?P<name>\w{1,80})$")
EVENTS = re.compile(r"ERRORS|WARNINGS")
"""A table with such a name lists problems."""
STAGE = re.compile(
    r"^-[IWE]- .{0,80}\bfinished\b|^-I- Discovering\b|^-I- Stage\s|^-[WE]- (?:[Ll]ink: |lid=0x)", re.MULTILINE
)
ENTRY = re.compile(r"^-(?P<mark>[EW])- (?P<text>.{1,2000}(?:\n[ \t]+(?!-)\S.{0,300}){0,40})", re.MULTILINE)
"""An error or warning, and the indented lines that belong to it."""
HEADING = re.compile(r"\bfinished with\b|^Found \d{1,9} |^\w[\w/ ]{0,60} (?:Check|checks)\b.{0,20}$")
LINK = re.compile(r"^[Ll]ink: (?P<one>\S{1,300}?)<-{2,3}>(?P<other>\S{1,300}) - (?P<text>.{1,2000})$")
COUNTERS = "Performance Monitor counter "
"""Begins the list of a port's counters beyond a threshold. A switch that drops multicast packets raises one of them
without an error."""
PORT = re.compile(
    r"^(?:lid=\S{1,20} (?:dev=\S{1,20} )?)?(?P<port>\S{1,300}) "
    rf"(?:- (?P<text>.{{1,2000}})|(?P<counters>{COUNTERS}.{{1,2000}}))$"
)
FORMER_PORT = re.compile(r"^lid=\S{1,20} guid=(?P<guid>\S{1,20}) .{0,40}?\bPort=(?P<number>\d{1,4})")
FORMER_LINK = re.compile(
    r"\bFrom: .{0,200}?\bPortGUID=(\S{1,20}) Port=(\d{1,4}) To: .{0,200}?\bPortGUID=(\S{1,20}) Port=(\d{1,4})"
)
"""What version 1 prints."""
RATE = re.compile(r"\bUnexpected (?:actual )?link (?:speed|width)\b|^link with (?:SPD|PHY)=", re.IGNORECASE)
COUNTER = re.compile(rf"\b(?:{'|'.join(IBDIAGNET_NAMES)})\b")
SPEEDS = {
    1: "SDR", 2: "DDR", 4: "QDR", 0x100: "FDR", 0x200: "EDR", 0x400: "HDR", 0x800: "NDR", 0x1000: "XDR",
    0x10000: "FDR10",
}  # fmt: skip
"""Bits of LinkSpeedActv and LinkSpeedSup: LinkSpeed of PortInfo, LinkSpeedExt from bit 8, the vendor's from bit 16."""
BY_SPEED = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR")
WIDTHS = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
"""Bits of LinkWidthActv and LinkWidthSup -> lanes."""
NODE_TYPES = {"2": "S", "3": "S"}
"""Switches and routers; the others are adapters."""
STATE = re.compile(
    r"\blogical (?:link )?state\b|^link with LOG=|\b(?:link|port)\b.{0,60}\b(?:INIT|ARM(?:ED)?)\b", re.IGNORECASE
)
PORT_STATES = {str(value): name for value, name in enumerate(LOGICAL)}
PHYSICAL_STATES = {str(value): name for value, name in enumerate(PHYSICAL)}
OWN = {FindingKind.LINK_BELOW_SUPPORT: "linkspeedactv", FindingKind.LINK_NOT_ACTIVE: "portstate"}
"""The column of PORTS by which cables are judged here, so that what ibdiagnet says of the same is left out."""
MOST_MESSAGES = 4
REMEDIES = {
    FindingKind.LINK_NOT_ACTIVE: ACTIVATE,
    FindingKind.FABRIC_ERROR: "Follow the log of ibdiagnet at this place, then run ibdiagnet again.",
}
Row = Mapping[str, str]
Entry = tuple[bool, Subject, str]
"""Whether it is an error and not a warning; whose; and its words."""


def is_ibdiagnet(text: str) -> bool:
    """Whether it is a db_csv with nodes and links, or a log with results of a stage or with an error."""
    return ("\nSTART_NODES" in f"\n{text}" and "\nSTART_LINKS" in text) or is_log(text)


def is_log(text: str) -> bool:
    """Whether it is a log: results of stages."""
    return STAGE.search(text) is not None


def parse_ibdiagnet(text: str) -> FabricMap:
    """The map of a db_csv with the problems that it lists; of a log its problems alone. Raises UsageError."""
    if is_log(text):
        return FabricMap(source=LOG, reported=tuple(_findings(_entries(text))))
    if not re.search(r"^END_LINKS$", text, re.MULTILINE):
        raise UsageError("The db_csv of ibdiagnet ends before its table of links does.", "Give the complete file.")
    return _map_of(_tables(text))


def _entries(text: str) -> Iterator[Entry]:
    """The errors and warnings of a log, without the lines that only say that a check ended with some."""
    for entry in ENTRY.finditer(text):
        words = " ".join(entry["text"].split())
        if HEADING.search(words):
            continue
        if ends := LINK.match(words):
            yield entry["mark"] == "E", link(f"{ends['one']} - {ends['other']}"), ends["text"]
        elif port := PORT.match(words):
            yield entry["mark"] == "E", device(port["port"]), port["text"] or port["counters"]
        elif port := FORMER_PORT.match(words):
            yield entry["mark"] == "E", device(f"{port['guid']}[{port['number']}]"), words
        elif ends := FORMER_LINK.search(words):
            yield entry["mark"] == "E", link(" - ".join(f"{ends[n]}[{ends[n + 1]}]" for n in (1, 3))), words
        else:
            yield entry["mark"] == "E", FABRIC, words


def _tables(text: str) -> dict[str, list[Row]]:
    """Name of a table -> its rows. A row with another number of cells than its table has columns is left out."""
    tables: dict[str, list[Row]] = {}
    rows: list[Row] | None = None
    names: list[str] = []
    for cells in csv.reader(text.splitlines()):
        if cells and (start := TABLE.match(cells[0])):
            rows, names = tables.setdefault(start["name"], []), []
        elif not cells or cells[0].startswith("END_"):
            rows = rows if not cells else None
        elif rows is not None and not names:
            names = [name.strip().lower() for name in cells]
        elif rows is not None and len(cells) == len(names):
            rows.append(dict(zip(names, (cell.strip() for cell in cells), strict=True)))
    return tables


def _map_of(tables: Mapping[str, Sequence[Row]]) -> FabricMap:
    read = MapLines()
    keys: dict[str, str] = {}
    ports = {(_guid(row.get("nodeguid", "")), row.get("portnum", "")): row for row in tables.get("PORTS", ())}
    lids = _switch_lids(ports)
    for row in tables.get("NODES", ()):
        guid = _guid(row.get("nodeguid", ""))
        keys[guid] = f"{NODE_TYPES.get(row.get('nodetype', ''), 'H')}-{guid}"
        name = row.get("nodedesc", "")
        kind = kind_of(keys[guid], name)
        lid = lids.get(guid) if kind is DeviceKind.SWITCH else None
        read.section(FabricDevice(key=keys[guid], kind=kind, name=name, lid=lid, model=row.get("deviceid", "")))
    for (guid, port), row in ports.items():
        if port.isdecimal() and int(port):
            read.states[End(device=keys.get(guid, f"H-{guid}"), port=int(port))] = PortStates(
                logical=PORT_STATES.get(row.get("portstate", ""), ACTIVE),
                physical=PHYSICAL_STATES.get(row.get("portphystate", ""), ""),
            )
    for row in tables.get("LINKS", ()):
        ends = [(_guid(row.get(f"nodeguid{end}", "")), row.get(f"portnum{end}", "")) for end in (1, 2)]
        try:
            first, second = (End(device=keys.get(guid, f"H-{guid}"), port=int(port)) for guid, port in ends)
            near, far = ports.get(ends[0], {}), ports.get(ends[1], {})
            supported = _supported(near, far)
            read.cable(first, second, _rate(near), supported=supported)
            read.cable(second, first, _rate(far))
            for end, own in ((first, near), (second, far)):
                if end.device.startswith("H") and own.get("lid"):
                    read.address(end, count_of(own["lid"]), _guid(own.get("portguid", "")))
        except ValueError:
            read.unknown.append(",".join(row.values()))
    listed = (
        ("ERRORS" in name, _place(row, keys, read), row.get("summary", ""))
        for name, rows in tables.items()
        if EVENTS.search(name)
        for row in rows
    )
    columns = next(iter(ports.values()), {})
    reported = (finding for finding in _findings(listed) if OWN.get(finding.kind) not in columns)
    return read.fabric(SOURCE, cut_off=False, reported=tuple(reported))


def _switch_lids(ports: Mapping[tuple[str, str], Row]) -> dict[str, int]:
    """GUID of a switch -> its LID: that of its port 0, else the only one that its ports have."""
    own: dict[str, int] = {}
    others: defaultdict[str, set[int]] = defaultdict(set)
    for (guid, port), row in ports.items():
        if row.get("lid"):
            lid = _bits(row, "lid")
            others[guid] |= {lid} - set(NO_LID)
            own |= {guid: lid} if port == "0" else {}
    return {guid: min(lids) for guid, lids in others.items() if len(lids) == 1} | own


def _guid(text: str) -> str:
    return text.lower().removeprefix("0x").zfill(16)


def _place(row: Row, keys: Mapping[str, str], read: MapLines) -> Subject:
    """The port, or the device, of which a table reports a problem: leaf1[3]."""
    guid = _guid(row.get("nodeguid", ""))
    name = (read.devices[keys[guid]].name if guid in keys else "") or f"0x{guid}"
    port = row.get("portnumber", "")
    return device(f"{name}[{port}]" if port.isdecimal() else name)


def _bits(row: Row, name: str) -> int:
    text = row.get(name, "")
    return count_of(text) if text and text != "N/A" else 0


def _rate(row: Row) -> Rate:
    width = WIDTHS.get(_bits(row, "linkwidthactv"))
    return width, SPEEDS.get(_bits(row, "linkspeedactv"), "") if width else ""


def _supported(near: Row, far: Row) -> str:
    """The fastest rate of which both ends are capable, if the link runs below it."""
    width, speed = _rate(near)
    widths = [lanes for bit, lanes in WIDTHS.items() if bit & _bits(near, "linkwidthsup") & _bits(far, "linkwidthsup")]
    common = _bits(near, "linkspeedsup") & _bits(far, "linkspeedsup")
    speeds = [name for name in BY_SPEED if any(bit & common for bit, text in SPEEDS.items() if text == name)]
    if width is None or speed not in BY_SPEED or not (widths and speeds):
        return ""
    best = max(widths), speeds[-1]
    below = width < best[0] or BY_SPEED.index(speed) < BY_SPEED.index(best[1])
    return rate_text(*best) if below else ""


def _findings(entries: Iterable[Entry]) -> Iterator[Finding]:
    """One finding for all errors of a link or port, or of the fabric, that are of one kind."""
    messages: dict[tuple[FindingKind, Subject], list[str]] = {}
    for is_error, subject, text in entries:
        if STATE.search(text):
            kind = FindingKind.LINK_NOT_ACTIVE
        elif RATE.search(text):
            kind = FindingKind.LINK_BELOW_SUPPORT
        elif COUNTER.search(text):
            kind = FindingKind.LINK_ERRORS_RISING
        elif is_error and not text.startswith(COUNTERS):
            kind = FindingKind.FABRIC_ERROR
        else:
            continue
        messages.setdefault((kind, subject), []).append(text)
    for (kind, subject), texts in messages.items():
        named = "" if subject == FABRIC else f" of {subject.name}"
        statement = f"ibdiagnet reports{named}: {some(texts, MOST_MESSAGES)}."
        yield problem(kind=kind, subject=subject, statement=statement, remedy=REMEDIES.get(kind, RESEAT))
