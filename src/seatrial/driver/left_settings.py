"""Settings that a killed command left changed: where they are noted down, and the sentences that name them."""

import socket
from pathlib import Path

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import RESTORE, ChangedSettings
from seatrial.files.owners import state_folder
from seatrial.model.errors import LaunchError, UsageError
from seatrial.slurm.presence import cluster_name

FOLDER = Path("seatrial/changed-settings")
ENTER = """
enter() { [ ! -h "$1" ] && cd "$1" 2>/dev/null && [ -O . ]; }
"""
"""POSIX sh: work in a folder if it is this user's. Others cannot exchange it once it is the current one."""


def changes_folder() -> Path:
    """The user's own, whatever archive is used. Raises UsageError without a home."""
    return state_folder() / FOLDER


def left_settings() -> list[ChangedSettings]:
    """What is changed, unless the process that changed it still runs on this host and will restore it."""
    try:
        folder = changes_folder()
    except UsageError:
        return []
    return [settings for settings in changed_settings.read(folder) if not settings.running]


def foreign(settings: ChangedSettings) -> bool:
    """Whether the nodes are those of another cluster, which shares the home folder and perhaps names of nodes.

    A host that belongs to no cluster is none of the changed one's, unless the change was made from it.
    """
    if not settings.cluster:
        return False
    own = cluster_name()
    return settings.cluster != own and (bool(own) or settings.driver.host != socket.gethostname())


def warning(settings: ChangedSettings) -> str:
    """What was left changed, and what to type."""
    driver = settings.driver
    if foreign(settings):
        return (
            f"A setting was left changed on the cluster {settings.cluster}: {settings.text}. There, "
            f"`{RESTORE} {settings.name}` restores it."
        )
    unless = f" if process {driver.pid} on {driver.host} has ended" if settings.running is None else ""
    return f"A setting was left changed{unless}: {settings.text}. `{RESTORE} {settings.name}` restores it."


def refuse_left_settings() -> None:
    """Raise LaunchError while something is left to restore: a second change would hide the first one.

    A command on another host may still run, and is left alone. So are nodes of another cluster.
    """
    for settings in left_settings():
        if settings.running is False and not foreign(settings):
            raise LaunchError(warning(settings), "Restore it before the next --toggle or --prove.")
