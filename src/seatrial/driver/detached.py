"""A check submitted as a Slurm job, and collected later."""

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.contents import closed_as
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import read_info
from seatrial.archive.recovery import partial_folders, recover_runs, watching
from seatrial.driver.clock import new_run_name, now_text
from seatrial.driver.node_selection import allocation_s, enough, sampled, within_node_hours
from seatrial.driver.progress import Progress
from seatrial.driver.site import choose_launcher
from seatrial.driver.submitted import (
    CANCELLED,
    Submitted,
    await_the_last_file,
    batch_script,
    submission,
    write_settings,
    write_submitted,
)
from seatrial.files.inputs import read_end
from seatrial.files.owners import is_own, owner_of
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.settings import CheckSettings, SlurmRequest
from seatrial.process.process import own_program
from seatrial.slurm.presence import is_here
from seatrial.slurm.queue import QueueLine, jobs_by_name, jobs_by_number, submit, this_user

SCRIPT = """\
#!/bin/sh
# $1: run.json of the run; the other arguments: the check. A report with findings (1) or with gaps (2) is not a failure
# of this job. `seatrial runs collect` exits as the check did.
run=$1
shift
trap : HUP INT TERM
"$@"
code=$?
case $code in
1 | 2) grep -q '^  "ending": "complete"' "$run" && code=0 ;;
esac
exit "$code"
"""
"""What to run comes as arguments, so that nothing has to be quoted. Signals are for the check, which closes its run;
the trap lets the script live until that is done."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """A detached run: its folder once it is over, else its state, in a sentence."""

    folder: Path | None
    state: str


def submit_check(settings: CheckSettings) -> Submitted:
    """Hand the check to sbatch, to be driven from the job's first node. Raises UsageError where there is no Slurm."""
    launcher = choose_launcher(settings) if settings.launcher != "auto" or is_here() else None
    if not isinstance(launcher, SlurmLauncher) or launcher.job:
        raise UsageError("--detach needs Slurm, outside any job.", "Without it the check runs right here.")
    hosts = launcher.hosts()
    nodes, sample = sampled(settings, hosts, enough(hosts, settings))
    settings, _, nodes, cut = within_node_hours(settings, hosts, nodes)
    cut = " ".join(filter(None, (sample, cut)))
    fresh = new_run_name("check")
    name = settings.run or fresh
    seconds = allocation_s(settings.budget_s)
    called, user = f"seatrial-{fresh}", this_user()
    with submission(settings.archive, name, called, user) as folder:
        given = write_settings(folder, settings_within(settings, name))
        child = [*own_program(), "check", "--settings", str(given)]
        argv = [str(settings.archive / name / layout.RUN_FILE), *child]
        output = folder / "output.txt"
        with batch_script(SCRIPT) as script:
            job = submit(nodes, seconds, settings.partition, called, output, script, argv, settings.slurm)
        submitted = Submitted(run=name, job=job, name=called, user=user, at=now_text(), nodes=nodes, cut=cut)
        write_submitted(folder, submitted)
    return submitted


def settings_within(settings: CheckSettings, name: str) -> CheckSettings:
    """The settings of the check inside the job, whose nodes and time are those of the job."""
    return msgspec.structs.replace(
        settings,
        run=name,
        launcher="slurm",
        nodes=(),
        partition="",
        slurm=SlurmRequest(arguments=settings.slurm.arguments),
        sample=0,
        one_per_leaf=False,
        idle_only=False,
        node_hours=0.0,
    )


def collect(folder: Path, submitted: Submitted, progress: Progress) -> Collected:
    """Find out the state of a detached check; a run whose job ended before the check did is recovered.

    `folder`: where job.json is. Raises LaunchError where that is not known, since Slurm does not answer.
    """
    archive = folder.parent
    final, partial = archive / submitted.run, archive / f"{submitted.run}{layout.PARTIAL}"
    if (result := _result(folder, submitted)) is not None:
        return result
    lines = jobs_of(submitted)
    left = [line for line in lines if not line.ended]
    if not left and partial.exists():
        await_the_last_file()
    if (result := _result(folder, submitted)) is not None:
        return result
    if left:
        remedy = left[0].hopeless if is_own(folder) else ""  # others may have named a job of this user's
        return Collected(folder=None, state=f"{submitted.run}: job {submitted.job} is {left[0].why}. {remedy}".rstrip())
    if any(layout.run_of(one) == submitted.run and _is_of_the_job(one, folder) for one in partial_folders(archive)):
        return _recovered(folder, submitted, progress)
    output = read_end(folder / "output.txt", folder=folder).strip()
    why = output.splitlines()[-1] if output else _how_it_ended(lines)
    if os.path.lexists(final):
        why = f"the run {submitted.run} there belongs to {owner_of(final, follow=False)}. {why}"
    return Collected(folder=None, state=f"{submitted.run}: job {submitted.job} ended without results: {why}")


def _result(folder: Path, submitted: Submitted) -> Collected | None:
    """The run that the job closed, under another name if others had taken its own; None: there is none."""
    for run in closed_as(folder.parent, submitted.run):
        with contextlib.suppress(DamagedRun):
            if _is_of_the_job(run, folder) and (run.name == submitted.run or read_info(run).job == submitted.job):
                return Collected(folder=run, state="over")
    return None


def _is_of_the_job(run: Path, folder: Path) -> bool:
    """Whether a run has the owner of what was submitted, and is not a link: others may give a run of theirs its name.

    Owners are compared with each other, and not with this user: root may look, and a file server may change both.
    """
    try:
        result, submitted = run.lstat(), folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(result.st_mode) and result.st_uid == submitted.st_uid


def jobs_of(submitted: Submitted) -> tuple[QueueLine, ...]:
    """What Slurm says of it: by the name that no other job has, since numbers are used again."""
    if submitted.name:
        return jobs_by_name(submitted.name, submitted.user)
    return jobs_by_number(submitted.job)


def _recovered(folder: Path, submitted: Submitted, progress: Progress) -> Collected:
    """Close the run unless it is still written: Slurm may hide the jobs of others (PrivateData)."""
    archive = folder.parent
    found = recover_runs(archive, submitted.run, waiting=lambda seconds, _runs: progress.stage(watching(seconds, 1)))
    if found.recovered:
        return Collected(folder=Path(found.recovered[0].folder), state="recovered")
    if found.damaged:
        raise SeatrialError(found.damaged[0].what, found.damaged[0].remedy)
    if (result := _result(folder, submitted)) is not None:  # another process was quicker
        return result
    job = f"{submitted.run}: job {submitted.job} is not in the queue"
    if found.busy:
        return Collected(folder=None, state=f"{job}, and another process is closing its run.")
    host = found.running[0].host
    return Collected(folder=None, state=f"{job}, but its run is still being written{f' on {host}' if host else ''}.")


def _how_it_ended(lines: Sequence[QueueLine]) -> str:
    """What Slurm says of a job that wrote nothing; it forgets ended ones after minutes."""
    if lines and lines[0].state == CANCELLED:
        return "it was cancelled"
    ended = f" ({lines[0].why})" if lines else ""
    return f"it wrote no output{ended}; its nodes may not see this folder (--archive names a shared one)"
