"""Labs for tests: one of four nodes for the whole session, and names that are cleaned up."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence

import pytest

from seatrial.lab.cluster import planting, stop
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import why_not
from seatrial.process.process import Completed, run
from tests.lab.waiting import wait_until_idle
from tests.support.raised_lab import raised_lab


def pytest_configure() -> None:
    """A CI that ends us by SIGTERM gets its labs taken down, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


LONGEST_FIRST = (
    "test_requalify.py",
    "test_qualify.py",
    "test_check_faults.py",
    "test_hosts.py",
    "test_restoration.py",
    "test_shared_archive.py",
    "test_hosts_contract.py",
    "test_scenarios.py",
    "test_dead_ranks.py",
    "test_check_starts.py",
    "test_kills.py",
    "test_soak.py",
    "test_accounts.py",
    "test_lab_faults.py",
)
"""Files that take a minute or more; begun last, one of them would run on by itself while no other lab has work."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files. Skip what needs a lab where none can be raised, and say why."""
    order = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    problem = why_not()
    for item in items:
        item.add_marker(pytest.mark.xdist_group(item.path.name))
        if problem and item.get_closest_marker("lab"):
            item.add_marker(pytest.mark.skip(reason=str(problem)))


@pytest.fixture(scope="session")
def standing_lab4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    """Raised once. The folder of pytest's temporary files is seen in the nodes."""
    ssh = shutil.which("sshd") is not None
    with raised_lab("s", tmp_path_factory.getbasetemp(), nodes=4, ssh=ssh) as plan:
        yield plan


@pytest.fixture
def lab4(standing_lab4: LabPlan) -> Iterator[LabPlan]:
    """Four idle nodes on two leaves, 1gbit, without faults; a test's faults and jobs are cleared after it."""
    wait_until_idle(standing_lab4)
    try:
        yield standing_lab4
    finally:
        planting.clear(standing_lab4.name)
        run(as_user(standing_lab4, ["scancel", "--user=root"]), timeout_s=60)


@pytest.fixture
def ssh_lab(lab4: LabPlan) -> LabPlan:
    """The same nodes, with an sshd each."""
    if not lab4.ssh:
        pytest.skip("openssh-server is not installed")
    return lab4


@pytest.fixture
def lab_name() -> Iterator[str]:
    """A name for a lab that is removed after the test, in whatever state it is."""
    name = f"x{os.getpid()}"
    try:
        yield name
    finally:
        stop.raze(name)


@pytest.fixture
def in_lab() -> Callable[..., Completed]:
    """Runs a command on a host of a lab, the login node unless told otherwise."""

    def run_in(plan: LabPlan, argv: Sequence[str], host: str = "login") -> Completed:
        return run(as_user(plan, argv, host=host), timeout_s=120)

    return run_in
