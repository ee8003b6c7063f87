"""Nodes that Slurm restarts, some in another mode: those that came up wrong are named and closed, and no others."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting, state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.slurm_conf import MODE_FILE, MODE_TEXT, MODES
from seatrial.lab.cluster.sysroot import own
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, wait_until_idle
from tests.support.json_objects import parsed
from tests.support.raised_lab import raised_lab

pytestmark = pytest.mark.lab
SITE = '[gate]\nfolder = "{}"\nshare = "99%"\nper-hour = 1000\n'
PAIRS = (("n1", "n2"), ("n3", "n4"), ("n5", "n6"))
ROUNDS = 10
STUCK = {(0, "n2"), (4, "n4"), (8, "n5")}
"""Switches, by round and node, after which the node has its old mode, and Slurm believes that it has the new one."""
SLOW = {(1, "n4"), (5, "n5"), (9, "n2")}
"""Switches after which the link of the node is slow."""
RIGHT = {(True, False): {"bad"}, (False, True): {"bad", "unknown"}, (False, False): {"good", "unknown"}}
"""What may be said of a switch, by whether it is stuck or slow: a speed may stay unknown on a busy machine."""
LEFT = {"good": "idle|none", "bad": "drained|seatrial: ", "unknown": "drained|requalify"}
"""How Slurm has a node after each verdict; on a busy machine some stay unknown."""


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    with raised_lab("m", tmp_path_factory.getbasetemp(), nodes=6, leaves=1, modes=True) as plan:
        yield plan


@pytest.fixture
def lab(standing: LabPlan, tmp_path: Path) -> Iterator[LabPlan]:
    (tmp_path / "gate").mkdir()
    (tmp_path / "site.toml").write_text(SITE.format(tmp_path / "gate"))
    wait_until_idle(standing)
    yield standing
    for node in standing.node_names:
        run(as_user(standing, ["scontrol", "update", f"NodeName={node}", "State=RESUME"]), timeout_s=60)


def printed(lab: LabPlan, *words: str) -> str:
    """What one of Slurm's commands prints."""
    done = run(as_user(lab, words), timeout_s=120)
    assert done.ok, done.stderr
    return done.stdout.strip()


def states(lab: LabPlan) -> dict[str, str]:
    """`drained|reason` of each node."""
    lines = printed(lab, "sinfo", "--noheader", "--Node", "--partition=main", "--format=%N|%T|%E").splitlines()
    return {line.partition("|")[0]: line.partition("|")[2] for line in lines}


def requalifying(lab: LabPlan, tmp_path: Path, *words: str) -> list[str]:
    site = f"SEATRIAL_SITE={tmp_path / 'site.toml'}"
    options = ("--budget", "30s", "--no-nodes", "--archive", str(tmp_path / "runs"))
    return as_user(lab, ("env", site, sys.executable, "-m", "seatrial", "requalify", *words, *options))


def requalified(lab: LabPlan, tmp_path: Path, *words: str) -> Completed:
    return run(requalifying(lab, tmp_path, *words), timeout_s=180)


def left_unknown(done: Completed) -> bool:
    """Whether the node stays out because the machine was busy; what is open between its partners does not count."""
    return " left unknown: " in done.stdout


def test_a_node_is_closed_from_its_restart_until_it_is_qualified(lab: LabPlan, tmp_path: Path) -> None:
    printed(lab, "scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=bad DIMM")
    printed(lab, "scontrol", "reboot", "ASAP", "nextstate=DOWN", "reason=requalify", "n1")
    assert eventually(lambda: states(lab)["n1"].startswith("down|requalify"))
    done = decided(partial(requalified, lab, tmp_path), left_unknown)
    usual = dict.fromkeys(lab.node_names, "idle|none") | {"n2": "drained|bad DIMM"}
    if left_unknown(done):
        after = states(lab)
        assert after.pop("n1").startswith("drained|requalify"), "Slurm adds that the reboot is complete"
        assert after.items() <= usual.items(), done.stdout + done.stderr
    else:
        answer = re.match(r"(PASS|INCONCLUSIVE)  n1 resumed: \d pairs, the worst at \d+ %", done.stdout)
        assert answer, done.stdout + done.stderr
        assert states(lab) == usual
        assert requalified(lab, tmp_path).stdout == "PASS  no node waits to be requalified\n"
    assert requalified(lab, tmp_path, "n2").stdout == "NOT_RUN  n2 kept: drained: bad DIMM\n"
    assert states(lab)["n2"] == "drained|bad DIMM"


