"""Collects what a parser reads from the lines of one output: results, evidence, breaches, and what is missing."""

import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median_low
from typing import Any, NamedTuple, overload

import msgspec

from seatrial.importers.printed_text import plain
from seatrial.model.benchmark import Breach, Evidence, Label, Output, Result
from seatrial.model.unit_text import number_of
from seatrial.model.verdict import FindingKind

MOST_TEXT = 200
"""Characters of a line that a breach shows."""
MOST_OF_JSON = 1e300
"""JSON permits whole numbers of any size, which no float holds."""
MOST_BREACHES = 50
"""Breaches of one kind, missing parts and notes that are kept; a run that diverged has thousands."""
MOST_RESULTS = 200_000
"""Each takes about 400 bytes; the largest outputs that were seen have some ten thousand."""
OPENING = re.compile(r"^[ \t]{0,80}\{", re.MULTILINE)
OBJECT_END = r".{0,1000000}\}"
"""The last line of a JSON object needs no newline: the object has its own end."""
FEWEST_STEPS, MOST_STEPS = 4, 0.75
"""A table has a factor from one size to the next if it has as many steps, and it is that of this share of them."""
LEAST_FACTOR = 1.5
"""Sizes that rise by an amount, and not by a factor, soon rise by a smaller share."""
ROUNDED = 0.1
"""How far a step is off its factor where sizes are rounded to a multiple of the ranks."""
CTIME = "%a %b %d %H:%M:%S %Y"
"""Form of the dates that most programs print: Tue Sep 15 09:55:41 2026."""
CLOCK_S = 2.0
"""Begin and end are printed in whole seconds, and the time of a run is measured within."""
NO_NEWLINE = "its last line has no newline: the end was cut off"
FAILURES = re.compile(
    r"(?i)\bsegmentation fault\b|\bcaught signal \d|\*{3} process received signal|\bMPI_ABORT was invoked\b"
    r"|\bcalled MPI_Abort\(|\bFatal error in P?MPI|\*{3} An error occurred in MPI|\bMPI_ERRORS_ARE_FATAL\b"
    r"|\bexited on signal \d{1,18}|\bprocess(?:es)? (?:returned|exited with non-zero)\b|BAD TERMINATION OF ONE"
    r"|^slurmstepd: error: .{0,400}(?:CANCELLED|oom|killed)|\bOut Of Memory\b|^srun: error: Node failure on "
    r"|^srun: error: \S{1,400}: tasks? .{1,200}: (?:Killed|Exited with exit code|Segmentation|Aborted|Bus error"
    r"|Terminated|Floating|Illegal)|: line \d{1,9}: {1,9}\d{1,9} (?:Killed|Aborted|Bus error)\b"
    r"|^(?:Killed|Aborted|Bus error)(?: \(core dumped\))?\s{0,80}$"
    r"|^(?:\*\*\* Error in `.{1,200}': )?(?:double free or corruption|free\(\): invalid|malloc\(\): |corrupted size vs)"
    r"|^terminate called |^forrtl: (?:severe|error) \(|^Program received signal SIG|\bCUDA error\b"
    r"|Transport retry count exceeded|: Assertion `"
)
FAILURE_WORDS = (
    "segmentation fault", "signal", "mpi_abort", "fatal error in ", "error occurred in mpi", "mpi_errors_are_fatal",
    "process returned", "processes returned", "exited with non-zero", "bad termination of one", "slurmstepd: error: ",
    "out of memory", "srun: error: ", "killed", "aborted", "bus error", "double free", "free(): ", "malloc(): ",
    "corrupted size", "terminate called ", "forrtl: ", "program received ", "cuda error", "transport retry count",
    ": assertion `",
)  # fmt: skip
"""A line that matches FAILURES contains one of them; most lines contain none, and are passed over quickly."""


RULER = re.compile(r"[ \t]{0,80}=?(?P<letter>[-=#*])(?P=letter){19,400}=?")
FEWEST_ROWS = 3
"""Rows of equal length that show together that columns are aligned."""


class OutputLine(NamedTuple):
    """A line without its newline; `number` from 1."""

    number: int
    text: str


START = OutputLine(0, "")


