"""Writing and reading a run: whole folders, refused names, disks that fill."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import contents, layout
from seatrial.archive.journal import Delivered, of_type
from seatrial.archive.layout import DamagedRun
from seatrial.archive.lease import read_lease
from seatrial.archive.reader import find_run, read_entries, read_facts_texts, read_info, read_run, run_folders
from seatrial.archive.recovery import recover, recover_runs
from seatrial.archive.writer import ArchiveError, RunWriter, ended
from seatrial.files.writing import rename_folder
from seatrial.model import formats
from seatrial.model.errors import ErrorKind, ExitCode, UsageError
from seatrial.model.run import Ending
from seatrial.render.envelope import failure_of
from tests.support.builders import Cluster, fill, info_of, names, record, sail
from tests.support.processes import killed_at_each_step
from tests.support.small_files import largest_file

SMALL = Cluster(nodes=names(3))


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    recorded = sail(SMALL)
    folder = record(SMALL, tmp_path, recorded=recorded)
    assert folder == tmp_path / "run"
    found = read_run(folder)
    assert found.info.contents is not None
    assert msgspec.structs.replace(found, info=msgspec.structs.replace(found.info, contents=None)) == recorded


def test_while_it_grows_it_is_partial_and_can_be_read(tmp_path: Path) -> None:
    recorded = sail(SMALL)
    writer = RunWriter(tmp_path, info_of(SMALL, ending=Ending.RUNNING))
    fill(writer, SMALL, recorded)
    assert [folder.name for folder in run_folders(tmp_path)] == ["run.partial"]
    assert read_run(writer.folder).measurements == recorded.measurements
    assert read_info(writer.folder).ending is Ending.RUNNING


def test_run_json_is_replaced_at_once_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(tmp_path, info_of(SMALL))

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(ArchiveError, match="No space left"):
        writer.describe(info_of(SMALL, reason="new"))
    assert read_info(writer.folder).reason == ""


@pytest.mark.parametrize("ending", ["run", "run.partial"])
def test_a_run_never_overwrites_another(tmp_path: Path, ending: str) -> None:
    (tmp_path / ending).mkdir()
    with pytest.raises(UsageError, match=r"There is a run 'run' already.*--run"):
        RunWriter(tmp_path, info_of(SMALL))


def test_a_name_that_is_taken_at_the_last_moment_is_not_insisted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with the sticky bit, EPERM is the answer where another user's folder would be replaced."""
    recorded = sail(SMALL)
    writer = RunWriter(tmp_path, info_of(SMALL))
    fill(writer, SMALL, recorded)

    def late(path: Path, name: str) -> None:
        if name == "run":
            (tmp_path / name).mkdir()
            raise PermissionError(1, "Operation not permitted")
        rename_folder(path, name)

    monkeypatch.setattr(contents, "rename_folder", late)
    folder = writer.close(ended(recorded.info, Ending.COMPLETE, recorded.info.ended))
    assert (folder.name, read_info(folder).run) == ("run-closed", "run-closed")


def test_the_run_that_a_program_closed_is_this_users(tmp_path: Path) -> None:
    assert contents.own_run(tmp_path, "run") is None
    for name in ("run-closedx", "run-2", "runs"):
        (tmp_path / name).mkdir()
    assert contents.own_run(tmp_path, "run") is None
    assert contents.own_run(tmp_path, "run-2") == tmp_path / "run-2"
    (tmp_path / "run-closed-0123abcd").mkdir()
    assert contents.own_run(tmp_path, "run") == tmp_path / "run-closed-0123abcd"
    (tmp_path / "run").symlink_to("runs")
    assert contents.own_run(tmp_path, "run") == tmp_path / "run-closed-0123abcd"


