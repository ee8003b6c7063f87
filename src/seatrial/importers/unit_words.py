"""Units as programs write them in a column of units: what they measure, and their size in the base unit."""

import re

PREFIXES = {
    "": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15,
    "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40,
}  # fmt: skip
TIMES = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6,
    "usec": 1e-6, "µs": 1e-6, "\N{GREEK SMALL LETTER MU}s": 1e-6, "ns": 1e-9, "nsec": 1e-9, "min": 60.0,
    "minutes": 60.0,
}  # fmt: skip
RATE = re.compile(
    r"(?P<prefix>[kKMGTPmgtp]?i?)(?P<what>[bB]ytes?|[bB]its?|b|B|[fF]lops?|FLOPS?|[oO]ps?|OPS?|iops|IOPS)"
    r"(?P<per>(?:/|p|ps|_|\s*per\s*)?(?:s|sec|second)?)"
)
BYTES, FLOPS, OPERATIONS, SECONDS = "B/s", "flop/s", "op/s", "s"
BITS_OF_A_BYTE = 8.0
LONGEST = 20
"""Characters of a unit."""


def unit_scale(text: str) -> tuple[str, float] | None:
    """What a unit measures and its size: `MB/s` to ("B/s", 1e6), `Gbit/s` to ("B/s", 1.25e8), `us` to ("s", 1e-6).

    None for any other word.
    """
    word = text.strip() if len(text) <= LONGEST else ""
    match = RATE.fullmatch(word)
    if word.lower() in TIMES:
        return SECONDS, TIMES[word.lower()]
    factor = PREFIXES.get(match["prefix"].lower()) if match else None
    if match is None or factor is None:
        return None
    what = match["what"].lower()
    if what.startswith(("flop", "op", "iop")):
        return FLOPS if what.startswith("flop") else OPERATIONS, factor
    if not match["per"]:
        return None
    bits = match["what"] == "b" or what.startswith("bit")
    return BYTES, factor / (BITS_OF_A_BYTE if bits else 1.0)
