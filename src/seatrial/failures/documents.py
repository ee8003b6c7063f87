"""Documents about failures, which are not the output of a run: pages, data, settings, sources, and lines that cite."""

import ast
import contextlib
import csv
import re
import warnings
from collections.abc import Callable
from textwrap import dedent

import msgspec

from seatrial.failures.printed_text import MOST_CHARACTERS
from seatrial.model.errors import UsageError, toml_record

STRING = r"(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}')"
NAME = r"\w{1,80}(?:::\w{1,80}){0,4}"
CITES = re.compile(
    r".{0,400}(?:[`\"']|[a-z] [a-z]{2,20}: )(?:slurmstepd[^\s:`\"']{0,255}+|srun): (?:error|fatal): "
    r"|.{0,400}\\(?:n|00)\" {0,4}[,)]|.{0,400}\); {0,8}(?://.{0,400})?$|\s{0,80}(?:// |/\*[* ])|.{0,400}: \.\.\.$"
    rf"|\s{{0,80}}[({{\[]{{0,9}}[bfr]{{0,2}}{STRING}(?: {{0,80}}[:,] {{0,80}}(?:{STRING}|{NAME})){{0,9}}[)}}\]]{{0,9}}"
    r" {0,4}(?:, {0,80}\\?|: {0,4}[\[{(])$"
    rf"|\s{{1,80}}[a-z]\w{{0,80}}: {{1,4}}{STRING}$|\|(?:[^|\n]{{1,400}}\|){{2,40}} {{0,9}}$"
    r"|\s{0,20}(?:[-*+]|#{1,6}|\d{1,3}[.)]) {1,4}`[^`\n]{1,400}`|\s{0,20}\*\*[^*\n]{1,400}\*\*$"
    r"|\s{0,80}(?:\w{1,80}=\$\(|[ef]?grep .{0,400}[\"']|(?:if|elif|while|until|for) .{0,400}; (?:then|do)$)"
)
"""Lines that cite a message of Slurm or the first words of one, statements and comments of source code, the strings of
its lists, tables and settings, rows of tables, commands of scripts, and items of a document about code."""
SCRIPT = re.compile(r"(?m)^(?:#!|#(?:SBATCH|PBS|BSUB|FLUX):? |export \w+=|.{1,400} <<-? ?['\"]?[A-Z_]{2,20}['\"]?$)")
IN_SCRIPT = re.compile(r"\s{0,80}(?:#{1,9} |(?:echo|printf) [\"'])")
"""Comments of a script, and what it would print."""
LITERAL_BLOCK = re.compile(
    r"(?m)(?<=\w::\n)\n(?:[ \t]{1,8}\S.*(?:\n|\Z)|[ \t]*\n){1,1000}"
    r"|\\begin\{(verbatim|lstlisting)\}(?:(?!\\(?:begin|end)\{\1\})[\s\S]){0,4000}+\\end\{\1\}"
    r"|(?:\A|\"{3})(?:(?!\n[ \t]{0,80}\"{3}|\"{3})[\s\S]){0,8000}+\n[ \t]{0,80}\"{3}[ \t]{0,9}[),]{0,3}$"
    r"|^[ \t]{0,80}/\*(?!-)(?:[^*/]|\*(?!/)|/(?!\*)){0,4000}+\*/"
    r"|^((?:[#;%!]|//)?)[ \t]{0,8}\.\. (?:code(?:-block)?|sourcecode|parsed-literal)::.*\n"
    r"(?:\2(?:[ \t]{2,}\S.*|[ \t]*)\n){1,1000}"
)
"""What reStructuredText shows after a sentence that ends in two colons or as code, LaTeX between its commands,
long strings of Python, and comments of C."""
FENCED = re.compile(r"(?m)^([ \t]{0,12})```.{0,80}\n(?:.{0,1000}\n){1,3}?\1```[ \t]*$")
"""A message that a page of Markdown shows; longer blocks may be the output of a run that somebody pasted."""
INDENTED = re.compile(FENCED.pattern.replace("{0,12}", "{2,12}"))
"""A message that an item or a note of a page shows."""
HEADING = re.compile(r"\s*#{1,6} \S")
CODE_SPAN = re.compile(r"(?<!Assertion )`(?:[^`'\s]{1,200} ){2,40}[^`'\s]{1,200}`|``[^`\n]{1,400}``")
"""Words that a document quotes within a sentence, unlike `a name'."""
STRING_LIST = re.compile(rf"(?m)(?:^[ \t]{{0,80}}{STRING}, {{0,9}}\n){{2,100}}+[ \t]{{0,80}}{STRING}$")
"""Strings of source code, of which the last one is alone in its line."""
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LEAST_LINES = 3
"""Lines of a document, which a single value that a program prints has not."""
DELIMITERS = ",;\t"
COLUMN = re.compile(r"[^\W\d][\w .#%()/\[\]-]{0,40}")
"""The name of a column of a table."""
ANYTHING = re.compile(r".*")
TAG = re.compile(r"<[!?/]?[A-Za-z?][^<>\n]{0,400}>|<\?|\?>")
KEY = r"(?:[\w.$/-]{1,80}|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')"
VALUE = r"(?:(?!:(?: |$)).)*"


