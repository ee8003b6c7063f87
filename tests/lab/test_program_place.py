"""A program that is installed below /tmp, of which each host of a lab has its own, is found inside."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.process.process import Completed, run
from tests.support.paths import ROOT


@pytest.fixture
def clone() -> Iterator[Path]:
    """The program in a folder of its own below /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="seatrial-clone-", dir="/tmp"))
    try:
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.lab
def test_it_runs_inside_the_lab_from_any_folder(clone: Path) -> None:
    name = f"c{os.getpid()}"
    seatrial = [sys.executable, "-m", "seatrial"]

    def called(*words: str) -> Completed:
        variables = {"PYTHONPATH": str(clone / "src"), "PYTHONSAFEPATH": "1"}
        return run([*seatrial, *words], timeout_s=120, cwd="/", extra_environment=variables)

    up = called("lab", "up", "--node-count", "2", "--name", name)
    try:
        assert up.ok, up.stderr
        for host in ("login", "n1"):
            where = "import seatrial.cli; print(seatrial.__file__)"
            inside = called("lab", "run", "--name", name, "--on", host, "--", sys.executable, "-c", where)
            assert inside.ok, inside.stderr
            assert inside.stdout.strip() == str(clone / "src" / "seatrial" / "__init__.py")
            assert called("lab", "run", "--name", name, "--on", host, "--", *seatrial, "--version").ok
    finally:
        called("lab", "down", "--name", name)
