"""What is refused, and what the sentence says; numbers and lines that look like something else."""

import re
from pathlib import Path

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense
from tests.support.application_outputs import iperf
from tests.support.benchmark_outputs import hpl, imb, stream
from tests.support.command_line import Seatrial, Text
from tests.support.json_objects import parsed

IPERF = '{"start": {"version": "iperf 3.12"}, "intervals": [%s], "end": {"sum_sent": {"bits_per_second": 94e9}}}'
INTERVAL = '{"sum": {"start": %d, "seconds": 1, "bytes": 117500, "bits_per_second": 94%02d}}'


@pytest.mark.parametrize(("first", "second"), [("triad_GB_s", "triad_MB_s"), ("hpl", "triad"), ("rate", "speed")])
def test_files_of_unlike_columns_are_no_fleet(first: str, second: str, tmp_path: Path, seatrial: Seatrial) -> None:
    for number, name in enumerate((first, second)):
        rows = "".join(f"cn{node},{380 * 1000**number + node}\n" for node in range(1, 9))
        (tmp_path / f"{number}.csv").write_text(f"node,{name}\n{rows}")
    ran = seatrial("judge", "--as", "fleet", tmp_path / "0.csv", tmp_path / "1.csv", code=64)
    assert f"'{first.lower()}'" in ran.err
    assert "not the same" in ran.err


def test_files_of_one_column_are_a_fleet(tmp_path: Path, seatrial: Seatrial) -> None:
    for number in (0, 1):
        rows = "".join(f"cn{node},{380 + node / 10}\n" for node in range(1, 9))
        (tmp_path / f"{number}.csv").write_text(f"node,{('Triad', 'triad')[number]}\n{rows}")
    seatrial("judge", "--as", "fleet", tmp_path / "0.csv", tmp_path / "1.csv")


@pytest.mark.parametrize("folder", [True, False])
def test_outputs_in_folders_that_are_named_after_nodes(folder: bool, tmp_path: Path, seatrial: Seatrial) -> None:
    files = [tmp_path / f"cn{node}" / f"HPL_2024-06-11_10-{node:02d}-44.out" for node in range(1, 7)]
    for node, file in enumerate(files, 1):
        file.parent.mkdir()
        file.write_text(hpl(time=125.0 if node == 4 else 100 + node / 100))
    ran = seatrial("judge", *([tmp_path] if folder else files), code=2)
    assert ran.out.startswith("INCONCLUSIVE  cn4 20 % below its peers")


def test_headings_of_two_nodes_above_outputs_are_pairs(tmp_path: Path, seatrial: Seatrial) -> None:
    pairs = [(one, other) for one in range(1, 6) for other in range(one + 1, 6)]
    tables = [imb(), imb(times=lambda size: 2 + size / 1500)]
    outputs = (f"### cn{one} <-> cn{other}\n{tables[2 in (one, other)]}" for one, other in pairs)
    file = tmp_path / "imb.txt"
    file.write_text("".join(outputs))
    ran = seatrial("judge", file, code=None)
    assert "taken as  n×n table of pairs of nodes" in ran.out
    assert "cn2" in ran.out.splitlines()[0]


def test_outputs_of_several_sizes_in_a_folder_are_a_curve(tmp_path: Path, seatrial: Seatrial) -> None:
    for ranks in (1, 2, 4, 8):
        (tmp_path / f"imb-{ranks}.out").write_text(imb(ranks=ranks))
    assert "taken as  runs of one benchmark at several sizes" in seatrial("judge", tmp_path, code=None).out


def test_tables_of_nodes_in_a_folder(tmp_path: Path, seatrial: Seatrial) -> None:
    for run in range(1, 4):
        rows = "".join(f"cn{node:02d},{(300 if node == 5 else 380) + node / 10 + run / 100}\n" for node in range(1, 9))
        (tmp_path / f"day{run}.csv").write_text(f"node,triad_GB_s\n{rows}")
    (tmp_path / "README.txt").write_text("What these are.\n")
    assert seatrial("judge", tmp_path, code=1).out.startswith("SLOW  cn05 21 % below its peers")


