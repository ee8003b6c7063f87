"""Nodes whose mode Slurm switches by a restart: those that came up wrong are named, and no others."""

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting, state, stop
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.slurm_conf import MODE_FILE, MODE_TEXT, MODES
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.lab.cluster.sysroot import own
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, inconclusive, wait_until_idle
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
OURS = "seatrial: requalify"
PAIRS = (("n1", "n2"), ("n3", "n4"), ("n5", "n6"))
ROUNDS = 10
STUCK = {(1, "n3"), (4, "n4"), (8, "n5")}
"""Switches, by round and node, after which the node has its old mode, and Slurm believes that it has the new one."""
SLOW = {(2, "n6"), (5, "n5"), (9, "n2")}
"""Switches after which the link of the node is slow."""


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    folders = (*needed_folders(), str(tmp_path_factory.getbasetemp()))
    plan = make_plan(name=f"m{os.getpid()}", nodes=6, leaves=1, rate="200mbit", modes=True, folders=folders)
    raise_lab(plan)
    try:
        yield plan
    finally:
        stop.raze(plan.name)


def said(lab: LabPlan, *words: str) -> str:
    """What one of Slurm's commands prints."""
    done = run(as_user(lab, words), timeout_s=120)
    assert done.ok, done.stderr
    return done.stdout.strip()


def states(lab: LabPlan, *names: str) -> dict[str, str]:
    """`drained|reason` of each node."""
    lines = said(lab, "sinfo", "--noheader", "--Node", f"--nodes={','.join(names)}", "--partition=main",
                 "--format=%N|%T|%E").splitlines()  # fmt: skip
    return {line.partition("|")[0]: line.partition("|")[2] for line in lines}


def switched(lab: LabPlan, names: tuple[str, ...], mode: str) -> None:
    """Let Slurm restart the nodes in that mode, and close them as a site's hook does."""
    said(lab, "srun", "--immediate=60", f"--nodelist={','.join(names)}", f"--nodes={len(names)}",
         f"--constraint={mode}", "true")  # fmt: skip
    said(lab, "scontrol", "update", f"NodeName={','.join(names)}", "State=DRAIN", f"Reason={OURS}")
    assert eventually(lambda: all(text == f"drained|{OURS}" for text in states(lab, *names).values()))


def repaired(lab: LabPlan, node: str, mode: str) -> None:
    planting.clear(lab.name)
    home = state.folder(lab.name)
    (home / f"power/stuck-{node}").unlink(missing_ok=True)
    (own(home, node) / MODE_FILE.lstrip("/")).write_text(MODE_TEXT.format(mode))


def requalified(lab: LabPlan, names: tuple[str, ...], archive: Path) -> Completed:
    words = ("requalify", ",".join(names), "--budget", "10s", "--json", "--archive", str(archive))
    return run(as_user(lab, (sys.executable, "-m", "seatrial", *words)), timeout_s=180)


def test_switches_that_went_wrong_are_named_and_no_others(standing: LabPlan, tmp_path: Path) -> None:
    lab, named = standing, set()
    home = state.folder(lab.name)
    for number in range(ROUNDS):
        names, mode = PAIRS[number % len(PAIRS)], MODES[(number // len(PAIRS) + 1) % 2]
        for node in names:
            if (number, node) in STUCK:
                (home / f"power/stuck-{node}").touch()
            if (number, node) in SLOW:
                planting.plant(lab.name, "link-rate", node, Parameters(percent=50))
        switched(lab, names, mode)

        done = decided(partial(requalified, lab, names, tmp_path / "runs"), inconclusive)
        for node in parsed(done.stdout)["nodes"]:
            if node["verdict"] != "good":
                named.add((number, node["node"], node["verdict"]))
        for node in names:
            repaired(lab, node, mode)
            said(lab, "scontrol", "update", f"NodeName={node}", "State=RESUME")
        wait_until_idle(lab)
    assert named == {(number, node, "bad") for number, node in STUCK | SLOW}
