"""What a lab keeps visible to the commands that run inside, and labs that come and go beside it."""

import sys
from pathlib import Path
from typing import Any

import pytest

import seatrial
from seatrial.lab.cluster import start, state
from seatrial.lab.cluster.plan import make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab


def test_the_whole_program_is_kept_visible_wherever_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is neither in the current folder nor in the folder of Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    package = Path(seatrial.__file__).parent
    for part in ("cli/main.py", "lab/cluster/start.py", "model/run.py"):
        assert any((package / part).is_relative_to(folder) for folder in needed_folders()), part
    monkeypatch.setattr(seatrial, "__file__", "/tmp/env/lib/python3/site-packages/seatrial/__init__.py")
    assert "/tmp/env/lib/python3/site-packages/seatrial" in needed_folders()


def test_a_lab_gets_its_folder_although_the_last_other_one_goes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of another lab removes the folder above, in which this one is just about to have its own."""
    make = Path.mkdir
    ended: list[Path] = []

    def mkdir(path: Path, *arguments: Any, **named: Any) -> None:
        make(path, *arguments, **named)
        if path == state.ROOT and not ended:
            ended.append(path)
            path.rmdir()

    monkeypatch.setattr(state, "ROOT", tmp_path / "labs")
    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(start, "require_lab", lambda: None)
    monkeypatch.setattr(start, "_build", lambda *_: None)
    assert state.lab_names() == []
    raise_lab(make_plan(name="x", nodes=2))
    assert ended
    assert state.lab_names() == ["x"]
