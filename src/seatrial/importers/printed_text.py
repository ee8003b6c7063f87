"""What a program printed, without what launchers, clocks and terminals add: prefixes of ranks, times, colours."""

import re
from collections import Counter
from collections.abc import Sequence

from seatrial.model.errors import UsageError
from seatrial.model.unit_text import is_number
from seatrial.model.words import MOMENT

COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)")
PREFIXES = tuple(
    re.compile(f"^(?:{pattern})", re.MULTILINE)
    for pattern in (
        # mpirun --tag-output, with the job's name since Open MPI 5
        r"\[(?:[.@\w-]{1,200}+,){1,3}+\d{1,18}\]<std\w{1,9}>:[ ]?",
        r"\d{1,7}:(?: |$)",  # srun --label
        r"\[\d{1,7}\](?: |$)",  # mpiexec -prepend-rank of MPICH and Intel MPI
        rf"\[{MOMENT}\]:?(?: |\t|$)",
        rf"{MOMENT}(?:<std\w+>)?:?(?: |\t|$)",  # ts, journals, mpirun --timestamp-output
    )
)
HEADED = re.compile(
    r"^(?:-{8,80}\n([\w.-]{1,100})(?: \(1\))?\n-{8,80}"
    r"|([A-Za-z][\w.-]{0,99}) \| [A-Z]{4,20}!? (?:\| rc=\d{1,9} >>|=> \{))\r?\n",
    re.MULTILINE,
)
"""The heading of a node's lines in the output of clush -b, dshbak and ansible."""
ONE_NODE = re.compile(r"[A-Za-z][\w.-]{0,99}\d[\w.-]{0,99}: ")
"""What pdsh and clush put before each line where they run a program on one node."""
RELAYED = re.compile(r"^(?:pdsh@[\w.-]{1,100}|clush): (?=[A-Za-z][\w.-]{0,99}: )", re.MULTILINE)
"""What pdsh and clush put before their own word about a node: pdsh@admin: n7: ssh exited with exit code 127."""
NODE_PREFIX = re.compile(r"(?P<node>[A-Za-z][\w.-]{0,99}): ?(?P<line>.*)")
ENDED = re.compile(
    r"(?i)\b(?:exited with|exit (?:code|status)|command not found|no such file|connection (?:refused|timed out|closed)"
    r"|permission denied|no route to host|host key verification failed)\b"
)
"""Words of a launcher or a shell about a program that did not run; a number behind them measures nothing."""
FAILURE = re.compile(
    r"(?i)\b(?:err(?:or)?|fail(?:ed|ure)?|fatal|cannot|can't|unable|denied|refused|timed out|not found|no such|no route"
    r"|unreachable|aborted|killed|exited with)\b"
)
"""Words that a node without an output prints where the program did not run, or failed; a value may be beside some
of them, as in `max error 1e-9`.
"""
FAILED_SHARE = 3
"""A table is read if fewer than a third of its nodes failed."""
MOST_PREFIXES = 3
SAMPLE = 1000
"""Lines of a long output that are examined."""
SHARE = 0.9
"""Share of the lines with text that must have a prefix; other lines come from the script around the program."""


class NothingRanError(UsageError):
    """The text is of nodes on which the program did not run."""


def with_prefixes(text: str) -> str:
    """The text with the name of a node before each of its lines, in place of a heading of its lines."""
    text = RELAYED.sub("", text)
    if HEADED.search(text) is None:
        return text
    before, *parts = HEADED.split(text)
    blocks = zip(parts[0::3], parts[1::3], parts[2::3], strict=True)
    return before + "".join(
        f"{node or other}: {line}\n" for node, other, block in blocks for line in block.strip("\n").split("\n")
    )


def by_node(text: str) -> dict[str, str]:
    """Node -> what it printed, of an output of pdsh or clush that has the name of a node before each line."""
    lines = [NODE_PREFIX.match(line) for line in with_prefixes(text).split("\n") if line.strip()]
    parts: dict[str, list[str]] = {}
    for match in lines:
        if match is None:
            return {}
        parts.setdefault(match["node"], []).append(match["line"])
    return {node: "\n".join((*written, "")) for node, written in parts.items()} if len(parts) > 1 else {}


def with_failures(text: str) -> str:
    """The text with `failed` in place of the first number of a node that printed none.

    Most nodes must print lines of the same words with numbers in the same places. Other text is returned as it is.
    Raises NothingRanError where these words say that a program did not run.
    """
    parts = {node: [line.split() for line in lines.splitlines()] for node, lines in by_node(text).items()}
    forms = {node: forms.pop() for node, rows in parts.items() if len(forms := {*map(_form, rows)}) == 1}
    usual = Counter(forms.values()).most_common(1)[0][0] if forms else ()
    others = [node for node in parts if forms.get(node) != usual]
    if ENDED.search(" ".join(word or "" for word in usual)):
        words = " ".join(next(rows for node, rows in parts.items() if node not in others)[0])
        raise NothingRanError(
            f"Most nodes printed no value but {words[:80]!r}.", "See to it that the program runs there."
        )
    first = usual.index(None) if None in usual else 0
    measured = any(is_number(cell) for node in others for row in parts[node] for cell in row[first : first + 1])
    if None not in usual or measured or not 0 < FAILED_SHARE * len(others) < len(parts):
        return text
    columns = zip(*(row for node in parts if node not in others for row in parts[node]), strict=True)
    failed = [cells[0] if len({*cells}) == 1 else "nan" for cells in columns]
    failed[first] = "failed"
    rows = ((node, row) for node in parts for row in ([failed] if node in others else parts[node]))
    return "".join(f"{node}: {' '.join(row)}\n" for node, row in rows)


def _form(cells: Sequence[str]) -> tuple[str | None, ...]:
    """The words of a line, None in place of each number."""
    return tuple(None if is_number(cell) else cell for cell in cells)


def plain(text: str, *, moments: bool = True) -> str:
    """The text as the program printed it, line by line. `moments`: False leaves times before the lines."""
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for _ in range(MOST_PREFIXES):
        written = _sample(text)
        prefix = _prefix_of(written, PREFIXES if moments else PREFIXES[:3])
        prefix = prefix or (_one_node(text, written) if moments else None)
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


def _prefix_of(written: Sequence[str], prefixes: "tuple[re.Pattern[str], ...]") -> "re.Pattern[str] | None":
    """What nearly all lines begin with."""
    for prefix in prefixes:
        matching = sum(bool(prefix.match(line)) for line in written)
        if written and matching >= SHARE * len(written):
            return prefix
    return None


def _one_node(text: str, written: Sequence[str]) -> "re.Pattern[str] | None":
    """The name of a node that is before every line. `written`: lines of the text."""
    node = ONE_NODE.match(written[0]) if len(written) > 1 else None  # a single line may begin with its program
    name = re.escape(node.group().strip()) if node else ""
    every = node is not None and re.search(rf"^(?!{name}(?: |$))[^\n]", text, re.MULTILINE) is None
    return re.compile(rf"^{name}(?: |$)", re.MULTILINE) if every else None
