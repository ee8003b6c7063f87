"""The end of a test run: repeated measurements with their tests."""

import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.summary import RepetitionCounter, repetition_table

EXAMPLE = """
import itertools
import pytest
from tests.lab.waiting import decided

@pytest.fixture
def fixture():
    attempts = itertools.count()
    return decided(lambda: next(attempts), lambda attempt: attempt < 1)

def test_repeated(fixture):
    attempts = itertools.count()
    assert decided(lambda: next(attempts), lambda attempt: attempt < 2) == 2

def test_decided_at_once():
    assert decided(lambda: 0, lambda attempt: False) == 0

@pytest.mark.xfail
def test_expected_failure():
    raise ValueError
"""


def test_only_tests_that_repeated_something_are_listed() -> None:
    assert repetition_table([("one", 1), ("none", 0), ("two", 2)]) == ["    2  two", "    1  one"]


def test_repetitions_are_counted_once() -> None:
    counter = RepetitionCounter()
    counter.add()
    counter.add()
    assert (counter.take(), counter.take()) == (2, 0)


def test_the_end_of_a_run_shows_them(tmp_path: Path) -> None:
    """The counts also arrive from the workers of pytest-xdist."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_example.py").write_text(EXAMPLE)
    argv = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_example.py"]
    done = subprocess.run(
        argv, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 3 repeated measurements, 1 test " in done.stdout
    assert "    3  test_example.py::test_repeated\n" in done.stdout
