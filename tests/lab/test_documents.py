"""The commands that the README, docs/commands.md and docs/lab.md promise, run exactly as written there."""

import itertools
import os
import re
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster import state, stop
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, inconclusive
from tests.support import benchmark_outputs
from tests.support.documents import table
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]
SEATRIAL = (sys.executable, "-m", "seatrial")
ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("--hosts", "run hpcc")
WITH_US = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def two_nodes(tmp_path: Path) -> Iterator[LabPlan]:
    plan = make_plan(name=f"d{os.getpid()}", nodes=2, folders=(*needed_folders(), str(tmp_path)))
    raise_lab(plan)
    try:
        yield plan
    finally:
        stop.raze(plan.name)


def promised_in(page: str) -> list[str]:
    """The commands in the table of what one can type, each once, in its order.

    test_hosts.py runs those that need an sshd, and tests/applications those that need a benchmark's package.
    """
    rows = table((ROOT / page).read_text(), "you want to", "type")
    commands = [command for row in rows for command in re.findall(r"`(seatrial [^`]+)`", row[1])]
    last = reversed(dict.fromkeys(reversed(commands)))  # the last of two equal ones follows what it needs
    return [command for command in last if not any(word in command for word in ELSEWHERE)]


def as_tested(command: str) -> str:
    """The command with the options of the test."""
    for written, tested in AS_TESTED.items():
        command = command.replace(written, tested)
    return command


def wait_for_an_empty_queue(lab: LabPlan) -> None:
    """Commands take idle nodes, and the detached check before may still be at work."""
    assert eventually(lambda: run(as_user(lab, ["squeue", "-h"]), timeout_s=30).stdout == "")


MEASURED_ELSEWHERE = {
    "stream.csv": "node,run,value\n" + "".join(f"n{k % 8},{k // 8},{1000 + k * 7 % 5}\n" for k in range(40)),
    "hpl.csv": "time,value\n" + "".join(f"{2000 + k},{100 + k * 7 % 5}\n" for k in range(40)),
    "history.csv": "time,value\n" + "".join(f"{2000 + k},{100 + k * 7 % 5}\n" for k in range(40)),
    "slurm-4711.out": benchmark_outputs.osu(),
    **{f"run-{nodes}.out": benchmark_outputs.openfoam(ranks=2 * nodes, seconds=40.0 / nodes) for nodes in (1, 2)},
}
UNDECIDED = ("collect", "local", "history", "compare", "plan ", "soak", "swap status")
"""What an archive of a few runs, a few cycles, or a search without results does not decide: exit code 2."""
AS_TESTED = {
    "--minutes 60": "--minutes 0.1",
    "seatrial nodes n": "seatrial nodes --repetitions 1 --trials memory,noise n",
    "seatrial nodes --l": "seatrial nodes --repetitions 1 --trials noise --l",
    "curve n1 n2 --budget 10s": "curve n1 n2 --budget 11s --per-octave 1",
    "saturate n1 n2 --budget 10s": "saturate n1 n2 --budget 5s",
}
"""Less of what takes an hour or a minute, and a curve whose points all have several round trips."""
SEARCH = ("swap", "start", "gpu", "node=n1,card=c1", "node=n2,card=c2")
"""The search for a faulty part whose state the table prints."""
PAIRS = itertools.permutations([f"n{number}" for number in range(1, 9)], 2)
RESULTS = "source,target,latency_us,bandwidth_mb_s\n" + "".join(f"{one},{two},1.5,1000\n" for one, two in PAIRS)
"""Of eight nodes: two have no peers, and their table does not pass."""
FABRIC = """\
Switch\t36 "S-1"\t# "leaf1" enhanced port 0 lid 3 lmc 0
[1]\t"H-1"[1]\t# "n1 mlx5_0" lid 7 4xEDR
[2]\t"H-2"[1]\t# "n2 mlx5_0" lid 8 4xEDR

Ca\t1 "H-1"\t# "n1 mlx5_0"
[1](1)\t"S-1"[1]\t# lid 7 lmc 0 "leaf1" lid 3 4xEDR

Ca\t1 "H-2"\t# "n2 mlx5_0"
[1](2)\t"S-1"[2]\t# lid 8 lmc 0 "leaf1" lid 3 4xEDR
"""