class OutputLines(Sequence[OutputLine]):
    """The lines of a text, each made when it is asked for: the text and eight bytes a line are all that is kept."""

    def __init__(self, text: str, starts: "array[int]", first: int, last: int) -> None:
        """Lines from `first` up to `last`, counted from 0. `starts`: where each begins, and one behind the end."""
        self._text, self._starts, self._first, self._last = text, starts, first, last

    def __len__(self) -> int:
        return self._last - self._first

    @overload
    def __getitem__(self, place: int) -> OutputLine: ...
    @overload
    def __getitem__(self, place: slice) -> "OutputLines": ...
    def __getitem__(self, place: "int | slice") -> "OutputLine | OutputLines":
        """One line, or some that follow each other."""
        numbers = range(self._first, self._last)[place]
        if isinstance(numbers, int):
            return self._line(numbers)
        return OutputLines(self._text, self._starts, numbers.start, max(numbers.stop, numbers.start))

    def __iter__(self) -> Iterator[OutputLine]:
        return map(self._line, range(self._first, self._last))

    def _line(self, place: int) -> OutputLine:
        return OutputLine(place + 1, self._text[self._starts[place] : self._starts[place + 1] - 1])


def lines_of(text: str) -> OutputLines:
    """The lines of a text; a newline at its end begins no further one."""
    starts = array("Q", [0])
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    if starts[-1] < len(text):
        starts.append(len(text) + 1)
    return OutputLines(text, starts, 0, len(starts) - 1)


