"""The folder of a trial of storage: nothing of it stays, and nothing else is touched."""

import os
import time
from pathlib import Path

import pytest

from seatrial.archive import lease
from seatrial.archive.layout import LEASE_FILE
from seatrial.driver.storage_folder import (
    PREFIX,
    StorageFolder,
    check_name,
    free_bytes,
    kind_of,
    remove,
    remove_leftovers,
)
from seatrial.model.errors import UsageError

LONG_AGO_S = 2 * 86_400


def leftover(parent: Path, digits: str, *, leased: bool = True) -> Path:
    """What a killed run left: a file that it was making, and a lease that beats no more."""
    folder = parent / f"{PREFIX}{digits * 16}"
    folder.mkdir()
    names = ["n1-123", LEASE_FILE] if leased else ["n1-123"]
    (folder / "n1-123").touch()
    if leased:
        lease.Hold(folder, lease.Holder.DRIVER).release()
        dead = lease.read_lease(folder)
        assert dead is not None
        text = (folder / LEASE_FILE).read_text().replace(f'"pid":{os.getpid()}', '"pid":4194305')
        (folder / LEASE_FILE).write_text(text.replace(f'"started_ticks":{dead.started_ticks}', '"started_ticks":1'))
    for path in (*(folder / name for name in names), folder):
        os.utime(path, (time.time() - LONG_AGO_S,) * 2)
    return folder


def test_it_is_made_and_removed_with_what_is_in_it(tmp_path: Path) -> None:
    made = StorageFolder(tmp_path)
    assert made.path.parent == tmp_path
    assert made.path.stat().st_mode & 0o777 == 0o700
    (made.path / "n1-123").touch()
    assert made.remove()
    assert [*tmp_path.iterdir()] == []


def test_leftovers_of_killed_runs_are_removed_next_time(tmp_path: Path) -> None:
    leftover(tmp_path, "a")
    leftover(tmp_path, "b", leased=False)
    made = StorageFolder(tmp_path)
    assert made.removed == 2
    assert [path.name for path in tmp_path.iterdir()] == [made.path.name]
    assert made.remove()


def test_folders_in_use_and_those_of_others_stay(tmp_path: Path) -> None:
    used = StorageFolder(tmp_path)
    new = tmp_path / f"{PREFIX}{'c' * 16}"
    new.mkdir()
    foreign = leftover(tmp_path, "d").rename(tmp_path / f"{PREFIX}mine")
    target = tmp_path / "data"
    target.mkdir()
    (target / "precious").touch()
    (tmp_path / f"{PREFIX}{'e' * 16}").symlink_to(target)
    assert remove_leftovers(tmp_path) == 0
    assert used.path.is_dir()
    assert new.is_dir(), "another run may be about to write its lease"
    assert foreign.is_dir()
    assert (target / "precious").exists()
    assert used.remove()


def test_a_folder_within_is_never_removed(tmp_path: Path) -> None:
    folder = leftover(tmp_path, "f")
    (folder / "sub").mkdir()
    (folder / "sub" / "precious").touch()
    assert not remove(folder)
    assert (folder / "sub" / "precious").exists()


@pytest.mark.parametrize("name", ["a\\b", 'a"b', "é", "a\nb", "x" * 401])
def test_a_path_that_the_protocol_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="ASCII"):
        check_name(Path("/") / name)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        StorageFolder(tmp_path / "none")
    with pytest.raises(UsageError, match="No such file"):
        free_bytes(tmp_path / "none")


def test_the_kind_of_a_file_system_is_that_of_the_innermost_mount() -> None:
    mounts = (
        "/dev/vda / ext4 rw 0 0\nserver:/w /shared nfs4 rw 0 0\ntmpfs /shared/ram tmpfs rw 0 0\n"
        "none /a\\040b lustre rw 0 0\nx /shared overlay rw 0 0\nbroken\n"
    )
    kinds = {
        path: kind_of(Path(path), mounts) for path in ("/home", "/shared/x", "/shared/ram/x", "/a b/c", "/sharedx")
    }
    assert kinds == {"/home": "ext4", "/shared/x": "overlay", "/shared/ram/x": "tmpfs", "/a b/c": "lustre",
                     "/sharedx": "ext4"}  # fmt: skip
