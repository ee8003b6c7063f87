"""A drained node is checked through Slurm, and drained again as it was."""

import re
import sys
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.lab.waiting import eventually

pytestmark = pytest.mark.lab
STATE = ("sinfo", "--noheader", "--Node", "--nodes=n3", "--partition=main", "--format=%T|%E")
REASON = 'bad memory: "DIMM 3"'


def test_a_drained_node_is_measured_in_a_reservation_and_drained_again(lab4: LabPlan, tmp_path: Path) -> None:
    def said(*words: str) -> str:
        done = run(as_user(lab4, words), timeout_s=90)
        assert done.ok, done.stderr
        return done.stdout.strip()

    said("scontrol", "update", "NodeName=n3", "State=DRAIN", f'Reason="{REASON}"')
    try:
        quick = ("--budget", "10s", "--no-loaded", "--no-nodes", "--archive", str(tmp_path / "runs"))
        check = (sys.executable, "-m", "seatrial", "check", "n3", *quick)
        done = run(as_user(lab4, check), timeout_s=150)
        first = "\n".join(done.stdout.splitlines()[:2])  # the second line has what the first has no room for
        assert re.match(
            r"PASS  n3 may return: 6 pairs, the worst at \d+ %"
            r"|INCONCLUSIVE  n3: not decided: "
            r"|INCONCLUSIVE  n3 may return: 6 pairs, .*(?:; |\n)besides: .",
            first,
        ), first
        assert "12 ordered pairs" in done.stdout
        assert eventually(lambda: said(*STATE) == f"drained|{REASON}"), said(*STATE)  # the job may be completing
        assert "seatrial" not in said("scontrol", "--oneliner", "show", "reservation")
    finally:
        said("scontrol", "update", "NodeName=n3", "State=RESUME")
        assert eventually(lambda: said(*STATE).startswith("idle"))
