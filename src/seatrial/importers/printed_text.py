"""What a program printed on many nodes, line by line: which lines have their values, and which nodes failed."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from seatrial.importers.headed_text import with_prefixes
from seatrial.importers.line_prefixes import MOMENTS, RANKS, without_prefixes
from seatrial.importers.lone_numbers import are_few
from seatrial.importers.outcome_words import DOUBTFUL, NOT_STARTED, RIGHT, fails
from seatrial.importers.written_numbers import with_seconds
from seatrial.model.column_words import SENSOR_WORDS, last_word, names_condition, names_result
from seatrial.model.errors import UsageError
from seatrial.model.imported import LOSSES
from seatrial.model.unit_text import NUMBER, Unit, is_number, unit_of
from seatrial.model.words import name_form, some

NODE_PREFIX = re.compile(r"(?P<node>[A-Za-z][\w.-]{0,99}): ?(?P<line>.*)")
ENDED = re.compile(
    r"(?i)\b(?:exited with(?! (?:exit )?(?:code |status )?0\b)|exit (?:code|status)(?![ :=]{0,3}0\b)"
    rf"|(?:rc|ret|returncode|exit_?(?:code|status)?)[:=] ?[1-9]\d{{0,9}}|{NOT_STARTED})\b"
)
"""Words of a launcher or a shell about a program that did not run; a number behind them measures nothing."""
ENDED_WELL = re.compile(
    r"(?i)\b(?:exit(?:ed with)?(?: exit)?(?: code| status)?[ :=]{1,3}"
    r"|(?:rc|ret|returncode|exit_?(?:code|status))[:=] ?)0\b"
)
"""What a launcher says of a program that ran: no value."""
WARNING = re.compile(r"(?i)[\[<(*#]*(?:warn(?:ing)?|note|notice|info)\b")
"""The first word of a line that is about a run whose value is in another line."""
VALUE = re.compile(
    rf"(?P<before>(?:[A-Za-z][\w.%/-]{{0,40}}[=:,;])?[(\[]?)(?P<number>{NUMBER})(?P<unit>[A-Za-zµ%/]{{0,12}})"
    r"(?P<after>[)\]]?[,;]?)"
)
"""A number in a line, with its name before it or its unit behind it."""
LISTED = re.compile(r"(?<=[\w%)/])[,;](?=[ \t]+\S)")
"""What divides the values in a line: `bandwidth = 24000 MB/s, latency = 1.2 us`."""
NAMED = re.compile(r"((?<=\d) |)\b([A-Za-z][\w.%/-]{0,40}+) = ")
"""The name of a value; no unit behind a number, as of hdparm: `1620 MB in  3.00 seconds = 539.91 MB/sec`."""
MARK = "\0"
"""What is in the form of a line in place of a number."""
RESULT_UNITS = frozenset({"B/s", "flop/s"})
"""What has one of these units was measured."""
PER_SECOND = re.compile(r"(?i)\bper sec(?:ond)?$")
FAILED_SHARE = 3
"""A table is read if fewer than a third of its nodes failed."""


class NothingRanError(UsageError):
    """The text is of nodes on which the program did not run."""


class UnclearResultError(UsageError):
    """Each node printed several lines with numbers, and nothing shows which of them has the result."""


def by_node(text: str) -> dict[str, str]:
    """Node -> what it printed, of an output of pdsh or clush that has the name of a node before each line."""
    lines = [NODE_PREFIX.match(line) for line in with_prefixes(text).split("\n") if line.strip()]
    parts: dict[str, list[str]] = {}
    for match in lines:
        if match is None:
            return {}
        parts.setdefault(match["node"], []).append(match["line"])
    return {node: "\n".join((*written, "")) for node, written in parts.items()} if len(parts) > 1 else {}


def below_one_head(text: str) -> str:
    """The tables of nodes, each line behind the name of its node, as one table; another text as it is.

    All begin with the same line of names, which ends up above a column of the nodes.
    """
    rows = [(node, line.strip()) for node, lines in by_node(text).items() for line in lines.splitlines()]
    head = rows[0][1] if rows else ""
    mark = next((mark for mark in ";\t," if mark in head), "")
    cells = head.split(mark) if mark else []
    heads = {node for node, line in rows if line == head}
    if not cells or len(heads) < len({node for node, _ in rows}) or any(cell.strip()[:1].isdigit() for cell in cells):
        return text
    if any(line.count(mark) != head.count(mark) for _, line in rows):
        return text
    return "\n".join((f"node{mark}{head}", *(f"{node}{mark}{line}" for node, line in rows if line != head)))


def with_failures(text: str, line: str = "") -> tuple[str, list[tuple[str, str]]]:
    """What `_with_failures` makes of it, with values of one line of a node apart: `a = 1, b = 2` as `a=1 b=2`."""
    text, beside = _with_failures(text, line)
    apart = NAMED.sub(
        lambda name: name[0] if name[1] and unit_of(name[2]) else f"{name[1]}{name[2]}=", LISTED.sub("", text)
    )
    return apart if apart != text and by_node(text) else text, beside


def _with_failures(text: str, line: str) -> tuple[str, list[tuple[str, str]]]:
    """The text with `failed` in place of the numbers of each run whose node printed none, or a failure in their place.

    Most nodes must print lines of the same words with numbers in the same places; there may be several such lines.
    Other text is returned as it is. Raises NothingRanError where these words say that a program did not run, and
    UnclearResultError where several lines may be the result. `line`: words of the one that is.

    Lines that measure nothing, and warnings, of nodes that print all values of the others are left out and returned,
    too: node and line. A node that lacks the line by which nearly all others say that their result is right, or counts
    failures where these have none, has a run that failed.
    """
    parts, usual = _usual_forms(text)
    of_form = {form: [row for rows in parts.values() for own, row in rows if own == form] for form in usual}
    measures = _measures(parts, usual, line)
    if not measures and (timed := with_seconds(text)) != text:  # beside another result it is none
        return _with_failures(timed, line)
    if (ended := next((form for form in usual if _ended(form) or fails(" ".join(form))), None)) and not measures:
        raise NothingRanError(
            f"Most nodes printed no value but {' '.join(of_form[ended][0])[:80]!r}.",
            "See to it that the program runs there.",
        )
    places = {_first_number(form) for form in measures}
    unconfirmed = _unconfirmed(parts)
    parts, beside = _without_remarks(parts, usual, measures)
    unconfirmed |= _counting_failures(beside, len(parts))
    for node in unconfirmed:
        if all(form in measures for form, _ in parts[node]):
            parts[node].append((FAILED, [*FAILED]))
    unlike = {node for node, rows in parts.items() if not rows or any(form not in measures for form, _ in rows)}
    unsaid = {
        node for node in unlike if not all(form in (*measures, FAILED) or _ended(row) for form, row in parts[node])
    }
    if not measures or len(parts) <= FAILED_SHARE * len(unsaid):
        return text, []
    filled = [_filled(form, of_form[form]) for form in measures]
    written: list[str] = []
    for node, rows in parts.items():
        measured = any(form in measures for form, _ in rows)
        for value, group in itertools.groupby(rows or [((), [])], key=lambda row: row[0] in measures):
            run = [row for _, row in group]
            if not value:
                word = _instead(run, places, measured=measured)
                if not word:
                    return text, []
                beside += ((node, " ".join(row)) for row in run if not measured)
                run = [[cell.replace(MARK, word) for cell in row] for row in filled]
            written += (f"{node}: {' '.join(row)}\n" for row in run)
    return ("".join(written), beside) if unlike or beside or len(measures) < len(usual) else (text, [])


def no_line(line: str, labels: Sequence[str]) -> UsageError:
    """The error for words by which the user names none of the lines of nodes."""
    return UsageError(f"No line of the nodes is called {line!r}.", f"They have {some(labels)}.")


def labels_of_lines(text: str) -> list[str]:
    """What lines with numbers are called that most nodes print: the names by which a user chooses one."""
    _, usual = _usual_forms(with_seconds(text))
    return list(dict.fromkeys(label for form in usual if MARK in "".join(form) for label in _called(form)))


FAILED = ("failed",)
"""The line of a run whose node did not say that its result is right."""
Form = tuple[str, ...]
"""The words of a line, `MARK` in place of each number."""
Printed = dict[str, list[tuple[Form, list[str]]]]
"""Node -> the form of each of its lines, and its words."""


def _usual_forms(text: str) -> "tuple[Printed, list[Form]]":
    """What nodes printed, and the forms of the lines that most of them have."""
    rows = {node: [*map(str.split, filter(str.strip, lines.splitlines()))] for node, lines in by_node(text).items()}
    return (parts := _with_forms(rows)), [
        form for form, number in _nodes_with(parts).items() if 2 * number > len(parts)
    ]


def _with_forms(rows: Mapping[str, Sequence[list[str]]]) -> Printed:
    """The lines with their forms; digits within words are alike where most nodes have such a line, and each its own."""
    exact = {node: [(tuple(map(_form_of, row)), row) for row in own] for node, own in rows.items()}
    usual = {form for form, nodes in _nodes_with(exact).items() if 2 * nodes > len(rows)}
    others = {
        node: [(tuple(map(name_form, form)), row) for form, row in own if form not in usual]
        for node, own in exact.items()
    }
    loose = {form for form, nodes in _nodes_with(others).items() if 2 * nodes > len(rows)}
    return {
        node: [
            (alike if form not in usual and (alike := tuple(map(name_form, form))) in loose else form, row)
            for form, row in own
        ]
        for node, own in exact.items()
    }


def _measures(parts: Printed, usual: Sequence[Form], line: str) -> list[Form]:
    """The forms of the lines that have results. Raises UnclearResultError where several may be."""
    numbered = [form for form in usual if any(MARK in word for word in form) and not _ended(form)]
    if chosen := [form for form in numbered if line and line.lower() in map(str.lower, _called(form))]:
        return chosen
    of_results = [*filter(_may_be_result, numbered)]
    varying = [form for form in of_results if len({str(_numbers(form, rows)) for rows in parts.values()}) > 1]
    left = [form for form in varying if not names_condition(_labels(form)[-1])]
    left = left or varying or of_results or (numbered if len(numbered) == sum(map(_has_digits, usual)) else [])
    if len({*map(_shape, left)}) > 1:
        left = [*filter(_is_rate, left)] or left
    if len({*map(_shape, left)}) < 2:
        return left
    labels = [*filter(None, (_labels(form)[-1] for form in left))]
    if line:
        raise no_line(line, labels)
    raise UnclearResultError(
        f"Several lines of each node have numbers: {some([repr(label) for label in labels])}.",
        "Name the one that has the result by these words: --column WORDS.",
    )


def _without_remarks(
    parts: Printed, usual: Collection[Form], measures: Collection[Form]
) -> tuple[Printed, list[tuple[str, str]]]:
    """What nodes printed without lines that measure nothing, and these lines.

    A node that printed fewer values than others keeps such lines, which may say why.
    """
    values = {node: sum(form in measures for form, _ in rows) for node, rows in parts.items()}
    lines = {form: [" ".join(row) for rows in parts.values() for own, row in rows if own == form] for form in usual}
    counts = {
        form
        for form in usual
        if (MARK in "".join(form) and last_word(_labels(form)[-1]) in LOSSES)
        or (_has_digits(form) and not fails(Counter(lines[form]).most_common(1)[0][0]))
    }
    whole = Counter(values.values()).most_common(1)[0][0] if parts else 0
    left: Printed = {}
    beside = []
    for node, rows in parts.items():
        left[node] = []
        for form, words in rows:
            remark = _is_remark(words) or (form in counts and not _ended(words))
            if form in measures or not remark or not (values[node] >= whole or form in usual):
                left[node].append((form, words))
            else:
                beside.append((node, " ".join(words)))
    return left, beside


def _numbers(form: Form, rows: Sequence[tuple[Form, list[str]]]) -> list[list[str]]:
    """The numbers in each line of that form, as text."""
    return [[word for word, mark in zip(row, _shape(form), strict=True) if mark] for own, row in rows if own == form]


def _may_be_result(form: Form) -> bool:
    """Whether the words of a line do not say that its numbers are something else."""
    line = " ".join(form).replace(MARK, "0")
    about = WARNING.match(line) or RIGHT.search(line) or ENDED_WELL.search(line) or fails(line)
    label = _labels(form)[-1]
    return not about and names_result(label) and last_word(label) not in LOSSES | SENSOR_WORDS


def _is_rate(form: Form) -> bool:
    """Whether a line has a unit that only results have, or counts what was done per second."""
    if PER_SECOND.search(_labels(form)[-1]):
        return True
    units = (unit_of(word.replace(MARK, "").strip("()[],;:")) for word in form)
    return any(map(is_rate, units))


def is_rate(unit: Unit | None) -> bool:
    """Whether only results have such a unit."""
    return unit is not None and unit.base in RESULT_UNITS


def _has_digits(form: Form) -> bool:
    return any(MARK in word or any(map(str.isdecimal, word)) for word in form)


def _shape(form: Form) -> tuple[bool, ...]:
    """The places of the numbers in a line."""
    return tuple(MARK in word for word in form)


def _first_number(form: Form) -> int:
    return _shape(form).index(True)


def _labels(form: Form) -> tuple[str, str]:
    """What a line is called: its words, and those before its first number, as far as it has some."""
    words = [word.replace(MARK, "").strip("=:,;()[] ") for word in form]
    whole = " ".join(filter(None, words))
    return whole, " ".join(filter(None, words[: _first_number(form)])) or words[_first_number(form)] or whole


def _called(form: Form) -> tuple[str, ...]:
    """All words by which a user may choose a line: those of `_labels`, and its last word: `receiver` of iperf3."""
    whole, before = _labels(form)
    return before, whole, whole.split()[-1] if whole else whole


def _counting_failures(beside: Sequence[tuple[str, str]], nodes: int) -> set[str]:
    """The few nodes that count failures in a line in which others count none."""
    lines: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for node, line in beside:
        lines[name_form(line)].append((node, line))
    counting = [{node for node, line in alike if fails(line)} for alike in lines.values()]
    return {node for some_nodes in counting if are_few(len(some_nodes), nodes) for node in some_nodes}


def _nodes_with(parts: Printed) -> Counter[Form]:
    """How many nodes have a line of each form."""
    return Counter(form for rows in parts.values() for form in dict.fromkeys(form for form, _ in rows))


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


def _filled(form: Form, rows: Sequence[Sequence[str]]) -> list[str]:
    """The cells that all rows share, `nan` in place of others, and `MARK` in place of the first number that varies."""
    columns = [*zip(*rows, strict=True)]
    varying = (place for place, cells in enumerate(columns) if MARK in form[place] and len({*cells}) > 1)
    value = next(varying, _first_number(form))
    return [
        form[place].partition(MARK)[0] + MARK
        if place == value
        else cells[0]
        if len({*cells}) == 1
        else form[place].partition(MARK)[0] * (MARK in form[place]) + "nan"
        for place, cells in enumerate(columns)
    ]


def _instead(rows: Sequence[Sequence[str]], places: Collection[int], *, measured: bool) -> str:
    """What is written in place of a value where a node printed other lines; empty where they can be a value.

    `places`: where values are in other lines. `measured`: the node has other values, so that not any word is a failure.
    """
    if any(_ended(row) or fails(" ".join(row)) for row in rows):
        return "failed"
    if any(is_number(cell) for row in rows for place, cell in enumerate(row) if place in places):
        return ""
    if not measured:
        return "failed"
    return rows[0][0] if len(rows) == len(rows[0]) == 1 else ""


def _ended(words: Sequence[str]) -> bool:
    return ENDED.search(" ".join(words).replace(MARK, "")) is not None


def _form_of(word: str) -> str:
    """The word, `MARK` in place of a number, also of one with its name or unit: `bw=24.5`, `24.5GB/s`, `(24.5GB/s)`."""
    match = VALUE.fullmatch(word)
    unit = unit_of(match["unit"]) if match and match["unit"] else None
    if match is None or (match["unit"] and (unit is None or unit.base == "B")):
        return word
    return f"{match['before']}{MARK}{match['unit']}{match['after']}"


def plain(text: str, *, moments: bool = True) -> str:
    """The text as the program printed it, line by line. `moments`: False leaves times before the lines."""
    return without_prefixes(text, (*RANKS, *MOMENTS) if moments else RANKS, node=moments)
