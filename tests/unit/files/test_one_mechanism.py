"""Only `files` writes into folders that others may share: no other module opens, renames or removes files."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support import house
from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "seatrial"
TEMPORARY = re.compile(r"\b(?:TemporaryDirectory|mkdtemp|mkstemp|NamedTemporaryFile)\(")
METHODS = {"write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to", "rename"}
FUNCTIONS = {
    "os": {"open", "rename", "replace", "mkdir", "makedirs", "link", "symlink", "mkfifo", "mknod", "truncate"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
}
ELSEWHERE = {
    "files/writing.py": "the mechanism",
    "files/named.py": "the files that the command line names",
    "files/exchange.py": "by descriptors of its folders, and a folder made by it that takes the place of another one",
    "files/owners.py": "private folders, and those of this user's cache and state, whose owner and mode are checked",
    "archive/export.py mkdir": "the folder of a file that the user named",
    "recordings/run_file.py": "the archive that the user named, and a stream of the file that the user named",
    "commands/import_values/run.py mkdir": "the archive that the user named",
    "commands/site/generation.py mkdir": "the folder in which the user wants a site",
    "recordings/recording.py mkdir": "the folder of a file that the user named, or a private temporary folder",
    "archive/changed_settings.py open": "reads only",
    "archive/contents.py rmtree": "by the descriptor of the folder",
    "driver/submitted.py write_text": "a private temporary folder",
    "archive/lease.py open": "reads only",
    "frame/streams.py open": "/dev/null",
    "recordings/trees.py": "a new private temporary folder",
    "driver/benchmark/scratch.py": "the private scratch folder of a run",
    "launch/probe_build.py": "this user's cache of programs, and a private temporary folder",
    "launch/collector.py symlink_to": "a private temporary folder",
}
"""Modules, or single functions of modules, that write elsewhere, or only read."""


def written(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each call that creates, changes or renames a file by its path."""
    for node in house.nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        of = getattr(called.value, "id", "") if isinstance(called, ast.Attribute) else ""
        on_path = name == "replace" and len(node.args) == 1 and not node.keywords
        opened = name == "open" and any(map(writes, (*node.args, *(word.value for word in node.keywords))))
        if opened or name in FUNCTIONS.get(of, ()) or (of not in FUNCTIONS and (name in METHODS or on_path)):
            yield node.lineno, name


def writes(argument: ast.expr) -> bool:
    """Whether an argument is the mode of a file that is written."""
    mode = argument.value if isinstance(argument, ast.Constant) else None
    return (
        isinstance(mode, str) and 0 < len(mode) <= 3 and set(mode) <= set("rwaxbt+") and bool(set(mode) & set("wax+"))
    )


def test_nobody_else_writes() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        if module.startswith("lab/") or module in ELSEWHERE:
            continue
        found += [
            f"{module}:{line} {name}" for line, name in written(house.tree(path)) if f"{module} {name}" not in ELSEWHERE
        ]
    assert found == [], "use seatrial.files.writing"


def test_temporary_folders_are_made_in_one_way() -> None:
    """Where the probe is built, the folder above is examined before."""
    found = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if TEMPORARY.search(path.read_text())]
    assert sorted(found) == ["files/owners.py", "launch/probe_build.py"]


@pytest.mark.parametrize("place", ELSEWHERE)
def test_what_is_left_out_still_writes_there(place: str) -> None:
    module, _, name = place.partition(" ")
    calls = [call for _, call in written(ast.parse((SOURCE / module).read_text()))]
    assert (name in calls) if name else calls


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("path.write_bytes(b'')", "write_bytes"),
        ("open(path, 'w')", "open"),
        ("path.open('ab')", "open"),
        ("gzip.open(path, mode='wb')", "open"),
        ("os.open(path, os.O_RDWR)", "open"),
        ("new.replace(path)", "replace"),
        ("new.rename(path)", "rename"),
        ("folder.mkdir()", "mkdir"),
        ("shutil.copyfile(a, b)", "copyfile"),
        ("shutil.rmtree(a)", "rmtree"),
    ],
)
def test_every_way_to_write_is_recognised(line: str, name: str) -> None:
    assert [call for _, call in written(ast.parse(line))] == [name]


@pytest.mark.parametrize("line", ["path.open('rb')", "text.replace('a', 'b')", "structs.replace(a, b=1)", "open(path)"])
def test_reading_is_not_writing(line: str) -> None:
    assert list(written(ast.parse(line))) == []
