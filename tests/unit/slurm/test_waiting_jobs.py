"""Which waiting jobs the nodes of a slice would be enough for, and when nodes booted or failed."""

import pytest

from seatrial.slurm.queue import job_in_need, parse_boots, parse_failed, parse_waiting
from seatrial.slurm.text import parse_sinfo

LINES = parse_sinfo("n1|idle|main*|none\nn2|allocated|main*|none\nn3|allocated|main*|none\nn3|allocated|fat|none\n")


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("2|main|Resources|(null)", True),
        ("2|main|Priority|", True),
        ("2|main|None|x|y", True),
        ("2|main|Dependency|(null)", False),
        ("2|main|QOSMaxCpuPerUserLimit|(null)", False),
        ("2|main|Resources|seatrial-qualify", False),
        ("two|main|Resources|", False),
        ("2|main", False),
        ("", False),
    ],
)
def test_jobs_that_could_begin_wait(line: str, waits: bool) -> None:
    assert bool(parse_waiting(line)) == waits


@pytest.mark.parametrize(
    ("line", "ours", "needs"),
    [
        ("1|main|Resources|", (), True),
        ("2|main|Resources|", (), False),
        ("2|main|Resources|", ("n2",), True),
        ("3|main|Resources|", ("n2",), False),
        ("1|fat|Resources|", (), False),
        ("1|fat,main|Resources|", (), True),
        ("1|fat|Resources|", ("n3",), True),
        ("1|elsewhere|Resources|", ("n2",), False),
    ],
)
def test_a_job_needs_nodes_that_are_enough_for_it(line: str, ours: tuple[str, ...], needs: bool) -> None:
    assert bool(job_in_need(parse_waiting(line), LINES, ours)) == needs


def test_boots_and_failures() -> None:
    shown = (
        "NodeName=n1 Arch=x86_64 State=IDLE BootTime=1764200000 SlurmdStartTime=1764200001\n"
        "NodeName=n2 State=DOWN BootTime=None\n"
    )
    assert parse_boots(shown) == {"n1": 1764200000.0}
    assert parse_failed("1764200000|n[1-2]\nUnknown|n3\n\nerror\n") == ((1764200000.0, "n[1-2]"),)
