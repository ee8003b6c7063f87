"""This program starts itself without executing what lies in the current folder."""

import re
import sys
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.reader import find_run
from seatrial.commands.compare.toggle import Toggle, toggle_settings
from seatrial.driver.facts_reading import is_recording
from seatrial.driver.progress import Silent
from seatrial.lab.trial.trial import real_stage
from seatrial.model.errors import NoRun
from seatrial.process.process import own_program, python_program, run
from tests.support.paths import ROOT


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of others that is the current one, with modules named as those that are imported first."""
    marker = tmp_path / "executed"
    for name in ("msgspec", "click", "time"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    return marker


def test_the_program_itself_and_programs_of_ours_ignore_the_current_folder(planted: Path) -> None:
    assert run([*own_program(), "--version"], timeout_s=60).ok
    assert run(python_program("-c", "import time, os; print(time.time())"), timeout_s=60).ok
    assert not planted.exists()
    run([sys.executable, "-m", "seatrial", "--version"], timeout_s=60)
    assert planted.exists(), "this test cannot fail"


def test_a_toggle_and_so_a_proof_ignore_it(planted: Path, tmp_path: Path) -> None:
    toggle = Toggle(changes=(), benchmark=("seatrial", "bench"), blocks=1)
    with pytest.raises(Exception, match="No such option '--run'"):
        toggle_settings(tmp_path / "archive", toggle, 60.0, Silent())
    assert not planted.exists()


def test_a_trial_ignores_it(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def as_user(_: object, argv: list[str]) -> list[str]:
        asked.append(argv)
        return argv

    monkeypatch.setattr("seatrial.lab.trial.trial.as_user", as_user)
    monkeypatch.setattr("seatrial.lab.trial.trial.archive_of", lambda *_: Path("archive"))
    real_stage(None).check(None, ["check", "--help"], "label")  # type: ignore[arg-type]
    assert tuple(asked[0][: len(own_program())]) == own_program()
    assert not planted.exists()


def test_python_is_started_in_one_place_only() -> None:
    pattern = re.compile(r"sys\.executable, ")
    users = [path.name for path in (ROOT / "src").rglob("*.py") if pattern.search(path.read_text())]
    assert users == ["process.py"]


def test_names_of_runs_are_not_looked_for_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, here = tmp_path / "archive", tmp_path / "here"
    for folder in (archive / "mine", here / "last", here / "theirs"):
        folder.mkdir(parents=True)
        (folder / layout.RUN_FILE).write_text("{}")
    monkeypatch.chdir(here)
    assert find_run(archive, "last") == archive / "mine"
    assert find_run(archive, "./last") == Path("last")
    with pytest.raises(NoRun, match=r"no run 'theirs'.*\./theirs"):
        find_run(archive, "theirs")


def test_a_recording_in_the_current_folder_hides_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, here = tmp_path / "archive", tmp_path / "here"
    (archive / "mine").mkdir(parents=True)
    (archive / "mine" / layout.RUN_FILE).write_text("{}")
    here.mkdir()
    for name in ("last", "mine", "n3.tar.gz"):
        (here / name).write_text("")
    monkeypatch.chdir(here)
    names = ("last", "mine", "n3.tar.gz", "./last")
    assert [is_recording(name, archive) for name in names] == [False, False, True, True]
