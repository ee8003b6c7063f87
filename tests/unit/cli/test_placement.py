"""seatrial placement over the MPIs of this machine: real launch lines, real masks."""

import html
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.journal import SessionStarted, of_type
from seatrial.archive.reader import find_run, read_entries, read_info
from seatrial.frame.command_line import run
from seatrial.launch.launch_line import compiler_beside, dialect_of, program_hint
from seatrial.launch.line_parser import Dialect, parse_line
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one core")
LINES = {
    "Open MPI": ("mpirun.openmpi", "-np", "2", "--bind-to", "none"),
    "Hydra": ("mpiexec.mpich", "-n", "2", "-bind-to", "user:0,0"),
}


@pytest.fixture(params=LINES)
def line(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    words = LINES[request.param]
    if not shutil.which(words[0]) or not compiler_beside(words):
        pytest.skip(f"{words[0]} is not here")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return words


def asked(
    capsys: pytest.CaptureFixture[str], archive: Path, *words: str, options: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any]]:
    code = run(["placement", "--archive", str(archive), "--json", "--run", "r", *options, "--", *words, "/bin/true"])
    return code, parsed(capsys.readouterr().out)


def masks(archive: Path) -> list[list[str]]:
    """Of each launch."""
    return [
        [one["cpus"] for one in start.ranks] for start in of_type(read_entries(find_run(archive, "r")), SessionStarted)
    ]


def test_a_bad_binding_is_named_and_the_advised_one_is_what_ranks_then_have(
    line: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, found = asked(capsys, tmp_path, *line, options=("--starts", "1"))
    kinds = {finding["kind"] for finding in found["findings"]}
    assert kinds & {"ranks-share-core", "ranks-unbound"}
    assert (code, found["fix"], found["complete"]) == (1 if "ranks-share-core" in kinds else 2, "undecided", True)
    assert found["kind"] == "placement"
    assert read_info(find_run(tmp_path, "r")).kind is RunKind.PLACEMENT
    assert [gain["ratio"]["runs"] for gain in found["gains"]] == [1, 1]
    advised = [rank["advised"] for rank in found["ranks"]]
    as_asked, again, as_advised = masks(tmp_path)
    assert as_asked == again == [rank["cpus"] for rank in found["ranks"]]
    assert as_advised == advised
    assert len(set(advised)) == 2
    assert run(["report", "r", "--archive", str(tmp_path), "--json"]) == code
    assert parsed(capsys.readouterr().out) == found
    assert run(["report", "r", "--archive", str(tmp_path)]) == code
    assert " ".join(found["advised_line"]) in " ".join(capsys.readouterr().out.split())
    page = tmp_path / "page.html"
    assert run(["report", "r", "--archive", str(tmp_path), "--html", str(page)]) == code
    assert shlex.join(found["advised_line"]) in html.unescape(page.read_text())


def test_the_advised_line_has_nothing_left_to_advise(
    line: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, found = asked(capsys, tmp_path / "first", *line, options=("--starts", "0"))
    (tmp_path / "rankfile.txt").write_text(found["advice"]["rankfile"])
    better = [word.replace("rankfile.txt", str(tmp_path / "rankfile.txt")) for word in found["advised_line"][:-1]]
    code, again = asked(capsys, tmp_path / "second", *better)
    assert (code, again["verdict"], again["findings"], again["fix"]) == (0, "PASS", [], "none")


def test_a_program_that_binds_itself_is_seen_and_what_does_not_start_is_withdrawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = LINES["Open MPI"]
    if not shutil.which(words[0]) or not compiler_beside(words) or not shutil.which("taskset"):
        pytest.skip("Open MPI or taskset is not here")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    first = str(min(os.sched_getaffinity(0)))
    no_rankfile = ("--mca", "rmaps_base_cpus_per_rank", "2")
    code, found = asked(capsys, tmp_path, *words, *no_rankfile, "taskset", "-c", first, options=("--starts", "1"))
    assert {finding["kind"] for finding in found["findings"]} == {"ranks-share-core"}
    assert [rank["cpus"] for rank in found["ranks"]] == [first, first]
    assert (code, found["fix"], found["advised_line"], found["complete"]) == (1, "withdrawn", [], True)
    assert found["why"].startswith("the line does not start with it: ")
    assert run(["report", "r", "--archive", str(tmp_path), "--json"]) == 1
    assert parsed(capsys.readouterr().out) == found


def test_one_rank_alone_is_looked_at(line: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, found = asked(capsys, tmp_path, line[0], "-n", "1")
    assert (len(found["ranks"]), found["complete"]) == (1, True)


def test_lines_that_cannot_be_started_are_sentences(seatrial: Seatrial, tmp_path: Path) -> None:
    assert "not a launch line" in seatrial("placement", "--archive", tmp_path, "--", "./app", code=64).err
    ran = seatrial("placement", "--archive", tmp_path, "--", "HOME=/opt/mpirun", "mpirun.of-nobody", "./app", code=64)
    assert "There is no mpirun.of-nobody here" in ran.err


def test_an_mpi_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    program(tmp_path, "mpirun", "echo Strange 1.0")
    with pytest.raises(UsageError, match="neither Open MPI nor MPICH"):
        dialect_of([str(tmp_path / "mpirun"), "app"])
    assert compiler_beside([str(tmp_path / "mpirun"), "app"]) == ""


def test_a_script_around_the_program_is_pointed_at(tmp_path: Path) -> None:
    program(tmp_path, "bind.sh", "exec taskset -c 0 $*")
    line = parse_line(["mpirun", str(tmp_path / "bind.sh"), "/bin/true", "-x"], Dialect.OPEN_MPI)
    assert program_hint(line).endswith("if it binds /bin/true, say --program /bin/true, so that it stays")
    for words in (
        ["mpirun", str(tmp_path / "bind.sh"), "input.txt"],
        ["mpirun", "/bin/true", "/bin/true"],
        ["mpirun", "absent"],
    ):
        assert program_hint(parse_line(words, Dialect.OPEN_MPI)) == ""


def test_a_word_that_is_no_program_is_shown(line: tuple[str, ...], tmp_path: Path) -> None:
    assert run(["placement", "--archive", str(tmp_path), "--", *line, "--strange", "7", "/bin/true"]) == 64
