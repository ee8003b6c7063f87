"""One trial: a real check, one process of it killed at a random moment, then everything is looked at."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from seatrial.lab.cluster.daemons import start_slurmd
from tests.campaign.check_run import CheckRun
from tests.campaign.examination import examine, settle
from tests.campaign.lane import Lane
from tests.campaign.victims import Kind, victims

DETACHED = (Kind.JOB_DRIVER, Kind.JOB_STEPD, Kind.COLLECT)
OWN_MOMENT = (Kind.RECOVER, Kind.COLLECT)
"""These run only once the driver is gone."""
LOOK_S = 0.004
CLOSING_FILES = "*samples.parquet*"
"""What a run that is being closed holds first; run.json is replaced after that."""


@dataclass(kw_only=True)
class Outcome:
    """What one trial showed; `faults` is empty where all is as it must be."""

    number: int
    kind: Kind
    title: str = ""
    """Other words for what is done than the kind of process."""
    killed_at_s: float = -1.0
    """Since the start of the check; negative: there was no such process to kill."""
    delivered: int = 0
    kept: int = 0
    exit_code: int | None = None
    """That of the driver; None where it was killed."""
    verdict: str = ""
    settled_s: float = 0.0
    blind: bool = False
    torn: int = 0
    """Lines of the journal that were really cut in mid-write."""
    faults: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What was done."""
        return self.title or self.kind.value

    def line(self) -> str:
        """What is printed of it."""
        when = f"at {self.killed_at_s:5.2f} s" if self.killed_at_s >= 0 else "never there"
        ended = "" if self.exit_code is None else f", driver exit {self.exit_code}"
        state = "; ".join(self.faults) or "ok"
        torn = f", {self.torn} lines cut" if self.torn else ""
        return (
            f"{self.number:3d}  {self.name:33} {when}  delivered {self.delivered:3d} kept {self.kept:3d}"
            f"  clean after {self.settled_s:4.1f} s{ended}{torn}  {self.verdict}  {state}"
        )


class Campaign:
    """Trials in one lane, each drawn from the seed and its number; `length_s`: how long an undisturbed check takes."""

    def __init__(self, lane: Lane, folder: Path, seed: int, length_s: float = 6.0) -> None:
        self.lane = lane
        self.folder = folder
        self.length_s = length_s
        self.seed = seed
        self.draw = random.Random(seed)

    def calibrate(self) -> Outcome:
        """A check that nobody disturbs."""
        check = CheckRun(self.lane, self.folder / "undisturbed")
        check.wait()
        self.length_s = check.seconds()
        outcome = Outcome(number=0, kind=Kind.DRIVER)
        self._examine(check, outcome, killed_driver=False)
        return outcome

    def trial(self, number: int, kind: Kind) -> Outcome:
        """One check, one kill."""
        self.draw = random.Random(f"{self.seed} {number}")
        outcome = Outcome(number=number, kind=kind)
        queued = kind is Kind.SALLOC and self.draw.random() < 0.5
        blocker = self._block() if queued else ""
        check = CheckRun(self.lane, self.folder / f"{number:03d}", detached=kind in DETACHED)
        self._kill(check, outcome, kind)
        if blocker:
            self.lane.run(["scancel", blocker])
        if not check.wait():
            outcome.faults.append("the driver hangs")
            for pid in [check.process.pid] if check.process else victims(Kind.JOB_DRIVER, self.lane):
                self._send(pid, signal.SIGKILL)
            check.wait()
        if kind is Kind.SLURMD:
            self._restart_slurmd()
        if kind is Kind.JOB_STEPD:  # Slurm takes minutes to notice that, whatever the job ran
            self.lane.run(["scancel", *(job.split()[0] for job in self.lane.jobs())])
        killed = kind in (Kind.DRIVER, Kind.CLOSING, *OWN_MOMENT, Kind.JOB_DRIVER)
        if kind in OWN_MOMENT:
            settle(check, outcome)
            command = "recover" if kind is Kind.RECOVER else "collect"
            self._kill_command(check, outcome, kind, command)
        self._examine(check, outcome, killed_driver=killed)
        return outcome

    def _examine(self, check: CheckRun, outcome: Outcome, *, killed_driver: bool) -> None:
        examine(check, outcome, killed_driver=killed_driver and outcome.killed_at_s >= 0)

    def _kill(self, check: CheckRun, outcome: Outcome, kind: Kind) -> None:
        """At a random moment of the check, or as soon after it as there is such a process."""
        number = signal.SIGTERM if kind is Kind.TERMINATED else signal.SIGKILL
        of = {Kind.RECOVER: Kind.DRIVER, Kind.COLLECT: Kind.JOB_DRIVER}.get(kind, kind)
        moment = self._moment_s(kind)
        pause = self.draw.uniform(0.0, 0.06) if kind in (Kind.CLOSING, Kind.SALLOC) else 0.0
        ready: Callable[[], bool] = lambda: check.seconds() >= moment  # noqa: E731
        if kind is Kind.CLOSING:
            ready = lambda: self._closing(check)  # noqa: E731
        while not check.over():
            found = victims(of, self.lane) if ready() else []
            if found:
                time.sleep(pause)
                if self._send(self.draw.choice(found), number):
                    outcome.killed_at_s = check.seconds()
                    return
            time.sleep(LOOK_S)

    def _moment_s(self, kind: Kind) -> float:
        """When, counted from the start of the check."""
        if kind is Kind.SALLOC:
            return self.draw.uniform(0.0, 0.3)
        earliest = self.length_s / 3 if kind in OWN_MOMENT else 0.0  # something is there to be closed
        return self.draw.uniform(earliest, self.length_s)

    def _closing(self, check: CheckRun) -> bool:
        return any(any(folder.glob(CLOSING_FILES)) for folder in check.open_folders())

    def _kill_command(self, check: CheckRun, outcome: Outcome, kind: Kind, command: str) -> None:
        """Kill the command that closes a run after its driver, while it does so."""
        words = ["runs", command, *(["trial"] if command == "collect" else []), "--archive", str(check.archive)]
        process = check.start(*words)
        time.sleep(self.draw.uniform(0.05, 0.7))
        if process.poll() is None:
            process.kill()
            outcome.killed_at_s = check.seconds()
        process.wait()

    def _send(self, pid: int, number: signal.Signals) -> bool:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def _block(self) -> str:
        """Another user's job on the nodes, so that salloc has to wait."""
        words = ["sbatch", "--parsable", "--exclusive", f"--nodelist={','.join(self.lane.nodes)}", "--output=/dev/null"]
        done = self.lane.run(words, stdin="#!/bin/sh\nsleep 60\n")
        return done.stdout.strip()

    def _restart_slurmd(self) -> None:
        for node in self.lane.nodes:
            if not self.lane.on_nodes("slurmd", (node,)):
                start_slurmd(self.lane.plan, node)
