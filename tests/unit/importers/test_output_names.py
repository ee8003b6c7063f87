"""Files of a folder of outputs: which node and run each is of, which should have an output, and runs within one."""

from pathlib import Path

import pytest

from seatrial.benchmarks.node_outputs import table_of_outputs
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.headed_text import prefixed
from seatrial.importers.output_names import lines_of_files, place_of, places_of, without_output
from tests.support.benchmark_outputs import hpl, stream
from tests.support.command_line import Seatrial

FAILED = "./stream_c.exe: cannot execute: Permission denied\n"


@pytest.mark.parametrize(
    ("name", "node", "run"),
    [
        ("n3-stream.out", "n3", 0),
        ("stream_n3.log", "n3", 0),
        ("n3-stream-run2.log", "n3", 2),
        ("n3-stream-1n-226-iter-1.out", "n3", 1),
        ("n3.txt", "n3", 0),
        ("stream_cn07_run2.log", "cn07", 2),
        ("cn07-iter3-stream.out", "cn07", 3),
        ("stream_r01_2.log", "r01_2", 0),
        ("n05-osu_bw.out", "n05", 0),
        ("osu_mbw_mr-n05.log", "n05", 0),
        ("n05-osu_get_bw-run2.txt", "n05", 2),
        ("osu_n05.log", "n05", 0),
        ("osu_bw_n05.log", "n05", 0),
        ("osu_cn_05.log", "cn_05", 0),  # what follows may be a part of the name
        ("cn_osu_a.log", "cn_osu_a", 0),
        ("osu_bwn05.log", "bwn05", 0),
        ("osun05.log", "osun05", 0),
    ],
)
def test_names(name: str, node: str, run: int) -> None:
    assert place_of(name, "osu" if "osu" in name else "stream") == (node, run)


@pytest.mark.parametrize("text", [FAILED, "", "\n", "srun: error: Unable to create step\n", "slurmstepd: started\n"])
@pytest.mark.parametrize("form", ["stream-cn{}.txt", "cn{}_stream.out", "cn{}-stream-1n-226-iter-1.out", "cn{}.log"])
def test_a_node_without_an_output_has_no_value(form: str, text: str) -> None:
    outputs = {form.format(node): stream() for node in range(1, 9) if node != 7}
    table = table_of_outputs(outputs | {form.format(7): text})
    assert table is not None
    assert (table.without_value, table.failed) == (("cn7",), ("cn7",))
    assert form.format(7) in table.left_out[0]


def test_outputs_of_another_program_say_the_same() -> None:
    died = "mpirun noticed that process rank 3 with PID 71 on node cn4 exited on signal 9 (Killed).\n"
    table = table_of_outputs({f"hpl.cn{node}.log": died if node == 4 else hpl() for node in range(1, 7)})
    assert table is not None
    assert table.failed == ("cn4",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stream-cn1.err", FAILED),
        ("stream-cn1-stderr.txt", FAILED),
        ("job.sh", "srun ./stream || echo failed\n"),
        ("README.txt", "What to do if a node failed.\n"),
        ("stream-nodes.txt", "cn1\ncn2\n"),
        ("stream.err", ""),
    ],
)
def test_other_files_are_left_alone(name: str, text: str) -> None:
    assert without_output(["stream-cn1.txt", "stream-cn2.txt"], {name: text}, "stream") == {}


@pytest.mark.parametrize("lost", ["stream-gamma.txt", "stream-login.txt"])
def test_names_of_letters_alone(lost: str) -> None:
    assert without_output(["stream-alpha.txt", "stream-beta.txt"], {lost: FAILED}, "stream").keys() == {lost}
    assert without_output(["alpha.txt", "beta.txt"], {"gamma.txt": ""}, "stream") == {"gamma.txt": "it is empty"}


def test_each_output_in_a_file_is_a_run() -> None:
    slow, usual = stream(triad_s=0.02), stream(triad_s=0.01)
    table = table_of_outputs({"stream-cn1.txt": usual * 3, "stream-cn2.txt": usual + slow + slow})
    assert table is not None
    assert table.values == {"cn1": [24e9] * 3, "cn2": [24e9, 12e9, 12e9]}


def test_different_work_in_a_file_is_no_run() -> None:
    table = table_of_outputs({f"cn{node}.txt": hpl(order=20000) + hpl(order=30000) for node in (1, 2)})
    assert table is not None
    assert [len(values) for values in table.values.values()] == [1, 1]


@pytest.mark.parametrize(("of", "lacking"), [(3, ["n1"]), (2, [])])
def test_an_output_without_a_result_that_nearly_all_others_have_was_cut_off(of: int, lacking: list[str]) -> None:
    bandwidth, latency = "tcp_bw:\n    bw  =  9.41 GB/sec\n", "tcp_lat:\n    latency  =  12.1 us\n"
    table = table_of_outputs({f"n{node}-qperf.out": bandwidth + latency * (node > 1) for node in range(1, of + 1)})
    assert table is not None
    assert [*table.failed] == lacking
    assert len(table.values) == of


