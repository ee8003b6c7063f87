"""What `make test` runs of long tests, and what it leaves to the series."""

import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.usual_cases import ALWAYS, case_seconds, measured_in, usual_count

CASES = """
import time
import pytest

@pytest.mark.parametrize("number", range(12))
def test_many(number):
    time.sleep(0.05)

class TestGroup:
    def test_one(self):
        time.sleep(0.6)

def test_short():
    pass
"""


def test_as_many_cases_run_as_fit_in_the_part_of_a_test_and_one_that_is_not_too_long() -> None:
    name = "unit/cli/test_x.py::test_y"
    assert [usual_count(name, 12, case_s) for case_s in (0.01, 0.1, 0.2, 1.0, 3.0)] == [12, 5, 2, 1, 0]
    assert [usual_count("lab/test_x.py::test_y", 4, case_s) for case_s in (2.0, 5.0, 15.0, 40.0)] == [4, 2, 1, 0]
    assert usual_count(min(ALWAYS), 3, 100.0) == 3


def test_all_that_are_named_exist() -> None:
    """A test that was renamed would run whole, and one that always has to run might be left out."""
    for name in ALWAYS | case_seconds().keys():
        path, *_, function = name.split("::")
        assert f"def {function}(" in (ROOT / "tests" / path).read_text(), name


def test_times_are_those_that_pytest_measured(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (folder / "test_cases.py").write_text(CASES)
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        "--junitxml=times.xml",
        "tests",
    ]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True)
    measured = measured_in(tmp_path / "times.xml")
    assert set(measured) == {"unit/test_cases.py::test_many", "unit/test_cases.py::TestGroup::test_one"}
    assert 0.05 <= measured["unit/test_cases.py::test_many"] < 0.5 < measured["unit/test_cases.py::TestGroup::test_one"]