class Reading:
    """What has been read so far of one output."""

    def __init__(self, benchmark: str, text: str, closing: str = "") -> None:
        """`closing`: an expression for a last line that shows by itself that it is whole, without its newline."""
        self.benchmark = benchmark
        self.version = ""
        last = text.rpartition("\n")[2].rstrip()
        self.ends_whole = not last or bool(closing and re.fullmatch(closing, last)) or _like_lines_before(text)
        """Whether the last line is complete: an editor or a copy of the text takes no more than its newline."""
        self.lines = lines_of(plain(text, moments=False))
        self._results: list[Result] = []
        self._evidence: list[Evidence] = []
        self._breaches: list[Breach] = []
        self._missing: list[str] = []
        self._notes: list[str] = []
        self.closed_line = 0
        """The last line of the last run, if all runs ended."""
        self.setting = ""
        """Setting of the results that are added from now on."""
        self.unchecked = False
        """Whether the program did not check its data although it can."""

    @property
    def whole_lines(self) -> OutputLines:
        """Lines that end in a newline: numbers are read from these only, because a cut number looks like another."""
        return self.lines if self.ends_whole else self.lines[:-1]

    def result(
        self, metric: str, printed: str, line: OutputLine, unit: float = 1.0, labels: Mapping[str, Label] | None = None
    ) -> None:
        """Add a number, printed in a unit that is `unit` base units. Text that is not a number is left out."""
        try:
            value = float(f"{number_of(printed) * unit:.15g}")  # without the error of the product
        except ValueError:
            return
        self.add(Result(metric=metric, value=value, line=line.number, printed=printed, labels=dict(labels or {})))

    def json_result(self, metric: str, value: object, labels: Mapping[str, Label], unit: float = 1.0) -> None:
        """Add a number of a JSON output, which has no lines; None is left out, and any other value is a breach."""
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_OF_JSON:
            self.add(Result(metric=metric, value=value * unit, line=0, printed=f"{value:g}", labels=dict(labels)))
        elif value is not None:
            where = " ".join(map(str, labels.values()))
            self.breach(FindingKind.NOT_A_NUMBER, f"{metric} of {where} is {str(value)[:MOST_TEXT]}")

    def add(self, result: Result) -> None:
        """Add a result; the output counts as incomplete where it has more than are kept."""
        if len(self._results) < MOST_RESULTS:
            self._results.append(msgspec.structs.replace(result, setting=self.setting) if self.setting else result)
        else:
            self.lack(f"it has more than {MOST_RESULTS} numbers: those behind are not read")

    def evidence(self, name: str, value: Label, line: OutputLine = START) -> None:
        """Add what shows how much work was done."""
        self._evidence.append(Evidence(name=name, value=value, line=line.number))

    def breach(self, kind: FindingKind, reason: str, line: OutputLine = START) -> None:
        """Add a gate that is not passed."""
        if sum(breach.kind is kind for breach in self._breaches) < MOST_BREACHES:
            text = line.text.strip()[:MOST_TEXT]
            self._breaches.append(Breach(kind=kind, reason=reason, line=line.number, text=text))

    def compare_clock(self, began: datetime | None, ended: datetime | None, taken_s: float, line: OutputLine) -> None:
        """Compare the measured time of a run with its dates, None if it has none: they rise, and cover that time."""
        passed_s = (ended - began).total_seconds() if began and ended else math.inf
        if passed_s < 0:
            self.breach(FindingKind.CLOCK_BACKWARDS, "the run ends before it begins", line)
        elif taken_s > passed_s + CLOCK_S:
            why = f"{taken_s:g} s were measured, the clock counts {passed_s:g} s"
            self.breach(FindingKind.NUMBERS_DISAGREE, why, line)

    def lack(self, reason: str) -> None:
        """Add what a complete output has and this one has not."""
        if len(self._missing) < MOST_BREACHES and reason not in self._missing:
            self._missing.append(reason)

    def note(self, sentence: str) -> None:
        """Add what is worth knowing."""
        if len(self._notes) < MOST_BREACHES and sentence not in self._notes:
            self._notes.append(sentence)

    def search(
        self, pattern: str, lines: "Iterable[OutputLine] | None" = None
    ) -> "tuple[OutputLine, re.Match[str]] | None":
        """The first line that matches, with the match."""
        return next(self.matches(pattern, lines), None)

    def matches(
        self, pattern: str, lines: "Iterable[OutputLine] | None" = None
    ) -> "Iterator[tuple[OutputLine, re.Match[str]]]":
        """All lines that match, of the whole lines where none are given."""
        compiled = re.compile(pattern)
        for line in self.whole_lines if lines is None else lines:
            match = compiled.search(line.text)
            if match:
                yield line, match

    def find_version(self, pattern: str) -> None:
        """Take the version from the group of that name in the first line that matches."""
        if head := self.search(pattern):
            self.version = (head[1]["version"] or "").strip()

    def json_objects(self, text: str) -> Iterator[Mapping[str, Any]]:
        """The JSON objects that begin a line of the output, which is incomplete where one has no end."""
        opening = OPENING.search(text)
        while opening:
            try:
                content, end = json.JSONDecoder().raw_decode(text, opening.end() - 1)
            except (ValueError, RecursionError):
                self.lack("its JSON has no end")
                return
            yield content
            opening = OPENING.search(text, end)

    def value(self, name: str) -> Label | None:
        """The last evidence of that name."""
        return next((item.value for item in reversed(self._evidence) if item.name == name), None)

    def values_of(self, metric: str) -> list[float]:
        """Values of a metric so far."""
        return [result.value for result in self._results if result.metric == metric]

    def runs(self, head: str, end: str, closing: str) -> "list[OutputLines]":
        """The lines of each run, from its head on; what is above the first head belongs to the first run.

        A run without an end is missing a part. Where a run begins before another ended, and all of them end, the
        program was started several times at once: its ranks did not form one MPI world. `closing` names the end.
        """
        begun, ended = re.compile(head), re.compile(end)
        begins = [0]
        unclosed: list[OutputLine] = []
        most = 0
        for line in self.whole_lines:
            if begun.search(line.text):
                if unclosed or most:
                    begins.append(line.number - 1)
                unclosed.append(line)
                most = max(most, len(unclosed))
            if unclosed and ended.search(line.text):
                unclosed.pop()
                self.closed_line = line.number
        runs = [self.whole_lines[start:end] for start, end in pairwise((*begins, len(self.whole_lines)))]
        self.closed_line = 0 if unclosed else self.closed_line
        for line in unclosed:
            self.lack(f"the run that begins in line {line.number} has no end ({closing})")
        if most > 1 and not unclosed:
            self.breach(
                FindingKind.RANKS_DIFFER, f"{most} runs at the same time: the ranks did not form one MPI world",
                runs[0][-1],
            )  # fmt: skip
            return [self.whole_lines]
        return runs

    def take(self, other: Output) -> None:
        """Add all that another parser read from a part of this output."""
        self._results += other.results
        self._evidence += other.evidence
        self._breaches += other.breaches
        self._missing += other.missing
        self._notes += other.notes

    def _ends_behind_all(self) -> bool:
        """Whether all runs ended before the last line, with which no further run begins."""
        last = self.lines[-1].text
        return 0 < self.closed_line < len(self.lines) and not any(
            line.text.startswith(last) for line in self.whole_lines
        )

    def output(self) -> Output:
        """The record of all that was read; a last line without a newline makes it incomplete."""
        if not self.ends_whole and self.lines and not self._ends_behind_all():
            self.lack(NO_NEWLINE)
        if not self.lines:
            self.lack("it is empty")
        if self.search(r"^Start time: \d{1,18}\s*$") and not self.search(r"^End time: \d{1,18}\s*$"):
            self.lack("the script that started it wrote a start time and no end time")
        for line in failures(self.lines):
            self.breach(FindingKind.PROGRAM_FAILED, "the program or its launcher reports a failure", line)
        return Output(
            benchmark=self.benchmark,
            version=self.version,
            results=tuple(self._results),
            evidence=tuple(self._evidence),
            breaches=tuple(self._breaches),
            missing=tuple(self._missing),
            notes=tuple(self._notes),
            unchecked=self.unchecked,
        )


