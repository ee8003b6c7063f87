"""Options that several commands share, and how the words of their values are read."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from seatrial.archive.layout import is_run_name
from seatrial.cli.outcome import say
from seatrial.cli.parameters import (
    PathType,
    Text,
    archive_folder,
    argument,
    node_names,
    option,
    path_trouble,
    run_names,
)
from seatrial.files.inputs import MAP_BYTES, argument_text
from seatrial.launch.collector import PATHS
from seatrial.limits.what_if import parse_change
from seatrial.model.errors import UsageError
from seatrial.model.node_list import parse_nodes

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
SIZES = {"": 1, "b": 1, "kib": 1 << 10, "k": 1 << 10, "mib": 1 << 20, "m": 1 << 20, "gib": 1 << 30, "g": 1 << 30}
LONGEST_S = 366 * 86400.0
LONGEST_RUN = 100
"""Characters of a run's name; names of files and jobs are made from it."""
MOST_RANKS = 1024


def seconds(text: str, what: str) -> float:
    """`90`, `90s`, `2m`, `1h` in seconds. `what`: the option that gave it. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|m|min|h|)", text.strip())
    length_s = float(match.group(1)) * UNITS[match.group(2)] if match else 0.0
    if not length_s > 0:
        raise UsageError(f"{what} {text!r} is not a valid duration.", "Write 90s, 2m or 1h.")
    if length_s > LONGEST_S:
        raise UsageError(f"{what} {text!r} is longer than a year.", "Give a shorter time: 90s, 2m or 1h.")
    return length_s


def time_text(seconds_: float) -> str:
    """600 -> 10m, 90 -> 90s, as `seconds` reads it: a default as an option shows it."""
    whole = seconds_ % UNITS["m"] == 0 and seconds_ > UNITS["m"]
    return f"{seconds_ / UNITS['m']:g}m" if whole else f"{seconds_:g}s"


def share_of(text: str, what: str) -> float:
    """`3%`, `0.4 %` or `0.03` as a share of one. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(%?)", text.strip())
    value = float(match.group(1)) / (100 if match.group(2) else 1) if match else 0.0
    if not 0 < value < 1:
        raise UsageError(f"{what} {text!r} is not a share between 0 and 100 %.", "Write 0.4% or 0.004.")
    return value


def run_name(text: str, what: str) -> str:
    """The name of a run as given. Raises UsageError for an invalid one."""
    if text and not is_run_name(text):
        remedy = "Use letters, digits, - and _; the first is no -."
        raise UsageError(f"{what} {text!r} is not a valid name for a run.", remedy)
    if len(text) > LONGEST_RUN:
        raise UsageError(f"{what} {text!r} is too long.", f"Use at most {LONGEST_RUN} characters.")
    return text


def rail_names(text: str, what: str) -> tuple[str, ...] | None:
    """`eth0,eth1` -> eth0, eth1; `auto`: the empty tuple; None for an empty text. Raises UsageError."""
    if text in ("", "auto"):
        return () if text else None
    names = tuple(word.strip() for word in text.split(","))
    if len(names) < 2 or not all(re.fullmatch(r"[\w.-]+(:\d+)?", name, re.ASCII) for name in names):
        raise UsageError(
            f"{what} {text!r} is not a list of two or more rails.", "Write eth0,eth1, mlx5_0:1,mlx5_1:1 or auto."
        )
    return names


def rank_counts(text: str, what: str) -> tuple[int, ...] | None:
    """`1,2,4` -> 1, 2, 4; `auto`: the empty tuple; None for an empty text. Raises UsageError that shows the value."""
    if text in ("", "auto"):
        return () if text else None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and 0 < int(word[:9]) <= MOST_RANKS for word in words):
        raise UsageError(f"{what} {text!r} is not a list of numbers from 1 to {MOST_RANKS}.", "Write 1,2,4 or auto.")
    return tuple(sorted({int(word) for word in words}))


