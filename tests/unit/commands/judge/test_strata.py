"""`seatrial judge` on tables with conditions, parts of nodes and units: who is named, what is asked, what passes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.model.errors import UsageError
from tests.support import fleet_tables as tables
from tests.support.builders import Cluster
from tests.support.command_line import Seatrial, Text
from tests.support.fleet_tables import Factor, Row, long_table, nodes


def judged(seatrial: Seatrial, folder: Path, text: str, *words: str) -> tuple[str, dict[str, Any]]:
    """Verdict and data of `seatrial judge` on a table; the first line has at most 80 columns."""
    file = folder / "table.csv"
    file.write_text(text)
    first = seatrial("judge", str(file), *words, code=None).out.partition("\n")[0]
    assert len(first) <= 80, first
    report = seatrial("judge", str(file), *words, "--json", code=None).object
    assert first.startswith(report["verdict"])
    data: dict[str, Any] = report["data"]
    return report["verdict"], data


def slow(factor: float, **cells: str) -> Factor:
    """All rows with these cells have this share of the value."""
    return lambda row: factor if all(row[name] == cell for name, cell in cells.items()) else 1.0


CASES: dict[str, tuple[Callable[[Factor], str], Factor, list[str], list[str], list[str]]] = {
    "nccl": (tables.nccl_summary, slow(0.85, nodes="n06", test="all_reduce_perf"), ["n06"], ["test", "G"], []),
    "gpus": (tables.per_gpu, slow(0.7, node="n04", gpu="3"), ["n04 gpu 3"], [], ["gpu"]),
    "node of gpus": (tables.per_gpu, slow(0.9, node="n04"), ["n04"], [], ["gpu"]),
    "osu": (tables.osu_sizes, slow(1.2, host="n05", size="65536"), ["n05"], ["size"], []),
    "fio": (tables.fio_rows, slow(0.8, hostname="n02", rw="write"), ["n02"], ["rw"], []),
    "metrics": (tables.metrics, slow(1.2, node="n03", metric="latency"), ["n03"], ["metric"], []),
    "hpl": (tables.hpl_sizes, slow(0.9, node="n07", N="80000"), ["n07"], ["N"], []),
    "stream": (tables.stream_kernels, slow(0.85, node="n09", kernel="Add"), ["n09"], ["kernel"], []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_loss_under_one_condition_is_named_and_a_healthy_table_names_nobody(
    case: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    table, factor, named, conditions, parts = CASES[case]
    words = {"nccl": ("--column", "peak_busbw_GBs"), "hpl": ("--as", "fleet")}.get(case, ())  # HPL's has dates
    verdict, data = judged(seatrial, tmp_path, table(factor), *words)
    assert (verdict, data["slow"]) == ("SLOW", named)
    assert (data["columns"][0]["conditions"], data["columns"][0]["parts"]) == (conditions, parts)
    verdict, data = judged(seatrial, tmp_path, table(tables.healthy), *words)
    assert (verdict, data["named"]) == ("PASS", [])


def test_a_better_latency_is_not_taken_for_a_slow_one(tmp_path: Path, seatrial: Seatrial) -> None:
    """Which values are good is a question of the row where bandwidths and latencies share a column."""
    verdict, data = judged(seatrial, tmp_path, tables.metrics(slow(0.8, node="n03", metric="latency")))
    assert verdict != "SLOW"
    assert data["named"] == []


def test_the_condition_and_the_columns_are_shown(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "a.csv"
    file.write_text(tables.nccl_summary(slow(0.85, nodes="n06", test="all_reduce_perf")))
    out = seatrial("judge", str(file), "--column", "peak_busbw_GBs", code=1).out
    assert out.startswith("SLOW  n06 15 % below its peers in test all_reduce_perf, among 10 nodes\n")
    assert "Judged by test and G." in out
    assert "Constant: 'N', 'minBytes'" in " ".join(out.split())


def test_one_run_under_one_condition_is_a_suspicion_and_not_a_finding(tmp_path: Path, seatrial: Seatrial) -> None:
    table = tables.nccl_summary(slow(0.85, nodes="n06", test="all_reduce_perf", G="4"))
    verdict, data = judged(seatrial, tmp_path, table, "--column", "peak_busbw_GBs")
    assert (verdict, data["slow"], data["suspected"]) == ("INCONCLUSIVE", [], ["n06"])


def test_a_node_that_is_a_little_low_everywhere_shows_in_all_conditions_together(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    table = long_table(
        {"node": nodes(16), "kernel": list("abcdefgh")}, lambda _: 100.0, slow(0.96, node="n11"), scatter=0.01
    )
    verdict, data = judged(seatrial, tmp_path, table)
    assert (verdict, data["slow"]) == ("SLOW", ["n11"])
    assert data["named"][0]["where"] == []


def test_a_condition_that_one_node_lacks_withholds_pass(tmp_path: Path, seatrial: Seatrial) -> None:
    gap = [{"node": "n05", "size": "64"}]
    table = long_table({"node": nodes(10), "size": ["8", "64", "512"], "run": list("123")}, lambda _: 9.0, left_out=gap)
    verdict, data = judged(seatrial, tmp_path, table)
    assert (verdict, data["unmeasured"], data["columns"][0]["conditions"]) == ("NOT_RUN", ["n05"], ["size"])


def test_two_columns_together_are_the_run(tmp_path: Path, seatrial: Seatrial) -> None:
    table = long_table(
        {"node": nodes(8), "jobid": ["4711", "4712"], "iter": ["0", "1", "2"]}, lambda _: 50.0, slow(0.8, node="n02")
    )
    verdict, data = judged(seatrial, tmp_path, table)
    assert (verdict, data["slow"], data["columns"][0]["runs"]) == ("SLOW", ["n02"], ["jobid", "iter"])


def test_properties_of_nodes_are_shown_and_are_no_conditions(tmp_path: Path, seatrial: Seatrial) -> None:
    def more(row: Row) -> Row:
        return {"rack": f"r{int(row['node'][1:]) % 3}", "model": "R6525"}

    table = long_table({"node": nodes(12), "run": list("123")}, lambda _: 7.0, slow(0.8, node="n07"), more=more)
    verdict, data = judged(seatrial, tmp_path, table)
    (columns,) = data["columns"]
    assert (verdict, data["slow"], columns["properties"], columns["constants"]) == (
        "SLOW",
        ["n07"],
        ["rack"],
        ["model"],
    )
    verdict, data = judged(seatrial, tmp_path, table, "--by", "rack")
    assert (data["slow"], [len(stratum["nodes"]) for stratum in data["strata"]]) == (["n07"], [4, 4, 4])


def test_units_are_converted_within_a_condition(tmp_path: Path, seatrial: Seatrial) -> None:
    """Half of the nodes write MB/s and half GB/s: nobody is a thousand times slower."""
    rows = [f"n{node:02d},{run},{24.0 + node / 100 + run / 50 if node % 2 else 24000 + node * 10 + run * 20},"
            f"{'GB/s' if node % 2 else 'MB/s'}" for node in range(1, 13) for run in (1, 2, 3)]  # fmt: skip
    verdict, data = judged(seatrial, tmp_path, "\n".join(["node,run,value,unit", *rows]))
    assert (verdict, data["slow"], data["strata"]) == ("PASS", [], [])


@pytest.mark.parametrize("stem", ["run", "run_", "iter "])
def test_a_column_for_each_run_is_a_table_of_runs(stem: str, tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [f"n{node},{','.join(str((70 if node == 4 else 100) + node / 10 + run / 9) for run in range(4))}"
            for node in range(12)]  # fmt: skip
    table = "\n".join([f"node,{','.join(f'{stem}{run}' for run in range(4))}", *rows])
    verdict, data = judged(seatrial, tmp_path, table)
    assert (verdict, data["slow"]) == ("SLOW", ["n4"])


def test_a_column_for_each_gpu_is_a_table_of_parts(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [f"n{node:02d}," + ",".join(str(1400 + (node * 7 + gpu * 5) % 11 - (400 if (node, gpu) == (4, 2) else 0))
            for gpu in range(8)) for node in range(1, 13)]  # fmt: skip
    table = "\n".join(["node," + ",".join(f"gpu{gpu}" for gpu in range(8)), *rows])
    verdict, data = judged(seatrial, tmp_path, table)
    assert (verdict, data["suspected"]) == ("INCONCLUSIVE", ["n04 gpu 2"])


@pytest.mark.parametrize(
    ("text", "words", "what"),
    [
        (tables.nccl_summary(), ("N",), "'N' is the same in every row, not a measurement"),
        (tables.nccl_summary(), ("G",), "'G' is a condition, not a measurement"),
        (tables.per_gpu(), ("gpu",), "'gpu' is the part of a node, not a measurement"),
        (tables.stream_kernels(kernel=False), (), "n01 has 4 values of iteration 1, and no column"),
        (tables.stream_kernels(kernel=False, iteration=False), (), "20 rows of each node differ on all nodes alike"),
        (long_table({"node": nodes(9), "k": list("01234")}, lambda _: 5.0), (), "'k' counts from 0, and nothing"),
        ("cluster,nodes,rate,app\nc,1,2.5,a\nd,2,4.5,b\nc,4,9.5,a\n", (), "Several columns can hold the names"),
        ("node,rate,rate\nn1,1,2\nn2,3,4\n", (), "Two columns are called 'rate'"),
        (long_table({"node": nodes(9), "run": list("12")}, lambda _: 5.0) * 2, (), "2 values of run 1"),
    ],
)
def test_what_cannot_be_told_is_asked(text: str, words: tuple[str, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        read_fleet_table(text, *words)


SQUEUE = """\
             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
              1201     batch     wrap    alice  R       5:12      1 n01
              1202     batch     wrap    alice  R       5:12      1 n02
              1203     batch     wrap      bob  R       1:12      1 n03
