"""`seatrial judge`: what it takes files for, what it asks, which options it refuses."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from seatrial.commands.judge.kinds import WORDS, Kind
from seatrial.commands.judge.recognition import kind_of
from seatrial.commands.judge.sources import Sources
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.formats import read_matrix
from seatrial.model.errors import UsageError
from tests.support.benchmark_outputs import hpl, imb, osu, stream
from tests.support.builders import Cluster, names, record
from tests.support.command_line import Seatrial
from tests.support.matrices import matrix, nxnlatbw

NODES = [f"n{number:02}" for number in range(1, 9)]
PAIRS = "".join(f"{a},{b},{1000 + len(a)}\n" for a in NODES for b in NODES if a != b)
RUNS = "".join(f"{node},{run},{20 + run / 10}\n" for node in NODES for run in (1, 2, 3))
DAYS = "".join(f"2026-03-{day:02},{100 + day % 3}\n" for day in range(1, 31))

DAYS_OF_NODE = "".join(f"n1,2026-03-{day:02},{100 + day % 3}\n" for day in range(1, 31))


SIZES = ((1, 2, 4, 8, 16), (28, 32, 40, 48, 64, 96), (0.5, 0.75, 1.5, 4))
NO_SIZES = ((1, 2, 3, 4, 5, 8), (1, 3, 6, 10, 13), (16, 8, 4, 2), (1, 1, 2, 4, 8))


def taken(file: Path, *accepting: Kind) -> Kind:
    return kind_of(Sources([file], print), accepting or tuple(Kind))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"source,target,bandwidth_mb_s\n{PAIRS}", Kind.PAIRS),
        (f"node_a;node_b;bw (MB/s)\n{PAIRS.replace(',', ';')}", Kind.PAIRS),
        (nxnlatbw(matrix("16 nodes, 3.045 GB/s, 1.37 us")), Kind.PAIRS),
        (hpl(), Kind.OUTPUT),
        (imb("4.1", 2**20), Kind.OUTPUT),
        (osu(), Kind.OUTPUT),
        (f"slurmstepd: error: x\n{stream()}", Kind.OUTPUT),
        (f"node,run,triad_gb_s\n{RUNS}", Kind.FLEET),
        (f"serveur,run,triad_gb_s\n{RUNS}", Kind.FLEET),
        ("node,nic,bw_gb_s\nn1,mlx5_0,9\nn1,mlx5_1,9\nn2,mlx5_0,9\nn2,mlx5_1,9\n", Kind.FLEET),
        ("node,time\nn1,3.2\nn2,3.1\nn3,3.5\n", Kind.FLEET),
        (f"> > node,run,triad_gb_s\n{RUNS}".replace("\n", "\n> > "), Kind.FLEET),
        (
            "".join(
                f"\x1b[33m[1,{place}]<stdout>:{node}: 38{place}.5 GB/s\x1b[0m\n" for place, node in enumerate(NODES)
            ),
            Kind.FLEET,
        ),
        (
            "".join(
                f"{node}.txt:HPCG result is VALID with a GFLOP/s rating of={at}.5\n" for at, node in enumerate(NODES)
            ),
            Kind.FLEET,
        ),
        ("".join(f"n{at}: load average: 0.{at}\nn{at}: Triad 38{at}.5 GB/s\n" for at in range(1, 9)), Kind.FLEET),
        ("login: 380 GB/s\nn1: 381 GB/s\ngpu: 382 GB/s\n", Kind.FLEET),  # one has the number of a node
        ("4k1: 380 GB/s\n4k2: 381 GB/s\n4k3: 382 GB/s\n", Kind.FLEET),
        (json.dumps([{"node": "n1", "value": 1}, {"node": "n2", "value": 2}]), Kind.FLEET),
        (f"date,rate\n{DAYS}", Kind.SERIES),
        ("1\n2\n3\n", Kind.SERIES),
        *(("".join(f"{at} {100 + at % 3}\n" for at in steps), Kind.SERIES) for steps in NO_SIZES),
        ("env,nodes,throughput\nold,1,5\nold,2,9\nnew,1,6\nnew,2,11\n", Kind.SCALING),
        ("| Nodes | Time |\n|---|---|\n| 1 | 9 |\n| 2 | 5 |\n", Kind.SCALING),
        ("MPI ranks;time_s\n1;9,5\n2;5,1\n", Kind.SCALING),
        ("source,target,bandwidth_mb_s\nhead,c1,9\nhead,c2,9\nhead,c3,7\n", Kind.FLEET),
        ("| Source | Target | Bandwidth (MB/s) |\n|---|---|---|\n| c1 | h | 9 |\n| c2 | h | 9 |\n", Kind.FLEET),
        ("source,target,bandwidth_mb_s\nhead,c1,9\nhead,c2,9\nc1,c2,7\nc2,head,8\n", Kind.PAIRS),
        ("compute_node,threads,rate\nn1,1,5\nn1,2,9\nn2,1,5\nn2,2,9\n", Kind.FLEET),
        ("commit,rate\na1f,5\nb2c,9\nc3d,6\nd4e,11\n", Kind.SERIES),
        ('{"build": "1.10.1", "rate": 5}\n{"build": "1.10.2", "rate": 6}\n', Kind.SERIES),
        ("[5.1, 5.2, null, 4.9]", Kind.SERIES),
        ('{"time": {"raw": ["a", "b"]}, "series": [{"label": "x", "raw": [1, 2]}]}', Kind.SERIES),
    ],
)
def test_contents_say_what_a_file_is(text: str, kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text)
    assert taken(tmp_path / "table.csv") is kind


@pytest.mark.parametrize(("days", "kinds"), [(11, 1), (12, 2)])
def test_fewer_days_than_a_series_needs_are_runs_of_nodes(days: int, kinds: int, tmp_path: Path) -> None:
    rows = "".join(f"n{node},2026-03-{day:02},{day}\n" for node in (1, 2, 3) for day in range(1, days + 1))
    (tmp_path / "x").write_text(f"node,date,rate\n{rows}")
    if kinds == 1:
        assert taken(tmp_path / "x") is Kind.FLEET
        return
    with pytest.raises(UsageError, match=r"--as fleet, .*--as series"):
        taken(tmp_path / "x")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cn{:02}", Kind.FLEET), ("rack1-{}.hpc", Kind.FLEET), ("results/n{:02}.out:x", Kind.FLEET), ("run{:02}", None),
        ("v1.{}", None), ("day {}", None), ("r{}", None), ("{:02}a", Kind.FLEET),
    ],
)  # fmt: skip
def test_numbered_names_are_nodes_unless_they_number_runs_or_versions(
    name: str, kind: Kind | None, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("".join(f"{name.format(at)},{90 + at % 3}\n" for at in range(1, 15)))
    if kind is not None:
        assert taken(tmp_path / "x") is kind
        return
    with pytest.raises(UsageError, match=r"--as fleet, .*--as series"):
        taken(tmp_path / "x")


@pytest.mark.parametrize(
    ("hours", "sampled"),
    [
        (range(12), True), (range(11), False), (range(0, 24 * 12, 24), False), (range(0, 23 * 12, 23), True),
        ([at + at // 6 for at in range(12)], True), ([at + at // 3 for at in range(12)], False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wide", [True, False])
def test_times_of_a_clock_are_those_of_series(hours: Sequence[int], sampled: bool, wide: bool, tmp_path: Path) -> None:
    times = [f"{datetime(2026, 9, 1, tzinfo=UTC) + timedelta(hours=at):%Y-%m-%d %H:%M:%S}" for at in hours]
    head, rows = ("time,n1,n2,n3", [f"{time},5,6,7" for time in times]) if wide else (
        "time,node,rate", [f"{time},n{node},5" for time in times for node in (1, 2, 3)]
    )  # fmt: skip
    (tmp_path / "x").write_text("\n".join((head, *rows, "")))
    if sampled:
        assert taken(tmp_path / "x") is Kind.SERIES
    elif len(times) < 12 and not wide:
        assert taken(tmp_path / "x") is Kind.FLEET
    else:
        with pytest.raises(UsageError, match=r"--as fleet, .*--as series"):
            taken(tmp_path / "x")


def test_a_clock_whose_times_are_each_of_another_node_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        "time,node,rate\n" + "".join(f"2026-09-01 {at:02}:00,n{at % 4},5\n" for at in range(24))
    )
    with pytest.raises(UsageError, match=r"--as fleet, .*--as series"):
        taken(tmp_path / "x")


@pytest.mark.parametrize(
    ("column", "asked"), [("uuid", False), ("ocpVersion", False), ("git_sha", False), ("place", True), ("model", True)]
)
def test_identifiers_and_versions_of_each_row_are_no_nodes(column: str, asked: bool, tmp_path: Path) -> None:
    rows = "".join(f"2026-03-{day:02},{chr(96 + day)}x{day % 3},{day}\n" for day in range(1, 20))
    returning = "".join(f"2026-03-{day:02},srv{day % 3},{day}\n" for day in range(1, 20))
    (tmp_path / "y").write_text(f"date,{column},rate\n{returning}")
    if column != "ocpVersion":
        with pytest.raises(UsageError, match=r"--as fleet, .*--as series"):
            taken(tmp_path / "y")
    (tmp_path / "x").write_text(f"date,{column},rate\n{rows}")
    if not asked:
        assert taken(tmp_path / "x") is Kind.SERIES
        return
    with pytest.raises(UsageError, match=r"--as fleet, .*--as series"):
        taken(tmp_path / "x")


@pytest.mark.parametrize("text", ['{"n1": [1, 2], "n2": [3, 4]}', f"node,date,rate\n{DAYS_OF_NODE}"])
def test_of_two_readings_both_are_named_and_an_option_of_one_decides(text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(UsageError, match=r"values of many nodes or values over time\. Add --as fleet, .*--as series"):
        taken(tmp_path / "x")
    assert taken(tmp_path / "x", Kind.SERIES) is Kind.SERIES
    assert taken(tmp_path / "x", Kind.FLEET) is Kind.FLEET


@pytest.mark.parametrize(("names", "kinds"), [(("b1", "b2", "b3"), 2), (("gcc12", "gcc13"), 1), (("a", "b", "c"), 1)])
def test_names_with_numbers_beside_sizes_may_be_nodes(names: tuple[str, ...], kinds: int, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("box,threads,rate\n" + "".join(f"{name},{at},5\n" for name in names for at in (1, 2)))
    if kinds == 1:
        assert taken(tmp_path / "x") is Kind.SCALING
        return
    with pytest.raises(UsageError, match=r"--as fleet, .*--as scaling"):
        taken(tmp_path / "x")


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("head", ["", "bytes GB/s\n"])
def test_a_first_column_that_rises_by_growing_steps_may_have_sizes(
    head: str, sizes: tuple[float, ...], tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(head + "".join(f"{size} {100 + size % 3}\n" for size in sizes))
    with pytest.raises(UsageError, match=r"values over time or runs of one benchmark at several sizes"):
        taken(tmp_path / "x")
    assert taken(tmp_path / "x", Kind.SERIES) is Kind.SERIES
    (tmp_path / "x").write_text("time GB/s\n" + "".join(f"{size} {100 + size % 3}\n" for size in sizes))
    assert taken(tmp_path / "x") is Kind.SERIES


def test_outputs_of_several_sizes_are_a_curve_and_those_of_several_nodes_a_fleet(tmp_path: Path) -> None:
    def kind(*ranks: int) -> Kind:
        files = [tmp_path / f"run-{number}.out" for number, _ in enumerate(ranks)]
        for file, number in zip(files, ranks, strict=True):
            file.write_text(imb("4.1", 2**20, ranks=number))
        return kind_of(Sources(files, print), tuple(Kind))

    assert kind(2, 2, 4, 4) is Kind.SCALING
    assert kind(2, 2, 2, 2) is Kind.FLEET
    with pytest.raises(UsageError, match=r"--as fleet, .*--as scaling"):
        kind(4, 4, 4, 2)


def test_folders_are_outputs_by_node_pairs_or_a_run(tmp_path: Path, seatrial: Seatrial) -> None:
    for folder, files in {
        "fleet": {f"{node}-stream.out": stream() for node in NODES},
        "pairs": {f"{a}--{b}.out": osu() for a in NODES for b in NODES if a != b},
        "other": {"a.txt": "Architecture:   x86_64\n", "b.txt": "Architecture:   x86_64\n"},
    }.items():
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    assert taken(tmp_path / "fleet") is Kind.FLEET
    assert taken(tmp_path / "pairs") is Kind.PAIRS
    with pytest.raises(UsageError, match=r"\(all\) look like a description of a machine"):
        taken(tmp_path / "other")
    record(Cluster(nodes=names(4)), tmp_path / "archive", "good")
    assert taken(tmp_path / "archive" / "good") is Kind.RUN
    report = seatrial("report", "good", "--archive", tmp_path / "archive", code=None)
    judged = seatrial("judge", tmp_path / "archive" / "good", code=report.code)
    assert judged.out.partition("\n")[0] == report.out.partition("\n")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Architecture:   x86_64\n", r"looks like a description of a machine .*seatrial facts --from"),
        ("# Plugin\n\nIt lets nccl-tests and netperf use libfabric.\n", r"a text about programs .*file of its own"),
        ("Plugin\n======\n\nIt lets nccl-tests use libfabric.\n", "a text about programs"),
        ("# Plugin\n\nRun the Intel(R) MPI Benchmarks.\n", "a text about programs .* without a result in it"),
        ("Run it:\n\n```shell\n# nThread 1 nGpus 8 minBytes 8 maxBytes 8\n```\n", "without a result in it"),
        ("Run it:\n\n```\nInfo: Benchmark time: 1 CPUs 0.01 s/step 8.2 ns/day\n```\n", "a text about programs .*NAMD"),
        ("[root@n1 ~]# ./x\nhello\n", "does not know this: (?!.*JSON)"),
        (
            '{"data": {"returncode": 0, "stdout": "# OSU MPI Latency Test v7.5\\n# Size Latency (us)\\n1 1.5\\n"}}',
            "JSON with the output of OSU .*jq",
        ),
        ('{"data": {"returncode": 0, "stdout": "# OSU MPI Latency Test v7.5"}}', "does not know this"),
        ("Communicators... (0.00s)\n=====\n", "looks like the state of a job from NCCL's"),
        ('{"nccl_version": "2.28.9", "communicators_count": 1, "communicators": []}', "looks like the state of a job"),
        ("JOBID PARTITION NAME USER ST TIME NODES NODELIST\n1 a b c R 1 2 n1\n", "looks like the output of Slurm"),
        ("JobID|JobName|State|ExitCode|\n1|a|COMPLETED|0:0|\n", "seatrial jobs --from FILE reads the output of sacct"),
        ("2026-01-01T00:00:00+00:00|reframe 4.0.0|x|y=1|z\n", "performance log of ReFrame.*seatrial import"),
        ("kernel,run,gflops\n3.10,1,761\n3.10,2,765\n4.8.1,1,700\n4.8.1,2,703\n", "compare --side-by-side"),
        ("fabric,pairs,rate\nOPA,1,5\nOPA,8,38\nEDR,1,4\nEDR,8,33\n", "compare --side-by-side"),
        ("MemTotal:  527950212 kB\nMemFree:  400000000 kB\nCached:  1200 kB\n", "counters .*--as fleet"),
        ("4k: 120 MB/s\n64K: 800 MB/s\n1MiB: 2400 MB/s\n", "sizes, .*--as fleet"),
        ("MByte/s:  136080.57\nIterations:  512\n", "likwid-bench"),
        ("hello\nworld\n", "seatrial judge does not know this"),
        ("[1,0]<stdout>:5 GB/s\nwarning\nanother warning\n", "does not know this: Row 2 has"),
        ("Starting the burn-in\nphase 1\nall 3 disks were found, rate 5\n", "2 to 7 cells, so it is not a table; it"),
        ("", "The file is empty"),
    ],
)
def test_what_is_known_and_not_read_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(UsageError, match=said):
        taken(tmp_path / "x")


def test_the_second_line_says_what_it_was_taken_for_and_as_changes_it(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "x.csv"
    file.write_text(f"node,run,triad_gb_s\n{RUNS}")
    lines = seatrial("judge", file).out.splitlines()
    assert lines[0].startswith("PASS  8 nodes alike")
    assert " ".join(lines[1].split()) == "taken as values of many nodes (--as changes that)"
    assert seatrial("judge", file, "--json").object["kind"] == "fleet"
    other = seatrial("judge", "--as", "series", file, "--json", code=None)
    assert other.object["kind"] == "changepoints"
    assert "taken as" not in seatrial("judge", "--as", "series", file, code=None).out


@pytest.mark.parametrize("kind", list(Kind))
def test_an_option_of_another_kind_is_refused(kind: Kind, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "x.csv").write_text(f"node,run,triad_gb_s\n{RUNS}")
    for words, kinds in [
        (("--topology", "t"), {Kind.PAIRS}),
        (("--expect", "ranks=4"), {Kind.OUTPUT}),
        (("--part", "gpu"), {Kind.FLEET}),
        (("--error-rate", "2%"), {Kind.SERIES}),
        (("--column", "x"), {Kind.FLEET, Kind.SERIES}),
    ]:
        if kind in kinds:
            continue
        said = seatrial("judge", tmp_path / "x.csv", "--as", kind.value, *words, code=64).err
        only = " or ".join(one.option for one in Kind if one in kinds)
        assert f"{words[0]} does not go with --as {kind.value}, only with {only}." in said


def test_runs_are_asked_for_too(tmp_path: Path, seatrial: Seatrial) -> None:
    archive = ("--archive", str(tmp_path))
    assert "--as fleet, which compares the nodes" in seatrial("judge", "--runs", "last", *archive, code=64).err
    assert "Either files or --runs" in seatrial("judge", *archive, code=64).err


def test_every_kind_has_its_words() -> None:
    assert list(WORDS) == list(Kind)


def test_files_of_configurations_are_no_nodes(tmp_path: Path, seatrial: Seatrial) -> None:
    for name in ("QDR_single", "QDR_dual", "FDR10_single", "FDR_dual"):
        (tmp_path / f"results_bw_{name}.txt").write_text(osu())
    for words in ([str(tmp_path)], [str(file) for file in sorted(tmp_path.iterdir())]):
        assert "compare --side-by-side" in seatrial("judge", *words, code=64).err
    assert "QDR" not in seatrial("judge", "--as", "pairs", tmp_path, code=64).err


SQUARE = "bandwidth_MB/s,a1,a2,a3\na1,,5,6\na2,5,,7\na3,6,7,\n"


@pytest.mark.parametrize(
    ("text", "module", "reader", "read"),
    [
        (json.dumps([{"node": f"n{n}", "value": 1.5} for n in range(9)]), json, "loads", read_fleet_table),
        (SQUARE, csv, "reader", lambda text: read_matrix(io.BytesIO(text.encode()))),
    ],
)
def test_a_table_is_parsed_once_to_recognise_and_to_judge_it(
    text: str,
    module: ModuleType,
    reader: str,
    read: Callable[[str], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[object] = []
    parse = getattr(module, reader)

    def counted(*args: object, **options: object) -> object:
        calls.append(args)
        return parse(*args, **options)

    (tmp_path / "table").write_text(text)
    monkeypatch.setattr(module, reader, counted)
    taken(tmp_path / "table")
    read(text)
    assert len(calls) == 1


REMARKS = {
    "no cell": ("",) * 8,
    "single remarks": ("", "", "new BIOS", "", "", "", "", "reboot"),
    "missing": ("-", "n/a", "", "-", "-", "", "-", "-"),
}


@pytest.mark.parametrize("remarks", REMARKS)
@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([f"{day:02}.03.2026;{100 + day % 3}" for day in range(1, 9)], Kind.SERIES),
        ([f"{node};{100 + number % 3}" for number, node in enumerate(NODES[:4] * 2)], Kind.FLEET),
    ],
)
def test_a_column_of_few_remarks_does_not_hold_names(rows: list[str], kind: Kind, remarks: str, tmp_path: Path) -> None:
    lines = (f"{row};{remark}\n" for row, remark in zip(rows, REMARKS[remarks], strict=True))
    (tmp_path / "table").write_text(f"Was;Triad;Kommentar\n{''.join(lines)}")
    assert taken(tmp_path / "table") is kind


def test_names_of_groups_of_rows_are_names(tmp_path: Path) -> None:
    rows = (f"{node if run == 1 else ''};{run}.03.2026;{100 + run}\n" for node in NODES[:3] for run in (1, 2, 3))
    (tmp_path / "table").write_text(f"Rechnername;Tag;Triad\n{''.join(rows)}")
    with pytest.raises(UsageError, match="values of many nodes or values over time"):
        taken(tmp_path / "table")


SENSORS = {
    "one": (("Inlet Temp", "2{} degrees C"),),
    "two": (("Inlet Temp", "2{} degrees C"), ("CPU1 Temp", "6{} degrees C")),
    "many": (("Inlet Temp", "2{} degrees C"), ("FAN1", "84{}0 RPM"), ("FAN2", "no reading"), ("PS1 Status", "0x01")),
}


@pytest.mark.parametrize("before", ["", "n0{}: "], ids=["of a node", "of nodes"])
@pytest.mark.parametrize("line", ["{name:17}| {reading:18}| ok", "{name:17}| 3Eh | ok  |  7.1 | {reading}"])
@pytest.mark.parametrize("sensors", SENSORS.values(), ids=SENSORS)
def test_sensors_are_no_values_of_nodes_whatever_their_number(
    sensors: tuple[tuple[str, str], ...], line: str, before: str, tmp_path: Path
) -> None:
    text = "".join(
        before.format(node) + line.format(name=name, reading=reading.format(node)) + "\n"
        for node in range(1, 7)
        for name, reading in sensors
    )
    (tmp_path / "sdr.txt").write_text(text)
    with pytest.raises(UsageError, match="looks like the output of ipmitool sdr"):
        taken(tmp_path / "sdr.txt")
