"""The site's own defaults of shared options: `/etc/seatrial/site.toml`, then the user's, or the file of SEATRIAL_SITE.

Keys are names of options without dashes before them. What the command line or an environment variable says comes first.
"""

import os
from collections.abc import Collection
from pathlib import Path

import msgspec

from seatrial.files.inputs import DESCRIPTION_BYTES, read_input
from seatrial.files.trust import distrust
from seatrial.model.errors import UsageError

SYSTEM = Path("/etc/seatrial/site.toml")
NAME_PROGRAMS = frozenset(
    {
        "mpicc",
        "probe",
        "probe-dir",
        "environment",
        "wrap",
        "mpirun-options",
        "slurm-arg",
        "launcher",
        "start",
        "hosts",
        "hostfile",
    }
)
"""Keys that say what is executed, or where: of a file that nobody but this user and root can have written."""
EXAMPLE = 'Write lines like account = "ops" and slurm-arg = ["--comment=acceptance"].'


def site_files() -> tuple[Path, ...]:
    """The files that exist; later ones have the last word. Raises UsageError where SEATRIAL_SITE names none."""
    named = os.environ.get("SEATRIAL_SITE")
    if named is not None:
        if named and not Path(named).is_file():
            raise UsageError(f"SEATRIAL_SITE names {named!r}, which is not a file.", "Name a file, or unset it.")
        return (Path(named),) if named else ()
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path(os.environ.get("HOME", "") or "/") / ".config"
    return tuple(path for path in (SYSTEM, folder / "seatrial" / "site.toml") if path.is_file())


def site_defaults(options: Collection[str], flags: Collection[str], lists: Collection[str]) -> dict[str, object]:
    """Defaults by name of parameter. `flags`, `lists`: options that are true or false, and those that may be repeated.

    Raises UsageError for a file that cannot be read, a key that is not an option, a value of another type, and a key
    that names programs in a file that others can have written.
    """
    defaults: dict[str, object] = {}
    for path in site_files():
        untrusted = distrust(path)
        for key, value in _read(path).items():
            name = key.replace("-", "_")
            if untrusted and name.replace("_", "-") in NAME_PROGRAMS:
                raise UsageError(
                    f"{path} says what is executed ({key}), and others can have written it: {untrusted}.",
                    "Only you and root may be able to write to it and to the folders above, or give the option itself.",
                )
            if name not in options:
                known = ", ".join(sorted(options)).replace("_", "-")
                raise UsageError(f"{path}: {key!r} is not an option for sites.", f"Use one of {known}.")
            defaults[name] = _checked(value, f"{path}: {key} = {value!r}", name in flags, name in lists)
    return defaults


def _read(path: Path) -> dict[str, object]:
    try:
        return msgspec.toml.decode(read_input(path, DESCRIPTION_BYTES), type=dict[str, object])
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", EXAMPLE) from error


def _checked(value: object, what: str, flag: bool, several: bool) -> object:
    if flag:
        if not isinstance(value, bool):
            raise UsageError(f"{what} is neither true nor false.", "Write true or false, without quotes.")
        return value
    if several:
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise UsageError(f"{what} is not a list of texts.", EXAMPLE)
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{what} is not a text or a number.", EXAMPLE)
    return str(value)
