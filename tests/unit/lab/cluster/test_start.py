"""What a lab keeps visible to the commands that run inside."""

import sys
from pathlib import Path

import pytest

import seatrial
from seatrial.lab.cluster.start import needed_folders


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
