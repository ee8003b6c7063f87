"""What holds for all tests: hypothesis has no deadline on a busy machine; repeated measurements are listed."""

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.properties import DRAWN, PROFILE
from tests.support.summary import REPETITIONS, plural, repetition_counter, repetition_table
from tests.support.usual_cases import CPU_TIME, case_seconds, cpu_seconds, leave_the_others

BEFORE = pytest.StashKey[float]()
# Runs without --archive: never in the home of whoever tests, and in a folder that no other worker or clone has.
OWN = tempfile.mkdtemp(prefix="seatrial-tests-")
os.environ["XDG_STATE_HOME"] = os.path.join(OWN, "state")  # noqa: PTH118
atexit.register(shutil.rmtree, OWN, ignore_errors=True)
# The same inputs in each run, so that no change is refused by chance; `make properties` draws others.
settings.register_profile("fixed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile(DRAWN, settings.get_profile("fixed"), derandomize=False, print_blob=True)
settings.load_profile(PROFILE)
# Commands that tests interrupt inherit how signals are handled: nohup and background jobs of scripts ignore them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases that the usual run leaves out are marked before pytest selects by marks."""
    leave_the_others(items, case_seconds())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keep the processor time before the test, its fixtures included."""
    item.stash[BEFORE] = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Attach repeated measurements and processor time to the report, which also travels from pytest-xdist's workers."""
    if count := repetition_counter.take():
        item.user_properties.append((REPETITIONS, count))
    if call.when == "teardown":
        item.user_properties.append((CPU_TIME, cpu_seconds() - item.stash[BEFORE]))
    return (yield)


class _Summary:
    """Collects, in the process that prints, what the tests report."""

    def __init__(self) -> None:
        self.repetitions: list[tuple[str, int]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":  # the last report of a test holds the properties of all its phases
            count = sum(int(str(value)) for name, value in report.user_properties if name == REPETITIONS)
            self.repetitions.append((report.nodeid, count))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if table := repetition_table(self.repetitions):
            total = sum(count for _, count in self.repetitions)
            terminalreporter.section(f"{plural(total, 'repeated measurement')}, {plural(len(table), 'test')}")
            for line in table:
                terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """The summary is a plugin with a state of its own, so that no list is shared between runs in one process."""
    config.pluginmanager.register(_Summary(), "seatrial-summary")
