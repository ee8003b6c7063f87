"""What nodes printed below headings with their names, or sets of them: clush -b, dshbak, ansible, pssh and salt."""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import dedent

from seatrial.importers.output_names import ADDRESS, NODE_WORD, may_be_node, places_of
from seatrial.model.errors import UsageError
from seatrial.model.node_list import expand
from seatrial.model.words import count, name_form

NODE = r"(?P<node>[A-Za-z][\w.-]{0,99})"
NUMBERED = r"(?P<node>(?=\D{0,99}\d)[A-Za-z][\w.-]{0,99})"
HEADINGS = tuple(
    re.compile(f"^{form}\r?\n", re.MULTILINE)
    for form in (
        # clush -b and dshbak: a node, or all nodes that printed the same
        r"-{8,80}\n(?P<nodes>[\w.-][\w.,@\[\]-]{0,3999})(?: \((?P<number>\d{1,9})\))?\n-{8,80}",
        rf"{NODE} \| (?P<word>[A-Z]{{4,20}}!?) (?:\| rc=(?P<rc>-?\d{{1,9}}) >>|=> (?P<object>\{{))",  # ansible
        rf"\[\d{{1,9}}\] \d\d:\d\d:\d\d \[(?P<word>SUCCESS|FAILURE)\] (?:[\w.-]{{1,99}}@)?{NODE}(?::\d{{1,5}})?"
        r"(?: [^\n]{0,99}?(?P<rc>\d{1,9})?)?",  # pssh
        # what loops over nodes print before each of them: ==> n01 <==, --- n01 ---
        rf"(?P<loop>(?P<rule>[=*#-])(?P=rule){{1,20}}>? ?){NUMBERED} ?:?<?(?P=rule){{2,21}}",
        rf"(?P<loop>)Connecting to host {NUMBERED}, port \d{{1,5}}",  # iperf3
        rf"(?P<loop>)(?P<before>[=*#>-]{{1,20}} ?|\[|(?i:host|node|server)(?:name)?:? ?|){NUMBERED}\]?:?[ \t]*",
    )
)
"""The heading of the lines of a node, of the programs that write one; a file has those of one of them."""
SALT = re.compile(r"^([A-Za-z][\w.-]{0,99}):\n((?:(?: {4}[^\n]*)?\n)+)|^(?:ERROR|WARNING): [^\n]*\n+", re.MULTILINE)
"""What a node printed, which salt indents; and its own word below."""
FOUND_IN = re.compile(
    r"^((?:[\w.@+-]{0,200}/){1,30}[\w.@+-]{1,200}|[\w@+-][\w.@+-]{0,199}\.(?:out|log|txt|dat|res)):(?:\d{1,9}:)?[ \t]*",
    re.MULTILINE,
)
"""The file, and with -n the number of the line, that grep writes before a line."""
NUMBER_OF_NODE = re.compile(rf"^[ \t]*({NODE_WORD}) #?(\d{{1,6}}):?[ \t]+(?=\S)", re.IGNORECASE | re.MULTILINE)
"""What a loop over numbers prints before each line: `node 5 Triad: 85000.1`."""
NO_ANSWER = "Minion did not return"
RELAYED = re.compile(
    r"^(?:pdsh@[\w.-]{1,100}|clush): "
    r"(?P<nodes>[A-Za-z][\w.,\[\]-]{0,3999})(?: \((?P<number>\d{1,9})\))?: (?P<said>.*)(?:\n|\Z)",
    re.MULTILINE,
)
"""The word of pdsh and clush about nodes: pdsh@admin: n7: ssh exited with exit code 127."""
JSON_BEGINS = re.compile(r"\A\s*+(?:\{|\[\s*[\[{\"\]\d.ntf-])")
"""What JSON begins with: a value, no `[root@n1 ~]#` of a shell."""
LABELLED = re.compile(r"\[[^\[\]{}\"\n]{1,100}\][ \t]+[^\s,\]]|\[[^\s\]]{1,400}\]<std")
"""A mark in brackets with words behind it, such as a name or a time; behind a list of JSON is a comma or nothing."""
LABEL = re.compile(r"^[ \t]*\[([A-Za-z][\w.-]{0,99})\][ \t]+", re.MULTILINE)
"""The name of a node in brackets before a line."""
BOXES = str.maketrans(
    {
        **dict.fromkeys("│┃║", "|"),
        **dict.fromkeys("─━═┄┈", "-"),
        **dict.fromkeys("┌┬┐├┼┤└┴┘┍┯┑┝┿┥┕┷┙╒╤╕╞╪╡╘╧╛╔╦╗╠╬╣╚╩╝╭╮╰╯", "+"),
    }
)
"""What draws a table in a terminal, as bars, dashes and crosses."""
LOST = frozenset({"FAILED", "FAILED!", "UNREACHABLE", "UNREACHABLE!", "FAILURE"})
"""What ansible and pssh write beside the name of a node whose program failed."""
AROUND = "=<>#*-~+()[]:;,.'\""
"""What is written around the name of a node."""
MOST_WORDS = 12
MOST_LINES = 20
"""Lines above the first output that may name its node."""
MOST_FRAMES = 8
"""Words above the first output that are tried as its name; each takes a pass over all lines."""
NAME = re.compile(r"[A-Za-z][\w.-]{0,99}\d[\w.-]{0,99}")
MOST_CHARACTERS = 64 << 20
"""Characters that are repeated for the nodes of sets, as large as the outputs of thousands of nodes."""


