"""The site's own defaults of shared options: `/etc/seatrial/site.toml`, then the user's, or the file of SEATRIAL_SITE.

Keys are names of options without dashes before them. What the command line or an environment variable says comes first.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import msgspec

from seatrial.cli.options import seconds, share_of
from seatrial.files.inputs import DESCRIPTION_BYTES, read_input
from seatrial.files.owners import distrust
from seatrial.model.errors import UsageError, toml_record
from seatrial.model.gate import GatePolicy
from seatrial.model.node_list import parse_nodes

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
KINDS = "kinds"
"""The table of kinds of nodes, beside the options."""
KIND = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}", re.ASCII)
KINDS_EXAMPLE = 'Write lines like fat = "n[1-4]" below a line [kinds].'
GATE = "gate"
"""The table of the policy of seatrial-gate."""
GATE_EXAMPLE = (
    'Write folder = "/shared/seatrial/gate", age = "336h", share = "10%" and per-hour = 2 below a line [gate].'
)
EXAMPLE = 'Write lines like account = "ops" and slurm-arg = ["--comment=acceptance"].'


class GateTable(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The table [gate] as it is written. `age`: two weeks."""

    folder: str
    age: str = "336h"
    share: str = "10%"
    per_hour: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 2


def site_files() -> tuple[Path, ...]:
    """The files that exist; later ones have the last word. Raises UsageError where SEATRIAL_SITE names none."""
    named = os.environ.get("SEATRIAL_SITE")
    if named is not None:
        if named and not Path(named).is_file():
            raise UsageError(f"SEATRIAL_SITE names {named!r}, which is not a file.", "Name a file, or unset it.")
        return (Path(named),) if named else ()
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path(os.environ.get("HOME", "") or "/") / ".config"
    own = folder / "seatrial" / "site.toml"
    candidates = ((SYSTEM, SYSTEM.is_file()), (own, os.path.isfile(own)))  # noqa: PTH113 - a home may be closed to this user
    return tuple(path for path, exists in candidates if exists)


def site_defaults(options: Collection[str], flags: Collection[str], lists: Collection[str]) -> dict[str, object]:
    """Defaults by name of parameter. `flags`, `lists`: options that are true or false, and those that may be repeated.

    Raises UsageError for a file that cannot be read, a key that is not an option, a value of another type, and a key
    that names programs in a file that others can have written.
    """
    defaults: dict[str, object] = {}
    for path in site_files():
        untrusted = distrust(path)
        for key, value in _read(path).items():
            if key in (KINDS, GATE):
                continue
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


def site_kinds() -> dict[str, tuple[str, ...]]:
    """Kind -> its nodes; a later file replaces kinds of the same name. Raises UsageError for what is not valid."""
    kinds: dict[str, tuple[str, ...]] = {}
    kind_of: dict[str, str] = {}
    for path in site_files():
        table = _read(path).get(KINDS, {})
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {KINDS} is not a table.", KINDS_EXAMPLE)
        for kind, nodes in table.items():
            if not KIND.fullmatch(kind) or not isinstance(nodes, str):
                raise UsageError(f"{path}: {kind} = {nodes!r} is not a kind of nodes.", KINDS_EXAMPLE)
            kinds[kind] = parse_nodes(nodes, f"{path}: {kind} =")
    for kind, names in kinds.items():
        for name in names:
            if (other := kind_of.setdefault(name, kind)) != kind:
                raise UsageError(f"{KINDS} have node {name} in {other} and in {kind}.", "Name each node once.")
    return kinds


def site_gate() -> GatePolicy | None:
    """The policy of seatrial-gate; None where the site has no such table. A later file replaces an earlier one's table.

    Raises UsageError for what is not valid, and for a table of a file that others can have written.
    """
    policy = None
    for path in site_files():
        table = _read(path).get(GATE)
        if table is None:
            continue
        if untrusted := distrust(path):
            raise UsageError(f"{path} says which nodes are drained, and others can have written it: {untrusted}.")
        try:
            given = msgspec.convert(table, GateTable)
        except msgspec.ValidationError as error:
            raise UsageError(f"{path}: {GATE}: {error}.", GATE_EXAMPLE) from error
        if not Path(given.folder).is_absolute():
            raise UsageError(f"{path}: folder = {given.folder!r} is not an absolute path.", GATE_EXAMPLE)
        policy = GatePolicy(
            folder=Path(given.folder),
            age_s=seconds(given.age, f"{path}: age ="),
            share=share_of(given.share, f"{path}: share ="),
            per_hour=given.per_hour,
        )
    return policy


def _read(path: Path) -> dict[str, object]:
    content = read_input(path, DESCRIPTION_BYTES)
    return toml_record(content, dict[str, object], f"{path} is not valid TOML", EXAMPLE)


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
