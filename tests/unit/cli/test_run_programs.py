"""seatrial bench run of benchmarks without Debian packages: a program on PATH that prints a known output stands in."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.frame.command_line import run
from tests.support import benchmark_outputs as outputs
from tests.support.builders import Cluster
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed
from tests.support.launchers import use_launcher
from tests.support.program_launcher import ProgramLauncher


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """First on PATH; the cluster has two nodes."""
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1", "n2"))))
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def program(folder: Path, name: str, text: str, shown: str = "") -> None:
    """A program that writes its arguments to `NAME.args`, and the text to standard output or into a file."""
    (folder / f"{name}.text").write_text(text)
    into = f' >"{shown}"' if shown else ""
    (folder / name).write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >"{folder / name}.args"\ncat "{folder / name}.text"{into}\n'
    )
    (folder / name).chmod(0o755)


def carried_out(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert run(["bench", "run", *words, "--json"]) == code, capsys.readouterr()
    return parsed(capsys.readouterr().out)


def up_to(bytes_per_s: float) -> tuple[str, str]:
    """A limit in place of that of the nodes' Ethernet, which these outputs are far above."""
    return "--limit", f"bandwidth_bytes_per_s={bytes_per_s}"


def test_a_bandwidth_above_the_path_between_two_nodes_is_invalid(
    bin_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(bin_folder, "IMB-MPI1", outputs.imb())
    report = carried_out(capsys, "imb", code=1)
    assert {gate["kind"] for gate in report["breaches"]} == {"above-limit"}
    assert report["references"] == ["limit"]


@pytest.mark.parametrize(
    ("name", "text", "words", "arguments"),
    [
        ("osu_latency", outputs.osu(), ["osu", "--set", "test=osu_latency"], "-m 4194304"),
        (
            "osu_mbw_mr", outputs.osu_rates(2),
            ["osu", "--set", "test=osu_mbw_mr", "--ranks", "4", "--set", "verify=1", *up_to(1.5e12)], "-m 4194304 -c",
        ),
        ("IMB-MPI1", outputs.imb(), ["imb", *up_to(5e9)], "PingPong -npmin 2 -msglog 22"),
        ("ior", outputs.ior(), ["ior", "--ranks", "16", "--set", "block=16MiB", "--set", "repetitions=1"],
         "-a POSIX -w -r -e -C -F -b 16777216 -t 1048576 -i 1 -o ior.data"),
        ("mdtest", outputs.mdtest(), ["mdtest", "--ranks", "16", "--set", "items=100"],
         "-n 100 -i 3 -u -d mdtest.files"),
        ("stream", outputs.stream(), ["stream", "--ranks", "1"], ""),
    ],
)  # fmt: skip
def test_the_program_on_path_gets_its_arguments_and_its_output_is_judged(
    bin_folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, words: list[str], arguments: str
) -> None:
    program(bin_folder, name, text)
    report = carried_out(capsys, *words)
    assert report["verdict"] == ("PASS" if "--limit" in words else "MEASURED")
    assert report["complete"]
    assert (bin_folder / f"{name}.args").read_text().strip() == arguments


def test_the_newest_report_of_hpcg_is_read(bin_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = outputs.hpcg().replace("17984512", str(16 * 104**3))
    program(bin_folder, "xhpcg", text, "HPCG-Benchmark_3.1_2026-11-23_10-00-00.txt")
    words = ["hpcg", "--node-count", "1", "--ranks", "16", "--set", "edge=104"]
    assert carried_out(capsys, *words)["verdict"] == "MEASURED"
    program(bin_folder, "xhpcg", outputs.hpcg(), "HPCG-Benchmark_3.1_2026-11-23_11-00-00.txt")
    report = carried_out(capsys, *words, code=1)
    assert [gate["kind"] for gate in report["breaches"]] == ["work-differs"]


def test_fewer_pairs_than_requested_are_invalid(bin_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(bin_folder, "osu_mbw_mr", outputs.osu_rates(1))
    report = carried_out(capsys, "osu", "--set", "test=osu_mbw_mr", "--ranks", "4", code=1)
    assert "2 pairs were requested, the output shows 1" in report["headline"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["osu", "--set", "test=osu_nothing"], "osu_nothing is not on PATH on n1. Load the module that has it"),
        (["imb", "--set", "program=IMB-NBC"], "IMB-NBC is not on PATH on n1"),
        (["hpcg"], "xhpcg is not on PATH on n1"),
    ],
)
def test_a_program_that_is_missing_is_named_with_the_module_first(
    bin_folder: Path, seatrial: Seatrial, words: list[str], says: str
) -> None:
    assert says in " ".join(seatrial("bench", "run", *words, code=2).err.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["osu", "--set", "test=../bw"], "--set test=../bw is not the name of a program"),
        (["osu", "--ranks", "4"], "osu_bw runs on two ranks, and 4 were requested"),
        (["imb", "--set", "largest=3000"], "IMB's sizes are powers of two"),
        (["hpcg", "--set", "edge=100"], "--set edge=100 is not a multiple of 8"),
        (["ior", "--set", "api=S3"], "--set api=S3 is not a valid api"),
        (["ior", "--set", "transfer=3MiB"], "is not a multiple of transfer"),
        (["ior", "--set", "block=8000TiB"], "do not fit: the scratch folder has"),
    ],
)
def test_what_is_not_possible_is_refused(bin_folder: Path, seatrial: Seatrial, words: list[str], says: str) -> None:
    for name in ("osu_bw", "IMB-MPI1", "xhpcg", "ior"):
        program(bin_folder, name, "")
    assert says in " ".join(seatrial("bench", "run", *words, code=64).err.split())