@pytest.mark.parametrize("form", ["csv", "json", "pdsh"])
def test_a_table_of_each_node_below_one_line_of_names(form: str, tmp_path: Path, seatrial: Seatrial) -> None:
    printed = []
    for node in range(1, 9):
        rate = (300 if node == 5 else 380) + node / 10
        text = f"kernel,rate_GB_s\ntriad,{rate}\n" if form != "json" else f'{{"kernel": "triad", "rate_GB_s": {rate}}}'
        (tmp_path / f"cn{node:02d}.{form}").write_text(text)
        printed += [f"cn{node:02d}: {line}\n" for line in text.splitlines()]
    (tmp_path / "all").mkdir()
    file = tmp_path / "all" / "printed.txt"
    file.write_text("".join(printed))
    ran = seatrial("judge", file if form == "pdsh" else tmp_path, code=2)
    assert ran.out.startswith("INCONCLUSIVE  cn05 21 % below its peers")


def test_iperf_is_recognised_before_its_numbers_are(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "a.json"
    file.write_text(IPERF % ",".join(INTERVAL % (place, place) for place in range(20)))
    assert seatrial("judge", str(file), code=2).out.startswith("INCOMPLETE  a.json: iperf3")


def test_a_word_among_numbers_that_nothing_explains_gets_advice(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "a.csv").write_text("node,gflops\n" + "".join(f"cn{n},{2100 + n}\n" for n in range(9)) + "cn9,~soso\n")
    assert "Leave the cell empty" in " ".join(seatrial("judge", tmp_path / "a.csv", code=64).err.split())


@pytest.mark.parametrize("mark", ["'", "’", "\u202f", "\u00a0", "\u2009"])
def test_groups_of_thousands(mark: str) -> None:
    rows = "".join(f"cn{node}\t380{mark}10{node}\n" for node in range(1, 4))
    assert read_fleet_table(f"node\ttriad_MB_s\n{rows}").values["cn2"] == [380102.0]


@pytest.mark.parametrize("line", ["[cn{}] Triad 38{} GB/s", "[cn{}]  38{}", "[cn{}] rate: 38{}.5"])
def test_names_in_brackets_before_lines_are_no_json(line: str) -> None:
    table = read_fleet_table("\n".join(line.format(node, node) for node in range(1, 6)) + "\n")
    assert list(table.values) == ["cn1", "cn2", "cn3", "cn4", "cn5"]


@pytest.mark.parametrize(
    "heading",
    [
        "=== {} ===",
        "{} | CHANGED | rc=0 >>",
        "==> stream_{}.log <==",
        "{}",
        "# Host: {}.cluster",
        "-- {} --\r",
        "=== rack1.{} ===",
        "gpu-00{}",
    ],
)
def test_outputs_below_names_of_nodes_are_of_these_nodes(heading: str, seatrial: Seatrial) -> None:
    outputs = [
        heading.format(f"cn{number}").replace("0cn", "0") + "\n" + stream(triad_s=0.0081 * (1 + number // 5))
        for number in range(1, 6)
    ]
    ran = seatrial("judge", Text("".join(outputs), "all.out"), code=2)
    assert "5 50 % below its peers" in " ".join(ran.out.replace(".cluster", "").split())


@pytest.mark.parametrize(
    ("line", "sense"),
    [
        ("rx_crc_errors: {}", Sense.LOWER),
        ("errors = {}", Sense.LOWER),
        ("rx_packets: {}", None),
        ("ok: {} rows", None),
        ("errors: none {} GB/s", Sense.HIGHER),
    ],
)
def test_fewer_errors_are_better_where_the_line_counts_them(line: str, sense: Sense | None) -> None:
    (stratum,) = read_fleet_table("".join(f"n{at}:   {line.format(10 + at)}\n" for at in range(1, 6))).strata
    assert stratum.sense is sense


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, {0} s, {1} MB/s", [500.0, 501.0, 502.0, 503.0]),
        (" Timing buffered disk reads: {2} MB in  3.0{0} seconds = {1}.5 MB/sec", [500.5, 501.5, 502.5, 503.5]),
        ("[ 5] 0.00-10.00 sec 11.{0} GBytes {1} Gbits/sec receiver", [500.0, 501.0, 502.0, 503.0]),
        ("{2} bytes in {1} s", None),  # neither is a rate
        ("read {1} MB/s wrote {2} MB/s", None),  # both are
    ],
)
def test_of_several_numbers_in_a_line_the_only_rate_counts(line: str, values: list[float] | None) -> None:
    rows = (f"n{at}: {line.format(4 - at, 499 + at, 1600 + at * at)}\n" for at in range(1, 5))
    if values is None:
        with pytest.raises(UsageError, match="Several columns have numbers"):
            read_fleet_table("".join(rows))
    else:
        (stratum,) = read_fleet_table("".join(rows)).strata
        assert [value for (value,) in stratum.values.values()] == values
        assert stratum.sense is Sense.HIGHER


def test_a_node_that_ansible_does_not_reach_is_named(tmp_path: Path, seatrial: Seatrial) -> None:
    outputs = [f"cn{number} | CHANGED | rc=0 >>\n{stream()}" for number in range(1, 6)]
    lost = 'cn6 | UNREACHABLE! => {\n    "msg": "Failed to connect to the host via ssh",\n    "unreachable": true\n}\n'
    (tmp_path / "all.out").write_text("".join((*outputs, lost)))
    assert "not measured: cn6" in seatrial("judge", tmp_path / "all.out", code=2).out.replace("\n", " ")


@pytest.mark.parametrize(
    "heading",
    [
        "=== cn{0} 2026-11-29 12:0{0}:1{1} ===",
        "[12:0{0}:1{1}] running stream on cn{0} (job 47{1}{0})",
        "--- run {1} cn{0}",
        "### 10.1.0.{0} ###",
        "10.1.0.{0}",
    ],
)
def test_headings_may_have_times_and_addresses(heading: str, tmp_path: Path, seatrial: Seatrial) -> None:
    outputs = [
        f"{heading.format(number, run)}\n{stream(triad_s=0.0081 * (1 + number // 5))}"
        for run in range(3)
        for number in range(1, 6)
    ]
    (tmp_path / "all.out").write_text("".join(outputs))
    said = seatrial("judge", tmp_path / "all.out", code=None).out
    assert re.match(r"SLOW  (?:cn|10\.1\.0\.)5 ", said), said


def test_each_heading_begins_the_output_of_another_node_whatever_its_name_is_like(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    outputs = [f"=== {name} ===\n{stream()}" for name in ("cn1", "cn2", "bigmem", "cn3")]
    (tmp_path / "all.out").write_text("".join(outputs))
    judged = parsed(seatrial("judge", tmp_path / "all.out", "--json").out)
    assert {node["node"]: len(node["values"]) for node in judged["nodes"]} == {
        "cn1": 1, "cn2": 1, "cn3": 1, "bigmem": 1,
    }  # fmt: skip


def test_a_node_that_printed_nothing_below_its_heading_is_not_measured(seatrial: Seatrial) -> None:
    outputs = [f"=== cn{number} ===\n{stream()}" for number in range(1, 5)]
    assert "not measured: cn5" in seatrial("judge", Text("".join((*outputs, "=== cn5 ===\n")), "all.out"), code=2).out


def test_a_node_that_failed_below_the_output_of_another_is_not_passed_over(tmp_path: Path, seatrial: Seatrial) -> None:
    output = "".join(f"cn1: {line}\n" for line in stream().splitlines())
    (tmp_path / "all.out").write_text(f"{output}cn2: ssh: connect to host cn2 port 22: Connection refused\n")
    assert "MEASURED" not in seatrial("judge", tmp_path / "all.out", code=2).out


@pytest.mark.parametrize("heading", ["### run{}", "thread{}:", "=== cn7 === {}", "=== gcc1{} ===", "== numa{} =="])
def test_repetitions_are_no_nodes(heading: str, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "all.out").write_text("".join(heading.format(number) + "\n" + stream() for number in range(1, 5)))
    assert "MEASURED" in seatrial("judge", tmp_path / "all.out").out


def test_sizes_above_outputs_are_no_nodes(tmp_path: Path, seatrial: Seatrial) -> None:
    outputs = [f"== N{order} ==\n{hpl(order=order)}" for order in (10000, 20000, 40000)]
    (tmp_path / "all.out").write_text("".join(outputs))
    assert "MEASURED" in seatrial("judge", tmp_path / "all.out").out


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Intel(R) Memory Latency Checker - v3.9a", "Intel's Memory Latency Checker"),
        ("MByte/s:\t\t187374.86", "likwid-bench"),
        ("ALL Reads :\t2034.2", "Intel's Memory Latency Checker"),
    ],
)
def test_benchmarks_of_one_node_are_called_by_their_name(line: str, name: str, seatrial: Seatrial) -> None:
    assert name in seatrial("judge", Text(f"{line}\n\nUsing 36 threads\nTime: 2.1 sec 5\n", "a.txt"), code=64).err


