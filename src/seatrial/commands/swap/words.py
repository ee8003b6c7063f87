"""A history from the words of a command line, or from a table: places, results, and what was exchanged."""

from collections.abc import Callable, Sequence

import msgspec

from seatrial.commands.swap.exchanges import Exchange, carried_out
from seatrial.importers.columns import TableColumn, read_columns
from seatrial.importers.row_outcomes import is_remark, says_clearly, says_outcome
from seatrial.importers.written_numbers import is_missing
from seatrial.model import formats
from seatrial.model.column_words import RUN_NAMES
from seatrial.model.errors import UsageError
from seatrial.model.part_swap import JOINT, SwapHistory, SwapStep
from seatrial.model.words import count, verb

MOST_PLACES = MOST_MOVABLE = 8
"""The number of possible results, and of possible exchanges, grows as a power of 2."""
PLACE_EXAMPLE = "Write each place as node=n1,card=c1,cable=k1."
RESULT_EXAMPLE = "Write n1=bad n2=good; for a measurement between two places n1+n2=bad."
EXCHANGE_EXAMPLE = "Write card:n1,n2, or card,cable:n1,n2 for several kinds at once."
PLACE, HERE, SHELF = "machine", "here", "shelf"
"""The name of a place of which everything was exchanged, and that of its spare parts, with a number."""
UNMOVABLE = ("node", "host", "machine", "slot", "port")
"""Kinds of parts that stay where they are in the history of one place, unless --fixed names others."""
MOST_SHELVES = 4 * MOST_PLACES
RESERVED = frozenset("=,:+/")
ROW_COLUMNS: dict[str, Callable[[str], bool]] = {"run": RUN_NAMES.__contains__, "result": says_outcome}
"""Names of the columns that say when and with which result; others replace them, such as `date` and `status`."""


def started(
    name: str, places: Sequence[str], fixed: Sequence[str], *, miss_rate: float, false_alarm_rate: float
) -> SwapHistory:
    """A history with its first arrangement, not measured yet. Raises UsageError."""
    parsed = tuple(_place(word) for word in places)
    kinds = tuple(dict.fromkeys(kind for place in parsed for kind in place))
    return checked(
        SwapHistory(
            format=formats.SWAP, name=name, fixed=tuple(fixed) or kinds[:1], kinds=kinds, miss_rate=miss_rate,
            false_alarm_rate=false_alarm_rate, steps=(SwapStep(places=parsed, results={}),),
        )
    )  # fmt: skip


def _place(word: str) -> dict[str, str]:
    place: dict[str, str] = {}
    for part in word.split(","):
        kind, equals, name = (piece.strip() for piece in part.partition("="))
        if not (kind and equals and name) or kind in place:
            raise UsageError(f"{word!r} is not a valid place: {part!r} names no part of its own kind.", PLACE_EXAMPLE)
        place[kind] = name
    return place


def imported(name: str, text: str, fixed: Sequence[str], *, miss_rate: float, false_alarm_rate: float) -> SwapHistory:
    """A history from a table: columns `run` and `result`, and one for each kind of part. Raises UsageError.

    One row for each place and run, runs in their order. An empty result: nothing was measured there. A table with one
    row for each run is the history of one place; `_spares` adds where the other parts were.
    """
    columns = {column.name.strip().lower(): column for column in read_columns(text)}
    ordered, judged = ([name for name in columns if fits(name)] for fits in ROW_COLUMNS.values())
    if missing := [word for word, names in zip(ROW_COLUMNS, (ordered, judged), strict=True) if not names]:
        raise UsageError(f"The table has no column {missing[0]!r}: {', '.join(columns)}.", "Add it.")
    when, which = (min(names, key=lambda name: name not in ROW_COLUMNS) for names in (ordered, judged))
    kinds = tuple(each for each in columns if each not in (*ordered, *judged) and not is_remark(each))
    rows: dict[str, list[tuple[dict[str, str], str]]] = {}
    for row, run in enumerate(columns[when].cells):
        parts = {kind: cell for kind in kinds if (cell := _cell(columns[kind], row))}
        rows.setdefault(run, []).append((parts, _cell(columns[which], row)))
    alone = len(rows) > 1 and all(len(lines) == 1 for lines in rows.values())
    if alone and kinds and not fixed:
        fixed = _named_place([lines[0][0] for lines in rows.values()], kinds)
        kinds = tuple(dict.fromkeys((*fixed, *kinds)))
    fixed = tuple(fixed) or kinds[:1]
    history = SwapHistory(
        format=formats.SWAP, name=name, fixed=fixed, kinds=kinds, miss_rate=miss_rate,
        false_alarm_rate=false_alarm_rate, steps=(),
    )  # fmt: skip
    steps = []
    for run, lines in rows.items():
        _refuse_nameless(history, [parts for parts, _ in lines])
        results = {history.place_name(parts): _is_good(word) for parts, word in lines if word}
        steps.append(SwapStep(places=tuple(parts for parts, _ in lines), results=results, run=run))
    history = _with(history, steps)
    return checked(_spares(history) if alone and history.movable else history)


