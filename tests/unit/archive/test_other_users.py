"""Runs of another user: whoever looks at them changes nothing, follows nothing that was planted, and waits for nothing.

The names under which something is planted are those that the program itself writes: an audit hook notes them while it
measures, recovers, reports and exports.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.archive import layout, reader
from seatrial.archive.export import samples_or_problems
from seatrial.archive.reader import find_run
from seatrial.archive.writer import RunWriter
from seatrial.files.writing import UNFINISHED
from seatrial.frame.command_line import run
from seatrial.model.run import Ending
from tests.support.builders import Cluster, abandoned, fill, info_of, names, record, sail
from tests.support.made_once import made_once
from tests.support.other_users import FIRST, SECOND, carried_out, give, public, snapshot
from tests.support.paths import ROOT

__all__ = ["public"]  # a fixture
CLUSTER = Cluster(nodes=names(3))
OPEN = "open"
NOTE_NAMES = """
import json, os, re, sys
from pathlib import Path
archive, names = sys.argv[1], set()
def note(event, args):
    written = ()
    if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        written = (args[0],)
    elif event in ("os.rename", "os.link"):
        written = args[:2]
    elif event == "os.mkdir":
        written = (args[0],)
    for path in written:
        if isinstance(path, (str, bytes)) and (not os.path.isabs(path) or os.fsdecode(path).startswith(archive)):
            names.add(os.path.basename(os.fsdecode(path)))
sys.addaudithook(note)
from seatrial.archive.writer import RunWriter
from seatrial.frame.command_line import run
from tests.support.builders import Cluster, abandoned, fill, info_of, names as nodes, record, sail
cluster = Cluster(nodes=nodes(3))
record(cluster, Path(archive), "run")
writer = RunWriter(Path(archive), info_of(cluster, run="cut"))
fill(writer, cluster, sail(cluster))
with (writer.folder / "journal.jsonl").open("ab") as journal:
    journal.write(b'{"entry":')
abandoned(writer)
for line in (["runs", "recover", "--force"], ["report", "run"], ["runs", "list"], ["runs", "show", "run"]):
    run([*line, "--archive", archive])
print("NAMES", json.dumps(sorted(names)))
"""
RANDOM = re.compile(rf"{UNFINISHED.pattern}|.*\.[0-9a-f]{{8}}\.(closing|new)|archive|run|cut\.partial")
SUFFIXES = ("", ".new", layout.PARTIAL)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The names that the program writes in the folder of a run, but for random ones, which nobody can plant."""

    def make(folder: Path) -> None:
        argv = [sys.executable, "-c", NOTE_NAMES, str(folder / "archive")]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "HOME": str(folder)}
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=ROOT)
        (folder / "names").write_text(done.stdout.rpartition("NAMES ")[2])

    folder = made_once(tmp_path_factory, "written-names", make)
    found = json.loads((folder / "names").read_text())
    return tuple(name for name in found if not RANDOM.fullmatch(name) and not name.endswith((".err", ".txt")))


def test_the_names_that_are_planted_are_those_of_the_archive(written: tuple[str, ...]) -> None:
    known = {layout.RUN_FILE, layout.JOURNAL_FILE, layout.SAMPLES_FILE, layout.LEASE_FILE, layout.FILES_FILE}
    assert known | {"headline.json", layout.LOGS_FOLDER, layout.FACTS_FOLDER, "torn.jsonl"} <= set(written)


def link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def pipe(path: Path, secret: Path) -> None:
    os.mkfifo(path, 0o666)


def folder_link(path: Path, secret: Path) -> None:
    path.symlink_to(secret.parent)


def folder(path: Path, secret: Path) -> None:
    (path / "x").mkdir(parents=True)


PLANTS = (link, pipe, folder_link, folder)
IN_LOGS = ("torn.jsonl", "journal.original.jsonl")


