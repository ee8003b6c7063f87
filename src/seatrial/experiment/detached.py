"""A check left to Slurm's queue, and collected later."""

import shutil
import sys
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.recover import recover
from seatrial.archive.writer import sentences
from seatrial.experiment.clock import new_run_name, now_text
from seatrial.experiment.enough import enough
from seatrial.experiment.node_hours import allocation_s, within_node_hours
from seatrial.experiment.settings import CheckSettings
from seatrial.experiment.site import choose_launcher
from seatrial.experiment.submitted import Submitted, await_the_last_file, new_folder, write_submitted
from seatrial.launch.queue import cancel_job, jobs_by_number, submit
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import UsageError

SCRIPT = '#!/bin/sh\nexec "$@"\n'
"""The whole batch script: what to run comes as its arguments, so that nothing has to be quoted."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """A detached run: its folder once it is over, else where it stands, in a sentence."""

    folder: Path | None
    state: str


def submit_check(settings: CheckSettings) -> Submitted:
    """Hand the check to sbatch, to be driven from the job's first node. Raises UsageError where there is no Slurm."""
    launcher = choose_launcher(settings)
    if not isinstance(launcher, SlurmLauncher) or launcher.job:
        raise UsageError("--detach needs Slurm, outside any job.", "Without it the check runs right here.")
    hosts = launcher.hosts()
    settings, _, nodes, cut = within_node_hours(settings, hosts, enough(hosts, settings))
    name = settings.run or new_run_name("check")
    folder = new_folder(settings.archive, name)
    argv = [sys.executable, "-m", "seatrial", "check", *child_options(settings, name)]
    seconds = allocation_s(settings.budget_s)
    job = ""
    try:
        script = folder / "batch.sh"
        with sentences(settings.archive):
            script.write_text(SCRIPT, encoding="ascii")
            script.chmod(0o755)
        job = submit(nodes, seconds, settings.partition, folder / "output.txt", script, argv)
        submitted = Submitted(run=name, job=job, at=now_text(), nodes=nodes, cut=cut)
        write_submitted(folder, submitted)
    except BaseException:
        cancel_job(job)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return submitted


def child_options(settings: CheckSettings, name: str) -> list[str]:
    """The options of the check inside the job; nodes and partition are the job's."""
    options = [
        *("--run", name),
        *("--archive", str(settings.archive)),
        *("--launcher", "slurm"),
        *("--budget", f"{settings.budget_s:g}s"),
        *("--design", settings.design),
        *("--round-timeout", f"{settings.round_timeout_s:g}s"),
        *("--pairs-at-once", str(settings.pairs_at_once)),
        *("--seed", str(settings.seed)),
    ]
    for option, value in (
        ("--mpi", settings.mpi),
        ("--mpicc", settings.mpicc),
        ("--probe", settings.probe),
        ("--probe-dir", settings.probe_dir),
        ("--environment", settings.environment),
        ("--wrap", settings.wrap),
        ("--fabric", settings.fabric),
        ("--routes", settings.routes),
        ("--device", settings.device),
    ):
        options += [option, str(value)] if value else []
    return options


def collect(folder: Path, submitted: Submitted) -> Collected:
    """Find out how a detached check stands; a run whose job is gone in mid-work is recovered.

    `folder`: where job.json is. Raises LaunchError where that is not known, since Slurm does not answer.
    """
    archive = folder.parent
    final, partial = archive / submitted.run, archive / f"{submitted.run}{layout.PARTIAL}"
    if final.exists():
        return Collected(folder=final, state="over")
    lines = [line for line in jobs_by_number(submitted.job) if not line.ended]
    if not lines and partial.exists():
        await_the_last_file()
    if final.exists():
        return Collected(folder=final, state="over")
    if lines:
        return Collected(folder=None, state=f"{submitted.run}: job {submitted.job} is {lines[0].why}.")
    if partial.exists():
        return Collected(folder=Path(recover(partial).folder), state="recovered")
    output = folder / "output.txt"
    words = output.read_text(encoding="utf-8", errors="replace").strip() if output.exists() else ""
    said = words.splitlines()[-1] if words else "it left no word"
    return Collected(folder=None, state=f"{submitted.run}: job {submitted.job} is gone and measured nothing: {said}")
