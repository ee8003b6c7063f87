"""Series from CSV and JSON: values, names, times, missing values, and texts that are refused."""

import json
import math
import re
from datetime import date, timedelta

import pytest

from seatrial.importers.columns import read_columns, refuse_almost_numbers
from seatrial.importers.series import ValueSeries, frames_of, read_series
from seatrial.importers.series_times import dates_of
from seatrial.model.errors import UsageError
from seatrial.model.imported import SeriesSense

DAY_MS = 86_400_000
FIELDS: list[dict[str, object]] = [
    {"name": "Time", "type": "time"},
    {"name": "Value", "type": "number", "labels": {"host": "n1"}},
]
CELLS = [[DAY_MS, 2 * DAY_MS, 3 * DAY_MS], [1, None, 3.5]]
FILLED = [{**field, "values": cells} for field, cells in zip(FIELDS, CELLS, strict=True)]
RANGE = {
    "metric": {"__name__": "up", "host": "n1"},
    "values": [[86400, "1"], [172800, None], [259200, "3.5"]],
}


@pytest.mark.parametrize(
    ("exported", "name"),
    [
        ({"state": "Done", "series": [{"name": "A", "fields": FILLED, "length": 3}]}, "n1"),
        ([{"fields": FILLED}], "n1"),
        ({"results": {"A": {"frames": [{"schema": {"fields": FIELDS}, "data": {"values": CELLS}}]}}}, "n1"),
        ([{"fields": [FILLED[0], {**FILLED[1], "config": {"displayName": "Triad of n1"}}]}], "Triad of n1"),
        ([{"fields": [FILLED[0], {"name": "rate", "values": CELLS[1]}]}], "rate"),
        ({"status": "success", "data": {"resultType": "matrix", "result": [RANGE]}}, "up n1"),
    ],
)
def test_frames_of_grafana_are_series(exported: object, name: str) -> None:
    series = only(json.dumps(exported))
    assert (series.name, series.present, series.times[0]) == (name, (0, 2), "1970-01-02T00:00:00Z")
    assert (series.values[0], series.values[2]) == (1, 3.5)


@pytest.mark.parametrize(
    "exported", [[{"fields": "rate"}], {"series": [{"fields": [1, 2]}]}, {"results": {"A": {"frames": 3}}}]
)
def test_what_is_called_like_a_frame_and_is_none_is_no_frame(exported: object) -> None:
    assert not frames_of(exported)


def only(text: str) -> ValueSeries:
    found = read_series(text)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2.5, 3]",
        '{"value": [1, 2.5, 3]}',
        '[{"value": 1}, {"value": 2.5}, {"value": 3}]',
        "value\n1\n2.5\n3\n",
        "\ufeff# comment\nvalue\n\n1\n2.5\n3",
        "value\r\n1\r\n2.5\r\n3\r\n",
    ],
)
def test_one_series_without_times(text: str) -> None:
    assert only(text) == ValueSeries(name="value", values=(1.0, 2.5, 3.0))


@pytest.mark.parametrize(
    "text",
    [
        "time,rate\n10,1\n20,2.5\n30,3\n",
        "time;rate\n10;1\n20;2.5\n30;3\n",
        "time\trate\n10\t1\n20\t2.5\n30\t3\n",
        "  time  rate\n  10  1\n  20  2.5\n  30  3\n",
        "rate,time\n3,30\n1,10\n2.5,20\n",
        '{"time": [10, 20, 30], "rate": [1, 2.5, 3]}',
        '[{"time": 30, "rate": 3}, {"time": 10, "rate": 1}, {"time": 20, "rate": 2.5}]',
    ],
)
def test_a_column_of_times_orders_the_values(text: str) -> None:
    times = ("10", "20", "30")
    assert only(text) == ValueSeries(name="rate", values=(1.0, 2.5, 3.0), times=times, better=SeriesSense.HIGHER)


