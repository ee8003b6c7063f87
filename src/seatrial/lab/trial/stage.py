"""The stage of a trial for real: this machine, labs of unique names, and the command `seatrial check`."""

import itertools
import os
import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from seatrial.archive.journal import RoundStarted, decode
from seatrial.archive.layout import JOURNAL_FILE, PARTIAL
from seatrial.files.writing import new_folder
from seatrial.lab.cluster import planting, state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.lab.cluster.stop import raze
from seatrial.lab.trial.disturbances import hogs
from seatrial.lab.trial.scenario import Scenario
from seatrial.lab.trial.trial import Stage
from seatrial.model.measurement import Phase
from seatrial.process.process import Completed, own_program, run

CHECK_TIMEOUT_S = 900.0


def real_stage(keep_in: Path | None, program: Sequence[str] = ()) -> Stage:
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
        target = keep_in / f"{label}-{secrets.token_hex(2)}"
        keep_run(archive_of(plan, label), target, done)
        return str(target)

    return Stage(
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
    """Where the check of one run archives: a folder that every host of the lab sees, and that goes with the lab."""
    return state.folder(plan.name) / "work" / label


def survey_begun(archive: Path) -> bool:
    """Whether the run that grows in this archive has begun its survey: a round of it is in the journal."""
    for journal in archive.glob(f"*{PARTIAL}/{JOURNAL_FILE}"):
        with suppress(OSError, msgspec.MsgspecError), journal.open("rb") as lines:
            if any(isinstance(one, RoundStarted) and one.round.phase is Phase.SURVEY for one in decode(lines)):
                return True
    return False


def keep_run(archive: Path, target: Path, done: Completed) -> None:
    """Copy the archive of a run, and what the check printed, out of the lab, into a folder of this run alone."""
    with new_folder(target) as own:
        if archive.is_dir():
            shutil.copytree(archive, own.for_libraries, symlinks=True, dirs_exist_ok=True)
        own.replace("check.stdout", done.stdout.encode())
        own.replace("check.stderr", done.stderr.encode())