def prefixed(text: str) -> str:
    """The text with the name of a node before each of its lines, as far as it has some."""
    text = LABEL.sub(r"\1: ", text) if LABELLED.match(text.lstrip()) else text
    return with_prefixes(text.lstrip("\ufeff").translate(BOXES))


def with_prefixes(text: str) -> str:
    """The text with the name of a node before each of its lines, in place of a heading of its lines.

    Lines below a set of nodes are repeated for each of them, and a program that failed has a line about that alone.
    Raises UsageError for a heading that is not a set of nodes, or of too many.
    """
    text = _of_numbers(_of_paths(_of_salt(text) or text))
    headings, written = _headings(text), _Prefixes()
    if not headings:
        return RELAYED.sub(written.relayed, text)
    relayed = [written.relayed(match) for match in RELAYED.finditer(text)]
    text = RELAYED.sub("", text)
    headings = _headings(text)
    blocks = [written.block(match, block) for match, block in zip(headings, _blocks(text, headings), strict=True)]
    return text[: headings[0].start()] + "".join((*blocks, *relayed))


def is_headed(text: str) -> bool:
    """Whether it has headings of nodes, or is what salt writes as JSON."""
    return bool(_headings(text) or _of_salt(text))


def _headings(text: str) -> "list[re.Match[str]]":
    """The headings of the first form that the text has, if all of them name nodes."""
    headings = next((found for form in HEADINGS if (found := [*form.finditer(text)])), [])
    if headings and "loop" in headings[0].groupdict():
        names, blocks = [match["node"] for match in headings], _blocks(text, headings)
        if not all(map(may_be_node, names)) or are_sizes(names, blocks):
            return []
        if "before" in headings[0].groupdict():  # nothing closes it: all are alike, from the first line on
            alike = {(match["before"], name_form(match["node"])) for match in headings}
            silent = [not block.strip() for block in blocks]
            if text[: headings[0].start()].strip() or 2 * sum(silent) >= len(silent):
                return []
            first = f"{names[0]}:"
            lines = (line.removeprefix(first) for line in text.splitlines() if line.startswith(first))
            if len(alike) > 1 or len({*names}) < 2 or any(re.match(r" ?[^\s:]", line) for line in lines):  # no heading
                return []
    return headings if all(map(_is_set, headings)) else []


def _blocks(text: str, headings: "Sequence[re.Match[str]]") -> list[str]:
    """The text below each heading."""
    ends = [*(match.start() for match in headings[1:]), len(text)]
    return [text[match.end() : end] for match, end in zip(headings, ends, strict=True)]


def _of_salt(text: str) -> str:
    """Lines behind the names of nodes, of what salt writes: indented below a name, or as members of JSON objects.

    False is a node that did not answer. Empty for any other text.
    """
    members = _json_members(text) or _indented(text)
    names = {name for name, _ in members if re.fullmatch(NUMBERED, name)}
    values = [value for _, value in members]
    if len(names) < max(len(members), 2) or not all(isinstance(value, str) or value is False for value in values):
        return ""
    printed = ((name, str(value).strip("\n") if value else "") for name, value in members)
    lines = ((name, "failed" if not words or words.startswith(NO_ANSWER) else words) for name, words in printed)
    return "".join(f"{name}: {line}\n" for name, words in lines for line in words.split("\n"))


