"""Settings that a killed command left changed: where they are noted down, and the lines that name them."""

from pathlib import Path

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import ChangedSettings
from seatrial.launch.home_folders import state_folder
from seatrial.model.errors import LaunchError, UsageError


def changes_folder() -> Path:
    """The user's own, whatever archive is used. Raises UsageError without a home."""
    return state_folder() / "seatrial" / "changed-settings"


def left_settings() -> list[ChangedSettings]:
    """What is changed and is not going to be restored by the process that changed it, as far as this host can see."""
    try:
        folder = changes_folder()
    except UsageError:
        return []
    return [changed for changed in changed_settings.read(folder) if not changed.running]


def warnings() -> list[str]:
    """A line for each."""
    return [f"A setting was left changed. {changed.text}." for changed in left_settings()]


def refuse_left_settings() -> None:
    """Raise LaunchError while something is left to restore: a second change would hide the first one."""
    for line in warnings():
        raise LaunchError(line, "Restore it before the next --toggle or --prove.")
