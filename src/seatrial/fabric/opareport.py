"""Parses `opareport -o links`, the links of an Omni-Path fabric: two lines for each, one for either end.

Rate NodeGUID          Port Type Name
100g 0x001175010108866d   1 FI   n1 hfi1_0
<->  0x00117501027ab700   3 SW   opa1 L113B
"""

import itertools
import re
from collections.abc import Sequence

from seatrial.fabric.map_lines import MapLines, kind_of, without_last
from seatrial.model.fabric import End, FabricDevice, FabricMap
from seatrial.model.hca import OPA100

SOURCE = "opareport"
FIRST = re.compile(
    r"^(?P<rate>\d{1,3})g\s+(?:\d{3,5}\s+)?0x(?P<guid>[0-9a-fA-F]{16})\s+(?P<port>\d{1,3})\s+(?P<kind>FI|SW)\s+(?P<name>.{0,200})$"
)
"""The MTU, which some versions print, is skipped."""
SECOND = re.compile(r"^<->\s+0x(?P<guid>[0-9a-fA-F]{16})\s+(?P<port>\d{1,3})\s+(?P<kind>FI|SW)\s+(?P<name>.{0,200})$")
LANES_OF_RATE = {"100": 4, "75": 3, "50": 2, "25": 1}
"""Gb/s of a link, whose lanes carry 25 each."""
WITHOUT_LINK = re.compile(
    r"^\s*$|^[-=_\s]+$|^Rate\s|Links? in Fabric|^Link Summary|^(?:Getting|Done Getting|Node Count|Collecting)"
)
"""Lines that report no link."""


def is_opareport(lines: Sequence[str]) -> bool:
    """Whether a line of a link is followed by that of its other end."""
    return any(FIRST.match(one) and SECOND.match(other) for one, other in itertools.pairwise(lines))


def parse_opareport(text: str) -> FabricMap:
    """Every link is listed once and counts for both of its ends, which have one rate."""
    read = MapLines()
    lines, last = without_last(text)
    if last and SECOND.match(last):
        lines, last = [*lines, last], ""
    first: re.Match[str] | None = None
    for line in lines:
        start, second = FIRST.match(line), SECOND.match(line)
        if first is not None and second is not None:
            ends = [_end(read, match) for match in (first, second)]
            width = LANES_OF_RATE.get(first["rate"])
            rate = (width, OPA100 if width else f"{first['rate']}g")
            read.cable(ends[0], ends[1], rate)
            read.cable(ends[1], ends[0], rate)
        elif first is not None:
            read.unknown.append(first[0])
        elif not (start or WITHOUT_LINK.search(line)):
            read.unknown.append(line)
        first = start
    return read.fabric(SOURCE, cut_off=bool(last) or first is not None)


def _end(read: MapLines, match: "re.Match[str]") -> End:
    key = f"{'S' if match['kind'] == 'SW' else 'H'}-{match['guid'].lower()}"
    name = match["name"].strip()
    read.own_line(FabricDevice(key=key, kind=kind_of(key, name), name=name))
    return End(device=key, port=int(match["port"]))
