"""What holds for all unit tests: a launcher or clock that one test chooses is not seen by the next."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from seatrial.archive import contents, reader
from seatrial.archive.samples import NotInstalled
from tests.support.clocks import clock_restored
from tests.support.command_line import Seatrial
from tests.support.launchers import launching_with

SOURCE_READERS = ("test_house.py", "test_wording.py", "test_architecture.py", "test_patterns.py")
"""Files of tests that parse all sources. pytest-xdist gives the first tests to one process, which parses them once."""


WITHOUT_SAMPLES = ("lab/simulator/", "commands/", "driver/", "cli/test_curve", "cli/test_saturate", "cli/test_rails")
"""Tests whose runs are closed as where DuckDB is not installed: it takes as long as all else of a small run. What
closing writes is tested in archive and cli, and whatever reads samples makes them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that parse all sources."""
    items.sort(key=lambda item: item.path.name not in SOURCE_READERS)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all modules stay to the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Libraries complain at the end of the process about objects that are still frozen."""
    gc.unfreeze()


@pytest.fixture
def seatrial(capsys: pytest.CaptureFixture[str]) -> Seatrial:
    """Command lines, carried out in this process."""
    return Seatrial(capsys)


@pytest.fixture
def with_samples() -> None:
    """For a test that looks at the samples of a run that it closes."""


@pytest.fixture(autouse=True)
def _any_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the tests have dates of their own, whatever this machine's clock says."""
    monkeypatch.setattr(reader, "AHEAD_S", 20 * 365 * 86_400.0)


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
