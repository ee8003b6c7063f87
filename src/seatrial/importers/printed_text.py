"""What a program printed, without what launchers, clocks and terminals add: prefixes of ranks, times, colours."""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence

from seatrial.importers.headed_text import with_prefixes
from seatrial.importers.lone_numbers import are_few
from seatrial.importers.outcome_words import DOUBTFUL, RIGHT, fails
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import is_number
from seatrial.model.words import MOMENT, name_form

COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)")
PREFIXES = tuple(
    re.compile(f"^(?:{pattern})", re.MULTILINE)
    for pattern in (
        # mpirun --tag-output, with the job's name since Open MPI 5
        r"\[(?:[.@\w-]{1,200}+,){1,3}+\d{1,18}\]<std\w{1,9}>:[ ]?",
        r" {0,6}\d{1,7}:(?: |$)(?! *\d+ bytes +\d+ times)",  # srun --label; NetPIPE numbers its rows like that
        r"\[\d{1,7}\](?: |$)",  # mpiexec -prepend-rank of MPICH and Intel MPI
        rf"\[{MOMENT}\]:?(?: |\t|$)",
        rf"{MOMENT}(?:<std\w+>)?:?(?: |\t|$)",  # ts, journals, mpirun --timestamp-output
    )
)
ONE_NODE = re.compile(r"[A-Za-z][\w.-]{0,99}\d[\w.-]{0,99}: ")
"""What pdsh and clush put before each line where they run a program on one node."""
NODE_PREFIX = re.compile(r"(?P<node>[A-Za-z][\w.-]{0,99}): ?(?P<line>.*)")
ENDED = re.compile(
    r"(?i)\b(?:exited with(?! (?:exit )?(?:code |status )?0\b)|exit (?:code|status)(?![ :=]{0,3}0\b)"
    r"|(?:rc|ret|returncode|exit_?(?:code|status)?)[:=] ?[1-9]\d{0,9}"
    r"|command not found|no such file|connection (?:refused|timed out|closed)"
    r"|permission denied|no route to host|host key verification failed)\b"
)
"""Words of a launcher or a shell about a program that did not run; a number behind them measures nothing."""
ENDED_WELL = re.compile(r"(?i)\bexit(?:ed with)?(?: exit)?(?: code| status)?[ :=]{1,3}0\b")
"""What a launcher says of a program that ran: no value."""
WARNING = re.compile(r"(?i)[\[<(*#]*(?:warn(?:ing)?|note|notice|info)\b")
"""The first word of a line that is about a run whose value is in another line."""
FAILED_SHARE = 3
"""A table is read if fewer than a third of its nodes failed."""
MOST_PREFIXES = 3
SAMPLE = 1000
"""Lines of a long output that are examined."""
SHARE = 0.9
"""Share of the lines with text that must have a prefix; other lines come from the script around the program."""


class NothingRanError(UsageError):
    """The text is of nodes on which the program did not run."""


def by_node(text: str) -> dict[str, str]:
    """Node -> what it printed, of an output of pdsh or clush that has the name of a node before each line."""
    lines = [NODE_PREFIX.match(line) for line in with_prefixes(text).split("\n") if line.strip()]
    parts: dict[str, list[str]] = {}
    for match in lines:
        if match is None:
            return {}
        parts.setdefault(match["node"], []).append(match["line"])
    return {node: "\n".join((*written, "")) for node, written in parts.items()} if len(parts) > 1 else {}


