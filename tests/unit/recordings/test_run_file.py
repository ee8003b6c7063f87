"""A run as one file: another archive opens it, and what is not a whole run leaves nothing."""

import gzip
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seatrial.archive.reader import damage_of, read_info, run_folders
from seatrial.archive.working_folder import remove_leftovers
from seatrial.model.errors import UsageError
from seatrial.recordings import run_file
from tests.support.command_line import Seatrial
from tests.support.processes import killed_at_each_step
from tests.support.run_archives import slow_run

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    run_file.write_run_file(slow_run(folder / "runs", 1), folder / "s1.tar.gz")
    return folder / "s1.tar.gz"


def repacked(packed: Path, path: Path, change: Callable[[Members], Members], *links: str) -> Path:
    with tarfile.open(packed) as file:
        members = change({one.name: inside.read() for one in file if (inside := file.extractfile(one))})
    with tarfile.open(path, "w:gz") as file:
        for name in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            file.addfile(member)
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def test_another_archive_reports_the_same_of_it(tmp_path: Path, seatrial: Seatrial) -> None:
    slow_run(tmp_path / "here", 1)
    file = tmp_path / "run.tar.gz"
    exported = seatrial("runs", "export", "s1", "--whole", "--archive", tmp_path / "here", "--output", file)
    assert exported.out == f"13 files of s1 in {file}\n"
    seatrial("runs", "import", file, "--archive", tmp_path / "there")
    reports = [
        seatrial("report", "s1", "--json", "--archive", tmp_path / place, code=1).data for place in ("here", "there")
    ]
    assert reports[0] == reports[1]
    assert reports[0]["verdict"] == "SLOW"
    again = seatrial("runs", "import", file, "--archive", tmp_path / "there", code=64)
    assert "There is a run 's1'" in again.err