@pytest.mark.parametrize(
    "form", ["2026-01-{:02d}", "2026-01-01T{:02d}:00:00", "2026-01-01T{:02d}:00:00Z", "2026-01-01 {:02d}:30"]
)
def test_dates_of_iso_8601_order_the_values(form: str) -> None:
    rows = [(form.format(number), number) for number in (3, 1, 2)]
    series = only("date,value\n" + "".join(f"{date},{value}\n" for date, value in rows))
    assert series.values == (1, 2, 3)
    assert series.times == tuple(form.format(number) for number in (1, 2, 3))


def test_words_in_the_first_column_are_times_in_the_order_of_the_file() -> None:
    assert only("what,rate\nb,1\na,2\n").times == ("b", "a")


def test_without_names_a_rising_first_column_is_the_time() -> None:
    assert only("1,5\n2,4\n3,6\n").times == ("1", "2", "3")
    assert [one.values for one in read_series("1,5\n1,4\n3,6\n")] == [(1, 1, 3), (5, 4, 6)]


def test_several_columns_are_several_series_and_one_can_be_chosen() -> None:
    text = "date,a,note,b\n2026-01-01,1,x,4\n2026-01-02,2,,5\n"
    assert [(one.name, one.values) for one in read_series(text)] == [("a", (1, 2)), ("b", (4, 5))]
    assert [one.name for one in read_series(text, ["b"])] == ["b"]
    with pytest.raises(UsageError, match=r"no column of numbers 'c'.*a, b"):
        read_series(text, ["c"])


@pytest.mark.parametrize("text", ["[1, null, 3]", "v\n1\nNA\n3\n", "v\n1\nnan\n3\n", "[1, NaN, 3]"])
def test_missing_values(text: str) -> None:
    found = only(text)
    assert math.isnan(found.values[1])
    assert found.present == (0, 2)