def with_failures(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text with `failed` in place of the numbers of each run whose node printed none, or a failure in their place.

    Most nodes must print lines of the same words with numbers in the same places; there may be several such lines.
    Other text is returned as it is. Raises NothingRanError where these words say that a program did not run.

    Lines without numbers, and warnings, of nodes that print all values of the others are left out and returned, too:
    node and line. A node that lacks the line by which nearly all others say that their result is right has a run that
    failed.
    """
    parts = {
        node: [(_form(row), row) for line in lines.splitlines() if (row := line.split())]
        for node, lines in by_node(text).items()
    }
    usual = [form for form, nodes in _nodes_with(parts).items() if 2 * nodes > len(parts)]
    of_form = {form: [row for rows in parts.values() for own, row in rows if own == form] for form in usual}
    measures = [form for form in usual if None in form and not _ended(form)]
    measures = [form for form in measures if WARNING.match(form[0] or "") is None] or measures
    if (ended := next(filter(_ended, usual), None)) and not measures:
        raise NothingRanError(
            f"Most nodes printed no value but {' '.join(of_form[ended][0])[:80]!r}.",
            "See to it that the program runs there.",
        )
    places = {form.index(None) for form in measures}
    unconfirmed = _unconfirmed(parts)
    parts, beside = _without_remarks(parts, usual, measures)
    for node in unconfirmed:
        if all(form in measures for form, _ in parts[node]):
            parts[node].append((FAILED, [*FAILED]))
    unlike = {node for node, rows in parts.items() if not rows or any(form not in measures for form, _ in rows)}
    unsaid = {node for node in unlike if not all(form in measures or _ended(row) for form, row in parts[node])}
    if not measures or len(parts) <= FAILED_SHARE * len(unsaid):
        return text, []
    filled = [_filled(form, of_form[form]) for form in measures]
    lines: list[str] = []
    for node, rows in parts.items():
        measured = any(form in measures for form, _ in rows)
        for value, group in itertools.groupby(rows or [((), [])], key=lambda row: row[0] in measures):
            run = [row for _, row in group]
            if not value:
                word = _instead(run, places, measured=measured)
                if not word:
                    return text, []
                run = [[cell or word for cell in row] for row in filled]
            lines += (f"{node}: {' '.join(row)}\n" for row in run)
    return ("".join(lines), beside) if unlike or beside or len(measures) < len(usual) else (text, [])


FAILED = ("failed",)
"""The line of a run whose node did not say that its result is right."""
Printed = dict[str, list[tuple[tuple[str | None, ...], list[str]]]]
"""Node -> the form of each of its lines, and its words."""


def _without_remarks(
    parts: Printed, usual: Collection[object], measures: Collection[object]
) -> tuple[Printed, list[tuple[str, str]]]:
    """What nodes printed without lines that measure nothing, and these lines.

    A node that printed fewer values than others keeps such lines, which may say why.
    """
    values = {node: sum(form in measures for form, _ in rows) for node, rows in parts.items()}
    whole = Counter(values.values()).most_common(1)[0][0] if parts else 0
    left: Printed = {}
    beside = []
    for node, rows in parts.items():
        left[node] = []
        for form, words in rows:
            if form in measures or not _is_remark(words) or not (values[node] >= whole or form in usual):
                left[node].append((form, words))
            else:
                beside.append((node, " ".join(words)))
    return left, beside


def _nodes_with(parts: Printed) -> Counter[tuple[str | None, ...]]:
    """How many nodes have a line of each form."""
    return Counter(form for rows in parts.values() for form in {form for form, _ in rows})


def _unconfirmed(parts: Printed) -> set[str]:
    """The few nodes that lack a line, or some of its repetitions, by which others say that their result is right."""
    lacking: set[str] = set()
    by_line = {node: Counter(name_form(" ".join(words)) for _, words in rows) for node, rows in parts.items()}
    for line in {line for lines in by_line.values() for line in lines}:
        if RIGHT.search(line) and not fails(line) and not DOUBTFUL.search(line):
            times = {node: lines[line] for node, lines in by_line.items()}
            usual = Counter(times.values()).most_common(1)[0][0]
            fewer = {node for node, number in times.items() if number < usual}
            lacking |= fewer if are_few(len(fewer), len(parts)) else set()
    return lacking


def _is_remark(words: Sequence[str]) -> bool:
    """Whether a line is neither a failure nor a value; a warning may have any number."""
    numbers = any(map(is_number, words)) and WARNING.match(words[0]) is None
    line = " ".join(words)
    return ENDED_WELL.search(line) is not None or not (numbers or _ended(words) or fails(line))


def _filled(form: Sequence[str | None], rows: Sequence[Sequence[str]]) -> list[str | None]:
    """The cells that all rows share, `nan` in place of others, and None in place of the first number."""
    return [
        None if place == form.index(None) else cells[0] if len({*cells}) == 1 else "nan"
        for place, cells in enumerate(zip(*rows, strict=True))
    ]


def _instead(rows: Sequence[Sequence[str]], places: Collection[int], *, measured: bool) -> str:
    """What is written in place of a value where a node printed other lines; empty where they can be a value.

    `places`: where values are in other lines. `measured`: the node has other values, so that not any word is a failure.
    """
    if any(map(_ended, rows)):
        return "failed"
    if any(is_number(cell) for row in rows for place, cell in enumerate(row) if place in places):
        return ""
    if not measured or any(fails(" ".join(row)) for row in rows):
        return "failed"
    return rows[0][0] if len(rows) == len(rows[0]) == 1 else ""


def _ended(words: Sequence[str | None]) -> bool:
    return ENDED.search(" ".join(word or "" for word in words)) is not None


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
