"""What must hold after a kill, whatever was killed: nothing delivered is lost, nothing is left over, all is said."""

import time
from typing import TYPE_CHECKING

from tests.campaign.check_run import CheckRun

if TYPE_CHECKING:
    from tests.campaign.trial import Outcome

CLEAN_S = 60.0
"""A step that is cancelled in the middle of a PMIx collective ends only when Slurm's plugin has tried for 31 s to reach
the peers, whose daemons have gone."""
CODES = (0, 1, 2)
TROUBLE = ("Traceback (most recent call last)", "this is a bug")


def settle(check: CheckRun, outcome: "Outcome") -> None:
    """Wait until no job and no process of the check is left, and its nodes are idle."""
    began = time.monotonic()
    left = leftovers(check)
    while left and time.monotonic() - began < CLEAN_S:
        time.sleep(0.1)
        left = leftovers(check)
    outcome.settled_s = time.monotonic() - began
    if left:
        outcome.faults.append(f"left over: {', '.join(left)}")


def leftovers(check: CheckRun) -> list[str]:
    """Jobs in the queue, processes in the lab, nodes that are not idle."""
    lane = check.lane
    running = {**lane.processes(), **{pid: ["slurmstepd"] for pid in lane.on_nodes("slurmstepd")}}
    processes = [f"process {pid} {' '.join(argv)[:60]}" for pid, argv in running.items()]
    return [*(f"job {job}" for job in lane.jobs()), *processes, *lane.busy_nodes()]


def examine(check: CheckRun, outcome: "Outcome", *, killed_driver: bool) -> None:
    """Look at everything that the check left behind."""
    process = check.process
    if process is not None and not killed_driver:
        outcome.exit_code = process.returncode
        _look_at_end(check, outcome)
    settle(check, outcome)
    witness = check.witness
    outcome.blind = witness is None or witness.blind
    delivered = witness.delivered() if witness is not None else []
    delivered += [line for line in check.journal_lines() if line not in set(delivered)]
    outcome.delivered = sum(b'"entry":"measurement"' in line for line in delivered)
    closed_by_driver = not check.open_folders()
    _close(check, outcome)
    kept = set(check.journal_lines())
    lost = [line for line in dict.fromkeys(delivered) if line not in kept]
    outcome.kept = sum(b'"entry":"measurement"' in line for line in kept)
    if lost:
        outcome.faults.append(f"{len(lost)} delivered lines lost")
    _report(check, outcome, closed_by_driver=closed_by_driver)


def _look_at_end(check: CheckRun, outcome: "Outcome") -> None:
    said = check.said()
    outcome.faults += [f"it says {words!r}" for words in TROUBLE if words in said]
    if outcome.exit_code not in CODES:
        outcome.faults.append(f"exit code {outcome.exit_code}: {check.last_words()}")
    elif not check.folders() and not check.last_words().startswith("seatrial: "):
        outcome.faults.append(f"no sentence at the end: {check.last_words()!r}")


def _close(check: CheckRun, outcome: "Outcome") -> None:
    """Close what is open: a detached check by `runs collect`, any other by `runs recover`."""
    if not check.folders():
        return
    words = ["collect", "trial"] if check.detached else ["recover"]
    done = check.seatrial("runs", *words, "--archive", str(check.archive))
    if done.returncode not in CODES or done.timed_out or any(words in done.stderr for words in TROUBLE):
        outcome.faults.append(f"runs {words[0]} exits {done.returncode}: {done.stderr.strip()[-200:]}")
    if still := check.open_folders():
        outcome.faults.append(f"still open: {', '.join(folder.name for folder in still)}: {done.stdout.strip()[-200:]}")


def _report(check: CheckRun, outcome: "Outcome", *, closed_by_driver: bool) -> None:
    """Every folder of the run can be reported, and a driver that closed its run ended as its report does."""
    for folder in check.folders():
        done = check.seatrial("report", str(folder))
        outcome.verdict = done.stdout.partition(" ")[0]
        if done.returncode not in CODES or any(words in done.stderr for words in TROUBLE):
            outcome.faults.append(f"report of {folder.name} exits {done.returncode}: {done.stderr.strip()[-200:]}")
        elif closed_by_driver and outcome.exit_code not in (None, done.returncode):
            outcome.faults.append(f"driver ended {outcome.exit_code}, its report {done.returncode}")
    if check.folders() and any(row["ending"] in ("damaged", "running") for row in check.listed()):
        outcome.faults.append("runs list shows a damaged or running run")