def test_the_format_of_tcpdbench() -> None:
    text = json.dumps(
        {
            "name": "x",
            "n_obs": 3,
            "time": {"index": [0, 1, 2], "raw": ["2020", "2021", "2022"]},
            "series": [{"label": "V1", "type": "float", "raw": [1, None, 3]}, {"label": "V2", "raw": [4, 5, 6]}],
        }
    )
    first, second = read_series(text)
    assert (first.name, first.present, first.times) == ("V1", (0, 2), ("2020", "2021", "2022"))
    assert second.values == (4, 5, 6)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no values"),
        ("name\nx\ny\n", "no column of numbers"),
        ("name\n٣\n1_0\n", "no column of numbers"),
        ("{}", "no column of numbers"),
        ('{"series": [{"label": "x"}]}', "no list `raw`"),
        ("[1, 2", "cut off: it ends in line 1"),
        ("[1 2]", "cannot be read as JSON"),
        ("[1, true]", "'True'"),
        ('[{"a": 1}, 2]', "objects beside other values"),
        ("a\n1e308\n1e308\n", "'1e308' in row 1, which is beyond 1e\\+100"),
        (f"[1, {10**400}]", "no column of numbers"),
        ("a,b\n1,2\n1,5,2,5\n", "Row 3 has 4 cells, the first row has 2"),
    ],
)
def test_what_is_refused_is_shown(text: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        read_series(text)


def test_a_cell_that_is_not_a_number_is_named() -> None:
    column = next(one for one in read_columns("a,b\n1,2\n3,x\n") if one.name == "b")
    assert not column.numeric
    with pytest.raises(UsageError, match=r"Column 'b' has 'x' in row 2"):
        column.numbers()


def test_several_rows_of_one_time_are_the_series_of_their_conditions() -> None:
    """Two tests on two nodes every day: four series, not one that alternates."""
    rows = [
        f"2026-03-{day:02d},{test},{size},{level + day / 100:.2f}"
        for day in range(1, 15)
        for test, level in (("copy", 10), ("triad", 20))
        for size in (64, 4096)
    ]
    series = read_series("\n".join(["date,test,size,rate", *rows]))
    assert [each.name for each in series] == [
        f"rate test {test}, size {size}" for test in ("copy", "triad") for size in (64, 4096)
    ]
    assert series[3].values[:2] == (20.01, 20.02)
    assert series[3].times[:2] == ("2026-03-01", "2026-03-02")


def test_a_table_of_nodes_without_times_is_no_series() -> None:
    with pytest.raises(UsageError, match=r"has nodes \(host\) and no column of times"):
        read_series("file,host,rate\na.log,n1,5\nb.log,n2,6\nc.log,n3,7\n")


@pytest.mark.parametrize("cell", ["180.2 GB/s", "1,80.2", "1'18", "+7,5 x", "FAILED"])
def test_a_column_that_is_nearly_one_of_numbers_is_named_with_its_cell(cell: str) -> None:
    columns = read_columns(f"name;bw\na;{cell}\nb;{cell}\nc;3\nd;4\ne;5\n")
    with pytest.raises(UsageError, match=re.escape(f"'bw' has {cell!r} in row 1, which is not a finite number")):
        refuse_almost_numbers(columns)


@pytest.mark.parametrize("cells", [("01.02.2026", "02.02.2026"), ("n1", "n2"), ("", "-"), ("1", "2")])
def test_words_dates_and_numbers_are_not_nearly_numbers(cells: tuple[str, str]) -> None:
    refuse_almost_numbers(read_columns("name;x\n" + "".join(f"a;{cell}\n" for cell in cells)))


def daily(form: str, name: str = "date") -> str:
    """Forty days from 1 September 2026 on, each with its number."""
    days = [date(2026, 9, 1) + timedelta(days=number) for number in range(40)]
    return f"{name};value\n" + "".join(f"{day.strftime(form)};{number}\n" for number, day in enumerate(days))


def backwards(text: str) -> str:
    heading, *rows = text.splitlines()
    return "\n".join([heading, *reversed(rows), ""])


@pytest.mark.parametrize(
    "form",
    [
        "%d.%m.%Y",
        "%d.%m.%y",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%Y/%m/%d",
        "%d-%m-%Y",
        "%b %d %Y",
        "%B %d, %Y",
        "%d %b %y",
        "%d-%b-%Y",
        "%a %b %d 10:00:00 %Y",
        "%a, %d %b %Y 10:00:00 GMT",
        "%m/%d/%Y 9:05 PM",
        "%Y%m%d",
    ],
)
def test_dates_in_other_spellings_order_the_values(form: str) -> None:
    assert only(backwards(daily(form))).values == tuple(range(40))


def test_hours_of_one_day_are_in_order() -> None:
    rows = ["28.09.2026 9:30;1", "28.09.2026 10:15;2", "28.09.2026 08:00;0"]
    assert only("time;value\n" + "\n".join(rows)).values == (0, 1, 2)
    rows = ["09/28/2026 1:30 PM;2", "09/28/2026 11:15 AM;1", "09/28/2026 12:01 AM;0"]
    assert only("time;value\n" + "\n".join(rows)).values == (0, 1, 2)


def test_months_are_in_order() -> None:
    assert only("month;value\n10/2026;2\n11/2025;0\n09/2026;1\n").values == (0, 1, 2)
    assert only("month;value\n2026/10;2\n2025/11;0\n2026/9;1\n").values == (0, 1, 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("date,value\n01/02/2026,1\n02/01/2026,2\n03/01/2026,3\n", "the day or the month first"),
        ("date,value\n28. Wrzesnia 2026,1\n29. Wrzesnia 2026,2\n", "is not read"),
        ("date,value\n28.09.,1\n29.09.,2\n", "is not read"),
        ("time,value\n2026-09-28,1\nSunday 10:00,2\n", "is not read"),
    ],
)
def test_times_that_do_not_show_an_order_are_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_series(text)