@pytest.mark.parametrize(
    ("names", "benchmark", "nodes"),
    [
        (("hpl_node03.out", "hpl_node04.out"), "", ("node03", "node04")),  # before the lines that grep found
        (("hpl_gpu_node03.out", "hpl_gpu_node04.out"), "hpl", ("node03", "node04")),
        (("node03_stream_triad.log", "node04_stream_triad.log"), "stream", ("node03", "node04")),
        (("2026-11-03_xhpl_N92160_cn-03.out", "2026-11-03_xhpl_N92160_cn-04.out"), "hpl", ("cn-03", "cn-04")),
        (("cn_03.out", "cn_04.out"), "hpl", ("cn_03", "cn_04")),  # numbers alone are no names
        (("gpu-node03.out", "gpu-node04.out"), "hpl", ("gpu-node03", "gpu-node04")),
        (("hpl_node03.out",), "", ("hpl_node03",)),
    ],
)
def test_what_all_names_have_is_no_part_of_the_node(
    names: tuple[str, ...], benchmark: str, nodes: tuple[str, ...]
) -> None:
    places = places_of(names, benchmark)
    assert tuple(places[name].node for name in names) == nodes


def test_a_path_that_grep_found_is_of_the_node_in_it_whatever_else_has_a_number() -> None:
    text = "".join(f"results/stream_omp64_node{node:02d}.log:Triad: {371000 + node}.5\n" for node in range(1, 6))
    assert prefixed(text).startswith("node01: Triad: 371001.5\nnode02: ")


@pytest.mark.parametrize(
    ("names", "nodes"),
    [
        (("stor05-seqread.log", "stor06-seqread.log"), {"stor05", "stor06"}),
        (("n1-ib.log", "n2-eth.log"), {"n1-ib", "n2-eth"}),
        (("n1-a.log",), {"n1-a"}),
        (("rack-a.log", "rack-b.log"), {"rack-a", "rack-b"}),
    ],
)
def test_what_all_names_end_in_behind_a_hyphen_is_a_test(names: tuple[str, ...], nodes: set[str]) -> None:
    assert {place.node for place in places_of(names).values()} == nodes


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (("hpl-r1n1-1.out", "hpl-r1n1-2.out", "hpl-r1n2-1.out", "hpl-r1n2-2.out"), ("r1n2", 2)),
        (("c-0-1_1.log", "c-0-1_2.log", "c-0-2_1.log", "c-0-2_2.log"), ("c-0-2", 2)),
        (("c-0-1.log", "c-0-2.log", "c-1-1.log", "c-1-2.log"), ("c-1-2", 0)),  # racks
        (("r1n1-1.out", "r1n1-2.out", "r1n2-1.out", "r1n2-7.out"), ("r1n2-7", 0)),
        (("n1/hpl_10-01.out", "n2/hpl_10-07.out"), ("n2", 0)),
        (("n1/hpl.run1.out", "n1/hpl.run2.out", "n2/hpl.run1.out", "n2/hpl.run2.out"), ("n2", 2)),
        (("rack1/n1.out", "rack2/n7.out"), ("n7", 0)),
        (("run1/n1.out", "run2/n7.out"), ("n7", 0)),
    ],
)
def test_runs_and_folders_in_names(names: tuple[str, ...], place: tuple[str, int]) -> None:
    assert places_of(names, "hpl")[names[-1]] == place


SYSBENCH = "sysbench 1.0.20\n\nCPU speed:\n    events per second: {0:8.2f}\n\nLatency (ms):\n         avg:   {0:9.2f}\n"


def test_files_of_a_program_that_is_no_benchmark_are_lines_of_their_nodes() -> None:
    files = {f"sysbench_web0{node}.log": SYSBENCH.format(60000 + 10 * node) for node in range(1, 5)}
    lines = lines_of_files(files)
    assert lines.splitlines()[0] == "web01: sysbench 1.0.20"
    assert read_fleet_table(lines).values["web03"] == [60030.0]
    assert lines_of_files({**files, "notes.txt": "remember the milk\n"}) == ""
    assert lines_of_files({**files, "sysbench_database.log": SYSBENCH.format(1)}) == ""
    assert lines_of_files({name: stream() for name in files}) == ""


@pytest.mark.parametrize("folder", [True, False])
def test_a_folder_of_such_files_and_the_files_are_compared(folder: bool, tmp_path: Path, seatrial: Seatrial) -> None:
    for node in range(1, 9):
        rate = 60000 * (0.7 if node == 4 else 1) + 10 * node
        (tmp_path / f"web0{node}.log").write_text(SYSBENCH.format(rate))
    ran = seatrial("judge", *([tmp_path] if folder else sorted(tmp_path.iterdir())), code=2)
    assert ran.out.startswith("INCONCLUSIVE  web04 30 % below its peers")
