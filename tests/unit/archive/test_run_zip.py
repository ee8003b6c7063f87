"""A run as a zip file: another archive opens it, and what is not a whole run leaves nothing."""

import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seatrial.archive import run_zip
from seatrial.archive.reader import damage_of, read_info, run_folders
from seatrial.archive.working_folder import remove_leftovers
from seatrial.model.errors import UsageError
from tests.support.command_line import Seatrial
from tests.support.processes import killed_at_each_step
from tests.support.run_archives import slow_run

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zip")
    run_zip.write_zip(slow_run(folder / "runs", 1), folder / "s1.zip")
    return folder / "s1.zip"


def repacked(packed: Path, path: Path, change: Callable[[Members], Members]) -> Path:
    with zipfile.ZipFile(packed) as file:
        members = change({name: file.read(name) for name in file.namelist()})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_another_archive_reports_the_same_of_it(tmp_path: Path, seatrial: Seatrial) -> None:
    slow_run(tmp_path / "here", 1)
    file = tmp_path / "run.zip"
    exported = seatrial("runs", "export", "s1", "--zip", "--archive", str(tmp_path / "here"), "--output", str(file))
    assert exported.out == f"13 files of s1 in {file}\n"
    seatrial("runs", "import", str(file), "--archive", str(tmp_path / "there"))
    reports = [
        seatrial("report", "s1", "--json", "--archive", str(tmp_path / place), code=1).data
        for place in ("here", "there")
    ]
    assert reports[0] == reports[1]
    assert reports[0]["verdict"] == "SLOW"
    again = seatrial("runs", "import", str(file), "--archive", str(tmp_path / "there"), code=64)
    assert "There is a run s1" in again.err


