"""The stage of a trial for real: this machine, labs of unique names, and the command `seatrial check`."""

import itertools
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from seatrial.archive.journal import RoundStarted, decode
from seatrial.archive.layout import JOURNAL_FILE, PARTIAL
from seatrial.lab.cluster import planting, state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.lab.cluster.stop import raze
from seatrial.lab.trial.disturbances import hogs
from seatrial.lab.trial.scenario import Scenario
from seatrial.lab.trial.trial import TrialStage
from seatrial.model.measurement import Phase
from seatrial.process.process import Completed, own_program, run

CHECK_TIMEOUT_S = 900.0


def real_stage(keep_in: Path | None, program: Sequence[str] = ()) -> TrialStage:
    """A stage that raises real labs; archives and outputs of runs that were not right go to `keep_in`."""
    numbers = itertools.count(1)

    def plan(scenario: Scenario) -> LabPlan:
        return scenario.plan(f"t{os.getpid()}-{next(numbers)}", needed_folders())

    def check(plan: LabPlan, words: Sequence[str], label: str) -> Completed:
        archive = str(archive_of(plan, label))
        argv = [*(program or own_program()), words[0], "--json", "--archive", archive, *words[1:]]
        return run(as_user(plan, argv), timeout_s=CHECK_TIMEOUT_S)

    def keep(plan: LabPlan, label: str, done: Completed) -> str:
        if keep_in is None:
            return ""
        keep_run(archive_of(plan, label), keep_in / label, done)
        return str(keep_in / label)

    return TrialStage(
        plan=plan,
        raise_lab=raise_lab,
        raze=raze,
        plant=planting.plant,
        switch=planting.switch,
        clear=planting.clear,
        check=check,
        measuring=lambda plan, label: survey_begun(archive_of(plan, label)),
        hogs=hogs,
        keep=keep,
        clock=time.monotonic,
    )


def archive_of(plan: LabPlan, label: str) -> Path:
    """The archive of one run's check: a folder that every host of the lab sees, and that goes with the lab."""
    return state.folder(plan.name) / "work" / label


def survey_begun(archive: Path) -> bool:
    """Whether the run that grows in this archive has begun its survey: a round of it is in the journal."""
    for journal in archive.glob(f"*{PARTIAL}/{JOURNAL_FILE}"):
        with suppress(OSError, msgspec.MsgspecError), journal.open("rb") as lines:
            if any(isinstance(one, RoundStarted) and one.round.phase is Phase.SURVEY for one in decode(lines)):
                return True
    return False


def keep_run(archive: Path, target: Path, done: Completed) -> None:
    """Copy the archive of a run, and what the check printed, out of the lab."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if archive.is_dir():
        shutil.copytree(archive, target, dirs_exist_ok=True)
    (target / "check.stdout").write_text(done.stdout, encoding="utf-8")
    (target / "check.stderr").write_text(done.stderr, encoding="utf-8")
