"""What holds for all unit tests: a launcher or clock that one test chooses is not seen by the next."""

from collections.abc import Iterator

import pytest

from tests.support.clocks import clock_restored
from tests.support.launchers import launching_with


@pytest.fixture(autouse=True)
def _surroundings_as_users_have_them() -> Iterator[None]:
    with launching_with(None), clock_restored():
        yield