def test_the_same_run_gives_the_same_bytes_and_only_what_a_run_has(tmp_path: Path) -> None:
    folder = slow_run(tmp_path / "runs", 1)
    (folder / "facts" / "..evil").write_text("no")
    (folder / "facts" / "n9.before.txt").symlink_to("/etc/passwd")
    with pytest.raises(Exception, match="n9"):
        run_zip.write_zip(folder, tmp_path / "bad.zip")
    (folder / "facts" / "n9.before.txt").unlink()
    for name in ("one.zip", "two.zip"):
        run_zip.write_zip(folder, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as file:
        assert "facts/..evil" not in file.namelist()


def test_an_open_run_is_not_packed(tmp_path: Path) -> None:
    folder = slow_run(tmp_path / "runs", 1)
    folder = folder.rename(folder.with_name("s1.partial"))
    with pytest.raises(UsageError, match="s1 is not closed"):
        run_zip.write_zip(folder, tmp_path / "s1.zip")
    assert not (tmp_path / "s1.zip").exists()


NAMES = ("../evil", "/etc/evil", "facts/../../evil", "facts/a/b.before.txt", "logs/x", "evil", "facts\\x.before.txt",
         "facts/n1.before.txt/", "facts/", "run.json\n")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_that_no_run_has_are_refused(name: str, packed: Path, tmp_path: Path) -> None:
    file = repacked(packed, tmp_path / "evil.zip", lambda members: {**members, name: b"x"})
    refused_and_nothing_left(file, tmp_path / "archive", "no run has a file")


def refused_and_nothing_left(file: Path, archive: Path, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        run_zip.read_zip(archive, file)
    assert not archive.exists() or list(archive.iterdir()) == []
    assert not [path for path in archive.parent.rglob("*evil*") if path != file]


def without(members: Members, name: str) -> Members:
    return {key: content for key, content in members.items() if key != name}


CHANGES: dict[str, tuple[Callable[[Members], Members], str]] = {
    "no description": (lambda members: without(members, "run.json"), "it has no run.json"),
    "no journal": (lambda members: without(members, "journal.jsonl"), "it has no journal.jsonl"),
    "facts missing": (lambda members: without(members, "facts/n1.before.txt"), "facts/n1.before.txt: missing"),
    "facts changed": (lambda members: {**members, "facts/n1.before.txt": b"x"}, "changed after the run was closed"),
    "journal cut": (
        lambda members: {**members, "journal.jsonl": members["journal.jsonl"][: len(members["journal.jsonl"]) // 2]},
        "journal.jsonl has",
    ),
    "never closed": (
        lambda members: {**members, "run.json": members["run.json"].replace(b'"complete"', b'"running"')},
        "the run was never closed",
    ),
    "description of something else": (lambda members: {**members, "run.json": b"[]"}, "cannot be read: Expected"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_is_not_whole_is_refused(change: str, packed: Path, tmp_path: Path) -> None:
    changed, why = CHANGES[change]
    refused_and_nothing_left(repacked(packed, tmp_path / "bad.zip", changed), tmp_path / "archive", why)


@pytest.mark.parametrize("name", ["../s1", "-rf", "baselines", "swaps", "s" * 201])
def test_names_that_lead_elsewhere_or_are_options_are_refused(name: str, packed: Path, tmp_path: Path) -> None:
    def renamed(members: Members) -> Members:
        return {**members, "run.json": members["run.json"].replace(b'"s1"', f'"{name}"'.encode())}

    file = repacked(packed, tmp_path / "bad.zip", renamed)
    refused_and_nothing_left(file, tmp_path / "archive", f"the run's name is '{name[:200]}'")


def test_links_and_second_names_are_refused(packed: Path, tmp_path: Path) -> None:
    for number, link in enumerate((True, False)):
        file = tmp_path / f"{number}.zip"
        file.write_bytes(packed.read_bytes())
        with zipfile.ZipFile(file, "a") as target:
            member = zipfile.ZipInfo("fabric.json" if link else "run.json")
            member.external_attr = (stat.S_IFLNK | 0o777) << 16 if link else 0
            target.writestr(member, "/etc/passwd")
        refused_and_nothing_left(file, tmp_path / "archive", "twice, a link, or encrypted")


@pytest.mark.parametrize("large", [False, True], ids=["zip", "zip64"])
def test_a_directory_of_too_many_files_is_refused_before_it_is_read(
    large: bool, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip file of some megabytes may list millions of files, and the library made an object of each."""
    content = bytearray(packed.read_bytes())
    end = len(content) - 22
    assert content[end : end + 4] == b"PK\5\6"
    if large:
        record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 5_000_000, 5_000_000, 235 << 20, 0)
        content[end:end] = record + struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    else:
        content[end + 8 : end + 12] = struct.pack("<2H", 65_000, 65_000)
        content[end + 12 : end + 16] = struct.pack("<L", 235 << 20)
    file = tmp_path / "bad.zip"
    file.write_bytes(content)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    why = "more than 200000 files" if large else f"a directory of {235 << 20} bytes"
    refused_and_nothing_left(file, tmp_path / "archive", why)


@pytest.mark.parametrize("name", ["s1", "s1.partial"])
def test_a_run_that_is_there_stays(packed: Path, tmp_path: Path, name: str) -> None:
    archive = tmp_path / "archive"
    (archive / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=rf"There is a run s1 already: .*/{name}\."):
        run_zip.read_zip(archive, packed)
    assert [*archive.iterdir()] == [archive / name]


def test_an_import_that_is_killed_anywhere_leaves_nothing_that_counts_or_stays(packed: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    killed = killed_at_each_step(partial(run_zip.read_zip, archive, packed))
    for _ in killed:
        for folder in run_folders(archive):
            assert not damage_of(folder, read_info(folder))
        for left in archive.glob(".*"):  # without a lease it may just be being made
            os.utime(left, (1, 1))
        remove_leftovers([archive])
        assert {path.name for path in archive.glob("*")} <= {"s1"}
        shutil.rmtree(archive, ignore_errors=True)
    assert [path.name for path in archive.iterdir()] == ["s1"]


@pytest.mark.parametrize("form", ["--zip", "--format=csv"])
def test_an_export_overwrites_nothing_of_an_archive(form: str, tmp_path: Path, seatrial: Seatrial) -> None:
    """`--output` on the journal of the run replaced what is irreplaceable."""
    folder = slow_run(tmp_path / "runs", 1)
    (tmp_path / "runs" / "kept.toml").write_text("kept")
    (tmp_path / "link.csv").symlink_to(folder / "run.json")
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    words = ("runs", "export", "s1", form, "--archive", str(tmp_path / "runs"), "--output")
    for output in (folder / "journal.jsonl", folder / "facts" / "new.csv", tmp_path / "link.csv"):
        assert "is inside the run s1" in seatrial(*words, str(output), code=64).err
    assert "is a file of the archive" in seatrial(*words, str(tmp_path / "runs" / "kept.toml"), code=64).err
    assert {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()} == before
    seatrial(*words, str(tmp_path / "runs" / "new"))


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_the_packing_of_an_export_is_unpacked(packing: int, packed: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.zip"
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(file, "w", packing) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    refused_and_nothing_left(file, tmp_path / "archive", "run.json is packed in a way")


def test_an_archive_that_cannot_be_written_is_not_blamed_on_the_file(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(UsageError, match=r"cannot be unpacked into .*archive: "):
        run_zip.read_zip(tmp_path / "archive", packed)


def test_more_bytes_than_are_declared_or_permitted_are_not_unpacked(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_zip, "MOST_BYTES", 100_000)
    refused_and_nothing_left(packed, tmp_path / "archive", "too large")
    monkeypatch.undo()
    monkeypatch.setattr(run_zip, "MOST_FILES", 5)
    refused_and_nothing_left(packed, tmp_path / "archive", "more than 5 files")


@pytest.mark.parametrize("length", [0, 3, 100, 5000])
def test_cut_and_torn_files_are_refused(length: int, packed: Path, tmp_path: Path) -> None:
    content = packed.read_bytes()
    (tmp_path / "cut.zip").write_bytes(content[:length])
    refused_and_nothing_left(tmp_path / "cut.zip", tmp_path / "archive", "it cannot be unpacked")
    torn = bytearray(content)
    struct.pack_into("<I", torn, 200 + length, 0xDEADBEEF)
    (tmp_path / "torn.zip").write_bytes(bytes(torn))
    refused_and_nothing_left(tmp_path / "torn.zip", tmp_path / "archive", "is not a whole run")
