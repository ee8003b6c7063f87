"""What a command has changed and will restore: a file for each, written before the change and removed after it.

A file is believed only if it lies in a folder of this user's that nobody else may enter or exchange, and is itself
this user's alone: what it says is executed.
"""

import contextlib
import os
import shlex
import socket
import stat
from pathlib import Path

import msgspec

from seatrial.archive.lease import Holder, Lease, new_lease, proof
from seatrial.files.owners import distrust, make_trusted, state_folder
from seatrial.files.writing import boot_id, opened_folder, replace_file
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.node_list import node_list
from seatrial.model.settings import SlurmRequest
from seatrial.slurm.presence import cluster_name

FORMAT = 1
SUFFIX = ".json"
MOST_BYTES = 1 << 20
OTHERS = stat.S_IRWXG | stat.S_IRWXO
RESTORE = "seatrial compare --restore"
"""What a person types."""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """Files of a node that the kernel provides, which all have the same content: one setting."""

    node: str
    fact: str
    """The dotted name of the setting."""
    root: str
    """The root of a virtual cluster's simulated files; empty: the files are the kernel's."""
    paths: tuple[str, ...]
    """Below the root."""
    usual: str
    """The content that is restored."""
    changed: str

    @property
    def files(self) -> tuple[str, ...]:
        """The real paths of the files: `root` and each of `paths`."""
        return tuple(f"{self.root}{path}" for path in self.paths)

    @property
    def text(self) -> str:
        """Node, setting, and both values."""
        return f"{self.fact} of {self.node} is {self.changed} in place of {self.usual}"

    @property
    def usual_text(self) -> str:
        """The sentence that the setting has its usual value."""
        return f"{self.fact} of {self.node} is {self.usual}"


class ChangedByCommand(msgspec.Struct, frozen=True, kw_only=True, tag="command"):
    """A setting that commands of the user establish."""

    usual: tuple[str, ...]
    """The words of the command that restores it."""
    changed: tuple[str, ...]
    folder: str
    """The folder in which both commands are run."""
    nodes: tuple[str, ...] = ()
    """Nodes of Slurm that the commands and the benchmark name."""

    @property
    def text(self) -> str:
        """Nodes, and both commands."""
        return (
            f"the setting{self._where} is that of `{shlex.join(self.changed)}` in place of `{shlex.join(self.usual)}`"
        )

    @property
    def usual_text(self) -> str:
        """The sentence that the setting has its usual value."""
        return f"the setting{self._where} is that of `{shlex.join(self.usual)}`"

    @property
    def _where(self) -> str:
        return f" of {node_list(self.nodes)}" if self.nodes else ""


class OutOfService(msgspec.Struct, frozen=True, kw_only=True):
    """A node that Slurm sends no jobs to."""

    node: str
    state: str
    """The state in the words of `scontrol update`: DRAIN or DOWN."""
    reason: str


class ReadmittedNodes(msgspec.Struct, frozen=True, kw_only=True, tag="nodes"):
    """Nodes that were out of service, and are in service for this user alone: inside a reservation of ours."""

    nodes: tuple[OutOfService, ...]
    reservation: str

    @property
    def text(self) -> str:
        """Which nodes are in service, and what they were."""
        return f"in the reservation {self.reservation}, in service in place of: {self.usual_text}"

    @property
    def usual_text(self) -> str:
        """The sentence that the nodes are out of service again."""
        return ", ".join(f"{node.node} is {node.state} ({node.reason})" for node in self.nodes)


Changed = ChangedFile | ChangedByCommand | ReadmittedNodes


class ChangedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that one command has changed or is about to change, and how their nodes are reached."""

    format: int = FORMAT
    name: str
    driver: Lease
    """Which process restores them at its end, and since when they are changed."""
    changes: tuple[Changed, ...] = ()
    launcher: str = ""
    """How nodes are reached: slurm, ssh or local."""
    cluster: str = ""
    """The cluster of Slurm's whose nodes these are; empty: they are not reached through Slurm."""
    partition: str = ""
    slurm: SlurmRequest = SlurmRequest()
    job: str = ""
    """The job that holds the nodes; empty: none does."""
    nodes: tuple[str, ...] = ()
    """The nodes of `job`."""
    job_name: str = ""
    """The name of a job that was made for the changes, and is cancelled after the restoration."""

    @property
    def running(self) -> bool | None:
        """Whether the process still lives that will restore them; None: it was on another host, and may live."""
        alive = proof(self.driver)
        restarted = self.driver.host == socket.gethostname() and self.driver.boot_id != boot_id()
        return False if alive is None and restarted else alive

    @property
    def text(self) -> str:
        """All changes, and since when."""
        return "; ".join(change.text for change in self.changes) + f", since {self.driver.since}"


def describe(name: str) -> ChangedSettings:
    """The note of this process, which has changed nothing yet."""
    return ChangedSettings(name=name, driver=new_lease(Holder.DRIVER))


def write(folder: Path, changed: ChangedSettings) -> None:
    """Write the file, before the change. Raises LaunchError: without it nothing may be changed."""
    try:
        make_trusted(folder)
        with opened_folder(folder) as handle:
            _refuse_shared(os.fstat(handle))
        replace_file(folder / f"{changed.name}{SUFFIX}", msgspec.json.encode(changed), 0o600)
    except OSError as error:
        why = error.strerror or str(error)
        raise LaunchError(
            f"Nothing was changed, since {folder} cannot keep what is to be restored: {why}.",
            "Set XDG_STATE_HOME to a folder that is yours alone (mode 0700).",
        ) from error


def remove(folder: Path, name: str) -> None:
    """Everything is restored."""
    with contextlib.suppress(FileNotFoundError):
        (folder / f"{name}{SUFFIX}").unlink()


def read(folder: Path) -> list[ChangedSettings]:
    """All of this user's, the oldest first; files that others might have written are left out."""
    changed: list[ChangedSettings] = []
    if distrust(folder):
        return changed
    try:
        with opened_folder(folder) as handle:
            _refuse_shared(os.fstat(handle))
            for name in sorted(os.listdir(handle)):  # noqa: PTH208 - of a descriptor
                if name.endswith(SUFFIX):
                    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                        changed.append(_read_one(handle, name))
    except OSError:
        return []
    return changed


def _read_one(folder: int, name: str) -> ChangedSettings:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        _refuse_shared(status)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise PermissionError(0, "it is not a file of its own")
        changed = msgspec.json.decode(stream.read(MOST_BYTES), type=ChangedSettings)
    if changed.format != FORMAT or f"{changed.name}{SUFFIX}" != name:
        raise PermissionError(0, "it is not what its name says")
    return changed


def _refuse_shared(status: os.stat_result) -> None:
    """Raise PermissionError for what is not this user's alone."""
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & OTHERS:
        raise PermissionError(0, "it is not this user's alone")


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
    return [settings for settings in read(folder) if not settings.running]


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
