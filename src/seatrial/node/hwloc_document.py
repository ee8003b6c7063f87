"""Safe parsing of hwloc's XML, from which the topology and a whole recorded machine are read."""

import re
from xml.etree import ElementTree as ET

from seatrial.node.frame import FactsFormatError

DOCTYPE = re.compile(r"""<!DOCTYPE\s+topology\s+SYSTEM\s+(?:"[\w.]*"|'[\w.]*')\s*>""")
"""The only one that hwloc writes. A declaration with more in it could define entities that grow without end."""

PLACES = {"Package": "Package", "Socket": "Package", "NUMANode": "NUMANode", "Node": "NUMANode", "Core": "Core"}
"""Types of objects in the versions 1, 2 and 3 of the format -> what we call them."""


def parse_hwloc(text: str) -> ET.Element:
    """The root `topology` of an export of hwloc 1, 2 or 3.

    Raises FactsFormatError for text that is not well-formed, that declares entities or more than hwloc's document type,
    or whose root is another. Nothing outside the text is read.
    """
    declared = text.count("<!DOCTYPE")
    if "<!ENTITY" in text or declared > 1 or declared != len(DOCTYPE.findall(text)):
        raise FactsFormatError(
            "This XML declares more than hwloc's document type.",
            "Entities are not accepted: export it again with `lstopo --of xml`.",
        )
    try:
        root = ET.fromstring(text)  # noqa: S314 - declarations are refused above
    except (ET.ParseError, ValueError) as error:
        raise FactsFormatError(
            f"This is not well-formed XML: {error}.", "Export it again with `lstopo --of xml`."
        ) from None
    if root.tag != "topology" or root.find("object") is None:
        raise FactsFormatError(
            f"This XML contains a {root.tag[:40]!r}, not an hwloc topology with its objects.",
            "Export one with `lstopo --of xml`.",
        )
    return root


def infos(element: ET.Element) -> dict[str, str]:
    """Name -> value of the infos directly under an element; the first of each name."""
    values: dict[str, str] = {}
    for info in element.iterfind("info"):
        values.setdefault(info.get("name", ""), info.get("value", ""))
    return values
