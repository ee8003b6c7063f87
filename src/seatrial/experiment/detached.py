"""A check left to Slurm's queue, and collected later."""

import shutil
import sys
import time
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.reader import find_run
from seatrial.archive.recover import recover
from seatrial.archive.writer import sentences
from seatrial.experiment.check import enough
from seatrial.experiment.clock import new_run_name, now_text
from seatrial.experiment.node_hours import allocation_s, within_node_hours
from seatrial.experiment.settings import CheckSettings
from seatrial.experiment.site import choose_launcher
from seatrial.launch.slurm import SlurmLauncher, queue_state, submit
from seatrial.model.errors import UsageError

SUBMITTED = ".submitted"
SCRIPT = '#!/bin/sh\nexec "$@"\n'
"""The whole batch script: what to run comes as its arguments, so that nothing has to be quoted."""
CLOSING_S = 3.0


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """`<archive>/<run>.submitted/job.json`: what was handed to the queue."""

    run: str
    job: str
    at: str
    nodes: tuple[str, ...]
    cut: str = ""
    """What --node-hours cut away, in a sentence."""


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
    folder = settings.archive / f"{name}{SUBMITTED}"
    with sentences(settings.archive):
        folder.mkdir(parents=True)
        script = folder / "batch.sh"
        script.write_text(SCRIPT, encoding="ascii")
        script.chmod(0o755)
    argv = [sys.executable, "-m", "seatrial", "check", *child_options(settings, name)]
    seconds = allocation_s(settings.budget_s)
    try:
        job = submit(nodes, seconds, settings.partition, folder / "output.txt", script, argv)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    submitted = Submitted(run=name, job=job, at=now_text(), nodes=nodes, cut=cut)
    with sentences(settings.archive):
        (folder / "job.json").write_bytes(msgspec.json.encode(submitted))
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


def collect(archive: Path, name: str) -> Collected:
    """Find out how a detached run stands; a run whose job is gone in mid-work is recovered.

    Raises UsageError where there is no such run.
    """
    submitted = _find_submitted(archive, name)
    final, partial = archive / submitted.run, archive / f"{submitted.run}{layout.PARTIAL}"
    state = queue_state(submitted.job)
    if not state and not final.exists() and partial.exists():
        time.sleep(CLOSING_S)  # on a network file system the last rename may still be on its way
    if final.exists():
        return Collected(folder=final, state="over")
    if state:
        return Collected(folder=None, state=f"{submitted.run}: job {submitted.job} is {state}.")
    if partial.exists():
        return Collected(folder=Path(recover(partial).folder), state="recovered")
    output = archive / f"{submitted.run}{SUBMITTED}" / "output.txt"
    words = output.read_text(encoding="utf-8", errors="replace").strip() if output.exists() else ""
    said = words.splitlines()[-1] if words else "it left no word"
    return Collected(folder=None, state=f"{submitted.run}: job {submitted.job} is gone and measured nothing: {said}")


def _find_submitted(archive: Path, name: str) -> Submitted:
    folders = sorted(archive.glob(f"*{SUBMITTED}/job.json"))
    found = [path for path in folders if path.parent.name.startswith(name)]
    if name == "last":
        found = folders[-1:]
    if len(found) != 1:
        find_run(archive, name)
        raise UsageError(f"{name!r} was not submitted by --detach.", "`seatrial report` shows other runs.")
    return msgspec.json.decode(found[0].read_bytes(), type=Submitted)
