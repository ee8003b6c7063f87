"""Names inside an archive: `<archive>/<run>/`, `<archive>/<run>.partial/` while it grows."""

import enum
from pathlib import Path
from urllib.parse import quote, unquote

PARTIAL = ".partial"
RUN_FILE = "run.json"
JOURNAL_FILE = "journal.jsonl"
SAMPLES_FILE = "samples.parquet"
FACTS_FOLDER = "facts"
LOGS_FOLDER = "logs"
FABRIC_FILE = "fabric.json"
BEFORE = "before"
AFTER = "after"


def file_name(node: str) -> str:
    """A harmless file name, whatever the node is called; `unquote` turns it back."""
    return quote(node, safe="").replace(".", "%2E")


def facts_file(folder: Path, node: str, reading: str) -> Path:
    """Where a node's raw facts of one reading lie."""
    return folder / FACTS_FOLDER / f"{file_name(node)}.{reading}.txt"


def node_of(path: Path) -> tuple[str, str]:
    """(node, reading) of a facts file."""
    name, reading, _ = path.name.rsplit(".", 2)
    return unquote(name), reading


class ExportFormat(enum.StrEnum):
    """What other programs read."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
