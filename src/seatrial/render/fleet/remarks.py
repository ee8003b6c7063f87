"""What a table has besides values that are compared: runs that failed or are missing, numbers that few nodes have."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import msgspec

from seatrial.importers.fleets import FleetTable
from seatrial.importers.lone_cells import LoneCell
from seatrial.judgement.fleet.judge import FewerRuns
from seatrial.judgement.fleet.strata import FileShift
from seatrial.model.units import share
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, folded, some, verb

MOST_NAMES, MOST_CELLS, MOST_OTHERS = 5, 10, 2


def all_lone(tables: Mapping[str, FleetTable]) -> tuple[LoneCell, ...]:
    """The lone cells of all tables, in their order."""
    return tuple(cell for table in tables.values() for cell in table.lone)


def led_by_lone(verdict: Verdict, sentences: Sequence[str], cells: Sequence[LoneCell]) -> list[str]:
    """The sentences behind the first of these cells and the names of who has the others, where no fault was found.

    Of one that has several only the first cell is shown.
    """
    if verdict is not Verdict.NOTE or not cells:
        return [*sentences]
    (_, *alike), first = next(iter(_texts(cells).items()))
    names = [*dict.fromkeys(cell.subject for cell in cells if cell.subject not in alike)]
    others = f" ({some(names, MOST_OTHERS)} too)" if names else ""
    return [f"{first}{others}; {sentence}" for sentence in sentences]


def lone_note(cells: Sequence[LoneCell]) -> str:
    """A sentence with all of them, or the first `MOST_CELLS`; empty without any."""
    texts = [*_texts(cells).values()]
    more = f"; {len(texts) - MOST_CELLS} more" if len(texts) > MOST_CELLS else ""
    return f"Not judged, but alone in its column: {'; '.join(texts[:MOST_CELLS])}{more}." if cells else ""


def _texts(cells: Sequence[LoneCell]) -> dict[tuple[str, ...], str]:
    """Column, and who has a cell in it -> the sentence that says so."""
    alike: defaultdict[LoneCell, list[str]] = defaultdict(list)
    for cell in cells:
        alike[msgspec.structs.replace(cell, subject="")].append(cell.subject)
    return {(cell.column, *names): cell.text(names, folded(names)) for cell, names in alike.items()}


def failed_text(failed: Sequence[str], names: int) -> str:
    """`2 runs of n3 and n5 failed`. `failed`: the node of each failed run."""
    return f"{count(len(failed), 'run')} of {some(tuple(dict.fromkeys(failed)), names)} failed"


def shift_text(shift: FileShift) -> str:
    """`all nodes 8.0 % worse in after.csv than in before.csv`."""
    files = " than in ".join(PurePath(file).name for file in (shift.worse, shift.better))
    return f"all nodes {share(shift.loss)} worse in {files}{shift.where and ', '}{shift.where}"


def fewer_runs_text(fewer: Sequence[FewerRuns], names: int, noun: str = "node") -> str:
    """Who has fewer runs than were planned; empty if nobody has. `names`: how many are listed."""
    if not fewer:
        return ""
    subjects = tuple(dict.fromkeys(each.subject for each in fewer))
    who = ", ".join(subjects) if len(subjects) <= names else count(len(subjects), noun)
    has = f"{who} {verb(len(subjects), 'has', 'have')}"
    planned = {each.planned for each in fewer}
    if len({(each.runs, each.planned) for each in fewer}) == 1:
        what = f"{fewer[0].runs} of {count(fewer[0].planned, 'run')}"
    else:
        what = f"fewer than {max(planned)} runs" if len(planned) == 1 else "fewer runs"
    places = tuple(dict.fromkeys(each.where for each in fewer if each.where))
    where = f" in {places[0]}" if len(places) == 1 else f" under {count(len(places), 'condition')}" if places else ""
    return f"{has} {what}{where}"


def fewer_runs_notes(fewer: Sequence[FewerRuns]) -> Iterator[str]:
    """What would have been found of each node with fewer runs."""
    listed = [f"{each.subject} {each.runs} of {each.planned}{each.where and ' in '}{each.where} "
              f"(a loss of {share(each.detectable)} is found)" for each in fewer]  # fmt: skip
    if listed:
        yield f"Fewer runs than planned: {some(listed, MOST_NAMES)}."
