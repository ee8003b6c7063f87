"""What the kernel's log says about broken hardware: lines by kind, from `dmesg`.

Which lines the collector keeps is in `collect/parts/system.sh`.
"""

import re
from typing import NamedTuple

from seatrial.node.frame import Frame, answer, why_no_answer

DMESG = "dmesg"
LONGEST_LINE = 160
STAMP = re.compile(r"\[ {0,12}[0-9]{1,12}\.[0-9]{1,9}\] ")


class LogKind(NamedTuple):
    """A kind of hardware error and the lines that report it. `grave`: each of them is a fault, not only many."""

    name: str
    pattern: re.Pattern[str]
    grave: bool


LOG_KINDS = (
    LogKind("GPU error (Xid)", re.compile(r"NVRM: Xid"), True),
    LogKind("PCIe error", re.compile(r"PCIe Bus Error: severity=(?!Correct)|AER: .{0,120}(?:Uncorrected|Fatal)"), True),
    LogKind("corrected PCIe error", re.compile(r"PCIe Bus Error: severity=Correct|AER: .{0,120}Correct"), False),
    LogKind("memory error", re.compile(r"EDAC .{0,120}\b(?:UE|[Uu]ncorrect)"), True),
    LogKind("machine check", re.compile(r"Hardware Error|[Mm]achine [Cc]heck (?:[Ee]xception|events logged)"), True),
    LogKind("heat", re.compile(r"(?:temperature above threshold|clock) throttled|throttled"), False),
    LogKind("disk error", re.compile(r"I/O error, dev "), True),
    LogKind(
        "adapter error",
        re.compile(
            r"mlx[45]_core.{0,120}(?:health|syndrome|internal error|[Tt]imed? ?out|fatal|failed|error)"
            r"|hfi1.{0,120}(?:[Ee]rror|[Ff]atal|[Ff]reeze|timed out|going down)"
        ),
        True,
    ),
)
"""The first kind that fits counts."""

GRAVE = frozenset(kind.name for kind in LOG_KINDS if kind.grave)


def read_kernel_log(frame: Frame) -> tuple[dict[str, int], dict[str, str], dict[str, str]]:
    """Kind -> number of its lines; kind -> the last one, without its time; "system.kernel_log" -> why it is unknown."""
    numbers: dict[str, int] = {}
    last: dict[str, str] = {}
    for line in answer(frame, DMESG):
        kind = next((kind.name for kind in LOG_KINDS if kind.pattern.search(line)), "")
        if kind:
            numbers[kind] = numbers.get(kind, 0) + 1
            last[kind] = STAMP.sub("", line, count=1).strip()[:LONGEST_LINE]
    output = frame.commands.get(DMESG)
    if output is not None and output.status == 0:
        return numbers, last, {}
    why = "dmesg needs root here (kernel.dmesg_restrict)" if output is not None else why_no_answer(frame, DMESG)
    return {}, {}, {"system.kernel_log": why}
