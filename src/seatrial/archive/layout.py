"""Names inside an archive: `<archive>/<run>/`, `<archive>/<run>.partial/` while it grows."""

import enum
import re
import secrets
from pathlib import Path
from urllib.parse import quote, unquote

PARTIAL = ".partial"
CLOSING = ".closing"
"""`<run>.<8 hexadecimal digits>.closing`: `runs recover` is closing it, or was killed while it did."""
RUN_FILE = "run.json"
JOURNAL_FILE = "journal.jsonl"
SAMPLES_FILE = "samples.parquet"
FACTS_FOLDER = "facts"
LOGS_FOLDER = "logs"
FABRIC_FILE = "fabric.json"
LEASE_FILE = "lease.json"
FILES_FILE = "files.sha256"
BEFORE = "before"
AFTER = "after"


def file_name(node: str) -> str:
    """A safe file name for any node name; `unquote` reverses it."""
    return quote(node, safe="").replace(".", "%2E")


def facts_file(folder: Path, node: str, reading: str) -> Path:
    """The file of a node's raw facts of one reading."""
    return folder / FACTS_FOLDER / f"{file_name(node)}.{reading}.txt"


def node_of(path: Path) -> tuple[str, str]:
    """(node, reading) of a facts file."""
    name, reading, _ = path.name.rsplit(".", 2)
    return unquote(name), reading


def is_open(folder: Path) -> bool:
    """Whether the run in that folder was never closed, by its name."""
    return folder.name.endswith((PARTIAL, CLOSING))


def run_of(folder: Path) -> str:
    """The name of the run in a folder, whether it is open or closed."""
    claimed = re.fullmatch(rf"(.+)\.[0-9a-f]{{8}}{re.escape(CLOSING)}", folder.name, re.DOTALL)
    return claimed.group(1) if claimed else folder.name.removesuffix(PARTIAL)


def claim_of(folder: Path) -> Path:
    """A name for an open run that no other process can choose."""
    return folder.with_name(f"{run_of(folder)}.{secrets.token_hex(4)}{CLOSING}")


class ExportFormat(enum.StrEnum):
    """What other programs read."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
