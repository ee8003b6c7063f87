"""Numbers and tables as spreadsheets and people write them."""

import itertools
import json

import pytest

from seatrial.importers.columns import read_columns
from seatrial.importers.fleets import FleetTable, read_fleet_table
from seatrial.importers.formats import read_matrix
from seatrial.importers.pair_tables import is_pair_table
from seatrial.importers.written_numbers import without_unit
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense

NODES = [f"cn{number:02d}" for number in range(1, 9)]
RUNS = (1, 2, 3)


def rate(node: str, run: int) -> float:
    return (212.5 if node != "cn07" else 187.25) + run / 8


def rows(line: str) -> str:
    """One line for each node and run; `{value}` has three decimals."""
    return "".join(
        line.format(node=node, run=run, value=f"{rate(node, run):.3f}") + "\n"
        for node, run in itertools.product(NODES, RUNS)
    )


def values(table: FleetTable) -> dict[str, list[float]]:
    (stratum,) = table.strata
    return stratum.values


EXPECTED = {node: [rate(node, run) for run in RUNS] for node in NODES}


@pytest.mark.parametrize(
    "text",
    [
        "Knoten;Lauf;Triad [GB/s]\n" + rows("{node};{run};{value}").replace(".", ","),
        rows("{node};{value}").replace(".", ","),
        "| node | run | GB/s |\n|---|---:|---:|\n" + rows("| {node} | {run} | {value} |"),
        "+----+---+---+\n| host | run | GB/s |\n+----+---+---+\n"
        + rows("| {node} | {run} | {value} |")
        + "+----+---+---+\n",
        " host | run | rate\n------+-----+------\n" + rows(" {node} | {run} | {value}") + "(24 rows)\n",
        "# STREAM of Monday\n#node run GB/s\n" + rows("{node} {run} {value}"),
        "node,run,triad\n" + rows("{node},{run},{value} GB/s"),
        "node,date,rate\n" + rows("{node},2026-11-0{run},{value}"),
    ],
)
def test_every_way_to_write_a_table_gives_the_same_values(text: str) -> None:
    assert values(read_fleet_table(text)) == EXPECTED


def test_a_column_for_each_day_holds_runs() -> None:
    text = "node,2026-11-01,2026-11-02,2026-11-03\n" + "".join(
        ",".join([node, *(str(rate(node, run)) for run in RUNS)]) + "\n" for node in NODES
    )
    assert values(read_fleet_table(text)) == EXPECTED


@pytest.mark.parametrize(
    ("cells", "delimiter", "numbers"),
    [
        (("312.000,5", "1.274.000,25"), ";", (312000.5, 1274000.25)),
        (('"312,000.5"', '"1,274,000.25"'), ",", (312000.5, 1274000.25)),
        (("312'000.5", "274'000.0"), ",", (312000.5, 274000.0)),
        (("12,171", "9,5"), ";", (12.171, 9.5)),
        (("12,17", "9,52"), "\t", (12.17, 9.52)),
        (('"12,171"', '"9,512"'), ",", (12171.0, 9512.0)),
    ],
)
def test_one_decimal_mark_holds_for_a_table(cells: tuple[str, str], delimiter: str, numbers: tuple[float, ...]) -> None:
    text = "".join(delimiter.join(line) + "\n" for line in zip(("node", "a", "b"), ("x", *cells), strict=True))
    assert tuple(read_columns(text)[1].numbers()) == numbers


def test_a_comma_that_may_be_either_is_refused() -> None:
    column = read_columns("node\tx\na\t12,171\nb\t9,512\n")[1]
    with pytest.raises(UsageError, match="'12,171' in row 1, which is not a finite number"):
        column.numbers()


def test_addresses_of_nodes_are_no_numbers() -> None:
    text = "host;GB/s\n" + "".join(f"10.100.100.{host};{host},5\n" for host in range(101, 105))
    assert read_columns(text)[0].cells == ("10.100.100.101", "10.100.100.102", "10.100.100.103", "10.100.100.104")


def test_units_behind_numbers_are_converted_to_the_usual_one_and_labels_stay() -> None:
    sizes, latency = read_columns(
        "size,latency\n" + "".join(f"{size},{time}\n" for size, time in [("64 KiB", "1900.0 us"), ("1 MiB", "1.9 ms"),
                                   ("64 KiB", "1801.5 us"), ("1 MiB", "1805.0 us")])
    )  # fmt: skip
    assert sizes.cells == ("64 KiB", "1 MiB", "64 KiB", "1 MiB")
    assert latency.numbers() == pytest.approx([1900, 1900, 1801.5, 1805])
    assert latency.unit == "us"