def test_the_same_run_gives_the_same_bytes_and_only_what_a_run_has(tmp_path: Path) -> None:
    folder = slow_run(tmp_path / "runs", 1)
    (folder / "facts" / "..evil").write_text("no")
    (folder / "facts" / "n9.before.txt").symlink_to("/etc/passwd")
    with pytest.raises(Exception, match="n9"):
        run_file.write_run_file(folder, tmp_path / "bad")
    (folder / "facts" / "n9.before.txt").unlink()
    for name in ("one", "two"):
        run_file.write_run_file(folder, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with tarfile.open(tmp_path / "one") as file:
        assert "facts/..evil" not in file.getnames()


def test_an_open_run_is_not_packed(tmp_path: Path) -> None:
    folder = slow_run(tmp_path / "runs", 1)
    folder = folder.rename(folder.with_name("s1.partial"))
    with pytest.raises(UsageError, match="s1 is not closed"):
        run_file.write_run_file(folder, tmp_path / "s1")
    assert not (tmp_path / "s1").exists()


def refused_and_nothing_left(file: Path, archive: Path, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        run_file.read_run_file(archive, file)
    assert not archive.exists() or list(archive.iterdir()) == []
    assert not [path for path in archive.parent.rglob("*evil*") if path != file]


NAMES = ("../evil", "/etc/evil", "facts/../../evil", "facts/a/b.before.txt", "logs/x", "evil", "facts\\x.before.txt")


@pytest.mark.parametrize("name", NAMES)
def test_names_that_no_run_has_are_refused(name: str, packed: Path, tmp_path: Path) -> None:
    file = repacked(packed, tmp_path / "evil", lambda members: {**members, name: b"x"})
    refused_and_nothing_left(file, tmp_path / "archive", "no run has a file|would be outside")


def without(members: Members, name: str) -> Members:
    return {key: content for key, content in members.items() if key != name}


def described(before: str, after: str) -> Callable[[Members], Members]:
    """The run with another word in its description."""
    return lambda members: {**members, "run.json": members["run.json"].replace(before.encode(), after.encode())}


CHANGES: dict[str, tuple[Callable[[Members], Members], str]] = {
    "no description": (lambda members: without(members, "run.json"), "run.json"),
    "no journal": (lambda members: without(members, "journal.jsonl"), "it has no journal.jsonl"),
    "facts missing": (lambda members: without(members, "facts/n1.before.txt"), "facts/n1.before.txt: missing"),
    "facts changed": (lambda members: {**members, "facts/n1.before.txt": b"x"}, "changed after the run was closed"),
    "journal cut": (
        lambda members: {**members, "journal.jsonl": members["journal.jsonl"][: len(members["journal.jsonl"]) // 2]},
        "journal.jsonl has",
    ),
    "never closed": (described('"complete"', '"running"'), "the run was never closed"),
    "no contents": (described('"contents"', '"content"'), "nothing says what it held"),
    "description of something else": (lambda members: {**members, "run.json": b"[]"}, ": run.json cannot be read"),
    **{
        f"called {name[:9]}": (described('"s1"', f'"{name}"'), f"the run's name is '{name[:200]}'")
        for name in ("../s1", "-rf", "baselines", "swaps", "s" * 201)
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_is_not_whole_is_refused(change: str, packed: Path, tmp_path: Path) -> None:
    changed, why = CHANGES[change]
    refused_and_nothing_left(repacked(packed, tmp_path / "bad", changed), tmp_path / "archive", why)


def test_no_link_is_made(packed: Path, tmp_path: Path) -> None:
    file = repacked(packed, tmp_path / "bad", lambda members: without(members, "files.sha256"), "files.sha256", "x")
    refused_and_nothing_left(file, tmp_path / "archive", "files.sha256 is missing")
    file = repacked(packed, tmp_path / "good", lambda members: members, "fabric.json", "logs", "run.json")
    folder = run_file.read_run_file(tmp_path / "archive", file)
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    assert not (folder / "fabric.json").exists()


@pytest.mark.parametrize("name", ["s1", "s1.partial"])
def test_a_run_that_is_there_stays(packed: Path, tmp_path: Path, name: str) -> None:
    archive = tmp_path / "archive"
    (archive / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=rf"There is a run 's1' already: .*/{name}\."):
        run_file.read_run_file(archive, packed)
    assert [*archive.iterdir()] == [archive / name]


def test_an_import_that_is_killed_anywhere_leaves_nothing_that_counts_or_stays(packed: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    killed = killed_at_each_step(partial(run_file.read_run_file, archive, packed))
    for _ in killed:
        for folder in run_folders(archive):
            assert not damage_of(folder, read_info(folder))
        for left in archive.glob(".*"):  # without a lease it may just be being made
            os.utime(left, (1, 1))
        remove_leftovers([archive])
        assert {path.name for path in archive.glob("*")} <= {"s1"}
        shutil.rmtree(archive, ignore_errors=True)
    assert [path.name for path in archive.iterdir()] == ["s1"]


@pytest.mark.parametrize("form", ["--whole", "--format=csv"])
def test_an_export_overwrites_nothing_of_an_archive(form: str, tmp_path: Path, seatrial: Seatrial) -> None:
    """`--output` on the journal of the run replaced what is irreplaceable."""
    folder = slow_run(tmp_path / "runs", 1)
    (tmp_path / "runs" / "kept.toml").write_text("kept")
    (tmp_path / "link.csv").symlink_to(folder / "run.json")
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    words = ("runs", "export", "s1", form, "--archive", str(tmp_path / "runs"), "--output")
    for output in (folder / "journal.jsonl", folder / "facts" / "new.csv", tmp_path / "link.csv"):
        assert "is inside the run s1" in seatrial(*words, str(output), code=64).err
    assert "is a file of the archive" in seatrial(*words, tmp_path / "runs" / "kept.toml", code=64).err
    assert {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()} == before
    seatrial(*words, tmp_path / "runs" / "new")


def test_an_archive_that_cannot_be_written_is_not_blamed_on_the_file(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(UsageError, match=r"cannot be unpacked into .*archive: "):
        run_file.read_run_file(tmp_path / "archive", packed)


def test_more_bytes_or_files_than_are_permitted_are_not_unpacked(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "MOST_BYTES", 100_000)
    refused_and_nothing_left(packed, tmp_path / "archive", "unpacks to more than")
    monkeypatch.undo()
    monkeypatch.setattr(run_file, "MOST_FILES", 5)
    refused_and_nothing_left(packed, tmp_path / "archive", "more than 5 members")


@pytest.mark.parametrize("length", [0, 3, 100, 5000])
def test_cut_and_torn_files_are_refused(length: int, packed: Path, tmp_path: Path) -> None:
    content = packed.read_bytes()
    (tmp_path / "cut").write_bytes(content[:length])
    refused_and_nothing_left(tmp_path / "cut", tmp_path / "archive", "is not a whole run")
    unpacked = bytearray(gzip.decompress(content))
    with tarfile.open(packed) as file:  # between its members are zeros, which nobody reads
        journal = file.getmember("journal.jsonl").offset_data
    unpacked[journal + length : journal + length + 4] = b"\xde\xad\xbe\xef"
    (tmp_path / "torn").write_bytes(gzip.compress(unpacked))
    refused_and_nothing_left(tmp_path / "torn", tmp_path / "archive", "is not a whole run")
