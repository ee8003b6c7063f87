"""Which rows of a table are of runs that failed, as columns of results, states and checks say.

A run that failed has no value. A word that is in no list is asked about: a degraded run may count or not.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache

import msgspec

from seatrial.importers.columns import TableColumn
from seatrial.importers.outcome_words import FAILING, FAILURES, SUCCESSES, fails, plain_words
from seatrial.importers.written_numbers import MISSING, is_missing
from seatrial.model.errors import UsageError

OUTCOME_WORDS = frozenset({
    "status", "state", "result", "outcome", "verdict", "ok", "passed", "pass", "valid", "success", "correct", "check",
})  # fmt: skip
"""A column with such a word in its name says how a run ended."""
REMARK_WORDS = frozenset(
    {"comment", "comments", "note", "notes", "remark", "remarks", "bemerkung", "error", "errors", "residual"}
)
"""A column with such a word in its name has any text, and failures where it says so."""
OTHER_CONTENTS = frozenset({"state", "result", "check"})
"""Names of columns that hold something else where no cell is known: states of nodes, names of checks."""
EXIT_CODES = frozenset({
    "status", "exit", "exitcode", "exit_code", "rc", "returncode", "return_code", "ret", "exit_status", "signal",
})  # fmt: skip
ANSWERS = frozenset({"ok", "passed", "pass", "valid", "success", "correct"})
"""Names of columns in which 0 is a failure."""
NUMBERED = EXIT_CODES | ANSWERS
"""Names of columns whose numbers were not measured."""
COUNTED = frozenset(
    {"errors", "failures", "mismatches", "failed", "wrong", "mismatch", "incorrect", "xid", "aborts", "fehler"}
)
"""A column of that name counts what was wrong: a run with more than none failed."""
COUNTED_WORDS = COUNTED | {"xids", "uncorrectable", "uncorrected", "crashes"}
"""Other columns with such a word count it, too, if they have whole numbers, of which half are 0."""
MENDED = frozenset({"corrected", "correctable", "recovered", "retried", "ce"})
"""Words of a column that counts what did no harm."""
COUNT = re.compile(r"(?P<number>\d{1,9}) (?:errors?|failures?|mismatch(?:es)?)\b")
NEVER = frozenset({"false", "no", "n", "f", "nein", "non"})
"""Failures of a column that says whether a run passed."""
WEAK = frozenset(
    {"true", "yes", "y", "t", "normal", "fine", "good", "none", "0", "1", "0:0", "done", "complete", "ended"}
)
"""Successes that columns of other things have, too."""
ANSWERED = NEVER | {"true", "yes", "y", "t", "ja", "oui"}
FAULTS = frozenset({"error", "errors", "failure", "failures", "fault", "faults", "exception", "fehler"})
"""Whatever text a column with such a name has at its end is a failure of its row."""
NO_NUMBERS = frozenset({
    "down", "drained", "drain", "draining", "unreachable", "offline", "unavailable", "no data", "no value", "missing",
    "lost", "dead", "hung", "not responding", "not measured", "no result", "no route to host", "unknown", "inf", "-inf",
})  # fmt: skip
"""What is written among numbers in place of one; elsewhere it is the state of a node."""
MARK = re.compile(r"[?*!]{1,5}|\.{2,5}")
NEGATED = re.compile(r"(?:not|non|nicht|nie|pas|no)[ -](?P<word>[a-zé]+)(?: .*)?")
SHARE = re.compile(r"(?P<part>\d{1,6}) ?/ ?(?P<whole>\d{1,6})")
"""Steps that passed, of all: 10/10, 7/10."""
FIRST = re.compile(r"[a-z_]{2,40}|[✗✘❌]")
"""The word before what explains it: `failed (residual)`, `timeout after 60 s`, `CANCELLED by 1000`."""
BEHIND = re.compile(r" ?[(\[][^()\[\]]{0,80}[)\]]$")
"""An explanation in brackets, which leaves a success one: `passed (0.002)`."""


def split_outcomes(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """The columns, with the words of those that have numbers and words such as FAILED in a column of their own."""
    split: list[TableColumn] = []
    for column in columns:
        split.append(column)
        if column.numeric or says_outcome(column.name):
            continue
        outcomes = tuple(f"failed ({cell})" if says_failure(cell) else "" for cell in column.cells)
        cells = ("" if outcome else cell for cell, outcome in zip(column.cells, outcomes, strict=True))
        numbers = msgspec.structs.replace(column, cells=tuple(cells))
        if any(outcomes) and numbers.numeric:
            split[-1:] = [numbers, TableColumn(name=status_of(column.name), cells=outcomes)]
    return tuple(split)


def status_of(name: str) -> str:
    """The name of the column with the words that a column of numbers had in place of numbers."""
    return f"{name} status"


def failed_rows(columns: Sequence[TableColumn], others: Collection[str] = ()) -> set[int]:
    """Places of the rows of which a column of results, checks or remarks says that they failed.

    Its contents decide where its name does not. `others`: columns that have another role. Raises UsageError for a word,
    or a number, that is in no list.
    """
    failed: set[int] = set()
    for column in columns:
        if column.numeric:
            failed |= _failed_numbers(column) if not {_key(column.name), column.name}.intersection(others) else set()
            continue
        if column.name in others and not says_outcome(column.name):
            continue
        says = _says(column)
        failed |= {row for row, passed in enumerate(says) if passed is False}
        if column.name not in others and (says_outcome(column.name) or _mostly_passed(column)):
            _refuse_unknown(column, says)
    return failed


def _says(column: TableColumn) -> list[bool | None]:
    """Whether each cell says that its run passed, as far as the name of the column or all of its cells show."""
    words = _words(column.name)
    if _key(column.name) in EXIT_CODES and all(re.fullmatch(r"\d+:\d+|", cell.strip()) for cell in column.cells):
        return [not cell.strip("0: ") for cell in column.cells]
    asked = bool(FAILURES.intersection(words[-1:])) and {*map(plain_words, column.cells)} <= ANSWERED | MISSING
    if asked:
        return [plain_words(cell) in NEVER | MISSING for cell in column.cells]
    named = bool(OUTCOME_WORDS.union(REMARK_WORDS, SUCCESSES).intersection(words))
    answers = named and not FAULTS.intersection(words)
    says = [_outcome(cell, answers=answers) for cell in column.cells]
    if shares := _shares(column):
        return shares
    remark = _is_remark(column) or (named and not says_outcome(column.name))
    if remark:
        says = [
            False if passed is None and fails(cell) else passed for cell, passed in zip(column.cells, says, strict=True)
        ]
    if FAULTS.intersection(words[-1:]) and 2 * says.count(None) < len(says):
        says = [passed if passed is not None or cell[:1].isdigit() else False
                for cell, passed in zip(column.cells, says, strict=True)]  # fmt: skip
    return says if named or remark or None not in says else [None] * len(says)


def _shares(column: TableColumn) -> list[bool | None]:
    """Whether each row has all of its parts, of a column such as 10/10, 7/10 with one whole; none of others."""
    shares = [SHARE.fullmatch(cell.strip()) for cell in column.cells]
    complete = [share is None or share["part"] == share["whole"] for share in shares]
    wholes = {share["whole"] for share in shares if share is not None}
    written = all(
        share is not None or plain_words(cell) in MISSING for share, cell in zip(shares, column.cells, strict=True)
    )
    return [*complete] if written and len(wholes) == 1 and 2 * sum(complete) > len(complete) else []


def _is_remark(column: TableColumn) -> bool:
    """Whether most of its cells are empty, or the same."""
    blank = sum(plain_words(cell) in MISSING for cell in column.cells)
    return 2 * max(blank, *Counter(column.cells).values()) > len(column.cells)


def _mostly_passed(column: TableColumn) -> bool:
    """Whether most of its cells are words such as OK or PASSED."""
    return 2 * sum(plain_words(cell) in SUCCESSES - WEAK for cell in column.cells) > len(column.cells)


def _words(name: str) -> list[str]:
    """The words of a name; of a path in JSON those of its last part."""
    return re.findall(r"[a-zµ]+", name.lower().rpartition(".")[2])


def _key(name: str) -> str:
    """`exit_code` for `Exit code` and `exit-code`."""
    return "_".join(re.findall(r"[a-z0-9µ]+", name.lower()))


def is_numbered(name: str) -> bool:
    """Whether the numbers of a column of that name say how a run ended, and were not measured."""
    return _key(name) in NUMBERED


def says_outcome(name: str) -> bool:
    """Whether a column of that name says how a run ended: `status`, `job_state`; no `result_unit`."""
    return _key(name) in EXIT_CODES or not OUTCOME_WORDS.isdisjoint(_words(name)[-1:])


def is_outcome(column: TableColumn) -> bool:
    """Whether a column says how runs ended, by its name, or because all of its cells do, a failure among them."""
    if column.numeric or says_outcome(column.name):
        return says_outcome(column.name) and column.name.strip().lower() not in OTHER_CONTENTS
    says = _says(column)
    return None not in says and False in says and True in says


def is_remark(name: str) -> bool:
    """Whether words in a column of that name are about a run and never its condition; `check` may name tests."""
    return name.strip().lower() != "check" and not OUTCOME_WORDS.union(REMARK_WORDS).isdisjoint(_words(name))


@lru_cache(maxsize=1 << 12)
def says_failure(cell: str) -> bool:
    """Whether a cell in a column of numbers says that there is none because the run failed."""
    text = plain_words(cell)
    return text not in MISSING and (
        _outcome(cell, answers=False) is False or text in NO_NUMBERS or MARK.fullmatch(text) is not None or fails(text)
    )


def says_clearly(cell: str) -> bool | None:
    """Whether a word says that a test passed, whatever it is an answer to; None for yes, 0 and words in no list."""
    good = plain_words(cell) == "good"
    return None if plain_words(cell) in WEAK | ANSWERED and not good else _outcome(cell, answers=False)


@lru_cache(maxsize=1 << 12)
def _outcome(cell: str, *, answers: bool) -> bool | None:
    """Whether a cell says that the run passed; None for words that are in no list.

    `answers`: `no` and `false` say that it did not.
    """
    text = BEHIND.sub("", plain_words(cell).rstrip(".!"))
    if text in MISSING or text in SUCCESSES:
        return True
    if text in FAILURES or (answers and text in NEVER):
        return False
    if (count := COUNT.match(text)) is not None:
        return int(count["number"]) == 0
    if (negated := NEGATED.fullmatch(text)) is not None and negated["word"] in SUCCESSES:
        return False
    first = FIRST.match(text.replace("-", "_"))
    return False if (first and first[0] in FAILURES) or (FAILING.match(text) and fails(text)) else None


def _refuse_unknown(column: TableColumn, says: Sequence[bool | None]) -> None:
    """Raise UsageError that shows the first word of unknown meaning."""
    blank = map(is_missing, column.cells)
    stated = any(passed is not None and not empty for passed, empty in zip(says, blank, strict=True))
    if None not in says or (column.name.strip().lower() in OTHER_CONTENTS and not stated):
        return
    row = says.index(None)
    raise UsageError(
        f"Column {column.name!r} has {column.cells[row][:40]!r} in row {row + 1}, and nothing shows whether such a run "
        "counts.",
        "Write OK or FAILED there, leave the column out, or call it what it is: --by COLUMN for a condition.",
    )


def _failed_numbers(column: TableColumn) -> set[int]:
    """The rows whose exit code or count is not 0, or whose answer is 0. Raises UsageError where it may be either."""
    numbers = column.numbers()
    name = _key(column.name)
    zero = {row for row, number in enumerate(numbers) if number == 0}
    other = {row for row, number in enumerate(numbers) if number == number} - zero  # noqa: PLR0124 - NaN is missing
    if name not in NUMBERED:
        whole = all(numbers[row].is_integer() for row in other)  # else a size of an error, and no count
        words = _words(name)
        harmful = COUNTED_WORDS.intersection(words) and not MENDED.intersection(words)
        counted = name in COUNTED or (harmful and len(zero) >= len(other))
        return other if whole and counted else set()
    if name in ANSWERS:
        return zero
    if name == "status" and zero and len(zero) <= len(other):
        raise UsageError(
            "Column 'status' has 0 and other numbers, and nothing shows which of them is a success.",
            "Write OK or FAILED there, or call it exit_code if 0 is a success.",
        )
    return other if zero or name != "status" else set()
