"""A soak on a real Slurm: it goes round, a node dies in the middle of it, and it reports when it is stopped."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bench.dead_ranks import PROBE

from seatrial.archive import layout
from seatrial.archive.journal import GroupDelivered, SessionLost, of_type
from seatrial.archive.reader import read_entries
from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in, send
from seatrial.lab.faults.base import Parameters
from tests.lab.waiting import LONG_S, eventually

pytestmark = pytest.mark.lab
TRIALS = ("--trials", "arithmetic")


def cycles_of(folder: Path, node: str) -> int:
    """In how many cycles a node has delivered something so far."""
    if not (folder / layout.JOURNAL_FILE).exists():
        return 0
    delivered = of_type(read_entries(folder), GroupDelivered)
    return len({one.measurement.repetition for one in delivered if one.measurement.nodes[0].startswith(node)})


def test_a_node_that_dies_is_named_with_what_ran_and_the_soak_goes_on_until_it_is_stopped(
    lab4: LabPlan, tmp_path: Path
) -> None:
    """Most of the time is Slurm's, which waits for the daemon that is gone."""
    words = ["nodes", "n[1-3]", "--for", "10m", *TRIALS, "--json", "--run", "hot", "--archive", str(tmp_path)]
    process = subprocess.Popen(
        as_user(lab4, [sys.executable, "-m", "seatrial", *words]),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    folder = tmp_path / f"hot{layout.PARTIAL}"
    try:
        assert eventually(lambda: cycles_of(folder, "n2") >= 2 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        planting.plant(lab4.name, "slurmd-killed", "n2", Parameters())
        send(named(pids_in([lab4.space("n2")]), PROBE), signal.SIGKILL)
        assert eventually(lambda: bool(of_type(read_entries(folder), SessionLost))), "the dead node is not seen"
        assert eventually(lambda: cycles_of(folder, "n3") > cycles_of(folder, "n2")), "it does not go on with others"
        process.send_signal(signal.SIGINT)  # nsenter has become the command itself
        printed, said = process.communicate(timeout=LONG_S)
    finally:
        process.kill()
        process.communicate()
    report = json.loads(printed)
    assert (process.returncode, report["data"]["complete"]) == (1, False), said
    assert "stopped before the 10 minutes were over" in report["data"]["reason"]
    dead = next(one for one in report["findings"] if one["kind"] == "node-down")
    assert (dead["subject"], dead["verdict"]) == ("node:n2", "DOWN")
    assert "was running, which began" in dead["statement"]
    assert "Its last results are from" in dead["statement"]
    assert [one["subject"] for one in report["findings"] if one["verdict"] == "DOWN"] == ["node:n2"]
    cycles = {one["node"]: one["cycles"] for one in report["data"]["soak"]}
    assert cycles["n3"] > cycles["n2"] >= 2, cycles