def _like_lines_before(text: str) -> bool:
    """Whether a last line without a newline is whole: a rule that another line repeats, or a row of aligned columns.

    Such a row is as long as the two before it, and its last cell has as many decimals as theirs.
    """
    rows = [line.rstrip() for line in text.rsplit("\n", 3)[1:]]
    last = rows[-1] if rows else ""
    if RULER.fullmatch(last):
        return re.search(rf"^{re.escape(last)}[ \t\r]*$", text[: text.rindex("\n")], re.MULTILINE) is not None
    ends = [row.rpartition(" ")[2] for row in rows]
    shapes = {re.sub(r"\d", "0", end.partition(".")[2]) or end for end in ends}
    aligned = len(rows) == FEWEST_ROWS and len({*map(len, rows)}) == 1 and len(shapes) == 1
    return aligned and any(character.isdigit() for character in last)


def lost_rows(sizes: Sequence[int]) -> str:
    """Between which sizes of a table rows are missing, if sizes rise by one factor; empty: none is known to be."""
    steps = [(before, after) for before, after in pairwise(sizes) if 0 < before < after]
    if len(steps) < FEWEST_STEPS:
        return ""
    factor = median_low(after / before for before, after in steps)
    usual = sum(abs(after / before / factor - 1) <= ROUNDED for before, after in steps)
    gap = next((step for step in steps if step[1] / step[0] >= (1 - ROUNDED) * factor**2), None)
    if gap is None or factor < LEAST_FACTOR or usual < MOST_STEPS * len(steps):
        return ""
    return f"it has no row between {gap[0]} and {gap[1]} bytes: lines are missing"


def rule_of(text: str, character: str) -> str:
    """An expression for a rule as long as the first one of this character; one that matches nothing without a rule."""
    rule = re.search(rf"^[ \t]{{0,80}}({re.escape(character)}{{40,200}})[ \t]*$", text, re.MULTILINE)
    return rf"[ \t]{{0,80}}{re.escape(character)}{{{len(rule[1])}}}" if rule else r"(?!)"


def objects_in(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list in a JSON output; none of anything else. Some programs write null between them."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def number_at(part: Mapping[str, Any], name: str) -> float:
    """A number of a JSON object; 0 where it has none, or one that no float holds."""
    value = part.get(name, 0)
    return float(value) if isinstance(value, int | float) and abs(value) < MOST_OF_JSON else 0.0


def rounding(printed: str) -> float:
    """Half of the last digit of a number as a share of it: 3 % of `1.6e+07`; 0 for 0."""
    mantissa = printed.lower().partition("e")[0]
    value = abs(number_of(mantissa))
    return 0.5 * 10.0 ** -len(mantissa.partition(".")[2]) / value if value > 0 else 0.0


def moment_of(printed: str, form: str = CTIME) -> datetime | None:
    """A date that a program printed; None for one that no calendar has."""
    try:
        return datetime.strptime(printed, form)
    except ValueError:
        return None


def failures(lines: Iterable[OutputLine]) -> Iterator[OutputLine]:
    """The lines in which a program or its launcher reports a failure."""
    for line in lines:
        folded = line.text.casefold()
        if any(word in folded for word in FAILURE_WORDS) and FAILURES.search(line.text):
            yield line