SENSORS = "CPU1 Temp        | {} degrees C      | ok\nFAN1             | {} RPM        | ok\n"


def test_sensors_of_several_nodes_are_left_to_the_command_that_knows_them(seatrial: Seatrial) -> None:
    printed = {f"n{number:02d}": SENSORS.format(60 + number, 9000 + 100 * number) for number in range(1, 9)}
    text = "".join(f"{node}: {line}\n" for node, lines in printed.items() for line in lines.splitlines())
    said = " ".join(seatrial("judge", Text(text, "sdr.txt"), code=64).err.split())
    assert "seatrial facts --drift --from FILE" in said


STATES = "| Node | before (GB/s) | after (GB/s) | change |\n|--|--|--|--|\n" + "".join(
    f"| c{n:03d} | {352 + n % 3 / 4:.2f} | {331 + n % 4 / 4:.2f} | {-6.1 + n % 5 / 20:.2f} % |\n" for n in range(1, 13)
)


def test_columns_before_and_after_a_change_are_compared_and_not_the_nodes(seatrial: Seatrial) -> None:
    said = " ".join(seatrial("judge", Text(STATES, "states.md"), code=64).err.split())
    assert "seatrial compare --side-by-side" in said
    out = seatrial("compare", "--side-by-side", Text(STATES, "states.md")).out
    assert out.startswith("FASTER  before: 352.2 GB/s, 6.3 % higher than after")
    assert "c003" not in out