def _of_paths(text: str) -> str:
    """The text with the name of a node in place of the file in which grep found each line: results/n01/stream.out."""
    matches = [*FOUND_IN.finditer(text)] if FOUND_IN.match(text) else []
    lines = [line for line in text.splitlines() if line.strip()]
    paths = [match[1].split("/") for match in matches]
    if len(matches) != len(lines) or len({*map(len, paths)}) != 1:
        return text
    for names in zip(*paths, strict=True):
        places = places_of({*names})
        nodes = [places[name].node for name in names]
        named = all(NAME.fullmatch(node) and may_be_node(node) for node in {*nodes})
        if named and len({*nodes}) > 1 and not are_sizes(nodes, lines):
            return "".join(f"{node}: {FOUND_IN.sub('', line)}\n" for node, line in zip(nodes, lines, strict=True))
    return text


def _of_numbers(text: str) -> str:
    """The text with `node5: ` in place of `node 5 ` where all lines begin so, with several numbers."""
    numbers = [match[2] for match in NUMBER_OF_NODE.finditer(text)]
    every = len({*numbers}) > 1 and len(numbers) == sum(not line.isspace() and line != "" for line in text.splitlines())
    return NUMBER_OF_NODE.sub(r"\1\2: ", text) if every else text


def _json_members(text: str) -> list[tuple[str, object]]:
    """The members of JSON objects that follow each other; none where the text is something else."""
    decoder, members, left = json.JSONDecoder(), list[tuple[str, object]](), text.strip()
    while left.startswith("{"):
        try:
            value, end = decoder.raw_decode(left)
        except (ValueError, RecursionError):
            return []
        members += value.items()
        left = left[end:].lstrip()
    return [] if left else members


def _indented(text: str) -> list[tuple[str, object]]:
    """Names, and the lines below them without their indentation; none where there are other lines, too."""
    text = text.replace("\r\n", "\n").lstrip("\n").rstrip() + "\n"
    if not SALT.match(text) or SALT.sub("", text):
        return []
    return [(name, dedent(lines)) for name, lines in SALT.findall(text) if name]


class _Prefixes:
    """Writes lines behind the names of nodes, and repeats up to `MOST_CHARACTERS` of them for further nodes."""

    def __init__(self) -> None:
        self.written = 0

    def block(self, heading: "re.Match[str]", block: str) -> str:
        """The lines below a heading."""
        parts = heading.groupdict()
        if (parts.get("nodes") or "").startswith("pdsh@"):  # dshbak takes what pdsh says about nodes for one more node
            return block.strip("\n") + "\n"
        printed, code = block, parts.get("rc")
        if parts.get("object"):
            printed, code = _members("{" + block)
        if parts.get("word") in LOST or (code or "0") != "0":
            printed = f"{parts['word']}, exit code {code or 'unknown'}"
        return self.lines(_nodes(heading), printed)

    def relayed(self, match: "re.Match[str]") -> str:
        """What a launcher says about nodes."""
        return self.lines(_nodes(match), match["said"]) if _is_set(match) else match[0]

    def lines(self, nodes: tuple[str, ...], printed: str) -> str:
        """Raises UsageError where it becomes too much."""
        lines = printed.strip("\n").split("\n")
        self.written += (len(nodes) - 1) * (len(printed) + len(lines))
        if self.written > MOST_CHARACTERS:
            raise UsageError(
                f"The lines of sets of nodes, repeated for each node, have more than {MOST_CHARACTERS >> 20} MiB.",
                "Give fewer nodes at a time, or the values of each node alone.",
            )
        return "".join(f"{node}: {line}\n" for node in nodes for line in lines)


