"""Series of values over time, from CSV or JSON files of other programs, the format of TCPDBench included."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.importers.column_roles import FEWEST_COUNTED, planned_columns
from seatrial.importers.columns import TableColumn, columns_of, json_value, read_columns
from seatrial.importers.listings import refuse_listing
from seatrial.importers.row_outcomes import failed_rows, split_outcomes
from seatrial.importers.series_times import are_moments, moments
from seatrial.importers.written_numbers import dates
from seatrial.model.column_words import NODE_NAMES
from seatrial.model.errors import UsageError
from seatrial.model.imported import SERIES_SENSES, SeriesSense, sense_of
from seatrial.model.words import count

TIME_NAMES = frozenset(
    {"time", "times", "date", "datetime", "timestamp", "t", "index", "step", "run", "day", "week", "month", "year"}
    | {"commit", "revision", "build", "version", "when", "hour"}
)
SPLIT = " status"
"""Behind the name of a column, that of the one which has its words such as FAILED."""
REMEDY = "Give numbers in a JSON list, or a CSV file with a column of values and, if you like, a column of times."


class ValueSeries(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one series in order of time, NaN where one is missing."""

    name: str
    values: tuple[float, ...]
    times: tuple[str, ...] = ()
    """The time of each value as the file has it; empty if the file has no times."""
    newest_failed: int = 0
    """How many runs at the end failed."""
    better: SeriesSense = SeriesSense.UNKNOWN
    """Which values are good, as far as the name of its column or the unit behind its numbers says so."""

    @property
    def present(self) -> tuple[int, ...]:
        """Places of the values that are not missing."""
        return tuple(place for place, value in enumerate(self.values) if not math.isnan(value))

    @property
    def without_end(self) -> str:
        """Why the newest state is not known; empty where it is: a gap at the end that is not like those before it."""
        if self.newest_failed:
            return f"the newest {count(self.newest_failed, 'run')} failed"
        places = (*self.present, len(self.values))
        *gaps, newest = [later - earlier - 1 for earlier, later in itertools.pairwise((places[0] - 1, *places))]
        if not self.present or newest <= max(gaps):
            return ""
        return f"the newest {'value is' if newest == 1 else f'{newest} values are'} missing"

    def time(self, place: int) -> str:
        """The time of one value, or "" where the file has no times."""
        return self.times[place] if self.times else ""


def read_series(text: str, wanted: Sequence[str] = ()) -> tuple[ValueSeries, ...]:
    """Every series in a file, or those of the `wanted` names. Raises UsageError where there are none.

    A run that failed has no value.
    """
    refuse_listing(text, column="".join(wanted[:1]))
    series = _tcpd_series(text) if text.lstrip()[:1] in ("[", "{") else _column_series(read_columns(text))
    if not series or not any(one.values for one in series):
        raise UsageError("The file has no column of numbers.", REMEDY)
    names = [one.name for one in series]
    for name in wanted:
        if name not in names:
            raise UsageError(f"The file has no column of numbers {name!r}.", f"It has {', '.join(names[:10])}.")
    return tuple(one for one in series if not wanted or one.name in wanted)


def _tcpd_series(text: str) -> tuple[ValueSeries, ...]:
    """JSON; the objects of TCPDBench have `series`, each with a `label` and `raw` values, and `time` with a `raw` list.

    The format is that of https://github.com/alan-turing-institute/TCPD, "Dataset format".
    """
    value = json_value(text)
    if frames := frames_of(value):
        return tuple(itertools.chain.from_iterable(map(_frame_series, frames)))
    if not isinstance(value, dict) or not isinstance(value.get("series"), list):
        return _column_series(columns_of(value))
    time = value.get("time")
    labels = time.get("raw", time.get("index")) if isinstance(time, dict) else None
    read = []
    for number, series in enumerate(value["series"], 1):
        if not isinstance(series, dict) or not isinstance(series.get("raw"), list):
            raise UsageError(f"Series {number} of the JSON file has no list `raw` of values.", REMEDY)
        column = columns_of({str(series.get("label", f"series {number}")): series["raw"]})[0]
        times = tuple(map(str, labels)) if isinstance(labels, list) and len(labels) == len(column.cells) else ()
        read.append(ValueSeries(name=column.name, values=tuple(column.numbers()), times=times))
    return tuple(read)


Field = Mapping[str, object]


def frames_of(value: object) -> list[list[Field]]:
    """The frames of data in what Grafana exports of a panel, or answers to a query: fields with a name and values.

    A frame of each series that Prometheus answers to a query over a range, too.
    """
    if isinstance(value, dict) and isinstance(answer := value.get("data"), dict) and "result" in answer:
        return _ranges_of(answer["result"])
    within = value.get("results") if isinstance(value, dict) else None
    if isinstance(within, dict):
        answers = [answer.get("frames") for answer in within.values() if isinstance(answer, dict)]
        value = [frame for frames in answers if isinstance(frames, list) for frame in frames]
    elif isinstance(value, dict):
        value = value.get("series")
    frames: list[list[Field]] = []
    for frame in value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else ():
        schema, data = frame.get("schema", frame), frame.get("data")
        fields = schema.get("fields") if isinstance(schema, dict) else None
        values = data.get("values") if isinstance(data, dict) else None
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            return []
        columns = values if isinstance(values, list) else [field.get("values") for field in fields]
        frames.append([{**field, "values": cells} for field, cells in zip(fields, columns, strict=False)])
    return frames


