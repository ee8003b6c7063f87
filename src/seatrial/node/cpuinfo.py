"""What /proc/cpuinfo of a frame says of a processor; all of a node are taken to be alike."""

import functools
from collections.abc import Mapping

from seatrial.node.frame import Frame

CPUINFO = "/proc/cpuinfo"


def cpuinfo(frame: Frame) -> Mapping[str, str]:
    """Word -> content, of the last processor that the collector kept; nothing where the file is not there."""
    return _says(frame.files.get(CPUINFO, ()))


@functools.lru_cache(maxsize=256)
def _says(lines: tuple[str, ...]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
