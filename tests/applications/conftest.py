"""A virtual cluster of two nodes that see the folder of the tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.lab.cluster import stop
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.processes import why_not
from seatrial.lab.cluster.start import needed_folders, raise_lab


@pytest.fixture(scope="session")
def lab2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    if problem := why_not():
        pytest.skip(str(problem))
    shared = str(tmp_path_factory.getbasetemp())
    plan = make_plan(name=f"a{os.getpid()}", nodes=2, folders=(*needed_folders(), shared))
    raise_lab(plan)
    try:
        yield plan
    finally:
        stop.raze(plan.name)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archive")
