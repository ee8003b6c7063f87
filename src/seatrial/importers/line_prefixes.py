"""What mails, launchers, clocks and terminals put before the lines that a program printed, and the text without it."""

import quopri
import re
from collections.abc import Sequence

from seatrial.model.words import MOMENT, QUOTED

COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)")
ENCODED = re.compile(r"=\n|(?<!\w)=3D|=3D(?=[=\w.\"'/-])")
"""What a mail in quoted-printable has: a line that goes on in the next one, or the sign = (RFC 2045); no mesh=3D."""
NOT_ENCODED = re.compile(r"=(?!\n|[2-9A-F][0-9A-F]|09|0D)|^[^\n]{0,59}=$", re.MULTILINE)
"""What none has: a sign that encodes nothing, a short line that goes on."""
CERTAIN = tuple(
    re.compile(f"^(?:{pattern})", re.MULTILINE)
    for pattern in (
        QUOTED,
        # mpirun --tag-output, with the job's name since Open MPI 5
        r"\[(?:[.@\w-]{1,200}+,){1,3}+\d{1,18}\]<std\w{1,9}>:[ ]?",
    )
)
"""No program begins its own lines like that."""
CERTAIN_LINES = 3
"""Lines that must have such a prefix, of a text that has as many; and none begins with <, as in a difference."""
RANKS = tuple(
    re.compile(f"^(?:{pattern})", re.MULTILINE)
    for pattern in (
        r" {0,6}\d{1,7}:(?: |$)(?! *\d+ bytes +\d+ times)",  # srun --label; NetPIPE numbers its rows like that
        r"\[\d{1,7}\](?: |$)",  # mpiexec -prepend-rank of MPICH and Intel MPI
    )
)
LOGGED = r"(?: std(?:out|err) [FP]|(?: -)? +\[?(?:DEBUG|INFO)\]?(?: -|[:|])?(?: \[?std(?:out|err)[]:])?)?"
"""What containers (the CRI's log format) and loggers put behind the time of a line, unless it is a warning."""
MOMENTS = tuple(
    re.compile(f"^(?:{pattern})", re.MULTILINE)
    for pattern in (
        rf"\[{MOMENT}\]:?{LOGGED}(?: |\t|$)",
        # ts, journals, mpirun --timestamp-output, also with --tag-output
        rf"{MOMENT}(?:(?:\[[.@\w,-]{{1,200}}\])?<std\w+>:?[ ]?|:?{LOGGED}(?: |\t|$))",
    )
)
ONE_NODE = re.compile(r"[A-Za-z][\w.-]{0,99}\d[\w.-]{0,99}(?::| {1,9}\|) ")
"""What pdsh and clush, or containers that are started together, put before each line of the program on one node."""
MOST_PREFIXES = 3
SAMPLE = 1000
"""Lines of a long output that are examined."""
SHARE = 0.9
"""Share of the lines with text that must have a prefix; other lines come from the script around the program."""


def untagged(text: str) -> str:
    """The text without what only mails, launchers and terminals add: a table may begin with ranks, times and nodes."""
    return without_prefixes(text, (), node=False)


def without_prefixes(text: str, likely: "Sequence[re.Pattern[str]]", *, node: bool) -> str:
    """The text without prefixes: those that are certain, the likely ones, and with `node` the name of one node."""
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if ENCODED.search(text) and NOT_ENCODED.search(text) is None:
        text = quopri.decodestring(text.encode()).decode(errors="replace")
    for _ in range(MOST_PREFIXES if likely or ">" in text else 0):
        written = _sample(text)
        least = 0 if any(line.startswith("<") for line in written) else min(CERTAIN_LINES, len(written))
        prefix = _prefix_of(written, CERTAIN, least) or _prefix_of(written, likely, SHARE * len(written))
        prefix = prefix or (_one_node(text, written) if node else None)
        if prefix is None:
            break
        text = prefix.sub("", text)
    return text


def _sample(text: str) -> list[str]:
    """Lines that are not empty, evenly from the whole text; the last line, which may be cut off, only if it is alone.

    No list of all lines is made: an output may have millions.
    """
    whole = text[: text.rfind("\n")] if "\n" in text else text
    every = max(whole.count("\n") // (2 * SAMPLE), 1)
    written, begin, place = [], 0, 0
    while begin <= len(whole):
        end = whole.find("\n", begin)
        end = len(whole) if end < 0 else end
        if place % every == 0 and not whole[begin:end].isspace() and end > begin:
            written.append(whole[begin:end])
        begin, place = end + 1, place + 1
    return written


def _prefix_of(written: Sequence[str], prefixes: "Sequence[re.Pattern[str]]", least: float) -> "re.Pattern[str] | None":
    """What `least` lines or more begin with; nothing if that is 0."""
    for prefix in prefixes:
        matching = sum(bool(prefix.match(line)) for line in written)
        if matching >= least > 0:
            return prefix
    return None


def _one_node(text: str, written: Sequence[str]) -> "re.Pattern[str] | None":
    """The name of a node that is before every line. `written`: lines of the text."""
    node = ONE_NODE.match(written[0]) if len(written) > 1 else None  # a single line may begin with its program
    name = re.escape(node.group().strip()) if node else ""
    every = node is not None and re.search(rf"^(?!{name}(?: |$))[^\n]", text, re.MULTILINE) is None
    return re.compile(rf"^{name}(?: |$)", re.MULTILINE) if every else None