def file_path(text: str, what: str) -> str:
    """A file's absolute path, since jobs may start elsewhere; empty stays empty. Raises UsageError."""
    if text and (wrong := path_trouble(text)):
        raise UsageError(f"{what} {text!r} cannot be read.", wrong)
    return text and str(Path(text).absolute())


def file_or_live(text: str, what: str) -> str:
    """A file's absolute path, or `live`. Raises UsageError."""
    return text if text == "live" else file_path(text, what)


def named_value(text: str, what: str) -> tuple[str, str]:
    """NAME=VALUE as both. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"{what} {text!r} is not NAME=VALUE.", f"Write {what} ranks=64, for example.")
    return name, value


def size_bytes(text: str, what: str) -> int:
    """`64KiB`, `4M`, `1500` in bytes. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]{1,15})\s*([a-zA-Z]*)", text.strip())
    size = int(match[1]) * SIZES.get(match[2].lower(), 0) if match else 0
    if not size:
        raise UsageError(f"{what} {text!r} is not a size.", "Write 65536, 64KiB or 4MiB.")
    return size


DURATION = Text(seconds)
SHARE = Text(share_of)
NODES = Text(parse_nodes, names=node_names, empty=True)
NODE = Text(names=node_names, empty=True)
RUN = Text(names=run_names, empty=True)
RUN_NAME = Text(run_name, empty=True)
RAILS = Text(rail_names, empty=True)
RANK_COUNTS = Text(rank_counts)
CHANGE = Text(parse_change)
NAMED_VALUE = Text(named_value)
FILE_OR_LIVE = Text(file_or_live, empty=True)
FILE = Text(file_path, empty=True)
PATH = PathType()
FOLDER = PathType(absolute=True)
BETTER = click.Choice(("higher", "lower"))

archive_option_of = partial(
    option,
    "--archive DIR",
    type=FOLDER,
    default=archive_folder,
    envvar="SEATRIAL_ARCHIVE",
    help="Folder of runs.  [default: $SEATRIAL_ARCHIVE or ~/.local/state/seatrial/runs]",
)
"""Makes the option; other keywords of `option` may be given."""
archive_option = archive_option_of()
run_argument = argument(
    "run", type=RUN, default="last", help="A run's name, the beginning of one, its folder, or `last`.  [default: last]"
)
tried_argument = argument(
    "names",
    type=NODES,
    default="",
    help="n[1-4] or n1,n3.  [default: all idle nodes, or this machine]",
    metavar="[NODES]",
)
nodes_option = option("--nodes NODES", "-w", type=NODES, help="Only these nodes: n[1-4] or n1,n3.")
routes_option = option(
    "--routes FILE", type=FILE_OR_LIVE, help="The fabric's forwarding tables: output of dump_fts, or live."
)
storage_option = partial(
    option,
    "--storage DIR",
    type=FOLDER,
    help="Folder in which storage is tried; all nodes must see it.  [default: the archive]",
)
baseline_option = partial(
    option, "--baseline NAME", help="Also compare with these runs: a baseline, or runs as compare takes them."
)
by_option = option("--by COLUMN", multiple=True, help="Column of a condition; may be repeated.  [default: by contents]")


def node_path(text: str, what: str) -> str:
    """A path that the collector can ask for. Raises UsageError."""
    if not text.startswith("/") or ":" in text or "\n" in text:
        raise UsageError(f"{what} {text!r} is not an absolute path without colons.", "Write /home/geog/unit.")
    return text.rstrip("/") or "/"


path_option = partial(option, "--path PATH", type=Text(node_path), multiple=True)


def ask_for_paths(paths: Sequence[str]) -> None:
    """Let the collector ask for these paths on each node."""
    if paths:
        os.environ[PATHS] = ":".join(dict.fromkeys(paths))


def part_of(given: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Values that are fields of a record, out of all."""
    return {name: given[name] for name in kind.__struct_fields__ if name in given}


def read_text(path: Path, most_bytes: int = MAP_BYTES) -> str:
    """A file or pipe that the command line names, foreign bytes replaced. Raises UsageError with the reason."""
    return argument_text(path, most_bytes, say)