def test_files_of_iperf_that_are_named_after_one_node_are_of_nodes_and_of_no_pairs(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    for number in range(1, 8):
        (tmp_path / f"n{number}.json").write_text(iperf(10.0 if number == 4 else 20.0 + number / 100))
    out = seatrial("judge", str(tmp_path), code=2).out
    assert "values of many nodes" in out
    assert "n4" in out.splitlines()[0]


def test_a_column_of_one_word_beside_configurations_names_no_nodes(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = "".join(f"{mpi},rc,{size},{size / place}\n" for place, mpi in enumerate("abc", 9) for size in (8, 64) * 4)
    (tmp_path / "sweep.csv").write_text(f"mpi,ucx_tls,msg_size,latency_us\n{rows}")
    assert "table of configurations" in seatrial("judge", tmp_path / "sweep.csv", code=64).err


def test_empty_files_of_nodes_are_refused(tmp_path: Path, seatrial: Seatrial) -> None:
    for node in ("n01", "n02", "n03"):
        (tmp_path / f"{node}.out").write_text("\n")
    assert "has no values" in seatrial("judge", tmp_path, code=64).err
    assert "has no values" in seatrial("judge", *sorted(tmp_path.iterdir()), code=64).err


def test_no_link_leads_out_of_a_folder_of_folders(tmp_path: Path, seatrial: Seatrial) -> None:
    others, own = tmp_path / "others", tmp_path / "own"
    for folder in (others, own):
        folder.mkdir()
    for node in ("n01", "n02", "n03"):
        (others / f"{node}.csv").write_text(f"node,triad_gb_s\n{node},101\n")
    (own / "inner").symlink_to("../others")
    assert "leads out of the folder" in seatrial("judge", own, code=64).err


@pytest.mark.parametrize("other", ["", "job.err"])
def test_a_folder_of_a_node_without_the_file_of_the_others_is_no_pass(
    other: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    for node in range(1, 9):
        (tmp_path / f"n0{node}").mkdir()
        (tmp_path / f"n0{node}" / "hpl.out").write_text(hpl())
    (tmp_path / "n05" / "hpl.out").unlink()
    if other:
        (tmp_path / "n05" / other).write_text("")
    said = seatrial("judge", tmp_path, code=None).out.splitlines()[0]
    assert said == "NOT_RUN  7 nodes alike; a loss of 2.3 % would have been named; not measured: n05"
