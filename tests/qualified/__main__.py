"""python -m tests.qualified: does `seatrial qualify`, called without a pause, delay users' jobs on six nodes?

The same 50 jobs are submitted at the same times, first without and then with qualify. Exit code 0: no job began more
than 5 s later than its twin.
"""

import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.lab.waiting import wait_until_idle
from tests.support.raised_lab import trial_lab

NODES, JOBS, MOST_S = 6, 50, 5.0
POLICY = "minutes = 0.1\nkeep-free = 0\n"
LATEST_S = 300.0


def waits_s(plan: LabPlan, folder: Path, seed: int) -> list[float]:
    """How long each of the jobs waited, from the call of sbatch to the first line of its script."""
    random, began, submitted = Random(seed), time.monotonic(), []
    folder.mkdir()
    due_s = 0.0
    for number in range(JOBS):
        due_s += random.uniform(3, 15)
        time.sleep(max(began + due_s - time.monotonic(), 0))
        script = f"date +%s.%N >{folder}/{number}; sleep {random.uniform(1, 4):.1f}"
        submitted.append(time.time())
        words = ["sbatch", f"--nodes={random.randint(1, NODES)}", "--exclusive", "--output=/dev/null", "--wrap", script]
        done = run(as_user(plan, words), timeout_s=60)
        assert done.ok, done.stderr
    until_s = time.monotonic() + LATEST_S
    while len(list(folder.iterdir())) < JOBS and time.monotonic() < until_s:
        time.sleep(1)
    return [float((folder / str(number)).read_text()) - submitted[number] for number in range(JOBS)]


def call_without_pause(plan: LabPlan, folder: Path, over: threading.Event) -> None:
    """Call qualify again and again, and keep what the calls print."""
    (folder / "policy.toml").write_text(POLICY)
    words = [sys.executable, "-m", "seatrial", "qualify", str(folder / "policy.toml")]
    with (folder / "calls.txt").open("w") as calls:
        while not over.is_set():
            words_there = as_user(plan, ["env", f"SEATRIAL_ARCHIVE={folder / 'runs'}", *words])
            subprocess.run(words_there, stdout=calls, stderr=calls, check=False, timeout=LATEST_S)
            over.wait(1)


def main(seed: int) -> int:
    """Print the waits of both series and the largest difference."""
    over = threading.Event()
    with trial_lab("q", "qualified", nodes=NODES) as (plan, folder), ExitStack() as ending:
        ending.callback(over.set)
        wait_until_idle(plan)
        without = waits_s(plan, folder / "without", seed)
        wait_until_idle(plan)
        caller = threading.Thread(target=call_without_pause, args=(plan, folder, over))
        caller.start()
        beside = waits_s(plan, folder / "beside", seed)
        over.set()
        caller.join()
        calls = (folder / "calls.txt").read_text()
        delays = [late - early for late, early in zip(beside, without, strict=True)]
        for number, (early, late) in enumerate(zip(without, beside, strict=True)):
            print(f"job {number:2}: {early:5.1f} s without, {late:5.1f} s beside")
        print(f"slices: {calls.count(' in 2')}, stopped for a job: {calls.count('stopped: a job')}")
        print(f"the largest delay of {JOBS} jobs: {max(delays):.1f} s")
        return int(max(delays) > MOST_S)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
