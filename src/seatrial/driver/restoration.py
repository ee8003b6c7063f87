"""How changed settings are restored, whoever does it: the command at its end, its keeper, or a later command."""

import shlex
import time
from collections.abc import Mapping

import msgspec

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import (
    Changed,
    ChangedFile,
    ChangedSettings,
    ReadmittedNodes,
    changes_folder,
    foreign,
    warning,
)
from seatrial.driver.reach import Reach, why_not_ours, writing
from seatrial.model.errors import LaunchError, UsageError
from seatrial.process.after_driver import end_bearers
from seatrial.process.keeper import MARK, Keeper
from seatrial.process.process import Completed, run
from seatrial.slurm.argv import resume, take_out
from seatrial.slurm.held_nodes import only_job, runs_on
from seatrial.slurm.queue import job_ending

STEP_S = 300.0
"""Time limit of one of the commands that change the setting."""
END_S = 2.0
"""Seconds for a benchmark that nobody has ended to react to SIGTERM."""
PAUSES_S = (2.0, 8.0)
"""Between the three tries."""


class RestorationStep(msgspec.Struct, frozen=True, kw_only=True):
    """One program that changes a setting; never given to a shell."""

    argv: tuple[str, ...]
    stdin: str = ""
    folder: str | None = None
    environment: dict[str, str] = {}

    def run(self, extra: Mapping[str, str] | None = None) -> Completed:
        """Run it to its end."""
        return run(
            self.argv,
            stdin=self.stdin,
            timeout_s=STEP_S,
            cwd=self.folder,
            extra_environment={**self.environment, **(extra or {})},
        )


def step_of(settings: ChangedSettings, change: Changed, *, usual: bool) -> RestorationStep:
    """What establishes the usual setting, or the changed one."""
    if isinstance(change, ChangedFile):
        reach = Reach(
            launcher=settings.launcher, partition=settings.partition, slurm=settings.slurm, job=settings.job
        )  # fmt: skip
        words = writing(change, settings.name, change.usual if usual else change.changed)
        note = "" if usual else f"{change.text}, since {settings.driver.since}, by {settings.driver.user}\n"
        return RestorationStep(argv=reach.argv(change.node, words), stdin=note)
    if isinstance(change, ReadmittedNodes):
        states = [(node.node, node.state, node.reason) for node in change.nodes]
        out, back = take_out(change.reservation, states), resume([node.node for node in change.nodes])
        return RestorationStep(argv=tuple(out if usual else back))
    inside = {**only_job(settings.job), "SLURM_OVERLAP": "1"} if settings.job_name and settings.job else {}
    return RestorationStep(argv=change.usual if usual else change.changed, folder=change.folder, environment=inside)


def by_hand(settings: ChangedSettings) -> str:
    """The commands by which a person restores it."""
    lines = []
    for change in settings.changes:
        if isinstance(change, ChangedFile):
            lines.append(f"echo {shlex.quote(change.usual)} | tee {shlex.join(change.files)} (on {change.node})")
        else:
            lines.append(shlex.join(step_of(settings, change, usual=True).argv))
    return "; ".join(lines)


def restore(settings: ChangedSettings) -> str:
    """Establish the usual settings, and forget that they were changed; why that failed, or nothing.

    A setting that cannot be restored, as on a node that died, does not keep the others from it.
    """
    failed = [why for change in settings.changes if (why := _restored(settings, change))]
    if failed:
        return f"{'; '.join(failed)}."
    if settings.changes:
        changed_settings.remove(changes_folder(), settings.name)
    return ""


def _restored(settings: ChangedSettings, change: Changed) -> str:
    """Three tries; why the last one failed, or nothing."""
    if isinstance(change, ChangedFile) and (why := why_not_ours(change)):
        return why
    why = ""
    for pause_s in (*PAUSES_S, 0.0):
        try:
            why = _tried(settings, change)
        except KeyboardInterrupt:  # who interrupts it wants it to end, and not the setting to stay changed
            continue
        if not why:
            return ""
        time.sleep(pause_s)
    return why


def _tried(settings: ChangedSettings, change: Changed) -> str:
    try:
        reached = settings if runs_on(settings.job) else msgspec.structs.replace(settings, job="")
    except LaunchError as error:
        return f"{change.text} ({error.what.rstrip('.')})"
    done = step_of(reached, change, usual=True).run()
    if done.ok:
        return ""
    how = "was ended at its time limit" if done.timed_out else f"ended with exit code {done.returncode}"
    printed = (done.stderr.strip().splitlines() or [""])[-1]
    return f"{change.text}; what restores it {how}" + (f" ({printed})" if printed else "")


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What a restoration has done, as lines for a person."""

    lines: tuple[str, ...]
    failed: bool


def restore_left(name: str = "") -> Restored:
    """End what is left of a command, restore what it left changed, and end its job; of all of them, or of one name.

    Raises UsageError for changes of a command that still runs, and of one that may still run on another host, unless
    they are named. What is changed on another cluster must be restored there.
    """
    lines: list[str] = []
    failed = False
    for settings in changed_settings.read(changes_folder()):
        if name not in ("", settings.name):
            continue
        if settings.running or (settings.running is None and not name):
            driver = settings.driver
            state = "runs" if settings.running else "may still run"
            raise UsageError(
                f"{settings.name}: the command that restores it at its end {state}: process {driver.pid} on "
                f"{driver.host}.",
                f"Wait for its end. If it has ended, {changed_settings.RESTORE} {settings.name}",
            )
        if foreign(settings):
            failed = True
            lines.append(f"NOT restored: {warning(settings)}")
            continue
        end_bearers([f"{MARK}={settings.name}"], 0.0, END_S)
        if why := restore(settings):
            failed = True
            lines.append(f"NOT restored: {why}")
            continue
        lines += [f"Restored: {change.usual_text} again." for change in settings.changes]
        if settings.job_name:
            Keeper(job_ending(settings.job_name)).release()
    return Restored(lines=tuple(lines) or ("Nothing is left to restore.",), failed=failed)
