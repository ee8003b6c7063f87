"""Which rows of a table are of runs that failed, as columns of results, states and checks say.

A run that failed has no value. A word that is in no list is asked about: a degraded run may count or not.
"""

import re
from collections.abc import Collection, Sequence

import msgspec

from seatrial.importers.columns import MISSING, TableColumn
from seatrial.model.errors import UsageError

OUTCOME_WORDS = frozenset({
    "status", "state", "result", "outcome", "verdict", "ok", "passed", "pass", "valid", "success", "correct", "check",
})  # fmt: skip
"""A column with such a word in its name says how a run ended."""
REMARK_WORDS = frozenset({"comment", "comments", "note", "notes", "error", "errors", "residual"})
"""A column with such a word in its name has any text, and failures where it says so."""
OTHER_CONTENTS = frozenset({"state", "result", "check"})
"""Names of columns that hold something else where no cell is known: states of nodes, names of checks."""
EXIT_CODES = frozenset({"status", "exit", "exitcode", "exit_code", "rc", "returncode", "return_code", "ret"})
ANSWERS = frozenset({"ok", "passed", "pass", "valid", "success", "correct"})
"""Names of columns in which 0 is a failure."""
NUMBERED = EXIT_CODES | ANSWERS
"""Names of columns whose numbers were not measured."""
SUCCESSES = frozenset({
    "ok", "okay", "pass", "passed", "done", "completed", "complete", "success", "successful", "succeeded", "true",
    "valid", "yes", "y", "t", "good", "fine", "normal", "healthy", "verified", "correct", "finished", "ended", "0",
    "0:0", "1", "no error", "no errors", "none", "✓", "✔", "✅", "bestanden", "erfolgreich",
})  # fmt: skip
FAILURES = frozenset({
    "fail", "failed", "failure", "failing", "error", "err", "invalid", "incorrect", "wrong", "bad", "nok", "not ok",
    "timed out", "aborted", "abort", "killed", "crash", "crashed", "oom", "segfault", "boot_fail", "cancelled",
    "canceled", "deadline", "node_fail", "out_of_memory", "preempted", "timeout", "not_run", "skipped",
    "incomplete", "unsuccessful", "✗", "✘", "❌", "fehler", "fehlgeschlagen", "abgebrochen",
})  # fmt: skip
"""Words of harnesses, of what ended a program, and Slurm's states of a job."""
COUNTED = frozenset({"errors", "failures", "mismatches"})
"""A column of that name counts what was wrong: a run with more than none failed."""
COUNT = re.compile(r"(?P<number>\d{1,9}) (?:errors?|failures?|mismatch(?:es)?)\b")
NEVER = frozenset({"false", "no", "n", "f"})
"""Failures of a column that says whether a run passed."""
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
        outcomes = tuple(cell if says_failure(cell) else "" for cell in column.cells)
        cells = ("" if outcome else cell for cell, outcome in zip(column.cells, outcomes, strict=True))
        numbers = msgspec.structs.replace(column, cells=tuple(cells))
        if any(outcomes) and numbers.numeric:
            split[-1:] = [numbers, TableColumn(name=f"{column.name} status", cells=outcomes)]
    return tuple(split)


def failed_rows(columns: Sequence[TableColumn], others: Collection[str] = ()) -> set[int]:
    """Places of the rows of which a column of results or checks says that they failed.

    `others`: columns that have another role. Raises UsageError for a word, or a number, that is in no list.
    """
    failed: set[int] = set()
    for column in columns:
        words = _words(column.name)
        name = column.name.strip().lower()
        if column.numeric:
            is_outcome_of_run = name in NUMBERED | COUNTED and not {name, column.name}.intersection(others)
            failed |= _failed_numbers(column) if is_outcome_of_run else set()
        elif OUTCOME_WORDS.union(REMARK_WORDS).intersection(words):
            says = [_outcome(cell, answers=not {"error", "errors"}.intersection(words)) for cell in column.cells]
            failed |= {row for row, passed in enumerate(says) if passed is False}
            if says_outcome(column.name) and column.name not in others:
                _refuse_unknown(column, says)
    return failed


def _words(name: str) -> list[str]:
    """The words of a name; of a path in JSON those of its last part."""
    return re.findall(r"[a-zµ]+", name.lower().rpartition(".")[2])


def says_outcome(name: str) -> bool:
    """Whether a column of that name says how a run ended: `status`, `job_state`; no `result_unit`."""
    return name.strip().lower() in EXIT_CODES or not OUTCOME_WORDS.isdisjoint(_words(name)[-1:])


def is_outcome(name: str) -> bool:
    """Whether a column of that name says so, whatever its cells are."""
    return says_outcome(name) and name.strip().lower() not in OTHER_CONTENTS


def is_remark(name: str) -> bool:
    """Whether words in a column of that name are about a run and never its condition; `check` may name tests."""
    return name.strip().lower() != "check" and not OUTCOME_WORDS.union(REMARK_WORDS).isdisjoint(_words(name))


def says_failure(cell: str) -> bool:
    """Whether a cell in a column of numbers says that there is none because the run failed."""
    return _outcome(cell, answers=False) is False


def _outcome(cell: str, *, answers: bool) -> bool | None:
    """Whether a cell says that the run passed; None for words that are in no list.

    `answers`: `no` and `false` say that it did not.
    """
    text = BEHIND.sub("", " ".join(cell.lower().split()).rstrip(".!"))
    if text in MISSING or text in SUCCESSES:
        return True
    if text in FAILURES or (answers and text in NEVER):
        return False
    if (count := COUNT.match(text)) is not None:
        return int(count["number"]) == 0
    first = FIRST.match(text.replace("-", "_"))
    return False if first and first[0] in FAILURES else None


def _refuse_unknown(column: TableColumn, says: Sequence[bool | None]) -> None:
    """Raise UsageError that shows the first word of unknown meaning."""
    blank = [cell.strip().lower() in MISSING for cell in column.cells]
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
    name = column.name.strip().lower()
    if name in COUNTED and any(not number.is_integer() for number in numbers if number == number):  # noqa: PLR0124
        return set()  # a size of an error, and no count
    zero = {row for row, number in enumerate(numbers) if number == 0}
    other = {row for row, number in enumerate(numbers) if number == number} - zero  # noqa: PLR0124 - NaN is missing
    if name in ANSWERS:
        return zero
    if name == "status" and zero and len(zero) <= len(other):
        raise UsageError(
            "Column 'status' has 0 and other numbers, and nothing shows which of them is a success.",
            "Write OK or FAILED there, or call it exit_code if 0 is a success.",
        )
    return other if zero or name != "status" else set()