def _named_place(runs: Sequence[dict[str, str]], kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds that name the one place: those that nobody can move, or the first if it never changed, else PLACE."""
    fixed = tuple(kind for kind in kinds if kind in UNMOVABLE)
    if fixed or len({parts.get(kinds[0]) for parts in runs}) == 1:
        return fixed or kinds[:1]
    for parts in runs:
        parts[PLACE] = HERE
    return (PLACE,)


def _spares(history: SwapHistory) -> SwapHistory:
    """The history of one place with its shelves: other places that are empty in a run, and spare parts of each kind.

    Each shelf has at most one part of a kind, as every place has.
    """
    places = list(dict.fromkeys(name for step in history.steps for name in history.named(step)))
    fixed_of = {history.place_name(place): {kind: place[kind] for kind in history.fixed}
                for step in history.steps for place in step.places}  # fmt: skip
    parts = {kind: list(dict.fromkeys(place[kind] for step in history.steps for place in step.places if kind in place))
             for kind in history.movable}  # fmt: skip
    shelves = max(len(names) - 1 for names in parts.values())
    if len(places) + shelves > MOST_SHELVES:
        raise UsageError(
            f"The table has {shelves + 1} parts of one kind in one place.", f"Keep {MOST_SHELVES} of them."
        )
    steps = []
    for step in history.steps:
        (used,) = step.places
        empty = [fixed_of[name] for name in places if name != history.place_name(used)]
        spare = {kind: [name for name in names if name != used.get(kind)] for kind, names in parts.items()}
        stored = [
            {**dict.fromkeys(history.fixed, f"{SHELF}{number}"),
             **{kind: names[number - 1] for kind, names in spare.items() if number <= len(names)}}
            for number in range(1, shelves + 1)
        ]  # fmt: skip
        steps.append(msgspec.structs.replace(step, places=(used, *empty, *stored)))
    names = [f"{SHELF}{number}" for number in range(1, shelves + 1)]
    return msgspec.structs.replace(
        _with(history, steps), shelves=tuple("/".join([name] * len(history.fixed)) for name in names)
    )


def _cell(column: TableColumn, row: int) -> str:
    cell = column.cells[row].strip()
    return "" if is_missing(cell) else cell


def recorded(
    history: SwapHistory, exchanges: Sequence[str], results: Sequence[str], *, run: str, time: str
) -> SwapHistory:
    """The history with one more step; results of an arrangement that was not measured yet complete its step.

    Raises UsageError.
    """
    last = history.steps[-1]
    step = SwapStep(places=last.places, results={}, run=run, time=time)
    for word in exchanges:
        step = carried_out(history, step, _exchange(history, step, word))
    parsed = dict(_result(history, step, word) for word in results)
    if not (exchanges or results):
        raise UsageError("Nothing is recorded.", f"Name an exchange, results, or both. {RESULT_EXAMPLE}")
    step = SwapStep(places=step.places, results=parsed, run=run, time=time)
    kept = history.steps if last.results or exchanges else history.steps[:-1]
    return checked(_with(history, [*kept, step]))


def _exchange(history: SwapHistory, step: SwapStep, word: str) -> Exchange:
    named, colon, where = word.partition(":")
    kinds = tuple(kind.strip() for kind in named.split(","))
    places = [place.strip() for place in where.split(",")]
    if not colon or len(places) != 2 or places[0] == places[1]:
        raise UsageError(f"--exchange {word!r} does not name kinds of parts and two places.", EXCHANGE_EXAMPLE)
    if unmovable := [kind for kind in kinds if kind not in history.movable]:
        raise UsageError(
            f"--exchange {word!r}: {unmovable[0]!r} is not a kind of part that can be moved.",
            f"These can: {', '.join(history.movable)}.",
        )
    for place in places:
        _refuse_unknown(history, step, place, f"--exchange {word!r}")
    return Exchange(kinds=kinds, first=places[0], second=places[1])


def _result(history: SwapHistory, step: SwapStep, word: str) -> tuple[str, bool]:
    subject, equals, result = word.rpartition("=")
    if not equals:
        raise UsageError(f"{word!r} is not a result.", RESULT_EXAMPLE)
    for place in subject.split(JOINT):
        _refuse_unmeasurable(history, step, place, repr(word))
    return subject, _is_good(result)


def _is_good(word: str) -> bool:
    passed = says_clearly(word)
    if passed is None:
        raise UsageError(f"{word!r} is not a result.", "Write good or bad.")
    return passed


def _refuse_unknown(history: SwapHistory, step: SwapStep, place: str, where: str) -> None:
    names = history.named(step)
    if place not in names:
        raise UsageError(f"{where}: there is no place {place!r}.", f"These exist: {', '.join(names)}.")


def _refuse_unmeasurable(history: SwapHistory, step: SwapStep, place: str, where: str) -> None:
    _refuse_unknown(history, step, place, where)
    if history.is_shelf(history.named(step)[place]):
        raise UsageError(f"{where}: the place {place!r} lacks a part.", "Measure only where all parts are.")


def _refuse_nameless(history: SwapHistory, places: Sequence[dict[str, str]]) -> None:
    for place in places:
        if missing := [kind for kind in history.fixed if kind not in place]:
            text = ",".join(f"{kind}={name}" for kind, name in place.items())
            raise UsageError(
                f"The place {text!r} has no {missing[0]}, and a place is named by its {' and '.join(history.fixed)}.",
                "Name the kinds that cannot be moved with --fixed.",
            )


def _with(history: SwapHistory, steps: Sequence[SwapStep]) -> SwapHistory:
    return msgspec.structs.replace(history, steps=tuple(steps))


def checked(history: SwapHistory) -> SwapHistory:
    """The history itself. Raises UsageError for one that describes no exchange of parts."""
    if unknown := [kind for kind in history.fixed if kind not in history.kinds]:
        raise UsageError(f"No part is of the kind {unknown[0]!r}.", f"Kinds: {', '.join(history.kinds)}.")
    if not (history.movable and history.fixed):
        raise UsageError("No kind of part can be moved.", f"{PLACE_EXAMPLE} --fixed node says what cannot be moved.")
    if len(history.movable) > MOST_MOVABLE:
        what = f"{count(len(history.movable), 'kind')} of parts can be moved; at most {MOST_MOVABLE} are compared."
        raise UsageError(what, "Leave out those that are not suspected, or name them with --fixed.")
    rates = (history.miss_rate, history.false_alarm_rate)
    if not (history.steps and all(0 < rate < 0.5 for rate in rates)):
        raise UsageError(
            f"Measurements that miss {rates[0]:g} of faults and see {rates[1]:g} too many cannot find one.",
            "Give rates below 50 %.",
        )
    for step in history.steps:
        _check_step(history, step)
    return history


def _check_step(history: SwapHistory, step: SwapStep) -> None:
    _refuse_nameless(history, step.places)
    names = [history.place_name(place) for place in step.places]
    measured = [name for name, place in history.named(step).items() if not history.is_shelf(place)]
    if not 2 <= len(names) <= MOST_SHELVES or len(measured) > MOST_PLACES:
        raise UsageError(
            f"There {verb(len(names))} {count(len(names), 'place')}.",
            f"Name 2 to {MOST_PLACES}; at least one that is good. Of one place the table has a row for each run, with "
            "the parts that were in it then.",
        )
    moved = [(kind, place[kind]) for place in step.places for kind in history.movable if kind in place]
    twice = next((each for each in [*names, *moved] if [*names, *moved].count(each) > 1), None)
    if twice is not None:
        text = twice if isinstance(twice, str) else " ".join(twice)
        raise UsageError(f"{text!r} is in two places at once.", "Give each place and each movable part its own name.")
    for place in step.places:
        if bad := [word for pair in place.items() for word in pair if RESERVED & set(word)]:
            raise UsageError(f"{bad[0]!r} has one of the characters = , : + /.", "Use another name.")
    for subject in step.results:
        for name in subject.split(JOINT):
            _refuse_unmeasurable(history, step, name, repr(subject))
