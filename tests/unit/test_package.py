"""The wheel that users install has what a measurement needs, and nothing of the tests; it works without its extras."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.json_objects import parsed
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT_EXTRAS = """
import sys
sys.modules["duckdb"] = None
import seatrial
assert seatrial.__file__.startswith({folder!r}), seatrial.__file__
from seatrial.frame.entry import main
main()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from this tree; a wheel of pure Python is installed by unpacking it."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("seatrial-*-py3-none-any.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel has."""
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    return folder


def run_installed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The wheel's program with this Python's libraries, all extras aside."""
    argv = [sys.executable, "-P", "-c", WITHOUT_EXTRAS.format(folder=str(folder)), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)


def library(requirement: str) -> str:
    """`click>=8.5` -> click."""
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0].lower()


@pytest.mark.parametrize(("version", "numpy"), [("3.11", "2.4"), ("3.12", "2.5"), ("3.13", "2.5")])
def test_a_wheelhouse_for_another_python_gets_the_versions_that_are_pinned_for_it(version: str, numpy: str) -> None:
    """pip itself would judge the conditions in requirements.txt by the Python that it runs in."""
    argv = [sys.executable, str(ROOT / "scripts" / "constraints.py"), version, "aarch64"]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout.split()
    (chosen,) = (one for one in printed if one.startswith("numpy=="))
    assert chosen.startswith(f"numpy=={numpy}.")
    assert not any("colorama" in one or "sha256" in one for one in printed)
    assert {library(one) for one in PROJECT["dependencies"]} <= {library(one) for one in printed}


@pytest.mark.parametrize("part", ["probe", "collect"])
def test_the_wheel_has_all_sources_of_what_runs_on_nodes_and_no_tests(wheel: zipfile.ZipFile, part: str) -> None:
    prefix = f"seatrial/_sources/{part}/"
    packed = {name.removeprefix(prefix): wheel.read(name) for name in wheel.namelist() if name.startswith(prefix)}
    files = [path for path in (ROOT / part).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {str(path.relative_to(ROOT / part)): path.read_bytes() for path in files}
    assert packed == {name: content for name, content in wanted.items() if not name.startswith("tests/")}
    assert not [name for name in wheel.namelist() if "tests/" in name]


def test_the_wheel_names_its_extras_and_needs_none_of_them(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    required = [line for line in wheel.read(name).decode().splitlines() if line.startswith("Requires-Dist: ")]
    plain = {line.split()[1] for line in required if "extra ==" not in line}
    assert {library(one) for one in plain} == {library(one) for one in PROJECT["dependencies"]}
    assert "duckdb" not in {library(one) for one in plain}
    assert any(line.startswith("Requires-Dist: duckdb") for line in required)


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no MPI")
def test_an_installation_without_extras_measures_and_reports(installed: Path, tmp_path: Path) -> None:
    archive = ["--archive", str(tmp_path / "runs")]
    words = ["--launcher", "local", "--ranks", "2", "--budget", "5s", "--run", "first", "--json", *archive]
    checked = run_installed(installed, "check", *words)
    assert checked.returncode in (0, 1, 2), checked.stderr  # 2: busy cores can leave a pair undecided
    assert parsed(checked.stdout)["run"] == "first"
    folder = tmp_path / "runs" / "first"
    assert "samples.parquet" not in json.loads((folder / "run.json").read_text())["reason"]
    assert not (folder / "samples.parquet").exists()
    assert run_installed(installed, "report", "first", *archive).returncode == checked.returncode
    listed = run_installed(installed, "runs", "list", "--json", *archive)
    assert parsed(listed.stdout)["runs"][0]["samples"] > 0
    exported = run_installed(installed, "runs", "export", "first", "--output", str(tmp_path / "samples.csv"), *archive)
    assert exported.returncode == 2
    assert "needs DuckDB, which is not installed" in exported.stderr
    assert "pip install duckdb" in exported.stderr
    shown = run_installed(installed, "runs", "show", "first", *archive)
    assert shown.returncode == 2
    assert "kind      check" in shown.stdout
    assert "needs DuckDB" in shown.stdout
