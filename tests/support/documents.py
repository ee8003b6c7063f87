"""Reads the documents as a reader does: sections by heading, tables by row; and says what is wrong with them."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
DEFAULT_IN_HELP = re.compile(r"\[default: (.*?)\]")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@functools.lru_cache(maxsize=4)  # several questions in a row are about the same text
def headings(text: str) -> tuple[tuple[int, str, int, int], ...]:
    """Level, title, where the section's text begins, and where it ends: at the next heading of its level or above."""
    hidden = FENCE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
    found = [(len(one.group(1)), one.group(2), one.end(), one.start()) for one in HEADING.finditer(hidden)]
    result = []
    for place, (level, title, begin, _) in enumerate(found):
        end = next((start for other, _, _, start in found[place + 1 :] if other <= level), len(text))
        result.append((level, title, begin, end))
    return tuple(result)


def sections(text: str, title: str) -> list[str]:
    """The text under each heading that is `title`, or `title` and the arguments of a command."""
    arguments = r"( (\[|--|[A-Z]).*)?"
    wanted = re.compile(re.escape(title) + arguments)
    return [text[begin:end] for _, name, begin, end in headings(text) if wanted.fullmatch(name)]


def section(text: str, title: str) -> str:
    """The only one. Raises AssertionError where there is none, or more."""
    found = sections(text, title)
    assert len(found) == 1, f"{len(found)} sections are called {title!r}"
    return found[0]


def tables(text: str) -> list[list[list[str]]]:
    """Rows of cells, the head first and the line below it left out."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return [[rows[0], *rows[2:]] for rows in found if rows]


def table(text: str, *head: str) -> list[list[str]]:
    """The rows of the only table with that head."""
    found = [rows[1:] for rows in tables(text) if rows[0] == list(head)]
    assert len(found) == 1, f"{len(found)} tables have the head {head}"
    return found[0]


def compared(documented: Iterable[str], existing: Iterable[str]) -> list[str]:
    """What is missing, what does not exist, and what has more than one row."""
    rows, names = Counter(documented), list(existing)
    problems = [f"{name}: no row" for name in names if name not in rows]
    problems += [f"{name}: does not exist" for name in rows if name not in names]
    return problems + [f"{name}: {times} rows" for name, times in rows.items() if times > 1]


def named_rows(text: str, *head: str) -> list[str]:
    """What stands in the first column of that table, without its backticks; each cell must be one name."""
    return [row[0].removeprefix("`").removesuffix("`") for row in table(text, *head)]


ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ((?:\*\*)?`[^`]+`(?:,? (?:and )?`[^`]+`)*)", re.MULTILINE)
"""The names with which an item of a list begins."""


def own_lines(text: str) -> set[str]:
    """Names that have a line of their own: in the first cell of a table row, at the start of a list item, a heading.

    Several names may share a line (`source`, `target`). A name that only prose mentions has none.
    """
    first_cells = " ".join(row[0] for rows in tables(text) for row in rows[1:])
    items = " ".join(ITEM.findall(text))
    titles = [title for _, title, _, _ in headings(text)]
    named = re.findall(r"`([^`]+)`", " ".join([first_cells, items, *titles]))
    return {*named, *titles}


SHARED_TITLE = "Slurm options"
SHARED_LINK = "[Slurm options](#slurm-options)"
"""In the section of a command: it has all the options of that section, too."""


def option_problems(text: str, path: str, parameters: Sequence[Any]) -> list[str]:
    """What is wrong with the section of the command `path`: options without a row, rows without an option, arguments
    and defaults that are not those of the code.
    """
    found = sections(text, path)
    if len(found) != 1:
        return [f"{path}: {len(found)} sections"]
    options = {long_name(one): one for one in parameters if one.param_type_name == "option" and one.name != "help"}
    rows = table(found[0], "option", "default", "meaning")
    if SHARED_LINK in found[0]:
        rows = [*rows, *table(section(text, SHARED_TITLE), "option", "default", "meaning")]
    names = [re.match(r"`(--[\w-]+)", row[0]) for row in rows]
    problems = compared([one.group(1) if one else row[0] for one, row in zip(names, rows, strict=True)], options)
    for (cell, default, meaning), name in zip(rows, names, strict=True):
        option = options.get(name.group(1)) if name else None
        if option is None:
            continue
        if not re.fullmatch(usage(option), cell):
            problems.append(f"{cell}: its argument is {option.metavar or 'one word'}")
        if default != default_text(option):
            problems.append(f"{cell}: its default is {default_text(option) or 'none'}, not {default or 'none'}")
        if not meaning:
            problems.append(f"{cell}: no meaning")
    return [f"{path}: {one}" for one in problems]


def long_name(option: Any) -> str:
    """--json."""
    return str(next(name for name in option.opts if name.startswith("--")))


def usage(option: Any) -> str:
    """A pattern for what the first cell says: the option, and its argument where it takes one."""
    name = re.escape(long_name(option))
    if option.is_flag:
        return f"`{name}`"
    argument = re.escape(option.metavar.replace("|", r"\|")) if option.metavar else "[A-Z]+"
    return f"`{name} {argument}`"


def default_text(option: Any) -> str:
    """What the second cell says: what --help says in words, else the value; nothing for an option that is off."""
    said = DEFAULT_IN_HELP.search(option.help or "")
    if said:
        return str(said.group(1))
    value = option.to_info_dict()["default"]
    return "" if value is None or value is False or value == "" else f"`{value}`"


def anchors(text: str) -> list[str]:
    """What a link may name behind the #: the headings, as GitHub and others write them."""
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for _, title, _, _ in headings(text)]
