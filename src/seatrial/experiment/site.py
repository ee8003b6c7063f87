"""Finds out where we are and which launcher fits."""

import shutil
from pathlib import Path

from seatrial.archive import layout
from seatrial.archive.journal import Delivered, of_type
from seatrial.archive.reader import header_of, read_entries, read_facts_texts, read_info
from seatrial.experiment.settings import CheckSettings
from seatrial.launch import slurm
from seatrial.launch.contract import Launcher, LaunchError
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import Family, Mpi, find_mpi
from seatrial.launch.probe_build import build, default_folder, prebuilt
from seatrial.launch.replay import ReplayLauncher
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import UsageError

LAUNCHERS = ("auto", "slurm", "local")


def choose_launcher(settings: CheckSettings) -> Launcher:
    """Replay where a recording is named, Slurm where it answers, else this machine's MPI. Builds the probe.

    Raises UsageError for options that do not fit together, LaunchError for what is missing on this site.
    """
    if settings.replay is not None:
        return replay_launcher(settings)
    if settings.launcher not in LAUNCHERS:
        raise UsageError(
            f"--launcher {settings.launcher} is none of {', '.join(LAUNCHERS[:3])}.",
            "A recording is named by --replay.",
        )
    if settings.launcher == "slurm" or (settings.launcher == "auto" and slurm.is_here()):
        _, probe = _probe(settings)
        return SlurmLauncher(
            partition=settings.partition,
            nodes=settings.nodes,
            mpi=settings.mpi,
            probe=probe,
            wait_s=settings.wait_s,
            quick_facts=True,
        )
    for option, given in (("--nodes", settings.nodes), ("--partition", settings.partition)):
        if given:
            raise UsageError(
                f"{option} needs Slurm, and no Slurm answers here (sinfo).",
                "Run it on a login node, or leave the option out to measure this machine alone.",
            )
    mpi, probe_path = _probe(settings)
    return LocalLauncher(mpi, probe_path, settings.ranks, quick_facts=True)


def replay_launcher(settings: CheckSettings) -> ReplayLauncher:
    """A launcher that plays the run in the folder `settings.replay`."""
    folder = settings.replay
    assert folder is not None  # noqa: S101 - the caller looked
    entries = read_entries(folder)
    return ReplayLauncher(
        read_info(folder),
        read_facts_texts(folder, layout.BEFORE),
        read_facts_texts(folder, layout.AFTER),
        dict(header_of(entries)),
        [entry.measurement for entry in of_type(entries, Delivered)],
    )


def _probe(settings: CheckSettings) -> tuple[Mpi, Path]:
    if settings.probe is None:
        mpi = find_mpi(settings.mpicc)
        return mpi, build(mpi, settings.probe_dir or default_folder())
    path = prebuilt(settings.probe)
    try:
        return find_mpi(settings.mpicc), path
    except LaunchError:  # a prebuilt probe needs no compiler, and srun no mpirun
        return Mpi(mpicc="mpicc", mpirun=shutil.which("mpirun") or "", family=Family.UNKNOWN), path
