"""Links of Omni-Path ports as `opainfo` prints them.

sysfs cannot show them: hfi1 reports links of 1, 2 and 3 lanes all as 1X (its verbs.h, opa_width_to_ib), and a link that
lost lanes after it was trained, in one direction or in both, with the width at which it was trained.
"""

import re
from functools import lru_cache
from typing import NamedTuple

OPAINFO = "opainfo"
PORT = re.compile(r"(\w{1,64}):([1-9][0-9]{0,2})(?:\s.*)?")
SPEED = re.compile(r"\s*LinkSpeed\s+Act:\s*([0-9]{1,3}(?:\.[0-9])?)Gb\b.*")
TRAINED = re.compile(r"\s*LinkWidth\s+Act:\s*([1-4])\b.*")
REMAINING = re.compile(r"\s*LinkWidthDnGrd\s+ActTx:\s*([1-4])\s+Rx:\s*([1-4])\b.*")


class OmniPathLink(NamedTuple):
    """Lanes of the narrower direction, and the data rate of one of them in bits per second."""

    lanes: int
    lane_bits_per_s: float | None

    @property
    def data_bits_per_s(self) -> float | None:
        """Of all lanes, in the narrower direction; None if the speed was not printed."""
        return None if self.lane_bits_per_s is None else self.lanes * self.lane_bits_per_s


@lru_cache(maxsize=1024)
def omni_path_links(lines: tuple[str, ...]) -> dict[tuple[str, int], OmniPathLink]:
    """Device and port -> its link; a port without a link has no width and is left out."""
    links: dict[tuple[str, int], OmniPathLink] = {}
    port: tuple[str, int] | None = None
    lane_bits_per_s: float | None = None
    for line in lines:
        if match := PORT.fullmatch(line):
            port, lane_bits_per_s = (match[1], int(match[2])), None
        elif match := SPEED.fullmatch(line):
            lane_bits_per_s = float(match[1]) * 1e9
            if port in links:
                links[port] = OmniPathLink(links[port].lanes, lane_bits_per_s)
        elif (match := REMAINING.fullmatch(line) or TRAINED.fullmatch(line)) and port:
            lanes = min(int(number) for number in match.groups())
            before = links.get(port)
            links[port] = OmniPathLink(min(lanes, before.lanes) if before else lanes, lane_bits_per_s)
    return links