def _ranges_of(result: object) -> list[list[Field]]:
    """A frame with times and values of each series: `{"metric": {...}, "values": [[1792000000, "0.7"], ...]}`."""
    rows = result if isinstance(result, list) and all(isinstance(one, dict) for one in result) else []
    frames: list[list[Field]] = []
    for row in rows:
        samples = row.get("values")
        if not isinstance(samples, list) or not all(isinstance(one, list) and len(one) == 2 for one in samples):
            return []
        clock = [time * 1000 if isinstance(time, int | float) else time for time, _ in samples]
        numbers = {"name": "value", "labels": row.get("metric"), "values": [number for _, number in samples]}
        frames.append([{"type": "time", "values": clock}, numbers])
    return frames


def _frame_series(fields: Sequence[Field]) -> Iterator[ValueSeries]:
    """Each field of numbers in a frame, called as Grafana shows it, else by its labels, with the field of times."""
    clock = next((field["values"] for field in fields if field.get("type") == "time"), None)
    for field in fields:
        if field.get("type") == "time" or not isinstance(field["values"], list):
            continue
        config, labels = field.get("config"), field.get("labels")
        shown = config.get("displayName") or config.get("displayNameFromDS") if isinstance(config, dict) else None
        label = " ".join(map(str, labels.values())) if isinstance(labels, dict) else ""
        column = columns_of({str(shown or label or field.get("name") or "value"): field["values"]})[0]
        timed = clock if isinstance(clock, list) and len(clock) == len(column.cells) else ()
        times = dates(tuple(map(str, timed)), 1e3)
        if column.numeric:
            yield ValueSeries(name=column.name, values=tuple(column.numbers()), times=times)


def _column_series(columns: Sequence[TableColumn]) -> tuple[ValueSeries, ...]:
    """Columns of numbers as series; one column may be their times, and others the conditions of several rows a time."""
    written, columns = columns, split_outcomes(columns)
    clock = _clock(columns)
    nodes = [one for one in columns if one.name.strip().lower() in NODE_NAMES and not one.numeric]
    if (
        clock
        and nodes
        and clock.name.strip().lower() not in TIME_NAMES
        and not clock.numeric
        and not are_moments(clock)
    ):
        raise UsageError(
            f"The table has nodes ({nodes[0].name}) and no column of times.",
            "`seatrial judge --as fleet` compares nodes; call the column of times `time`.",
        )
    conditions = planned_columns(columns, clock) if clock and len(set(clock.cells)) < len(clock.cells) else ()
    values = [one for one in columns if one is not clock and one.numeric and one not in conditions]
    instants = moments(clock) if clock else ()
    failed = failed_rows(written, {column.name for column in values})
    whole = {*map(id, written)}
    in_place = {one.name.removesuffix(SPLIT): failed_rows([one]) for one in columns if id(one) not in whole}
    series = []
    for name, order in _rows_of(conditions, len(clock.cells) if clock else 0).items():
        if instants:
            order.sort(key=lambda place: (instants[place] is None, instants[place] or ()))
        for column in values:
            lost = failed | in_place.get(column.name, set())
            numbers = [math.nan if row in lost else number for row, number in enumerate(column.numbers())]
            title = f"{column.name} {name}".strip()
            timed = clock is not None and len(numbers) == len(clock.cells)
            places = order if timed else range(len(numbers))
            newest = len([*itertools.takewhile(lost.__contains__, reversed(places))])
            times = tuple(clock.cells[place] for place in places) if clock and timed else ()
            ordered = tuple(numbers[place] for place in places)
            better = SERIES_SENSES[sense_of(column.name, column.unit)]
            series.append(ValueSeries(name=title, values=ordered, times=times, newest_failed=newest, better=better))
    return tuple(series)


def _rows_of(conditions: Sequence[TableColumn], rows: int) -> dict[str, list[int]]:
    """Places of the rows of each condition, by its name; all rows without a name where there is none."""
    groups: dict[str, list[int]] = {}
    for row in range(rows):
        name = ", ".join(f"{column.name} {column.cells[row]}" for column in conditions)
        groups.setdefault(name, []).append(row)
    return groups or {"": []}


def _clock(columns: Sequence[TableColumn]) -> TableColumn | None:
    """The column of times: one with such a name, or a first column of words, of numbers that count the rows, or of
    rising numbers in a table without names."""
    if len(columns) < 2:
        return None
    named = next((one for one in columns if one.name.strip().lower() in TIME_NAMES), None)
    if named is not None:
        return named
    first = columns[0]
    if not first.numeric:
        return first
    steps = [later - earlier for earlier, later in itertools.pairwise(first.numbers())]
    counted = len(steps) >= FEWEST_COUNTED and set(steps) == {1.0} and sense_of(first.name) is None
    rising = first.name.startswith("column ") and all(step > 0 for step in steps)
    return first if counted or rising else None
