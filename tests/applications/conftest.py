"""A virtual cluster of two nodes that see the folder of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import why_not
from tests.support.raised_lab import raised_lab


@pytest.fixture(scope="session")
def lab2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    if problem := why_not():
        pytest.skip(str(problem))
    with raised_lab("a", tmp_path_factory.getbasetemp(), nodes=2) as plan:
        yield plan


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archive")
