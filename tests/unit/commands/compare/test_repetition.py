"""What an archive says is executed for nobody but the owner of a run."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout
from seatrial.archive.reader import read_info
from seatrial.commands.compare.prove import announcement, benchmark_of, repeatable, run_proof
from seatrial.driver.progress import Silent
from seatrial.frame import command_line
from seatrial.model.errors import UsageError
from seatrial.model.run import RunInfo
from seatrial.model.settings import CheckSettings, SiteSettings, SlurmRequest
from tests.support.second_user import OTHER, THIRD, as_user, folder_for_all, needs_root
from tests.unit.commands.compare.test_prove import Node, info, request_of

PROLOG = SlurmRequest(arguments=("--task-prolog=/tmp/evil",))
EVIL = ("bench", "run", "--", "sh", "-c", "touch pwned")
NOTHING = SiteSettings(archive=Path())


def write(folder: Path, owner: int = os.geteuid()) -> Path:
    """A run whose command and Slurm options execute something."""
    folder.mkdir(mode=0o755)
    settings = CheckSettings(archive=Path(), partition="p", slurm=PROLOG)
    run = msgspec.structs.replace(info("slurm", *EVIL), settings=settings)
    path = folder / layout.RUN_FILE
    path.write_bytes(msgspec.json.encode(run, enc_hook=str))
    for each in (folder, path):
        each.chmod(0o755 if each == folder else 0o644)
        os.chown(each, owner, owner)
    return folder


def reached(run: RunInfo) -> tuple[str, str, SlurmRequest]:
    """How nodes are reached."""
    assert isinstance(run.settings, CheckSettings)
    return run.launcher, run.settings.partition, run.settings.slurm


@pytest.fixture
def archive() -> Iterator[Path]:
    with folder_for_all() as folder:
        folder.chmod(0o1777)
        yield folder


def test_the_caller_repeats_runs_of_the_caller(archive: Path) -> None:
    found = repeatable(write(archive / "mine"), (), NOTHING)
    assert benchmark_of(found) == ("seatrial", *EVIL)
    assert reached(found) == ("slurm", "p", PROLOG)
    mine = SiteSettings(archive=Path(), launcher="ssh", partition="q")
    assert reached(repeatable(archive / "mine", ("x",), mine)) == ("ssh", "q", SlurmRequest()), "the caller counts"


@needs_root
@pytest.mark.parametrize("victim", [0, THIRD])
def test_a_command_of_another_user_is_shown_and_not_executed(archive: Path, victim: int) -> None:
    folder = write(archive / "theirs", OTHER)

    def refusal() -> tuple[str, str]:
        with pytest.raises(UsageError) as caught:
            repeatable(folder, (), NOTHING)
        return caught.value.what, caught.value.remedy

    what, remedy = as_user(victim, refusal)
    assert f"is not yours alone (it belongs to {OTHER}), so its command is not executed" in what
    assert remedy.endswith("write compare A B --prove -- seatrial bench run -- sh -c 'touch pwned'")
    assert benchmark_of(as_user(OTHER, lambda: repeatable(folder, (), NOTHING))) == ("seatrial", *EVIL)


@needs_root
def test_with_a_command_of_the_caller_nothing_else_of_the_run_is_used(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.commands.compare.prove.is_here", lambda: True)
    found = repeatable(write(archive / "theirs", OTHER), ("./app",), NOTHING)
    assert (found.command, reached(found)) == ((), ("slurm", "", SlurmRequest()))
    monkeypatch.setattr("seatrial.commands.compare.prove.is_here", lambda: False)
    assert repeatable(archive / "theirs", ("./app",), NOTHING).launcher == ""
    with pytest.raises(UsageError, match="needs to know the hosts"):
        repeatable(archive / "theirs", ("./app",), SiteSettings(archive=Path(), launcher="ssh"))


@needs_root
@pytest.mark.parametrize("planted", ["file", "folder", "writable file", "writable folder", "link", "other name"])
def test_a_run_is_not_the_callers_if_others_can_have_written_any_of_it(archive: Path, planted: str) -> None:
    folder = write(archive / "run")
    file = folder / layout.RUN_FILE
    if planted == "file":
        os.chown(file, OTHER, OTHER)
    elif planted == "folder":
        os.chown(folder, OTHER, OTHER)
    elif planted == "writable file":
        file.chmod(0o666)
    elif planted == "writable folder":
        folder.chmod(0o777)
    else:
        file.rename(folder / "real.json")
        file.symlink_to("real.json") if planted == "link" else os.link(folder / "real.json", file)
        os.chown(folder / "real.json", OTHER, OTHER)
    with pytest.raises(UsageError, match="so its command is not executed"):
        repeatable(folder, (), NOTHING)


@needs_root
def test_a_proof_executes_nothing_of_another_users_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEATRIAL_SYSROOT", f"{tmp_path}/here")
    monkeypatch.chdir(tmp_path)
    node = Node(tmp_path)
    comparison = node.comparison()
    runs = sorted(path.name for path in node.archive.iterdir())
    for folder in node.archive.iterdir():
        file = folder / layout.RUN_FILE
        run = msgspec.structs.replace(read_info(folder), command=EVIL, launcher="local")
        file.write_bytes(msgspec.json.encode(run, enc_hook=str))
        os.chown(folder, OTHER, OTHER)
    # the order of the runs is A B B A
    sets = (f"{runs[0]},{runs[3]}", f"{runs[1]},{runs[2]}")
    assert command_line.run(["compare", *sets, "--prove", "--archive", str(node.archive)]) == 64
    assert "--prove -- seatrial bench run -- sh -c 'touch pwned'" in capsys.readouterr().err
    request = msgspec.structs.replace(request_of(node.archive, ()), first=runs[0], second=runs[1])
    said: list[str] = []
    with pytest.raises(UsageError, match="so its command is not executed"):
        run_proof(request, comparison, Silent(), said.append)
    assert said == []
    assert not (tmp_path / "pwned").exists()
    mine = node.benchmark("never")
    run_proof(msgspec.structs.replace(request, benchmark=mine), comparison, Silent(), said.append)
    assert said == [announcement(mine)]
    assert said[0].startswith("Executes as root: ")
    assert node.program in said[0]


def test_a_link_to_a_run_of_ones_own_is_not_followed(archive: Path) -> None:
    """Somebody may have put it in place of a run of theirs after that was compared."""
    (archive / "link").symlink_to(write(archive / "mine"))
    with pytest.raises(UsageError, match="it is a link"):
        repeatable(archive / "link", (), NOTHING)