def _members(text: str) -> tuple[str, str]:
    """What a program printed, and its exit code, of the JSON object that ansible writes; the text if it has neither."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return text.removeprefix("{"), ""
    stdout, code = value.get("stdout"), value.get("rc")
    printed = "\n".join((stdout, text[end:].strip("\n"))) if isinstance(stdout, str) else text.removeprefix("{")
    return printed, str(code) if isinstance(code, int) else ""


def are_sizes(names: Sequence[str], blocks: Sequence[str]) -> bool:
    """Whether the text below each name contains its number, and another text does not: N20000 above HPL."""
    words = [{*block.split()} for block in blocks]
    numbers = [re.sub(r"^[A-Za-z_-]+", "", name) for name in names]
    in_all = set.intersection(*words).issuperset(numbers)
    return not in_all and all(own in one for own, one in zip(numbers, words, strict=True))


def by_heading(text: str, begins: "re.Pattern[str]") -> dict[str, str]:
    """Node, or its file, -> what it printed, of outputs below lines that differ in that: `=== n1 ===`, `Host: n1`.

    `begins`: what a line matches with which an output begins. The first name is above all outputs; all names with an
    output have as many below them. Empty where that does not hold, and where the names are not those of nodes.
    """
    lines = text.splitlines()
    first = [number for number, line in enumerate(lines) if begins.match(line)]
    if len(first) < 2:
        return {}
    for heading in islice(_frames(lines[max(first[0] - MOST_LINES, 0) : first[0]]), MOST_FRAMES):
        named = [(number, match[1]) for number, line in enumerate(lines) if (match := heading.fullmatch(line))]
        places, names = [number for number, _ in named], [name for _, name in named]
        ends = [*places[1:], len(lines)]
        counts = {bisect_left(first, end) - bisect_left(first, place) for place, end in zip(places, ends, strict=True)}
        if len({*names}) < 2 or places[0] > first[0] or len(counts - {0}) != 1:
            continue
        blocks = ["\n".join((*lines[place + 1 : end], "")) for place, end in zip(places, ends, strict=True)]
        if not are_sizes(names, blocks):
            parts: defaultdict[str, str] = defaultdict(str)
            for name, block in zip(names, blocks, strict=True):
                parts[name] += block
            return dict(parts)
    return {}


def _frames(lines: Sequence[str]) -> "Iterator[re.Pattern[str]]":
    """What the other lines with a name are like, for each name in these lines, the nearest to the output first."""
    for line in reversed(lines):
        words = [word.strip(AROUND) for word in line.split(maxsplit=MOST_WORDS)]
        for word in words if len(words) <= MOST_WORDS else ():
            if not ADDRESS.fullmatch(word) and not (NAME.fullmatch(word) and may_be_node(word)):
                continue
            before, _, behind = line.partition(word)
            # A name alone: others have the same letters.
            name = r"[\w.-]{1,200}" if before.strip() or behind.strip() else _with_any_numbers(word)
            yield re.compile(f"{_with_any_numbers(before)}({name}){_with_any_numbers(behind)}")


def _with_any_numbers(text: str) -> str:
    """The expression for this text with other numbers in it, such as those of a date and a time."""
    return r"\d{1,18}+".join(map(re.escape, re.split(r"\d+", text)))


def _is_set(match: "re.Match[str]") -> bool:
    """Whether it has the name of a node, or a set; `[options]` and `Results (3)` are titles."""
    parts = match.groupdict()
    text = parts.get("nodes") or ""
    if "[" not in text and "," not in text:
        return parts.get("number") in (None, "1")
    if parts["number"]:
        return True
    try:
        return bool(expand(text))
    except ValueError:
        return False


def _nodes(match: "re.Match[str]") -> tuple[str, ...]:
    """The nodes of a heading. Raises UsageError for a text that is not a set, or of another number of nodes."""
    parts = match.groupdict()
    text, number = parts.get("nodes") or parts.get("node", ""), parts.get("number")
    try:
        nodes = expand(text) if "[" in text or "," in text else (text,)
    except ValueError as error:
        raise UsageError(
            f"The heading {text[:60]!r} is not a valid list of nodes: {error}.", "Write the lines of each node alone."
        ) from error
    if number and int(number) != len(nodes):
        raise UsageError(
            f"The heading {text[:60]!r} has {count(len(nodes), 'node')}, and the number behind it is {number}.",
            "Write the lines of each node alone.",
        )
    return nodes