def test_the_tables_of_what_to_type(two_nodes: LabPlan, tmp_path: Path) -> None:
    commands = promised_in("docs/commands.md")
    assert len(commands) >= 20
    assert set(promised_in("README.md")) <= set(commands)
    (tmp_path / "results.out").write_text(RESULTS)
    (tmp_path / "fabric.txt").write_text(FABRIC)
    for name, text in MEASURED_ELSEWHERE.items():
        (tmp_path / name).write_text(text)
    runs = {"SEATRIAL_ARCHIVE": str(tmp_path / "runs")}
    assert run([*SEATRIAL, *SEARCH], timeout_s=60, extra_environment=runs).returncode == 2
    for command in commands:
        if command.startswith(("seatrial check", "seatrial facts n")):
            wait_for_an_empty_queue(two_nodes)
        argv = as_user(two_nodes, shlex.split(as_tested(command)), cwd=str(tmp_path))
        attempt = partial(run, argv, timeout_s=150, extra_environment={**WITH_US, **runs})
        undecided = any(word in command for word in UNDECIDED)
        done = attempt() if undecided else decided(attempt, inconclusive)
        wanted = (0, 2) if undecided else (0,)
        assert done.returncode in wanted, f"{command}: {done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "samples.parquet").exists()
    the_plateau_is_what_the_link_carries(two_nodes, tmp_path)
    several_ranks_share_the_link(two_nodes, tmp_path)


def reported(lab: LabPlan, folder: Path, kind: str) -> dict[str, Any]:
    """The report of the last run of that kind."""
    measured = max((folder / "runs").glob(f"*-{kind}-*"))
    report = run(as_user(lab, [*SEATRIAL, "report", str(measured), "--json"], cwd=str(folder)), timeout_s=60)
    return parsed(report.stdout)


def the_plateau_is_what_the_link_carries(lab: LabPlan, folder: Path) -> None:
    """What the table's `seatrial curve` measured is true of the virtual link."""
    found = reported(lab, folder, "curve")
    assert found["verdict"] == "PASS", found["reason"]
    assert 0.9 < found["plateau"]["bandwidth_bytes_per_s"]["value"] / found["limit_bytes_per_s"] < 1.01
    assert found["limit_bytes_per_s"] == pytest.approx(117.67e6, rel=0.001)
    assert found["latency"]["segments"]
    assert len(found["points"]) >= 20
    assert all(point["latency_mean_s"]["value"] > 0 for point in found["points"])
    ranks = found["ranks"]
    assert ranks["one_machine"]
    assert not ranks["measured"]["share"]
    assert ranks["default"]["failure"] == ""
    assert [rank["cpus"] for rank in ranks["default"]["ranks"]] == [[0], [0]], "mpirun binds to each node's core 0"
    assert ranks["default"]["share"]


def several_ranks_share_the_link(lab: LabPlan, folder: Path) -> None:
    """What the table's `seatrial saturate` measured is true of the virtual link."""
    found = reported(lab, folder, "saturate")
    assert [one["ranks"] for one in found["by_ranks"]] == [1, 2]
    assert found["complete"]
    for one in found["by_ranks"]:
        assert 0.8 < one["bandwidth_bytes_per_s"]["value"] / found["limit_bytes_per_s"] < 1.01


def typed(line: str) -> Completed:
    return run(shlex.split(line), timeout_s=150, extra_environment=WITH_US, cwd=str(ROOT))


def test_the_example_of_the_lab(tmp_path: Path) -> None:
    if "lab" in state.lab_names():
        pytest.skip("a lab named `lab` stands on this machine, and the example would use it")
    block = re.search(r"```\n(seatrial lab up.*?)```", (ROOT / "docs/lab.md").read_text(), re.DOTALL)
    assert block
    lines = block.group(1).strip().splitlines()
    assert len(lines) == 6
    try:
        for line in lines:
            options = f" --no-nodes --archive {tmp_path}" if line.endswith("seatrial check") else ""
            done = typed(line + options)
            assert done.returncode == (1 if "seatrial check" in line else 0), f"{line}: {done.stdout}{done.stderr}"
            if "seatrial check" in line:
                assert "node:n3" in done.stdout.splitlines()[2]
    finally:
        stop.raze("lab")