def test_a_node_with_and_without_its_domain_is_one() -> None:
    text = "node,gflops\n" + "".join(
        f"{node}{'.hpc.example.org' if run == 1 else ''},{rate(node, run)}\n" for run in RUNS for node in NODES
    )
    assert values(read_fleet_table(text)) == EXPECTED
    other = "node,gflops\nn1.a,1\nn1.b,2\nn1,3\nn2,3\n"
    assert set(values(read_fleet_table(other))) == {"n1.a", "n1.b", "n1", "n2"}


def test_a_row_that_says_it_failed_has_no_value() -> None:
    """Other words and names of columns are those of test_row_outcomes.py."""
    text = "node,run,gflops,state\n" + "".join(
        f"{node},{run},{rate(node, run)},{'CANCELLED by 1000' if node == 'cn03' else 'COMPLETED'}\n"
        for node in NODES
        for run in RUNS
    )
    table = read_fleet_table(text)
    assert values(table) == {**EXPECTED, "cn03": []}
    assert table.without_value == ("cn03",) * 3


@pytest.mark.parametrize(
    "value",
    [
        {
            "date": "2026-11-01",
            "results": [{"host": n, "run": r, "bw": {"value": rate(n, r)}} for n in NODES for r in RUNS],
        },
        {node: {"bw": {"value": EXPECTED[node]}} for node in NODES},
        [
            {"host": node, "run": run, "triad": {"rate": rate(node, run)}, "valid": True}
            for node in NODES
            for run in RUNS
        ],
    ],
)
def test_objects_within_objects_are_rows(value: object) -> None:
    assert values(read_fleet_table(json.dumps(value))) == EXPECTED


@pytest.mark.parametrize("names", ["gpu{}_h2d_GBps", "GPU{} (GB/s)", "numa{} triad"])
def test_the_number_of_a_part_may_be_inside_the_name_of_a_column(names: str) -> None:
    heading = ",".join(["node", *(names.format(part) for part in range(4))])
    text = f"{heading}\n" + "".join(f"{n},{','.join(str(rate(n, part)) for part in range(4))}\n" for n in NODES)
    table = read_fleet_table(text)
    assert len(table.parts) == 4 * len(NODES)
    part = next(name for name in table.parts if name.startswith("cn07") and name.endswith(" 2"))
    assert values(table)[part] == [rate("cn07", 2)]


def pair(source: str, target: str) -> float:
    return 12000.25 + NODES.index(source) * 16 + NODES.index(target)


PAIRS = [(source, target) for source in NODES for target in NODES if source != target]


@pytest.mark.parametrize(
    "text",
    [
        "host1;host2;bw_MBps\n" + "".join(f"{a};{b};{pair(a, b)}".replace(".", ",") + "\n" for a, b in PAIRS),
        "from,to,bandwidth\n" + "".join(f"{a},{b},{pair(a, b)} MB/s\n" for a, b in PAIRS),
        "".join(json.dumps({"bw_mbyte_s": pair(a, b), "src": a, "dst": b}) + "\n" for a, b in PAIRS),
        "| from | to | Bandwidth (MB/s) |\n|---|---|---|\n"
        + "".join(f"| {a} | {b} | {pair(a, b)} |\n" for a, b in PAIRS),
        "date;bw_mb_s;from;to\n" + "".join(f"2026-11-01;{pair(a, b)};{a};{b}\n".replace(".", ",") for a, b in PAIRS),
        f"bandwidth_MB/s,{','.join(NODES)}\n"
        + "".join(f"{a},{','.join('' if a == b else str(pair(a, b)) for b in NODES)}\n" for a in NODES),
    ],
)
def test_pairs_may_be_written_in_many_ways(text: str) -> None:
    table = read_matrix(text)
    assert {(table.nodes[source], table.nodes[target]): rate for source, target, rate in zip(
        table.source, table.target, table.bandwidth_bytes_per_s, strict=True)} == pytest.approx(
        {(a, b): pair(a, b) * 1e6 for a, b in PAIRS})  # fmt: skip