def test_a_file_in_the_archives_place_is_a_sentence(tmp_path: Path) -> None:
    place = tmp_path / "archive"
    place.write_text("not a folder")
    with pytest.raises(ArchiveError, match=r"cannot be written: .*--archive") as caught:
        RunWriter(place, info_of(SMALL))
    assert caught.value.exit_code is ExitCode.INCOMPLETE
    assert str(place) in caught.value.what


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ArchiveError, match=r"Permission denied.*--archive"):
        RunWriter(tmp_path / "archive", info_of(SMALL))


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    mounted = subprocess.run(argv, check=False, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a small tmpfs can only be mounted by root")
    yield place
    subprocess.run(["umount", "-l", place], check=True)  # noqa: S607


def fill_up(writer: RunWriter) -> int:
    """Append until the disk is full; how many measurements were taken."""
    delivered = sail(SMALL).measurements
    taken = 0
    with pytest.raises(ArchiveError, match=r"No space left.*delivered before is safe.*recover"):
        while True:
            writer.append(Delivered(number=taken, measurement=delivered[taken % len(delivered)]))
            taken += 1
    return taken


def test_a_full_disk_is_a_sentence_and_loses_nothing(tiny_disk: Path) -> None:
    writer = RunWriter(tiny_disk, info_of(SMALL))
    taken = fill_up(writer)
    assert taken > 20
    assert len(of_type(read_entries(writer.folder), Delivered)) == taken


def test_a_limit_on_the_size_of_files_is_said_and_tears_no_line(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info_of(SMALL))
    delivered = sail(SMALL).measurements
    with largest_file(20_000), pytest.raises(ArchiveError, match=r"\(File too large\).*ulimit -f") as told:
        for number, measurement in enumerate([*delivered] * 9):
            writer.append(Delivered(number=number, measurement=measurement))
    assert failure_of(told.value).kind is ErrorKind.NO_SPACE
    assert (writer.folder / layout.JOURNAL_FILE).read_bytes().endswith(b"\n")


@pytest.mark.parametrize("step", ["Hold", "write_run_file", "rename_folder"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=["full", "interrupted"])
def test_a_run_that_cannot_be_begun_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(f"seatrial.archive.writer.{step}", fail)
    with pytest.raises((ArchiveError, KeyboardInterrupt)):
        RunWriter(tmp_path, info_of(SMALL))
    assert [*tmp_path.iterdir()] == []


def test_a_run_that_is_killed_anywhere_as_it_begins_is_closed_or_removed(tmp_path: Path) -> None:
    for _ in killed_at_each_step(lambda: RunWriter(tmp_path, info_of(SMALL))):
        for left in tmp_path.glob(".*"):  # without a lease it may just be being made
            os.utime(left, (1, 1))
        recovery = recover_runs(tmp_path)
        assert not recovery.damaged and not recovery.running
        assert [path.name for path in tmp_path.iterdir()] == [run.run for run in recovery.recovered]
        for path in tmp_path.iterdir():
            shutil.rmtree(path)


def test_others_see_no_open_run_without_description_and_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []

    def named(folder: Path, name: str) -> None:
        seen.append({path.name for path in folder.iterdir()})
        rename_folder(folder, name)

    monkeypatch.setattr("seatrial.archive.writer.rename_folder", named)
    assert run_folders(tmp_path) == []
    RunWriter(tmp_path, info_of(SMALL))
    assert seen == [{"facts", "logs", layout.RUN_FILE, layout.LEASE_FILE}]


def test_the_lease_beats_on_a_full_disk(tiny_disk: Path) -> None:
    writer = RunWriter(tiny_disk, info_of(SMALL))
    fill_up(writer)
    before = read_lease(writer.folder)
    writer._held.beat()
    after = read_lease(writer.folder)
    assert before is not None
    assert after is not None
    assert after.beats == before.beats + 1


def test_a_disk_too_full_to_close_the_run_is_a_sentence_and_recovers_later(tiny_disk: Path) -> None:
    writer = RunWriter(tiny_disk, info_of(SMALL))
    taken = fill_up(writer)
    with pytest.raises(ArchiveError, match="No space left"):
        writer.close(ended(writer.info, Ending.COMPLETE, "2026-11-21T10:01:00Z"))
    with pytest.raises(ArchiveError, match="No space left"):
        recover(writer.folder)
    subprocess.run(["mount", "-o", "remount,size=4m", tiny_disk], check=True)  # noqa: S607
    assert recover(writer.folder).measurements == taken


def test_a_run_in_which_nothing_was_measured_can_be_closed(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info_of(SMALL))
    folder = writer.close(ended(writer.info, Ending.FAILED, "2026-11-21T10:01:00Z", "no node answered"))
    assert read_run(folder).measurements == ()
    assert (folder / layout.SAMPLES_FILE).is_file()


@pytest.mark.parametrize(
    "node", ["n1", "vm:0", "a/b", "..", "it's", 'quo"te', "a b", "ü", "n1.before.txt", "%2F", "[x]*"]
)
def test_facts_of_any_node_name_lie_in_their_folder_and_come_back(tmp_path: Path, node: str) -> None:
    writer = RunWriter(tmp_path, info_of(SMALL))
    writer.write_facts(layout.BEFORE, {node: "before"})
    writer.write_facts(layout.AFTER, {node: "after"})
    assert len(list((writer.folder / layout.FACTS_FOLDER).iterdir())) == 2
    assert read_facts_texts(writer.folder, layout.BEFORE) == {node: "before"}
    assert read_facts_texts(writer.folder, layout.AFTER) == {node: "after"}


def test_facts_that_are_none_are_left_out_and_do_not_end_the_reading(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info_of(SMALL))
    fill(writer, SMALL, sail(SMALL))
    writer.write_facts(layout.BEFORE, {"n2": "login: "})
    found = read_run(writer.close(writer.info))
    assert set(found.facts) == {"n1", "n3"}
    assert found.damage == ()


def test_raw_facts_come_back_byte_for_byte(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info_of(SMALL))
    writer.write_facts(layout.BEFORE, {"n1": "a\r\nb\rc\n"})
    assert read_facts_texts(writer.folder, layout.BEFORE) == {"n1": "a\r\nb\rc\n"}


@pytest.mark.parametrize("change", [{}, {"nodes": "now a word"}])
def test_a_later_format_is_refused_by_its_number(tmp_path: Path, change: dict[str, str]) -> None:
    folder = record(SMALL, tmp_path)
    content = msgspec.json.decode((folder / layout.RUN_FILE).read_bytes())
    content |= {"format": formats.RUN + 1, **change}
    (folder / layout.RUN_FILE).write_bytes(msgspec.json.encode(content))
    with pytest.raises(DamagedRun, match=rf"has format {formats.RUN + 1}; .* reads formats up to {formats.RUN}"):
        read_run(folder)


def test_fields_of_tomorrow_in_the_same_format_are_passed_over(tmp_path: Path) -> None:
    folder = record(SMALL, tmp_path)
    content = msgspec.json.decode((folder / layout.RUN_FILE).read_bytes())
    (folder / layout.RUN_FILE).write_bytes(msgspec.json.encode({**content, "weather": "fair"}))
    assert read_info(folder).run == "run"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format":1}', b"\xff\xfe", b'{"format":1,"started":"\xff"}'])
def test_a_run_json_that_is_none_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    folder = record(SMALL, tmp_path)
    (folder / layout.RUN_FILE).write_bytes(content)
    with pytest.raises(DamagedRun, match=r"run\.json cannot be read"):
        read_info(folder)


def test_a_run_is_found_by_name_by_beginning_by_path_and_as_the_last(tmp_path: Path) -> None:
    recorded = sail(SMALL)
    first = record(SMALL, tmp_path, "zulu", recorded, started="2026-11-21T10:00:00Z")
    last = record(SMALL, tmp_path, "alpha", recorded, started="2026-11-21T11:00:00Z")
    assert run_folders(tmp_path) == [first, last]
    assert find_run(tmp_path, "last") == last
    assert find_run(tmp_path, "zu") == first
    assert find_run(tmp_path, str(first)) == first


def test_of_runs_that_began_within_one_second_the_later_is_the_last(tmp_path: Path) -> None:
    recorded = sail(SMALL)
    times = {"zulu": "2026-11-21T10:00:00Z", "yankee": "2026-11-21T10:00:00.250Z", "alpha": "2026-11-21T10:00:00.750Z"}
    folders = [record(SMALL, tmp_path, name, recorded, started=started) for name, started in times.items()]
    assert run_folders(tmp_path) == folders
    assert find_run(tmp_path, "last") == folders[-1]


def test_a_beginning_that_fits_two_runs_is_refused_and_both_are_named(tmp_path: Path) -> None:
    recorded = sail(SMALL)
    for name in ("night-1", "night-2"):
        record(SMALL, tmp_path, name, recorded)
    with pytest.raises(UsageError, match="'night' could be 2 runs: night-1, night-2"):
        find_run(tmp_path, "night")


def test_a_whole_name_is_never_ambiguous(tmp_path: Path) -> None:
    recorded = sail(SMALL)
    for name in ("night", "night-2"):
        record(SMALL, tmp_path, name, recorded)
    assert find_run(tmp_path, "night").name == "night"


@pytest.mark.parametrize("name", ["nosuch", ""])
def test_what_is_not_there_is_refused_with_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"no run {name!r}"):
        find_run(tmp_path, name)


@pytest.mark.parametrize("name", ["nosuch", "last", ""])
def test_a_missing_folder_is_named_before_the_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"no folder .*nowhere of runs, and so no run '{name}'\."):
        find_run(tmp_path / "nowhere", name)


def test_an_empty_folder_has_no_last_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no runs\."):
        find_run(tmp_path, "last")


def test_folders_that_are_no_runs_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").touch()
    assert run_folders(tmp_path) == []
