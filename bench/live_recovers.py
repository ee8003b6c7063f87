"""Let several `runs recover` at once meet a live check on a lab, then a killed one, and count the runs that were right.

python -m bench.live_recovers --runs 20          (as root; raises a lab of four nodes of its own)
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.lab_loop import count_wrong, four_nodes, own_folder

from seatrial.archive import layout
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan

SEATRIAL = (sys.executable, "-m", "seatrial")
ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc")
"""From there no process of the driver is visible, as from another host: its lease is watched."""
LIVE = (("login", ()), ("login", ()), ("n3", ()), ("login", ELSEWHERE))
"""Host and wrapper of each `runs recover` that meets a live run, all at once."""
DEAD = (("login", ()), ("login", ()))
END_S = 300.0
MOMENT_S = 4.0
"""On a busy machine a check may end with fewer lines than were waited for."""
Recovers = Sequence[tuple[str, Sequence[str]]]


def recovers(plan: LabPlan, archive: Path, where: Recovers) -> list[dict[str, Any]]:
    """Several `runs recover` at once: what each of them says, and its exit code."""
    words = [*SEATRIAL, "runs", "recover", "--json", "--archive", str(archive)]
    started = [
        subprocess.Popen(
            as_user(plan, [*wrapper, *words], host=host), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for host, wrapper in where
    ]
    found = []
    for one in started:
        said, complaint = one.communicate(timeout=END_S)
        parsed = json.loads(said)["data"] if said.startswith("{") else {}
        names = {kind: [run["run"] for run in parsed.get(kind, ())] for kind in ("recovered", "running", "busy")}
        found.append({"exit": one.returncode, **names, "damaged": parsed.get("damaged"), "stderr": complaint[-200:]})
    return found


def start_check(plan: LabPlan, archive: Path, run: str) -> "subprocess.Popen[str]":
    """A check of all nodes under that name."""
    words = [*SEATRIAL, "check", "--json", "--budget", "15s", "--run", run, "--archive", str(archive)]
    return subprocess.Popen(as_user(plan, words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def delivered(folder: Path) -> set[bytes]:
    """The whole lines of a journal."""
    try:
        lines = (folder / layout.JOURNAL_FILE).read_bytes().splitlines(keepends=True)
    except OSError:
        return set()
    return {line for line in lines if line.endswith(b"\n")}


def await_lines(folder: Path, lines: int) -> None:
    """Until the journal of an open run has that many lines, or for some seconds after its first ones."""
    deadline = time.monotonic() + END_S
    while (there := len(delivered(folder))) < lines and time.monotonic() < deadline:
        if there:
            deadline = min(deadline, time.monotonic() + MOMENT_S)
        time.sleep(0.02)


def live_run(plan: LabPlan, archive: Path, run: str, draw: random.Random) -> dict[str, Any]:
    """A check that several `runs recover` meet; its own end must be that of an undisturbed one."""
    check = start_check(plan, archive, run)
    folder = archive / f"{run}{layout.PARTIAL}"
    await_lines(folder, draw.randint(1, 25))
    before = delivered(folder)
    found = recovers(plan, archive, LIVE[:3] if draw.random() < 0.7 else LIVE)
    said, complaint = check.communicate(timeout=END_S)
    judged = json.loads(said) if said.startswith("{") else {}
    closed = archive / run
    faults = [f"a recover says {one}" for one in found if one["exit"] or one["recovered"] or one["damaged"]]
    faults += [f"a recover does not see {run}: {one}" for one in found if run not in (*one["running"], *one["busy"])]
    if not judged or judged.get("kind") == "error":
        faults.append(f"the driver ended {check.returncode}: {complaint[-300:]}")
    if before - delivered(closed):
        faults.append(f"{len(before - delivered(closed))} of {len(before)} delivered lines lost")
    if _ending(closed) != "complete":
        faults.append(f"it was closed as {_ending(closed)!r}")
    if run in [name for one in found for name in one["busy"]] and not closed.exists():
        faults.append("it is busy and not closed")
    return {"met": len(before), "kept": len(delivered(closed)), "recovers": len(found), "faults": faults}


def dead_run(plan: LabPlan, archive: Path, run: str, draw: random.Random) -> dict[str, Any]:
    """A check whose driver is killed; of two `runs recover` at once one closes it, and both end with 0."""
    check = start_check(plan, archive, run)
    folder = archive / f"{run}{layout.PARTIAL}"
    await_lines(folder, draw.randint(1, 25))
    check.send_signal(signal.SIGKILL)
    check.communicate()
    before = delivered(folder)
    found = recovers(plan, archive, DEAD)
    closed = archive / run
    faults = [f"a recover says {one}" for one in found if one["exit"] or one["running"] or one["damaged"]]
    if [name for one in found for name in one["recovered"]] != [run]:
        faults.append(f"it was not recovered exactly once: {found}")
    if before - delivered(closed):
        faults.append(f"{len(before - delivered(closed))} of {len(before)} delivered lines lost")
    return {"met": len(before), "kept": len(delivered(closed)), "recovers": len(found), "faults": faults}


def _ending(folder: Path) -> str:
    try:
        return str(json.loads((folder / layout.RUN_FILE).read_bytes())["ending"])
    except OSError:
        return "still open"


def main() -> int:
    """The exit code is the number of runs in which something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("live", "dead"))
    given = parser.parse_args()
    draw = random.Random(given.seed)
    wrong = 0
    with own_folder() as folder, four_nodes("live") as plan:
        archive = Path(folder)
        if given.only != "dead":
            wrong += count_wrong("live", given.runs, lambda number: live_run(plan, archive, f"live{number:02d}", draw))
        if given.only != "live":
            wrong += count_wrong("dead", given.runs, lambda number: dead_run(plan, archive, f"dead{number:02d}", draw))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
