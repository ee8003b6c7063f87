"""What holds for all unit tests: a launcher or clock that one test chooses is not seen by the next."""

import gc
from collections.abc import Iterator

import pytest

from tests.support.clocks import clock_restored
from tests.support.launchers import launching_with

SOURCE_READERS = ("test_house.py", "test_wording.py", "test_architecture.py")
"""Files of tests that parse all sources. pytest-xdist gives the first tests to one process, which parses them once."""


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


@pytest.fixture(autouse=True)
def _surroundings_as_users_have_them() -> Iterator[None]:
    with launching_with(None), clock_restored():
        yield
