"""Kill one node's rank in checks on a lab, in each session or once, and count how often the report says so.

python -m bench.dead_ranks --runs 20          (as root; raises a lab of four nodes of its own)
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from bench.lab_loop import count_wrong, four_nodes, own_folder

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in, send, state_letter

PROBE = "seatrial-probe"
EARLIEST_S, LATEST_S = 0.5, 3.0
NUMBERS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)


class Killer:
    """Ends the probe's rank on one node a moment after it came up: in each session, or once."""

    def __init__(self, plan: LabPlan, node: str, *, once: bool, draw: random.Random, latest_s: float) -> None:
        self.killed: list[str] = []
        self._space = plan.space(node)
        self._once = once
        self._draw = draw
        self._latest_s = latest_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        seen: set[int] = set()
        while not self._over.wait(0.02) and not (self._once and self.killed):
            for pid in named(pids_in([self._space]), PROBE):
                if pid not in seen:
                    seen.add(pid)
                    self._kill(pid)

    def _kill(self, pid: int) -> None:
        number = self._draw.choice(NUMBERS)
        self._over.wait(self._draw.uniform(EARLIEST_S, self._latest_s))
        if not self._over.is_set() and state_letter(pid) not in ("", "Z"):
            send([pid], number)
            self.killed.append(number.name)

    def stop(self) -> None:
        """No more kills."""
        self._over.set()
        self._thread.join()


def one_run(
    plan: LabPlan, archive: Path, node: str, *options: str, once: bool, draw: random.Random, latest_s: float = LATEST_S
) -> dict[str, Any]:
    """A check with these options, and with kills: what was killed, and what its report says.

    `latest_s`: after a rank came up. The check may be over by then.
    """
    words = [sys.executable, "-m", "seatrial", "check", *options, "--json", "--archive", str(archive)]
    argv = as_user(plan, words)
    killer = Killer(plan, node, once=once, draw=draw, latest_s=latest_s)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    finally:
        killer.stop()
    judged = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    measured = judged.get("data") or {}
    return {
        "node": node,
        "killed": killer.killed,
        "exit": done.returncode,
        "findings": [(one["kind"], one["subject"], one["ambiguous_with"]) for one in judged.get("findings", [])],
        "statements": [one["statement"] for one in judged.get("findings", [])],
        "notes": [note for note in measured.get("notes", []) if "rank" in note],
        "verdict": judged.get("verdict", done.stderr[-300:]),
        "complete": measured.get("complete"),
        "run": judged.get("run"),
    }


def faults(found: dict[str, Any], *, once: bool) -> list[str]:
    """Once: a note with node and signal, and no finding. In each session: the finding on this node, and exit code 1."""
    named = [one for one in found["findings"] if one[0] == "rank-died"]
    if not once:
        exact = named == [("rank-died", f"node:{found['node']}", [])] and found["exit"] == 1
        return [] if exact else [f"named {named}, exit code {found['exit']}"]
    (killed,) = found["killed"] or [""]
    noted = any(f" on {found['node']} in session" in note and f"({killed})" in note for note in found["notes"])
    return [] if noted and not named else [f"named {named}, notes {found['notes']}"]


def main() -> int:
    """Both series; the exit code is the number of runs that did not say what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("once", "each"))
    parser.add_argument("--archive", type=Path, help="keep the runs there; a folder that the lab's nodes see")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    missed = 0
    with own_folder() as folder, four_nodes("dead") as plan:
        archive = asked.archive or Path(folder)

        def one(*, once: bool) -> dict[str, Any]:
            found = one_run(plan, archive, draw.choice(plan.node_names), once=once, draw=draw)
            return found | {"faults": faults(found, once=once)}

        if asked.only != "each":
            missed += count_wrong("once", asked.runs, lambda _: one(once=True))
        if asked.only != "once":
            missed += count_wrong("in each session", asked.runs, lambda _: one(once=False))
    return missed


if __name__ == "__main__":
    sys.exit(main())
