"""Folders that runs need only while they go on: nothing of them stays, and nothing else is touched."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import lease, working_folder
from seatrial.archive.layout import LEASE_FILE
from seatrial.archive.lease import Life, OpenRun
from seatrial.archive.working_folder import (
    FILES,
    Use,
    WorkingFolder,
    parents_of,
    remove,
    remove_leftovers,
    scratch_parent,
)
from seatrial.files.writing import unfinished
from seatrial.model.settings import CheckSettings, NodesSettings, RunSettings, SiteSettings, SoakSettings

LONG_AGO_S = 2 * 86_400


def leftover(parent: Path, digit: str, *, leased: bool = True, use: Use = Use.SCRATCH) -> Path:
    """What a killed run of this host left: files in folders, and a lease that beats no more."""
    folder = parent / f".seatrial-{use}-{digit * 16}"
    (folder / FILES / "case").mkdir(parents=True)
    (folder / FILES / "case" / "data").touch()
    if leased:
        dead = msgspec.structs.replace(lease.new_lease(lease.Holder.DRIVER), pid=4_194_305, started_ticks=1)
        (folder / LEASE_FILE).write_bytes(msgspec.json.encode(dead))
    os.utime(folder, (time.time() - LONG_AGO_S,) * 2)
    return folder


@pytest.mark.parametrize("use", Use)
def test_it_is_made_and_removed_with_what_is_in_it(tmp_path: Path, use: Use) -> None:
    made = WorkingFolder(tmp_path, use)
    assert made.path.parent.parent == tmp_path
    assert made.path.parent.stat().st_mode & 0o777 == 0o700
    assert [*made.path.iterdir()] == []
    (made.path / "a" / "b").mkdir(parents=True)
    (made.path / "a" / "b" / "data").touch()
    (made.path / "a").chmod(0o555)
    assert made.remove()
    assert [*tmp_path.iterdir()] == []


def test_this_process_works_in_the_folder_whatever_takes_its_place(tmp_path: Path) -> None:
    made = WorkingFolder(tmp_path, Use.SCRATCH)
    (tmp_path / "private" / FILES).mkdir(parents=True)
    made.path.parent.rename(tmp_path / "aside")
    made.path.parent.symlink_to(tmp_path / "private")
    (made.place / "input").write_text("x")
    assert [*(tmp_path / "private" / FILES).iterdir()] == []
    assert (tmp_path / "aside" / FILES / "input").read_text() == "x"
    assert not made.remove(patience_s=0.0)
    assert (tmp_path / "private" / FILES).is_dir()


def test_leftovers_of_killed_runs_are_removed_next_time(tmp_path: Path) -> None:
    leftover(tmp_path, "a")
    empty = leftover(tmp_path, "b", leased=False)
    shutil.rmtree(empty / FILES)
    (empty / unfinished()).touch()
    os.utime(empty, (time.time() - LONG_AGO_S,) * 2)
    leftover(tmp_path, "c", use=Use.STORAGE)
    made = WorkingFolder(tmp_path, Use.SCRATCH)
    assert made.removed == 3
    assert [path.name for path in tmp_path.iterdir()] == [made.path.parent.name]
    assert made.remove()


def test_a_signal_while_it_is_removed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, signals = working_folder.remove, [KeyboardInterrupt()]

    def interrupted(folder: Path) -> bool:
        if signals:
            raise signals.pop()
        return real(folder)

    monkeypatch.setattr(working_folder, "remove", interrupted)
    with pytest.raises(KeyboardInterrupt), WorkingFolder(tmp_path, Use.WHOLE) as working:
        (working.path / "data").touch()
    assert [*tmp_path.iterdir()] == []


def test_folders_in_use_and_of_other_names_stay(tmp_path: Path) -> None:
    used = WorkingFolder(tmp_path, Use.STORAGE)
    for path in used.path.parent.rglob("*"):
        os.utime(path, (time.time() - LONG_AGO_S,) * 2)  # the process lives, whatever the clocks say
    new = tmp_path / f".seatrial-scratch-{'c' * 16}"
    new.mkdir()
    named = leftover(tmp_path, "d").rename(tmp_path / ".seatrial-scratch-mine")
    assert remove_leftovers([tmp_path]) == 0
    assert used.path.is_dir()
    assert new.is_dir(), "another run may be about to write its lease"
    assert named.is_dir()
    assert used.remove()


def test_killed_runs_are_cleaned_up_where_their_settings_say(tmp_path: Path) -> None:
    archive, fast, shared = (tmp_path / name for name in ("archive", "fast", "shared"))
    site = SiteSettings(archive=archive)
    settings = (
        RunSettings(site=site, benchmark="ior", scratch=fast),
        NodesSettings(site=site, storage=shared),
        CheckSettings(archive=archive, storage=shared),
        SoakSettings(site=site),
        None,
    )
    assert parents_of(archive, settings) == [archive, fast, shared]
    scratch_parent(archive).mkdir(parents=True)
    parents = parents_of(archive, settings)
    assert parents == [archive, scratch_parent(archive), fast, shared]
    left = []
    for parent in parents:
        parent.mkdir(exist_ok=True)
        left.append(leftover(parent, "a"))
    assert remove_leftovers(parents) == len(left)
    assert not any(folder.exists() for folder in left)


def test_a_program_that_deletes_all_that_it_sees_does_not_make_its_run_look_dead(tmp_path: Path) -> None:
    used = WorkingFolder(tmp_path, Use.SCRATCH)
    for path in used.path.iterdir():
        path.unlink()
    os.utime(used.path, (time.time() - LONG_AGO_S,) * 2)
    os.utime(used.path.parent, (time.time() - LONG_AGO_S,) * 2)
    assert remove_leftovers([tmp_path]) == 0
    assert used.remove()


def test_what_only_watching_would_tell_is_left_to_those_who_watch(tmp_path: Path) -> None:
    folder = leftover(tmp_path, "a")
    held = lease.read_lease(folder)
    assert held is not None
    (folder / LEASE_FILE).write_bytes(msgspec.json.encode(msgspec.structs.replace(held, boot_id="another host")))

    def watched(life: Life) -> Callable[[list[Path]], list[OpenRun]]:
        return lambda folders: [OpenRun(folder=one, life=life) for one in folders]

    assert remove_leftovers([tmp_path]) == 0
    assert remove_leftovers([tmp_path], watched(Life.RUNNING)) == 0
    assert folder.is_dir()
    assert remove_leftovers([tmp_path], watched(Life.CUT_OFF)) == 1
    assert not folder.exists()


def test_a_folder_that_its_run_removes_meanwhile_stops_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = WorkingFolder(tmp_path, Use.SCRATCH)
    listed = working_folder._own_folders

    def overtaken(parent: Path) -> list[Path]:
        folders = listed(parent)
        assert ended.remove()
        return folders

    monkeypatch.setattr(working_folder, "_own_folders", overtaken)
    begun = WorkingFolder(tmp_path, Use.SCRATCH)
    assert begun.removed == 0
    assert begun.remove()


def test_links_are_removed_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / f".seatrial-scratch-{'e' * 16}").symlink_to(leftover(outside, "e"))
    folder = leftover(archive, "f")
    (folder / FILES / "folder").symlink_to(outside)
    (folder / FILES / "file").symlink_to(outside / "precious")
    os.link(outside / "precious", folder / FILES / "hard")
    assert remove_leftovers([archive]) == 1
    assert not folder.exists()
    assert sorted(path.name for path in outside.iterdir()) == [f".seatrial-scratch-{'e' * 16}", "precious"]
    assert (outside / f".seatrial-scratch-{'e' * 16}" / FILES / "case" / "data").exists()


def test_a_folder_that_others_gave_such_a_name_keeps_what_is_in_it(tmp_path: Path) -> None:
    data = leftover(tmp_path, "a", leased=False)
    settings = leftover(tmp_path, "b", leased=False)
    (settings / FILES).rename(settings / ".config")
    os.utime(settings, (time.time() - LONG_AGO_S,) * 2)
    assert remove_leftovers([tmp_path]) == 0
    assert (data / FILES / "case" / "data").exists()
    assert (settings / ".config" / "case" / "data").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own links as two users")
def test_a_parent_behind_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    link = tmp_path / "link"
    link.symlink_to("mine")
    assert WorkingFolder(link, Use.STORAGE).remove()
    os.lchown(link, 65534, 65534)
    with pytest.raises(PermissionError, match="not theirs"):
        WorkingFolder(link, Use.STORAGE)
    assert [*(tmp_path / "mine").iterdir()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own folders as two users")
def test_folders_of_another_user_stay_even_for_root(tmp_path: Path) -> None:
    folder = leftover(tmp_path, "a")
    os.chown(folder, 65534, 65534)
    assert remove_leftovers([tmp_path]) == 0
    assert not remove(folder)
    assert (folder / FILES / "case" / "data").exists()


def test_what_cannot_be_removed_keeps_its_lease_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = leftover(tmp_path, "a")
    unlink = os.unlink

    def held(name: str, *, dir_fd: int | None = None) -> None:
        if name == "data":
            raise OSError("in use")
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", held)
    assert remove_leftovers([tmp_path]) == 0
    assert (folder / LEASE_FILE).exists()
    monkeypatch.undo()
    assert remove_leftovers([tmp_path]) == 1
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        WorkingFolder(tmp_path / "none", Use.STORAGE)
    monkeypatch.setattr(working_folder, "FILES", "no/such")
    with pytest.raises(FileNotFoundError):
        WorkingFolder(tmp_path, Use.STORAGE)
    assert [*tmp_path.iterdir()] == []


def test_a_program_may_have_made_folders_as_deep_as_it_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = WorkingFolder(tmp_path, Use.SCRATCH)
    monkeypatch.chdir(made.path)
    for _ in range(2000):
        os.mkdir("d")  # noqa: PTH102 - such a path has too many characters
        os.chdir("d")
    monkeypatch.chdir(tmp_path)
    assert not made.remove(patience_s=0.0)
    subprocess.run(["/bin/rm", "-rf", made.path.parent], check=True)


@pytest.mark.parametrize("journal", [False, True])
def test_a_run_whose_driver_was_killed_before_it_got_its_name_is_removed(tmp_path: Path, journal: bool) -> None:
    folder = leftover(tmp_path, "a").rename(tmp_path / unfinished())
    shutil.rmtree(folder / FILES)
    for name in ("facts", "logs"):
        (folder / name).mkdir()
    (folder / "run.json").touch()
    if journal:  # somebody gave the name to a run
        (folder / "journal.jsonl").touch()
    assert remove_leftovers([tmp_path]) == (not journal)
    assert folder.exists() == journal