@pytest.mark.series
def test_a_node_is_closed_again_when_the_command_is_killed(lab: LabPlan, tmp_path: Path) -> None:
    printed(lab, "scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=requalify")
    with subprocess.Popen(
        requalifying(lab, tmp_path, "n1"), stderr=subprocess.DEVNULL, start_new_session=True
    ) as driver:
        try:
            assert eventually(lambda: not states(lab)["n1"].startswith("drained"))
        finally:
            driver.kill()  # nsenter and env replaced themselves by it
    assert eventually(lambda: states(lab)["n1"] == "drained|requalify")
    assert eventually(lambda: "seatrial" not in printed(lab, "scontrol", "--oneliner", "show", "reservation"))
    done = decided(partial(requalified, lab, tmp_path, "n1"), left_unknown)
    after = states(lab)["n1"]
    if left_unknown(done):
        assert after == "drained|requalify", done.stdout + done.stderr
    else:
        assert "  n1 resumed: " in done.stdout, done.stdout + done.stderr
        assert after == "idle|none"


def switched(lab: LabPlan, names: tuple[str, ...], mode: str) -> None:
    """Let Slurm restart the nodes in that mode, and close them as a site's hook does."""
    nodes = ",".join(names)
    printed(
        lab, "srun", "--immediate=60", f"--nodelist={nodes}", f"--nodes={len(names)}", f"--constraint={mode}", "true"
    )
    printed(lab, "scontrol", "update", f"NodeName={nodes}", "State=DRAIN", "Reason=requalify")
    assert eventually(lambda: all(states(lab)[name] == "drained|requalify" for name in names)), states(lab)


def repaired(lab: LabPlan, node: str, mode: str) -> None:
    planting.clear(lab.name)
    home = state.folder(lab.name)
    (home / f"power/stuck-{node}").unlink(missing_ok=True)
    (own(home, node) / MODE_FILE.lstrip("/")).write_text(MODE_TEXT.format(mode))
    printed(lab, "scontrol", "update", f"NodeName={node}", "State=RESUME")


@pytest.mark.timeout(2400)
@pytest.mark.series
def test_switches_that_went_wrong_are_named_and_no_others(lab: LabPlan, tmp_path: Path) -> None:
    """Each round has two switches."""
    verdicts: dict[tuple[int, str], str] = {}
    for number in range(ROUNDS):
        names, mode = PAIRS[number % len(PAIRS)], MODES[(number // len(PAIRS) + 1) % 2]
        for node in names:
            if (number, node) in STUCK:
                (state.folder(lab.name) / f"power/stuck-{node}").touch()
            if (number, node) in SLOW:
                planting.plant(lab.name, "link-rate", node, Parameters(percent=50))
        switched(lab, names, mode)
        of = dict.fromkeys(names, "unknown")

        def attempt(of: dict[str, str] = of) -> dict[str, str]:
            """The verdicts, of the nodes that are not decided yet measured again."""
            left = ",".join(name for name, verdict in of.items() if verdict == "unknown")
            nodes = parsed(requalified(lab, tmp_path, left, "--json").stdout)["nodes"]
            of.update({node["node"]: node["verdict"] for node in nodes})
            return of

        decided(attempt, lambda of: "unknown" in of.values())
        after = states(lab)
        for name, verdict in of.items():
            verdicts[number, name] = verdict
            assert after[name].startswith(LEFT[verdict]), (number, of, after)
            if verdict != "good":
                repaired(lab, name, mode)
        wait_until_idle(lab)
    assert len(verdicts) == 2 * ROUNDS
    for switch, verdict in verdicts.items():
        assert verdict in RIGHT[switch in STUCK, switch in SLOW], (switch, sorted(verdicts.items()))
