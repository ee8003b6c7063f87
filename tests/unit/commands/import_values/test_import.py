"""`seatrial import`: what it reads, what it refuses, and that other commands work on the runs that it writes."""

import errno
import hashlib
import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seatrial.archive import contents
from seatrial.archive.run_values import printed_values
from seatrial.files.writing import rename_folder
from seatrial.frame.command_line import run
from tests.support.benchmark_outputs import hpl, imb, osu, stream
from tests.support.command_line import Seatrial
from tests.support.fleet_tables import nccl_summary, per_gpu
from tests.support.paths import DATA

PERFLOG_4 = """\
result|job_completion_time|descr|environ|job_nodelist|num_tasks|partition|system|name|Triad_value|Triad_unit|Triad_ref|\
Triad_lower|Triad_upper|wait_value|wait_unit|wait_ref|wait_lower|wait_upper|
pass|2026-10-02T10:00:00|d|gnu|["n1"]|4|gpu|daint|StreamTest|120.5|MB/s|110|-0.1|null|3.5|s|0|null|null|
pass|2026-10-01T10:00:00|d|gnu|["n1"]|4|gpu|daint|StreamTest|121.5|MB/s|110|-0.1|null|3.0|s|0|null|null|
fail|2026-10-03T10:00:00|d|gnu|["n1"]|4|gpu|daint|StreamTest|null|MB/s|110|-0.1|null|null|s|0|null|null|
"""
LINE_3 = "StreamTest on daint:gpu using PrgEnv-gnu|jobid=823|Copy={}|ref=25200 (l=-0.05, u=0.05)|MB/s\n"
PERFLOG_3 = "".join(
    f"2026-10-0{day}T13:46:05|reframe 3.9.0|" + LINE_3.format(value) for day, value in ((1, 24031.4), (2, 24131.4))
)


def imported(archive: Path, *words: str) -> int:
    return run(["import", *words, "--archive", str(archive)])


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(capsys.readouterr().out)["data"]
    return data


def fleet_csv(runs: int, slow: str = "", factor: float = 1.0, seed: int = 1) -> str:
    chance = np.random.default_rng(seed)
    rows = ["node,run,triad"]
    for number in range(1, runs + 1):
        for node in range(1, 11):
            value = 30000 * (1 + chance.normal(0, 0.003)) * (factor if f"n{node}" == slow else 1)
            rows.append(f"n{node},{number},{value:.1f}")
    return "\n".join(rows) + "\n"


def test_a_fleet_becomes_a_run_for_each_run_with_its_file_and_checksum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, text = tmp_path / "archive", fleet_csv(3)
    file = written(tmp_path, "stream.csv", text)
    assert imported(archive, file, "--column", "triad", "--unit", "B/s", "--name", "old", "--json") == 0
    data = found(capsys)
    assert data["runs"] == ["old-0001", "old-0002", "old-0003"]
    assert data["files"][0]["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert data["metrics"] == [{"metric": "triad", "unit": "B/s", "better": "higher", "values": 30}]
    assert run(["report", "old-0001", "--archive", str(archive), "--json"]) == 0
    assert found(capsys)["files"][0]["file"] == file
    assert imported(archive, file, "--column", "triad", "--name", "old") == 64
    assert "There is a run of that name with other values" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_an_import_that_is_ended_leaves_no_half_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    archive = tmp_path / "archive"
    words = (written(tmp_path, "stream.csv", fleet_csv(4)), "--column", "triad", "--unit", "B/s", "--name", "old")
    real, calls = rename_folder, itertools.count()

    def broken_off(*given: Any) -> None:
        if next(calls) == 4:
            raise error
        real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(contents, "rename_folder", broken_off)
        assert imported(archive, *words) == 2
    assert {path.name for path in archive.iterdir()} == {"old-0001", "old-0002"}
    assert imported(archive, *words) == 0
    assert len([*archive.iterdir()]) == 4


def test_a_killed_import_continues_and_imports_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive"
    words = (written(tmp_path, "stream.csv", fleet_csv(4)), "--column", "triad", "--unit", "B/s", "--name", "old")
    real, calls = rename_folder, itertools.count()

    def killed(*given: Any) -> None:
        if next(calls) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given)

    if (child := os.fork()) == 0:
        monkeypatch.setattr(contents, "rename_folder", killed)
        imported(archive, *words)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert len([*archive.iterdir()]) == 3, "two runs, and what was left of a third"
    before = {path: path.stat().st_ino for path in archive.glob("*/run.json")}
    assert imported(archive, *words, "--json") == 0
    data = found(capsys)
    assert data["already"] == ["old-0001", "old-0002"]
    assert data["runs"] == ["old-0001", "old-0002", "old-0003", "old-0004"]
    assert {path.name for path in archive.iterdir()} == {*data["runs"]}
    assert before.items() <= {path: path.stat().st_ino for path in archive.glob("*/run.json")}.items()
    assert imported(archive, *words) == 0
    assert "All of them were in the archive already" in capsys.readouterr().out