@pytest.mark.parametrize("with_domain", ["source", "single rows"])
def test_pairs_of_a_node_with_and_without_its_domain_are_of_one_node(with_domain: str) -> None:
    text = "source,target,bandwidth_mb_s\n" + "".join(
        f"{a}{'.hpc.example.org' if with_domain == 'source' or (a, b) == ('cn03', 'cn05') else ''},{b},{pair(a, b)}\n"
        for a, b in PAIRS
    )
    table = read_matrix(text + "cn03,cn03.hpc.example.org,9999.5\n")
    assert table.is_ordered
    assert {(table.nodes[source], table.nodes[target]): rate for source, target, rate in zip(
        table.source, table.target, table.bandwidth_bytes_per_s, strict=True)} == pytest.approx(
        {(a, b): pair(a, b) * 1e6 for a, b in PAIRS})  # fmt: skip


def test_a_square_of_ranks_is_read_and_one_without_the_name_of_its_numbers_refused() -> None:
    cells = "".join(f"{a},{','.join('0' if a == b else str(1000 + a) for b in range(8))}\n" for a in range(8))
    assert read_matrix(f"bw,0,1,2,3,4,5,6,7\n{cells}").pairs == 56
    nameless = f",{','.join(NODES)}\n" + "".join(f"{a},{','.join(str(pair(a, b)) for b in NODES)}\n" for a in NODES)
    assert is_pair_table(nameless)
    with pytest.raises(UsageError, match="its first cell does not say what the numbers are"):
        read_matrix(nameless)


@pytest.mark.parametrize(
    ("names", "column"),
    [
        ("mlx5_0 mlx5_1 mlx5_2", "value"),
        ("mlx5_0_bw_GBps mlx5_1_bw_GBps mlx5_10_bw_GBps", "bw_GBps"),
        ("bw_hfi1_0 bw_hfi1_1", "bw"),
        ("ib0 ib1", "value"),
        ("nvme0n1 nvme1n1", "value"),
        ("gpu0 gpu1 gpu2 gpu3", "value"),
    ],
)
def test_columns_of_devices_are_parts_of_their_nodes(names: str, column: str) -> None:
    head = names.split()
    cells = "".join(f"{node},{','.join(str(rate(node, place)) for place in range(len(head)))}\n" for node in NODES)
    table = read_fleet_table(f"node,{','.join(head)}\n{cells}")
    assert table.roles.value == column
    assert set(table.parts.values()) == {(node, name) for node in NODES for name in map(_part, head)}
    assert values(table) == {
        f"{node} {_part(name)}": [rate(node, place)] for node in NODES for place, name in enumerate(head)
    }


def _part(name: str) -> str:
    """The device in the name of a column, as a report calls it."""
    bare = name.removeprefix("bw_").removesuffix("_bw_GBps")
    return bare.replace("gpu", "gpu ")


@pytest.mark.parametrize(
    ("name", "form", "seconds"),
    [
        ("elapsed", "01:{minutes:02d}:05", 3605),
        ("Walltime", "1-02:{minutes:02d}:05", 93605),
        ("hpl_time", "26:{minutes:02d}:05", 93605),
        ("runtime", "{minutes}:05.25", 5.25),
    ],
)
def test_durations_are_seconds(name: str, form: str, seconds: float) -> None:
    text = f"node,run,{name}\n" + "".join(
        f"{node},{run},{form.format(minutes=10 + place)}\n" for place, node in enumerate(NODES) for run in RUNS
    )
    table = read_fleet_table(text)
    assert values(table) == {node: [seconds + 60 * (10 + place)] * 3 for place, node in enumerate(NODES)}
    assert (table.strata[0].unit, table.strata[0].sense) == ("s", Sense.LOWER)


@pytest.mark.parametrize("name", ["time", "start time", "end_time", "elapsed"])
def test_times_of_the_day_are_no_durations(name: str) -> None:
    cell = "12:3{number}" if name == "elapsed" else "12:3{number}:00"
    text = f"node,{name}\n" + "".join(f"{node},{cell.format(number=place)}\n" for place, node in enumerate(NODES))
    assert not read_columns(text)[1].numeric
    if name != "elapsed":  # hours and minutes, or minutes and seconds
        seconds = [value for (value,) in values(read_fleet_table(text, name)).values()]
        assert seconds == [45000 + 60 * place for place in range(8)]


def test_few_numbers_with_the_unit_of_their_column_are_measured() -> None:
    cells = ("1980 MHz", "1965 MHz", "1980 MHz") * 20
    assert without_unit(cells, "clocks.sm [MHz]") == (("1980", "1965", "1980") * 20, "MHz")
    assert without_unit(cells, "profile") == (cells, "")
