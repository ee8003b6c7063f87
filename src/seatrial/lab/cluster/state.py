"""The stored state of a running lab: its plan, the faults planted in it, and where its files are."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from seatrial.files.inputs import DESCRIPTION_BYTES, BadInput, decoded, read_input
from seatrial.lab.cluster.plan import LabPlan, check_name
from seatrial.lab.faults.base import Planted
from seatrial.model import formats
from seatrial.model.errors import SeatrialError, UsageError

ROOT = Path("/run/seatrial-lab")


class Raiser(msgspec.Struct, frozen=True, kw_only=True):
    """The process that starts a lab; the start time distinguishes it from a later one with the same number."""

    pid: int
    start_ticks: int


class LabState(msgspec.Struct, frozen=True, kw_only=True):
    """lab.json. `raiser` is set until the lab runs."""

    format: int = formats.LAB
    plan: LabPlan
    raiser: Raiser | None = None
    planted: tuple[Planted, ...] = ()


def folder(name: str) -> Path:
    """The folder with all of a lab's configuration, logs and state."""
    return ROOT / name


def raised(name: str) -> str:
    """The environment setting by which the processes that raise a lab, and its daemons, are known as its own."""
    return f"SEATRIAL_RAISED={name}"


def state_file(name: str) -> Path:
    """The file that holds a LabState."""
    return folder(name) / "lab.json"


def save(state: LabState) -> None:
    """Write the state, whole or not at all."""
    path = state_file(state.plan.name)
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(state))
    partial.replace(path)


def lab_names() -> list[str]:
    """The labs that run, completely or partly."""
    try:
        return sorted(path.name for path in ROOT.iterdir() if path.is_dir())
    except FileNotFoundError:  # it goes with the last lab
        return []


def read(name: str) -> LabState | None:
    """The state of a lab, or None where there is none to read."""
    try:
        path = state_file(name)
        return decoded(read_input(path, DESCRIPTION_BYTES), LabState, path)
    except BadInput:
        return None


def standing(name: str) -> LabState:
    """The state of a running lab.

    Raises UsageError that lists the others, SeatrialError for a lab that is only half started.
    """
    check_name(name)
    if name not in lab_names():
        others = ", ".join(lab_names()) or "none"
        raise UsageError(f"No lab named {name!r} is running.", f"Running: {others}. Start one with: seatrial lab up")
    state = read(name)
    if state is None or state.raiser is not None:
        raise SeatrialError(
            f"The lab {name!r} is only partly started.", f"Remove it with: seatrial lab down --name {name}"
        )
    return state


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Keep others from changing the faults of a lab at the same time."""
    handle = os.open(folder(name) / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