@pytest.mark.parametrize(
    ("name", "versions"),
    [("version", "1.8 1.9 1.10 1.11"), ("time", "1.1 1.9 1.10"), ("release", "v2.9.1 v2.10.0 v2.10.1")],
)
def test_versions_are_no_decimals(name: str, versions: str) -> None:
    cells = versions.split()
    text = f"{name},value\n" + "".join(f"{cell},{number}\n" for number, cell in reversed([*enumerate(cells)]))
    assert only(text).times == tuple(cells)


def test_decimal_times_and_labels_keep_their_order() -> None:
    assert only("time,value\n1.5,2\n1.25,1\n10.5,3\n").values == (1, 2, 3)
    assert only("commit,value\nf00d,3\ncafe,1\nbabe,2\n").values == (3, 1, 2)


@pytest.mark.parametrize("failed", ["FAILED", "TIMEOUT", "aborted"])
def test_words_in_place_of_the_newest_values_are_failed_runs(failed: str) -> None:
    rows = "".join(f"{number},{380 + number if number < 20 else failed},{number}\n" for number in range(24))
    rate, other = read_series("run,rate,other\n" + rows)
    assert (rate.newest_failed, other.newest_failed) == (4, 0)
    assert len(rate.present) == 20
    assert len(other.present) == 24


def test_the_newest_runs_are_those_of_the_latest_times() -> None:
    rows = [f"{number:02d}.09.2026;{380 + number};{'FAILED' if number > 26 else 'OK'}" for number in range(30, 0, -1)]
    assert only("date;rate;status\n" + "\n".join(rows)).newest_failed == 4
    assert only("date;rate;status\n" + "\n".join(rows[2:])).newest_failed == 2
    middle = [row.replace("OK", "FAILED") if row.startswith("11") else row for row in rows[4:]]
    assert only("date;rate;status\n" + "\n".join(middle)).newest_failed == 0


@pytest.mark.parametrize(
    ("cell", "read"), [("84d2004", True), ("a1b2c3d", True), ("rel-2004", False), ("2004x", False)]
)
def test_a_commit_with_four_digits_is_not_taken_for_a_date(cell: str, read: bool) -> None:
    text = f"commit,rate\nbeef123,1\n{cell},2\n"
    if not read:
        with pytest.raises(UsageError, match="is not read"):
            only(text)
        return
    assert only(text).times == ("beef123", cell)


def test_dates_have_their_year_and_one_reading() -> None:
    assert [moment.isoformat() for moment in dates_of(["28.09.2026", "02.10.2026"])] == [
        "2026-09-28T00:00:00+00:00", "2026-10-02T00:00:00+00:00"
    ]  # fmt: skip
    assert dates_of(["2026-09-28", "2026-09-28T01:00:00Z"])[1].hour == 1
    for cells in (["01/02/2026", "02/02/2026"], ["1.2.3", "1.2.4"], ["1", "2"], ["run 1"], ["28.09.2026", ""]):
        with pytest.raises(ValueError, match=r"not dates"):
            dates_of(cells)


@pytest.mark.parametrize("name", ["time", "timestamp", "Time", "ts"])
@pytest.mark.parametrize("parts", [1, 10**3, 10**6, 10**9])
def test_seconds_since_1970_and_their_parts_are_dates(name: str, parts: int) -> None:
    rows = "".join(f"{(1718000000 + 60 * place) * parts},{11800 + place}\n" for place in range(12))
    series = only(f"{name},rate\n{rows}")
    assert (series.name, series.times[1]) == ("rate", "2024-06-10T06:14:20Z")


@pytest.mark.parametrize("name", ["p99_ns", "time_ns", "bytes", "runtime"])
def test_other_numbers_of_that_size_are_values(name: str) -> None:
    (column,) = read_columns(f"{name}\n" + "".join(f"{1834000000 + place}\n" for place in range(4)))
    assert column.numeric