"""
SINFO = (
    "NODELIST   NODES PARTITION STATE CPUS\nn01            1    batch*  idle 64\nn02            1    batch*  idle 64\n"
)
PS = "  PID TTY          TIME CMD\n    1 ?        00:00:03 systemd\n   77 pts/0    00:00:00 bash -l\n"
SACCT = "JobIDRaw,NodeList,ElapsedRaw,MaxRSS,AveCPU\n" + "".join(
    f"{job},n{job},{100 + job},{job}000K,00:01:00\n" for job in range(1, 6)
)
SQUEUE_FIELDS = "HOST TIME_USED PRIORITY\nn1 100 4000\nn2 120 4001\nn3 90 4002\n"
BHOSTS = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nn1 ok - 64 10 10 0 0 0\nn2 ok - 64 30 20 0 0 0\n"
PBSNODES = "vnode state OS hardware host queue mem ncpus nmics ngpus comment\nn1 free -- -- n1 -- 126gb 64 0 0 --\n"
QHOST = "HOSTNAME ARCH NCPU NSOC NCOR NTHR LOAD MEMTOT MEMUSE SWAPTO SWAPUS\nn1 lx-amd64 8 2 8 8 0.1 15G 1G 0.0 0.0\n"
SMI = "index, name, temperature.gpu, utilization.gpu [%]\n0, A100, 34, 0 %\n1, A100, 35, 0 %\n2, A100, 33, 0 %\n"
DF = "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/vda1 41152736 9 8 30% /\n"


@pytest.mark.parametrize(("text", "program"), [
    (SQUEUE, "Slurm"), (SINFO, "Slurm"), (SACCT, "Slurm"), (SQUEUE_FIELDS, "Slurm"), (PS, "ps or top"), (DF, "df"),
    (BHOSTS, "LSF"), (PBSNODES, "LSF"), (QHOST, "LSF"), (SMI, "nvidia-smi"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["judge", "import"])
def test_listings_are_no_measurements(
    text: str, program: str, command: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text)
    archive = ("--archive", str(tmp_path / "archive"))
    assert f"looks like the output of {program}" in seatrial(command, str(file), *archive, code=64).err


@pytest.mark.parametrize("head", ["name,time,nodes", "node,time,user", "NODELIST,GB_s", "host,size,avail"])
def test_words_of_listings_alone_do_not_make_one(head: str) -> None:
    rows = [",".join([f"n{row}", f"{100 + row / 7:.3f}", f"{row + 3.5}"][: head.count(",") + 1]) for row in range(5)]
    try:
        read_fleet_table("\n".join([head, *rows]), head.split(",")[1])
    except UsageError as error:
        assert "looks like" not in str(error)


def test_one_low_node_with_one_run_each_is_named_and_all_are_shown(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "a.csv"
    file.write_text("node,rate\nn1,100\nn2,101\nn3,80\nn4,100.5\n")
    out = seatrial("judge", str(file), code=2).out
    assert out.startswith("INCONCLUSIVE  n3 20 % below its peers; 2 more runs would decide\n")
    assert all(f"\nn{node} " in out for node in range(1, 5))


@pytest.mark.parametrize("part", ["gpu", "device", "local_rank", "socket"])
def test_a_part_that_is_slower_on_all_nodes_is_not_slow(part: str, tmp_path: Path, seatrial: Seatrial) -> None:
    """The second socket, or the GPUs behind a shared switch, reach less everywhere."""
    table = long_table(
        {"node": nodes(10), part: ["0", "1"], "run": list("123")},
        lambda row: 100.0 if row[part] == "0" else 80.0,
        slow(0.85, node="n03", **{part: "1"}),
        value="GB_s",
    )
    verdict, data = judged(seatrial, tmp_path, table)
    assert (verdict, data["slow"]) == ("SLOW", [f"n03 {part.removeprefix('local_')} 1"])


def test_the_time_of_a_run_is_not_its_number(tmp_path: Path, seatrial: Seatrial) -> None:
    """HPL prints N, NB, P, Q, time and rate: N is the condition, and the time does not distinguish repeated rows."""
    table = long_table(
        {"node": nodes(10), "N": ["20000", "40000"], "run": list("123")},
        lambda row: 50.0 + int(row["N"]) / 1e3,
        slow(0.85, node="n03", N="40000"),
        value="Gflops",
        more=lambda row: {"NB": "192", "Time": f"{100 + int(row['node'][1:]) * 1.37 + int(row['run']) / 7:.2f}"},
    )
    verdict, data = judged(seatrial, tmp_path, table, "--column", "Gflops")
    assert (verdict, data["slow"], data["columns"][0]["runs"]) == ("SLOW", ["n03"], ["run"])
    with pytest.raises(UsageError, match="values of run 1"):
        read_fleet_table(table.replace(",40000,", ",20000,"), "Gflops")


def test_a_condition_with_unlike_plans_of_the_nodes_is_asked() -> None:
    gaps = [{"node": f"n{node:02d}", "G": size} for node, size in zip(range(1, 10), "4848428424", strict=False)]
    text = long_table({"node": nodes(10), "G": list("248")}, lambda row: float(row["G"]), left_out=gaps)
    with pytest.raises(UsageError, match="values of a node follow column 'G', which is not used"):
        read_fleet_table(text)
    strata = read_fleet_table(text, by=["G"]).strata
    assert sorted(stratum.text for stratum in strata) == ["G 2", "G 4", "G 8"]


def test_identifiers_of_rows_do_not_hide_conditions() -> None:
    """Each row has a time of its own, and no column has the kernel."""
    rows = tables.stream_kernels(kernel=False, iteration=False).splitlines()
    stamped = [rows[0] + ",timestamp", *(f"{row},{1_700_000_000 + 7 * place}" for place, row in enumerate(rows[1:]))]
    with pytest.raises(UsageError, match="20 rows of each node differ on all nodes alike"):
        read_fleet_table("\n".join(stamped), "GB_s")


def test_metrics_of_superbench_with_a_number_for_each_gpu(tmp_path: Path, seatrial: Seatrial) -> None:
    heads = [f"gpu-copy-bw/{way}:{gpu}" for way in ("h2d", "d2h") for gpu in range(4)]
    rows = [
        f"n{node:02d}," + ",".join(
            f"{(25 if 'h2d' in head else 21) + (node * 3 + place) % 5 / 40 - 6 * ((node, place) == (4, 6)):.3f}"
            for place, head in enumerate(heads)
        )
        for node in range(1, 13)
    ]  # fmt: skip
    verdict, data = judged(seatrial, tmp_path, "\n".join([",".join(["node", *heads]), *rows]))
    assert (verdict, data["suspected"]) == ("INCONCLUSIVE", ["n04 part 2"])
    assert data["named"][0]["where"] == ["metric gpu-copy-bw/d2h"]


def test_facts_are_those_of_the_node_of_a_slow_part(tmp_path: Path, seatrial: Seatrial) -> None:
    """Two GPUs of two nodes are slow, and these nodes alone have another MTU."""
    table = tables.per_gpu(lambda row: 0.8 if (row["node"], row["gpu"]) in (("n02", "1"), ("n05", "6")) else 1.0)
    streams = tmp_path / "facts"
    streams.mkdir()
    for name in nodes(12):
        text = Cluster(nodes=(name,)).facts_text(name)
        odd = name in ("n02", "n05")
        (streams / f"{name}.facts").write_text(text.replace("mtu|1500", "mtu|9000") if odd else text)
    verdict, data = judged(seatrial, tmp_path, table, "--facts", str(streams))
    assert (verdict, sorted(data["slow"])) == ("SLOW", ["n02 gpu 1", "n05 gpu 6"])
    assert data["suspects"][0]["nodes"] == ["n02", "n05"]


@pytest.mark.parametrize("value", ["debit_Go_s", "images_s", "creations_s"])
def test_a_rate_per_second_in_other_words_hides_no_slow_node(value: str, seatrial: Seatrial) -> None:
    """A final `s` is the unit of a time or of a rate: a slow node does not pass for a fast one."""
    slow = long_table(
        {"serveur": nodes(12), "taille": ["1", "2", "4"], "run": ["1", "2", "3"]},
        lambda row: 10.0 * int(row["taille"]),
        lambda row: 0.8 if (row["serveur"], row["taille"]) == ("n03", "4") else 1.0,
        value=value,
    )
    assert seatrial("judge", Text(slow, "a.csv"), code=1).out.startswith("SLOW  n03 20 % below its peers in taille 4")


def test_a_node_far_ahead_under_one_condition_is_shown_with_the_direction(tmp_path: Path, seatrial: Seatrial) -> None:
    table = long_table(
        {"node": nodes(12), "size": ["8", "1024"], "run": ["1", "2", "3"]},
        lambda row: 1.0 + int(row["size"]) / 1e3,
        lambda row: 0.7 if (row["node"], row["size"]) == ("n03", "1024") else 1.0,
        value="latency_us",
    )
    assert seatrial("judge", Text(table, "a.csv"), "--json").object["data"]["ahead"] == ["n03"]
    shown = seatrial("judge", tmp_path / "a.csv").out
    assert shown.startswith("NOTE  n03 far lower than 11 nodes alike in size 1024; a loss of ")
    assert "Lower is better; n03 is far lower than the others in size 1024." in shown


@pytest.mark.parametrize("others", [{"run": ["1", "2", "3"]}, {"run": ["0", "1", "2"], "size": ["64", "256"]}])
def test_parts_in_columns_may_be_beside_runs_and_conditions(
    others: dict[str, list[str]], tmp_path: Path, seatrial: Seatrial
) -> None:
    """Columns GPU0 to GPU3 are parts of a node where the other columns are no measurements."""
    long = long_table(
        {"node": nodes(10), **others, "gpu": list("0123")},
        lambda _: 1500.0,
        lambda row: 0.8 if (row["node"], row["gpu"]) == ("n04", "3") else 1.0,
    )
    rows = [line.split(",") for line in long.split()[1:]]
    wide: dict[tuple[str, ...], list[str]] = {}
    for *cells, _, value in rows:
        wide.setdefault(tuple(cells), []).append(value)
    head = ",".join(["node", *others, "GPU0", "GPU1", "GPU2", "GPU3"])
    lines = [",".join([*cells, *values]) for cells, values in wide.items()]
    (tmp_path / "a.csv").write_text("\n".join([head, *lines]))
    assert seatrial("judge", tmp_path / "a.csv", code=1).out.startswith("SLOW  n04 gpu 3 20 % below its peers")


def test_numbers_that_count_rows_are_no_values() -> None:
    with pytest.raises(UsageError, match="no column of values"):
        read_fleet_table("name,index,model\na,0,x\nb,1,x\nc,2,x\n")
    assert read_fleet_table("name,steps\na,0\nb,1\nc,2\n").roles.value == "steps"
