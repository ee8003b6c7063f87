"""Accounting in columns of fixed width below a rule of dashes, as sacct prints it without `--parsable2`."""

import re
from collections.abc import Iterable, Iterator

from seatrial.importers.accounting_fields import COLUMN_NAMES
from seatrial.model.errors import UsageError

RULE = re.compile(r"-+(?: +-+)+ *")
CUT = "+"
"""What sacct writes in place of the rest of a cell."""
CUT_STEP = re.compile(r"(?<=\d)\.[a-z0-9]{0,20}\+$")
"""The step of a job, whose name does not matter."""
CUT_STATES = {"CANCELLED+": "CANCELLED", "OUT_OF_ME+": "OUT_OF_MEMORY"}
WHOLE = frozenset((*COLUMN_NAMES["job"], *COLUMN_NAMES["nodes"]))
"""Columns of which a part is another job, or other nodes."""


def cells_of(text: str, rule: str) -> list[str]:
    """The cells of a line, one above or below each part of the rule."""
    return [text[part.start() : part.end()].strip() for part in re.finditer("-+", rule)]


def rows_of_widths(header: str, rule: str, texts: Iterable[str]) -> Iterator[list[str]]:
    """The cells of each record. Raises UsageError where a number of a job or a list of nodes is cut off."""
    titles = [title.lower().replace("_", "") for title in cells_of(header, rule)]
    for text in texts:
        if not text.strip() or text == rule:
            continue
        cells = [CUT_STEP.sub(".batch", CUT_STATES.get(cell, cell)) for cell in cells_of(text, rule)]
        for title, cell in zip(titles, cells, strict=True):
            if title in WHOLE and cell.endswith(CUT):
                raise UsageError(f"Cells of the column {title} are cut off ({cell}).", "Add --parsable2 to sacct.")
        yield [cell.removesuffix(CUT) for cell in cells]