class DocumentForm(msgspec.Struct, frozen=True, kw_only=True):
    """How the lines of a document look, without empty ones."""

    name: str
    first: re.Pattern[str] = ANYTHING
    """Found in the first line."""
    every: re.Pattern[str] = ANYTHING
    """The whole of every line."""
    last: re.Pattern[str] = ANYTHING
    """Found in the last line."""
    some: re.Pattern[str] = ANYTHING
    """Found in LEAST_LINES lines at least."""

    def fits(self, lines: list[str]) -> bool:
        """Whether these lines are such a document."""
        return (
            self.first.search(lines[0]) is not None
            and self.last.search(lines[-1]) is not None
            and sum(self.some.search(line) is not None for line in lines) >= LEAST_LINES
            and all(self.every.fullmatch(line) for line in lines)
        )


FORMS = (
    DocumentForm(name="HTML or XML", first=re.compile(rf"^\s*(?:{TAG.pattern})"), some=TAG, last=TAG),
    DocumentForm(
        name="a file of settings",
        every=re.compile(r"^(?:\[[^\]\n]{1,80}\]\s*|[#;!].*|[\w.-]{1,80} ?=.*|\s+(?!\S{1,80}: )\S.*)"),
        some=re.compile(r"^(?:\[[^\]\n]{1,80}\]\s*$|[\w.-]{1,80} ?=)"),
    ),
    DocumentForm(
        name="YAML",
        every=re.compile(
            rf"^(?:---|\s*#(?: .*)?|\s*- {VALUE}"
            rf"|\s*(?:- {{1,3}}){{0,3}}(?:{KEY}:(?: +\".*\"| +'.*'| {VALUE})?|\".*\"|'.*'))"
        ),
        some=re.compile(rf"^(?:\s*(?:- {{1,3}}){{0,3}}{KEY}:$|\s+(?:- )?{KEY}: )"),
        first=re.compile(rf"^(?:---|#|(?:- )?{KEY}:)"),
    ),
    DocumentForm(
        name="a catalogue of translations",
        every=re.compile(r"^(?:#.*|(?:msg\w{2,9}(?:\[\d\])? )?\".*\")"),
        some=re.compile("^msg"),
    ),
    DocumentForm(
        name="a list of changes",
        first=re.compile(r"(?i)\bchange(?:s|log)?\b|\brelease notes\b"),
        every=re.compile(r"^(?:[*#=-].*|\s+\S.*|(?:[\w.+-]{1,80} )?[\[(]?v?\d{1,9}\.\d.*)"),
        some=re.compile(r"^ {0,4}(?:--|[*-]) "),
    ),
    DocumentForm(
        name="a page of a manual",
        first=re.compile(r"^([\w.+-]{1,80}\(\d\w{0,3}\))\s.*\s\1$"),
        last=re.compile(r"\s[\w.+-]{1,80}\(\d\w{0,3}\)$"),
    ),
    DocumentForm(
        name="a difference of files",
        first=re.compile(r"^(?:diff |--- \S|Index: )"),
        every=re.compile(r"^(?:[ +@\\-].*|={3,}|(?:diff|index|Index:|new|deleted|old|similarity|rename|Binary) .*)"),
    ),
)


def without_citations(text: str) -> str:
    """Plain text without what cites a message, or contains one as source code and documents do."""
    for quoted in (LITERAL_BLOCK, CODE_SPAN, STRING_LIST, FENCED if HEADING.match(text) else INDENTED):
        text = quoted.sub("", text)
    cites = [CITES, *([IN_SCRIPT] if SCRIPT.search(text) else [])]
    return "\n".join(line for line in text.split("\n") if not any(cite.match(line) for cite in cites))


def document_form(text: str) -> str:
    """What the whole text is, if it is a document or data and no output of a run; empty if it may be one."""
    text = dedent(text)
    lines = [line for line in text.split("\n") if line.strip()]
    if len(text) > MOST_CHARACTERS or len(lines) < 1:
        return ""
    forms = next((form.name for form in FORMS if form.fits(lines)), "") if len(lines) >= LEAST_LINES else ""
    readers: dict[str, Callable[[str], bool]] = {"JSON": _is_json, "a table": _is_table, "a source": _is_source}
    return forms or next((name for name, reads in readers.items() if reads(text)), "")


def _is_json(text: str) -> bool:
    """Whether it is one value of several lines; a line for itself may be what a program logs."""
    if not text.lstrip().startswith(("{", "[")) or text.strip().count("\n") < LEAST_LINES - 1:
        return False
    try:
        return isinstance(msgspec.json.decode(text), dict | list)
    except (msgspec.DecodeError, RecursionError):
        return False


def _is_table(text: str) -> bool:
    """Whether a line of names of columns is above lines that have as many columns, three at least."""
    lines = [line for line in text.split("\n") if line.strip()]
    for delimiter in DELIMITERS if len(lines) >= LEAST_LINES else "":
        try:
            head, *rows = csv.reader(lines, delimiter=delimiter, strict=True)
        except csv.Error:
            continue
        named = len({*head}) == len(head) >= LEAST_LINES and all(COLUMN.fullmatch(name) for name in head)
        if named and all(len(row) == len(head) for row in rows):
            return True
    return False


def _is_source(text: str) -> bool:
    """Whether it is a source in Python, or a file in TOML."""
    with contextlib.suppress(UsageError):
        return any(isinstance(value, dict | list) for value in toml_record(text, dict[str, object], "", "").values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return False
    tables = (one.value for one in body if isinstance(one, ast.Assign))
    return any(isinstance(one, DEFINITIONS) for one in body) or any(isinstance(one, ast.Dict) for one in tables)