def test_another_residual_at_the_same_rate_is_not_slower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "archive"
    for number, residual in enumerate(("3.5e-03", "3.5e-03", "5.1e-03", "5.1e-03")):
        file = written(tmp_path, f"hpl{number}.out", hpl(residual=residual))
        assert imported(archive, file, "--name", f"r{number}") == 0
    assert "hpl residual" not in capsys.readouterr().out
    assert run(["compare", "r0-0001,r1-0001", "r2-0001,r3-0001", "--archive", str(archive)]) == 0
    assert capsys.readouterr().out.startswith("SAME  hpl WR11C2R4 53.3 ± 0.0 → 53.3 ± 0.0 Gflop/s, within 2.0 %: ")


def test_the_json_of_fio_is_recognised_as_an_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "benchmarks" / "fio-3.33.json")
    assert imported(tmp_path / "archive", file, "--json") == 0
    assert found(capsys)["files"][0]["form"] == "fio"


def test_a_missing_value_is_named_and_the_others_keep_their_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "archive"
    file = written(tmp_path, "a.csv", "node,run,triad\nn1,1,10\nn2,1,nan\nn1,2,11\nn2,2,21\n")
    assert imported(archive, file, "--name", "a") == 0
    assert "\nWithout a value: n2 in 1 run.\n" in capsys.readouterr().out
    assert run(["report", "a-0001", "--archive", str(archive), "--json"]) == 0
    assert found(capsys)["nodes"] == ["n1"]
    assert run(["report", "a-0002", "--archive", str(archive), "--json"]) == 0
    assert found(capsys)["nodes"] == ["n1", "n2"]
    assert imported(archive, file, "--name", "b", "--json") == 0
    assert found(capsys)["without_value"] == ["n2"]
    assert imported(archive, written(tmp_path, "c.csv", fleet_csv(2)), "--name", "c") == 0
    assert "Without a value" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_is_called_empty(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(tmp_path / "archive", written(tmp_path, "a.out", text)) == 64
    assert "a.out is empty. Leave this file out" in capsys.readouterr().err


def test_two_columns_of_values_are_two_metrics_and_not_compared(tmp_path: Path, seatrial: Seatrial) -> None:
    archive, text = tmp_path / "archive", fleet_csv(2)
    for name in ("triad", "dgemm"):
        file = written(tmp_path, f"{name}.csv", text.replace("triad", name))
        assert imported(archive, file, "--unit", "B/s", "--name", name) == 0
    ran = seatrial("compare", "triad-0001", "dgemm-0001", "--archive", archive, code=64)
    assert "(metrics: triad [B/s] and dgemm [B/s])" in ran.err
    file = written(tmp_path, "triad.csv", text)
    assert imported(archive, file, "--unit", "B/s", "--better", "lower", "--name", "less") == 0
    ran = seatrial("compare", "triad-0001", "less-0001", "--archive", archive, code=64)
    assert "(metrics: triad [B/s] and triad [B/s] (lower is better))" in ran.err


def test_compare_names_the_slow_node_of_two_imports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "archive"
    for name, text in (("a", fleet_csv(4)), ("b", fleet_csv(4, "n3", 0.9, seed=2))):
        assert imported(archive, written(tmp_path, f"{name}.csv", text), "--unit", "B/s", "--name", name) == 0
    capsys.readouterr()
    first, second = (",".join(f"{name}-000{number}" for number in (1, 2, 3, 4)) for name in "ab")
    assert run(["compare", first, second, "--archive", str(archive), "--json"]) == 1
    data = found(capsys)
    assert (data["worst"]["subject"], data["worst"]["outcome"]) == ("node:n3", "slower")
    assert data["metrics"][0]["metric"] == "triad [B/s]"
    assert data["worst"]["ratio"]["low"] < 0.9 < data["worst"]["ratio"]["high"]
    assert run(["compare", "--plan", "triad", "--archive", str(archive), "--runs", first]) == 0
    assert run(["baseline", "set", "good", first, "--archive", str(archive)]) == 0
    assert run(["compare", "good", second, "--archive", str(archive)]) == 1
    assert run(["judge", "--as", "fleet", "--runs", second, "--archive", str(archive)]) == 1
    assert "SLOW  n3 " in capsys.readouterr().out
    assert run(["judge", "--as", "fleet", "--runs", second, "x.csv", "--archive", str(archive)]) == 64


def test_a_series_becomes_a_run_for_each_time_and_its_change_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = np.random.default_rng(3)
    days = [f"2026-{month:02d}-{day:02d}" for month in (9, 10) for day in range(1, 16)]
    levels = np.repeat([0.76, 0.61], 15) * (1 + chance.normal(0, 0.01, 30))
    rows = "".join(f"{day},{level:.4f}\n" for day, level in zip(days, levels, strict=True))
    archive = tmp_path / "archive"
    assert imported(archive, written(tmp_path, "hpl.csv", f"date,tflops\n{rows}"), "--name", "hpl") == 0
    capsys.readouterr()
    assert run(["history", "tflops", "--archive", str(archive), "--json"]) == 1
    change = found(capsys)["histories"][0]["changes"][0]
    assert change["ratio"] == pytest.approx(0.8, abs=0.02)
    arguments = ["judge", "--as", "series", "--runs", "..", "--archive", str(archive), "--better", "higher"]
    assert run(arguments) == 1
    assert "since value 15 (2026-10-01T00:00:00Z)" in capsys.readouterr().out
    assert run(["judge"]) == 64


@pytest.mark.parametrize(
    ("text", "metrics", "runs"),
    [
        (PERFLOG_4, {"StreamTest Triad (daint:gpu gnu)": "higher", "StreamTest wait (daint:gpu gnu)": "lower"}, 2),
        (PERFLOG_3, {"StreamTest Copy (daint:gpu PrgEnv-gnu)": "higher"}, 2),
    ],
)
def test_perflogs_of_reframe(
    text: str, metrics: dict[str, str], runs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "archive"
    assert imported(archive, written(tmp_path, "StreamTest.log", text), "--json", "--name", "r") == 0
    data = found(capsys)
    assert {one["metric"]: one["better"] for one in data["metrics"]} == metrics
    assert len(data["runs"]) == runs
    assert run(["history", "StreamTest", "--archive", str(archive), "--json"]) == 2
    history = found(capsys)["histories"][0]
    assert [one["started"] for one in history["values"]] == sorted(one["started"] for one in history["values"])


def test_folders_of_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for number, seconds in enumerate((100.0, 101.0, 99.5), 1):
        written(outputs, f"hpl-{number}.out", hpl(time=seconds))
    written(outputs, "latency.out", osu())
    written(outputs, "n7-imb-1n-55-iter-1.out", imb())
    archive = tmp_path / "archive"
    assert imported(archive, str(outputs), "--json", "--name", "o") == 0
    data = found(capsys)
    assert {one["form"] for one in data["files"]} == {"hpl", "osu", "imb"}
    assert len(data["runs"]) == 5
    assert set(data["nodes"]) == {"all", "n7"}
    assert run(["history", "hpl", "--archive", str(archive), "--json"]) == 2
    assert any(len(one["values"]) == 3 for one in found(capsys)["histories"])


def test_outputs_named_by_node_and_run_are_one_run_for_each_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for node in ("n1", "n2", "n3"):
        for number in (1, 2):
            written(outputs, f"{node}-stream-1n-7{number}-iter-{number}.out", stream())
    written(outputs, "slurm-7.err", "srun: job 7 queued\nsrun: job 7 has been allocated\n")
    written(outputs, "empty.err", "")
    archive = tmp_path / "archive"
    assert imported(archive, str(outputs), "--json", "--name", "s") == 0
    data = found(capsys)
    assert (data["runs"], data["nodes"], len(data["files"])) == (["s-0001", "s-0002"], ["n1", "n2", "n3"], 6)
    words = ["judge", "--as", "fleet", "--runs", "s-0001,s-0002", "--column", data["metrics"][0]["metric"]]
    assert run([*words, "--archive", str(archive), "--json"]) == 2
    assert [len(node["values"]) for node in found(capsys)["nodes"]] == [2, 2, 2]
    assert imported(archive, str(outputs / "slurm-7.err")) == 64


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        ({"a.csv": "node,value\nn1,0\nn2,3\n"}, (), "value of n1 is 0"),
        ({"a.json": '{"n1": [1, 2], "n2": [3]}'}, (), "may be of nodes or series"),
        ({"a.csv": "run01,100\nrun02,101\nrun03,99\n"}, (), "may be of nodes or series"),
        ({"a.csv": "time,rate\n1,5\n2,-1\n"}, (), "rate of all is -1"),
        ({"a.out": osu()[:400]}, (), "is not complete"),
        ({"a.out": hpl(outcome="FAILED")}, (), "is not valid"),
        ({"a.out": osu(), "b.out": osu(version="5.9")}, (), "was not measured alike: version '5.6.2'"),
        ({"a.log": PERFLOG_4.replace("|4|gpu", "|8|gpu", 1)}, (), "unlike numbers of tasks: 4 and 8"),
        ({"a.log": PERFLOG_3 + PERFLOG_3.replace("MB/s", "GB/s").replace("-10-", "-11-")}, (), "unit 'MB/s'"),
        ({"a.csv": "node,value\nn1,1\n"}, ("--as", "spreadsheet"), "--as 'spreadsheet' is not known"),
        ({"a.csv": "node,value\nn1,1\n"}, ("--better", "faster"), "'faster' is not one of"),
    ],
)
def test_unlike_or_unusable_input_is_refused_and_nothing_is_written(
    files: dict[str, str], words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [written(tmp_path, name, text) for name, text in files.items()]
    assert imported(tmp_path / "archive", *paths, *words) == 64
    assert said in capsys.readouterr().err
    assert not list((tmp_path / "archive").glob("*"))


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("".join(f"n{node:02},{100 + node}\n" for node in range(1, 13)), 12),
        ("".join(f"n{node:02}: Triad {100 + node} GB/s\n" for node in range(1, 13)), 12),
        ("time,n1,n2\n" + "".join(f"2026-09-01 {hour:02}:00,5.{hour},6.{hour}\n" for hour in range(12)), 1),
        ("commit,rate\na1f,5\nb2c,9\n", 1),
    ],
)
def test_a_table_is_taken_for_what_judge_takes_it_for(
    text: str, subjects: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(tmp_path / "archive", written(tmp_path, "a.csv", text), "--json") == 0
    data = found(capsys)
    assert len(data["nodes"]) == subjects
    assert (len(data["runs"]) == 1) is (subjects > 1)


def test_an_output_whose_numbers_are_not_valid_is_not_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join([*osu().splitlines(keepends=True)[:-1], "4194304     inf\n"])
    assert imported(tmp_path / "archive", written(tmp_path, "n1.out", text)) == 64
    assert "The output is not valid" in capsys.readouterr().err
    assert not (tmp_path / "archive").exists()


SAME_SECOND_HEAD = "job_completion_time|version|info|jobid|num_tasks|GF_value|GF_unit|display_name|system|env_vars"


def same_second(*rows: tuple[str, str, str]) -> str:
    """A perflog of jobs that ended in one second: job, value, number of threads."""
    lines = [
        f'2026-08-23T11:36:02|reframe 4.3.2|Test /a|{job}|2|{value}|Gflops|Test|c|{{"OMP_NUM_THREADS": "{threads}"}}'
        for job, value, threads in rows
    ]
    return "\n".join([SAME_SECOND_HEAD, *lines, ""])


def test_jobs_of_one_second_are_runs_and_unlike_settings_are_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = same_second(("11", "1.23", "2"), ("9", "1.31", "2"), ("12", "0.67", "1"))
    assert imported(tmp_path / "archive", written(tmp_path, "a.log", text), "--name", "a", "--json") == 0
    data = found(capsys)
    assert data["runs"] == ["a-0001", "a-0002"]
    assert [(each["metric"], each["values"]) for each in data["metrics"]] == [
        ("Test GF (c) OMP_NUM_THREADS=2", 2),
        ("Test GF (c) OMP_NUM_THREADS=1", 1),
    ]
    text = same_second(("11", "1.23", "2"), ("11", "1.24", "2"))
    assert imported(tmp_path / "other", written(tmp_path, "b.log", text)) == 64
    assert "twice, of job 11. Remove the line" in capsys.readouterr().err


def test_conditions_and_parts_of_a_table_are_metrics_and_not_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "nccl.csv", nccl_summary())
    archive = tmp_path / "archive"
    assert imported(archive, file, "--column", "peak_busbw_GBs", "--name", "a", "--json") == 0
    data = found(capsys)
    assert (data["runs"], len(data["metrics"]), len(data["nodes"])) == (["a-0001"], 8, 10)
    assert data["metrics"][0]["metric"] == "peak_busbw_GBs test=all_gather_perf G=4"
    assert imported(archive, written(tmp_path, "gpus.csv", per_gpu()), "--name", "b") == 0
    out = capsys.readouterr().out
    assert out.startswith("3 runs: b-0001 to b-0003")
    assert "h2d_GB_s gpu 7" in out
    assert "Parts of a node: 'gpu'." in " ".join(out.split())
    assert imported(archive, file, "--column", "G", "--name", "c") == 64
    assert "'G' is a condition, not a measurement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("kernel,HPL TFLOP/s\nold,0.7636±0.0008\nnew,0.6096±0.0052\n", [0.7636, 0.6096]),
        ("date,HPL TFLOP/s\n2016-01-01,0.7636 ± 0.0008\n2016-02-01,6.096e-1+-0.0052\n", [0.7636, 0.6096]),
        ("date,HPL TFLOP/s\n2016-01-01,0.7636 +/- 0.0008\n2016-02-01,\n", [0.7636]),
    ],
)
def test_of_a_mean_with_its_deviation_the_mean_is_the_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, values: list[float]
) -> None:
    archive = tmp_path / "archive"
    assert imported(archive, written(tmp_path, "hpl.csv", text), "--name", "r") == 0
    read = [value.value for folder in sorted(archive.glob("r-*")) for value in printed_values(folder)]
    assert read == values
    capsys.readouterr()
    assert imported(archive, written(tmp_path, "bad.csv", "date,HPL\na,0.76±x\nb,0.6\n")) == 64


def test_all_benchmarks_of_a_file_are_imported_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = written(tmp_path, "whole.out", stream() + osu())
    assert imported(tmp_path / "runs", whole, "--json") == 0
    names = {metric["metric"].split()[0] for metric in found(capsys)["metrics"]}
    assert names == {"osu", "stream"}
    cut = written(tmp_path, "cut.out", stream().partition("Solution")[0] + osu())
    assert imported(tmp_path / "others", cut) == 64
    assert "The output of STREAM in it is not complete" in capsys.readouterr().err
    assert not (tmp_path / "others").exists()
