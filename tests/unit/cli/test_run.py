"""seatrial bench run with a benchmark of the site's own: what it prints, keeps and judges again."""

import os
import re
from pathlib import Path

import pytest

from seatrial.archive.reader import read_run
from seatrial.driver.benchmark import run as benchmark_run
from tests.support.builders import Cluster
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.launchers import use_launcher
from tests.support.program_launcher import ProgramLauncher

HEAT = """
name = "heat"
mark = '^Heat'
complete = '^Done'
[metrics.solve_time_s]
pattern = 'Solved in (\\S+) ms'
unit = "ms"
better = "less"
[evidence.ranks]
pattern = 'on (\\d+) ranks'
[run]
command = ["./heat.sh", "{ranks}"]
mpi = false
"""
GOOD = "echo \"Heat on $1 ranks\"; echo 'Solved in 12.5 ms'; echo Done"


@pytest.fixture
def heat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the benchmark; its program is beside it."""
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1", "n2"))))
    program(tmp_path, "heat.sh", GOOD)
    file = tmp_path / "heat.toml"
    file.write_text(HEAT.replace("./heat.sh", str(tmp_path / "heat.sh")))
    return file


def test_it_is_run_judged_kept_and_judged_again(heat: Path, seatrial: Seatrial) -> None:
    page = heat.parent / "page.html"
    report = seatrial("bench", "run", heat, "--run", "first", "--html", str(page), "--json").data
    assert (report["kind"], report["verdict"], report["failure"]) == ("run", "MEASURED", "")
    assert [(item["metric"], item["value"]) for item in report["results"]] == [("solve_time_s", 0.0125)]
    assert report["steps"][0]["argv"] == [str(heat.parent / "heat.sh"), "1"]
    assert "Solved" not in page.read_text()
    assert "12.5 ms" in page.read_text()
    folder = heat.parent / "archive" / "first"
    assert "Solved in 12.5 ms" in (folder / "logs" / "run.out").read_text()
    assert not list((heat.parent / "archive" / f".scratch-{os.geteuid()}").iterdir()), "the scratch folder is removed"
    assert read_run(folder).steps[0].output.startswith("Heat on 1 ranks")
    heat.unlink()
    assert seatrial("report", "first", "--json").data["results"] == report["results"]


@pytest.mark.parametrize(("letters", "ends"), [(4, False), (60, True)])
def test_patterns_have_limited_time(
    heat: Path, letters: int, ends: bool, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    """Nested repetitions double the time with each letter that does not match; the run is kept."""
    monkeypatch.setattr(benchmark_run, "PARSE_S", 0.5)
    program(heat.parent, "heat.sh", f"{GOOD.removesuffix('; echo Done')}; echo {'a' * letters}; echo Done")
    heat.write_text(f"{heat.read_text()}[evidence.a]\npattern = '((a+)+)b'\n")
    made = seatrial("bench", "run", heat, "--run", "kept", code=64 if ends else 0)
    assert ("took more than 0.5 s" in made.err) is ends
    assert "a" * letters in read_run(heat.parent / "archive" / "kept").steps[0].output


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("echo Heat; echo 'Solved in nan ms'; echo Done", 1, "INVALID  heat: not-a-number: line 2"),
        ("echo Heat; echo 'Solved in 9 ms'", 2, "the closing line (^Done) is missing"),
        (f"{GOOD}; exit 4", 1, "run ended with exit code 4"),
        ("echo Heat; kill -9 $$", 2, "run was killed by signal 9"),
        ("echo Heat; exec sleep 600", 2, "run was ended after"),
    ],
)
def test_a_run_that_is_wrong_has_a_sentence_and_a_code(
    heat: Path, seatrial: Seatrial, text: str, code: int, says: str
) -> None:
    program(heat.parent, "heat.sh", text)
    ran = seatrial("bench", "run", heat, "--budget", "2s" if "sleep" in text else "60s", code=code)
    assert says in " ".join(ran.out.split()).replace("INVALID heat", "INVALID  heat")


def test_a_program_that_is_missing_is_named_with_what_to_load(heat: Path, seatrial: Seatrial) -> None:
    (heat.parent / "heat.sh").unlink()
    said = seatrial("bench", "run", heat, code=2).err
    assert "heat.sh is not on PATH on n1. Load the module that has it" in said


@pytest.mark.parametrize(("word", "runs"), [("ulimit", False), ("echo", True)])
def test_what_is_built_into_the_shell_runs_only_if_a_program_has_its_name(
    word: str, runs: bool, heat: Path, seatrial: Seatrial
) -> None:
    heat.write_text(re.sub(r"command = .*", f'command = ["{word}", "-c"]', heat.read_text()))
    said = " ".join(seatrial("bench", "run", heat, code=2).err.split())
    assert ("Running run" in said) is runs
    assert ("ulimit is built into the shell; there is no program of that name on PATH on n1." in said) is not runs
    assert ('command = ["bash", "-c", "ulimit ..."]' in said) is not runs


def test_a_dry_run_starts_nothing(heat: Path, seatrial: Seatrial) -> None:
    ran = seatrial(
        "bench", "run", "hpl", "--node-count", "2", "--ranks", "4", "--set", "order=640", "--dry-run", "--json"
    )
    report = ran.data
    assert (report["kind"], report["nodes"], report["ranks"]) == ("dry-run", ["n1", "n2"], 4)
    assert [step["argv"] for step in report["plan"]["steps"]] == [["xhpl"]]
    assert "640 Ns" in report["plan"]["files"]["HPL.dat"]
    assert not (heat.parent / "archive").exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["hpl", "--ranks", "3", "--node-count", "2"], 64, "--ranks 3 cannot be divided equally among 2 nodes"),
        (["fio", "--node-count", "3"], 2, "3 nodes are needed, and 2 can be used"),
        (["read.toml"], 64, "heat has no command"),
        (["fio", "--case", "."], 64, "fio takes no case"),
        (["fio", "--set", "size"], 64, "--set 'size' is not NAME=VALUE"),
        (["fio", "--limit", "speed=3"], 64, "fio has no such metric"),
        (["nothing"], 64, "'nothing' is not a known benchmark"),
    ],
)
def test_what_cannot_be_run_is_refused(heat: Path, seatrial: Seatrial, words: list[str], code: int, says: str) -> None:
    (heat.parent / "read.toml").write_text(HEAT.partition("[run]")[0])
    words = [str(heat.parent / word) if word.endswith(".toml") else word for word in words]
    assert says in seatrial("bench", "run", *words, code=code).err