def planted_archive(archive: Path, secret: Path, written: tuple[str, ...]) -> None:
    """A closed run for each name and each thing that is planted there, and open ones with all they can do without."""
    base = record(CLUSTER, archive, "base")
    record(CLUSTER, archive, "other")
    for name, kind in itertools.product(set(written) - {*IN_LOGS}, PLANTS):
        copy = archive / f"{name.replace('.', '-')}-{kind.__name__}"
        shutil.copytree(base, copy)
        for suffix in SUFFIXES:
            plant(copy / f"{name}{suffix}", secret, kind)
    for kind in PLANTS:
        writer = RunWriter(archive, info_of(CLUSTER, run=f"{OPEN}-{kind.__name__}", ending=Ending.RUNNING, ended=""))
        fill(writer, CLUSTER, sail(CLUSTER))
        with (writer.folder / layout.JOURNAL_FILE).open("ab") as journal:
            journal.write(b'{"entry":')
        abandoned(writer)
        for name, suffix in itertools.product(written, SUFFIXES):
            if suffix or not (writer.folder / name).exists():
                plant(writer.folder / f"{name}{suffix}", secret, kind)
        for name in IN_LOGS:
            plant(writer.folder / layout.LOGS_FOLDER / name, secret, kind)


def plant(path: Path, secret: Path, kind: Callable[[Path, Path], None]) -> None:
    """Put a link, a pipe or a folder in the place of a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    kind(path, secret)


def private_files(home: Path, user: int) -> Path:
    """What nobody may change: a file with a name of an archive, in a folder that has its sub-folders, too."""
    private = home / "private"
    for name in (layout.FACTS_FOLDER, layout.LOGS_FOLDER):
        (private / name).mkdir(parents=True)
        (private / name / "kept").write_text("mine")
    (private / layout.RUN_FILE).write_text("mine")
    secret = private / ".bashrc"
    secret.write_text("alias ls=ls\n")
    give(home, user)
    return secret


def looks(archive: Path, output: Path) -> list[list[str]]:
    """Every command that reads runs, on all of them or on each."""
    where = ["--archive", str(archive)]
    runs = sorted(path.name for path in archive.iterdir() if not layout.is_open(path))
    export = ["runs", "export", "--output", str(output / "samples.csv")]
    lines = [["runs", "recover", f"{OPEN}-link", "--force"], ["runs", "list"], ["runs", "list", "--json"]]
    lines += [["runs", "recover"], ["history", "bandwidth"], ["compare", "samples-parquet-link", "other"]]
    lines += [["baseline", "list"], [*export, "samples-parquet-link"], [*export, "samples-parquet-pipe"]]
    lines += [["runs", "show", run] for run in runs]
    lines += [["report", f"{name}-{kind.__name__}"] for name in ("headline-json", "facts") for kind in PLANTS]
    return [[*line, *where] for line in lines]


@pytest.mark.parametrize("reader", [0, SECOND], ids=["root", "user"])
def test_looking_at_the_runs_of_another_user_changes_nothing(
    public: Path, reader: int, written: tuple[str, ...]
) -> None:
    archive, home = public / "archive", public / "home"
    secret = private_files(home, reader)
    planted_archive(archive, secret, written)
    give(archive, FIRST)
    before, private = snapshot(archive), snapshot(secret.parent)
    done = carried_out(reader, looks(archive, home), home)
    assert snapshot(secret.parent) == private
    assert snapshot(archive) == before
    assert {code for code, _, _ in done} <= {0, 1, 2}, [text for code, _, text in done if code > 2]
    text = "".join(text for _, _, text in done)
    assert "alias ls" not in text
    assert "left alone, it belongs to" in text
    assert "belongs to another user" in done[0][2]


def test_what_others_planted_in_ones_own_runs_is_not_followed(public: Path, written: tuple[str, ...]) -> None:
    """An earlier version made folders that a group might write to."""
    archive, home = public / "archive", public / "home"
    secret = private_files(home, SECOND)
    planted_archive(archive, secret, written)
    give(archive, SECOND)
    private = snapshot(secret.parent)
    done = carried_out(SECOND, looks(archive, home), home)
    assert snapshot(secret.parent) == private
    assert {code for code, _, _ in done} <= {0, 1, 2, 64}, [text for code, _, text in done if code == 70]
    assert "alias ls" not in "".join(text for _, _, text in done)


def test_a_run_of_another_user_is_judged_by_a_list_once(public: Path) -> None:
    archive = public / "archive"
    record(CLUSTER, archive, "run")
    give(archive, FIRST)
    before = snapshot(archive)
    lines = [["runs", "list", "--archive", str(archive)]] * 2
    (first, _, text), (second, _, again) = carried_out(0, lines, public / "home")
    assert (first, second) == (0, 0)
    assert "PASS" in text
    assert text == again
    kept = [path.name for path in (public / "home" / ".cache" / "seatrial" / "runs").iterdir()]
    assert {name.partition(".")[2] for name in kept} == {"headline.json", "standings.json"}
    assert snapshot(archive) == before


def test_a_run_that_others_call_alike_hides_none(tmp_path: Path) -> None:
    run = record(CLUSTER, tmp_path, "run")
    shutil.copytree(run, tmp_path / f"run{layout.PARTIAL}")
    assert find_run(tmp_path, "run") == run


def test_a_run_folder_that_is_a_link_is_read_and_not_written(public: Path) -> None:
    archive, elsewhere = public / "archive", public / "elsewhere"
    record(CLUSTER, elsewhere, "run")
    archive.mkdir()
    (archive / "run").symlink_to(elsewhere / "run")
    (archive / f"cut{layout.PARTIAL}").symlink_to(elsewhere / "run")
    os.lchown(archive / "run", FIRST, FIRST)
    before = snapshot(elsewhere)
    lines = [[*words, "--archive", str(archive)] for words in (["runs", "list"], ["runs", "recover", "--force"])]
    done = carried_out(0, lines, public / "home")
    assert [code for code, _, _ in done] == [0, 0]
    assert snapshot(elsewhere) == before


def test_a_huge_or_deep_description_is_a_damaged_run(public: Path) -> None:
    archive = public / "archive"
    for name in ("huge", "deep", "headline"):
        record(CLUSTER, archive, name)
    os.truncate(archive / "huge" / layout.RUN_FILE, 10 << 30)
    (archive / "deep" / layout.RUN_FILE).write_text('{"format":1,"x":' + "[" * 200_000)
    line = {"seatrial": "9", "verdict": "\x1b[2JPASS", "headline": "x" * 50_000, "exit_code": 99}
    (archive / "headline" / "headline.json").write_text(json.dumps(line))
    give(archive, FIRST)
    ((code, _, text),) = carried_out(0, [["runs", "list", "--archive", str(archive)]], public / "home")
    assert code == 0
    assert "2 damaged runs" in text
    assert "\x1b" not in text
    assert "xxx" not in text


def test_large_descriptions_with_many_names_keep_nobody_waiting(
    public: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many bytes as one likes take no space, by hard links: of each owner only so many are read."""
    record(CLUSTER, public, "mine")
    large = record(CLUSTER, public, "large") / layout.RUN_FILE
    large.write_text(large.read_text() + " " * layout.SMALL_BYTES)
    for number in range(20):
        (public / f"link{number}").mkdir()
        (public / f"link{number}" / layout.RUN_FILE).hardlink_to(large)
        give(public / f"link{number}", FIRST)
    monkeypatch.setattr(layout, "OWNER_BYTES", 5 * large.stat().st_size)
    monkeypatch.setattr(layout, "_read_bytes", Counter[int]())
    assert reader.find_run(public, "mine") == public / "mine"
    assert not layout._read_bytes, "a whole name needs no description"
    assert reader.find_run(public, "last") == public / "mine"
    assert run(["runs", "list", "--archive", str(public)]) == 0
    assert "is not read: more than" in capsys.readouterr().out


def test_large_journals_with_many_names_keep_nobody_waiting(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(public / "cache"))
    monkeypatch.setattr(layout, "OWNER_BYTES", 1)
    monkeypatch.setattr(layout, "SMALL_BYTES", 1000)
    monkeypatch.setattr(layout, "_read_bytes", Counter[int]())
    folders = [record(CLUSTER, public / "archive", name) for name in ("a", "b")]
    for folder in folders:
        (folder / layout.SAMPLES_FILE).unlink()
        (folder / layout.RUN_FILE).chmod(0o644)
        give(folder, FIRST)
        os.chown(folder / layout.RUN_FILE, 0, 0)  # its description counts elsewhere
    first, second = samples_or_problems(folders).values()
    assert isinstance(first, Path)
    assert "is not read: more than" in str(second)
