"""What holds for all unit tests: a launcher or clock that one test chooses is not seen by the next."""

import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NoReturn
from unittest import mock

import pytest

from seatrial.archive import contents, reader, run_sets, run_values
from seatrial.archive.samples import NotInstalled
from seatrial.process import file_output
from tests.support.browser import Browser, Chromium, chromium
from tests.support.clocks import clock_restored
from tests.support.command_line import Seatrial
from tests.support.launchers import launching_with
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

SOURCE_READERS = (
    "test_house.py", "test_wording.py", "test_architecture.py", "test_counts.py", "test_patterns.py",
    "test_one_mechanism.py", "test_one_reader.py",
)  # fmt: skip
"""Files of tests that parse all sources. pytest-xdist gives the first tests to one process, which parses them once."""


WITHOUT_SAMPLES = ("lab/simulator/", "commands/", "driver/", "cli/", "launch/")
"""Tests whose runs are closed as where DuckDB is not installed: it takes as long as all else of a small run. What
closing writes is tested in archive, and whatever reads samples makes them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that parse all sources."""
    items.sort(key=lambda item: item.path.name not in SOURCE_READERS)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all modules stay to the end: the garbage collector need not look at them again, and seldom
    at what a test makes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_sessionfinish() -> None:
    """Libraries complain at the end of the process about objects that are still frozen."""
    gc.unfreeze()


@pytest.fixture
def seatrial(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Seatrial:
    """Command lines, carried out in this process."""
    return Seatrial(capsys, tmp_path)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The folder of an archive that is not there yet."""
    return tmp_path / "the archive"


@pytest.fixture
def slurm(tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    """Slurm's commands, replaced by scripts."""
    return in_place_of_slurm(tmp_path / "bin", archive, monkeypatch)


@pytest.fixture
def with_samples() -> None:
    """For a test that looks at the samples of a run that it closes."""


@pytest.fixture
def without_keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are started without the process that would end them if this one were killed: it takes longer to start
    than they do. `process/test_file_output.py` and `cli/test_killed_program.py` have the real one."""
    monkeypatch.setattr(file_output, "Keeper", mock.Mock())


READ_TABLES = cache(run_values.read_tables)


@pytest.fixture
def tables_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests whose archives do not change: starting DuckDB and reading many runs takes longer than all else."""
    monkeypatch.setattr(run_sets, "read_tables", lambda files, *_: READ_TABLES(tuple(files)))


@pytest.fixture(scope="session")
def chromium_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Chromium, which takes a second of processor time to start."""
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as program:
        yield program


@pytest.fixture
def browser(chromium_program: Chromium) -> Iterator[Browser]:
    """A window with a profile of its own."""
    window = Browser(chromium_program)
    yield window
    window.close()


@pytest.fixture(autouse=True, scope="session")
def _any_clock() -> Iterator[None]:
    """Runs of the tests have dates of their own, whatever this machine's clock says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "AHEAD_S", 20 * 365 * 86_400.0)
        yield


@pytest.fixture(autouse=True)
def _duckdb_where_it_matters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    path = request.path.relative_to(Path(__file__).parent).as_posix()
    if path.startswith(WITHOUT_SAMPLES) and "with_samples" not in request.fixturenames:
        monkeypatch.setattr(contents, "write_samples", _left_out)


def _left_out(folder: Path, run: str) -> NoReturn:
    raise NotInstalled("samples.parquet is left out by this test.")


@pytest.fixture(autouse=True)
def _surroundings_as_users_have_them() -> Iterator[None]:
    with launching_with(None), clock_restored():
        yield
