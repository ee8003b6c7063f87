"""Text from outside is read through `files.inputs`, which bounds it: no other module reads or decodes without limit."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import house
from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "seatrial"
METHODS = {"read_text", "read_bytes", "readlines", "iterdir", "glob", "rglob", "walk", "extractfile"}
WHOLE = {"read", "readline"}
"""Methods that read without end where they have no argument."""
OPENED = {"open", "fdopen", "scandir", "listdir"}
PARSERS = {
    "json": {"load", "loads", "JSONDecoder"},
    "msgspec": {"decode", "Decoder"},
    "toml": {"decode"},
    "ET": {"parse", "fromstring", "iterparse", "XMLParser", "XMLPullParser"},
    "yaml": {"load", "safe_load", "load_all", "compose"},
    "sqlite3": {"connect"},
    "duckdb": {"connect"},
    "gzip": {"GzipFile", "open", "decompress"},
    "bz2": {"BZ2File", "open", "decompress"},
    "lzma": {"LZMAFile", "open", "decompress"},
    "zlib": {"decompress"},
    "tarfile": {"open"},
    "pickle": {"load", "loads"},
    "np": {"load", "loadtxt", "genfromtxt", "fromfile"},
}
KERNEL = "of the kernel"
SHIPPED = "comes with the program"
TEXT = "a text that the door gave, which has a limited number of parts"
OWN = "written by this program, in a folder of this user's alone"
NAMES = "only names; the files are opened by the door"
ELSEWHERE = {
    "files/named.py": "files that are written",
    "files/writing.py": "the mechanism of writing, which lists folders that it owns",
    "files/owners.py": "opens what the door reads, and files of the kernel",
    "frame/memory.py": KERNEL,
    "frame/streams.py": "/dev/null",
    "driver/node_trials.py": KERNEL,
    "slurm/job.py": KERNEL,
    "process/after_driver.py": "of the kernel, and duties that the driver sends",
    "process/file_output.py": "a log that it writes",
    "process/pipe.py": "a log that it writes",
    "cli/baseline.py": "an answer of the user",
    "cli/main.py": NAMES,
    "archive/baselines.py": "of the door, unpacked up to ALL_FACTS_BYTES",
    "archive/changed_settings.py": "of its own folder, up to MOST_BYTES",
    "archive/contents.py": NAMES,
    "archive/reader.py": NAMES,
    "archive/layout.py": NAMES,
    "archive/writer.py": "a file of the run that it writes",
    "archive/journal.py": "lines of the door",
    "archive/lease.py": "up to 4 KiB, opened again each time; size and time of a journal",
    "archive/swaps.py": NAMES,
    "archive/samples.py": "limited memory; rows are counted first",
    "benchmarks/reading.py": TEXT,
    "model/errors.py": TEXT,
    "commands/facts/detached.py": NAMES,
    "driver/benchmark/run.py": NAMES,
    "driver/benchmark/scratch.py": "names, and a copy that it writes",
    "driver/benchmark/series.py": NAMES,
    "failures/cause.py": SHIPPED,
    "failures/documents.py": TEXT,
    "failures/printed_text.py": SHIPPED,
    "importers/accounting.py": "a stream of the door",
    "importers/accounting_documents.py": "a stream of the door; fields that are not needed are not built",
    "importers/columns.py": TEXT,
    "importers/headed_text.py": TEXT,
    "importers/output_names.py": TEXT,
    "importers/reframe.py": TEXT,
    "launch/collector.py": SHIPPED,
    "launch/environments/discovery.py": "the first FIRST_BYTES of a program that will be executed",
    "launch/launch_line.py": "the first two bytes of a program that will be executed",
    "launch/hosts/launcher.py": "the probe that it built",
    "launch/probe_build.py": SHIPPED,
    "launch/probe_text.py": "a line of the probe",
    "limits/microarchitectures.py": SHIPPED,
    "node/amd_gpus.py": "a part of a node's facts, up to MOST_CHARACTERS",
    "node/hwloc_devices.py": TEXT,
    "recordings/recording.py": "an archive that it writes",
    "recordings/run_file.py": "an archive that it writes",
    "recordings/sysinfo.py": TEXT,
    "recordings/tarballs.py": "Capped, and counted by an Allowance",
    "recordings/trees.py": "in pieces, counted by TreeWriter",
    "render/json.py": "its own report",
    "slurm/text.py": "an answer of Slurm, of which PipeExchange keeps KEPT_BYTES",
}
"""Modules that read or parse by themselves, and what bounds that."""


def reads(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each call that reads a file, lists a folder or parses a text."""
    for node in house.nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        of = called.value if isinstance(called, ast.Attribute) else None
        module = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
        endless = name in WHOLE and not node.args and of is not None
        if module == "json" and isinstance(of, ast.Attribute):  # msgspec.json
            module = "msgspec"
        if name in PARSERS.get(module, ()):
            yield node.lineno, f"{module}.{name}"
        elif name in OPENED or (of is not None and name in METHODS) or endless:
            yield node.lineno, name


def calls_of(path: Path) -> list[str]:
    """Each such call in a file."""
    return [f"{path.name}:{line} {name}" for line, name in reads(house.tree(path))]


def test_nobody_else_reads() -> None:
    modules = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    found = [
        call
        for module, path in modules.items()
        if not module.startswith("lab/") and module not in ELSEWHERE and module != "files/inputs.py"
        for call in calls_of(path)
    ]
    assert found == [], "use seatrial.files.inputs, or say here what bounds it"


def test_what_is_left_out_still_reads() -> None:
    assert [module for module in ELSEWHERE if not calls_of(SOURCE / module)] == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("path.read_text()", "read_text"),
        ("open(path)", "open"),
        ("path.open('rb')", "open"),
        ("os.open(path, os.O_RDONLY)", "open"),
        ("stream.read()", "read"),
        ("stream.readline()", "readline"),
        ("sorted(path.iterdir())", "iterdir"),
        ("os.scandir(path)", "scandir"),
        ("json.loads(text)", "json.loads"),
        ("msgspec.json.decode(content, type=A)", "msgspec.decode"),
        ("msgspec.toml.decode(content)", "toml.decode"),
        ("ET.fromstring(text)", "ET.fromstring"),
        ("sqlite3.connect(path)", "sqlite3.connect"),
        ("tarfile.open(path)", "tarfile.open"),
        ("gzip.GzipFile(path)", "gzip.GzipFile"),
        ("np.loadtxt(path)", "np.loadtxt"),
    ],
)
def test_every_way_to_read_is_recognised(line: str, name: str) -> None:
    assert [call for _, call in reads(ast.parse(line))] == [name]


@pytest.mark.parametrize(
    "line", ["read_text(path)", "stream.read(10)", "decoded(content, A, path)", "open_regular(a, 1)"]
)
def test_what_is_bounded_is_no_way(line: str) -> None:
    assert list(reads(ast.parse(line))) == []
