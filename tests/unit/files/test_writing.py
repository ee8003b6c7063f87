"""Files are written without following what somebody else planted."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seatrial.files import writing
from seatrial.files.named import named_file
from seatrial.files.writing import STALE_S, own_folder, replace_file, unfinished
from tests.support.processes import killed_at_each_step
from tests.support.small_files import largest_file


def test_a_link_at_the_name_is_replaced_and_its_target_is_untouched(tmp_path: Path) -> None:
    target = tmp_path / "private"
    target.write_text("mine")
    (tmp_path / "run.json").symlink_to(target)
    replace_file(tmp_path / "run.json", b"new")
    assert target.read_text() == "mine"
    assert (tmp_path / "run.json").read_bytes() == b"new"
    assert not (tmp_path / "run.json").is_symlink()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="link"):
        replace_file(tmp_path / "link" / "run.json", b"new")
    assert not list((tmp_path / "real").iterdir())


def test_a_new_file_is_not_created_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "journal").symlink_to(tmp_path / "elsewhere")
    with own_folder(tmp_path) as folder, pytest.raises(FileExistsError):
        folder.create("journal")
    assert not (tmp_path / "elsewhere").exists()


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "run.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_an_interrupt_right_after_a_file_was_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fdopen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "run.json", b"new")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("older_s", "left"), [(60.0, 0), (-60.0, 1)])
def test_what_a_killed_process_left_is_removed_after_a_day(tmp_path: Path, older_s: float, left: int) -> None:
    names = [unfinished(), ".0123.new"]
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - STALE_S - older_s,) * 2)
    (tmp_path / unfinished()).mkdir()
    replace_file(tmp_path / "run.json", b"new")
    assert len([*tmp_path.iterdir()]) == 3 + left
    assert (tmp_path / names[0]).exists() == bool(left)


def ended_process() -> int:
    """The number of a process that has ended."""
    number = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(number, 0)
    return number


@pytest.mark.parametrize(
    ("pid", "boot", "left"),
    [(ended_process, "", 0), (os.getpid, "", 1), (lambda: 1, "", 1), (ended_process, "another", 1)],
    ids=["ended", "own", "of another user", "of another machine"],
)
def test_what_a_process_was_writing_that_has_certainly_ended_is_removed(
    tmp_path: Path, pid: Callable[[], int], boot: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = pid()
    with monkeypatch.context() as there:
        there.setattr(os, "getpid", lambda: number)
        if boot:
            there.setattr(writing, "boot_id", lambda: boot)
        (tmp_path / unfinished()).touch()
    replace_file(tmp_path / "run.json", b"new")
    assert len([*tmp_path.iterdir()]) == 1 + left


@pytest.mark.parametrize("unknown", ["boot_id", "pid_namespace"])
def test_where_nothing_proves_that_a_process_ended_its_file_is_kept(
    tmp_path: Path, unknown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, unknown, lambda: "")
    number = ended_process()
    with monkeypatch.context() as there:
        there.setattr(os, "getpid", lambda: number)
        (tmp_path / unfinished()).touch()
    replace_file(tmp_path / "run.json", b"new")
    assert len([*tmp_path.iterdir()]) == 2


def write_named(path: Path, size: int = 1001) -> None:
    with named_file(path) as file:
        file.write(b"x" * size)


def test_half_of_a_file_that_an_option_names_is_not_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for before in ([], [b"earlier"]):
        for content in before:
            page.write_bytes(content)
        with largest_file(1000), pytest.raises(OSError, match="File too large"):
            write_named(page)
        assert [path.read_bytes() for path in tmp_path.iterdir()] == before
    write_named(page)
    assert page.stat().st_size == 1001


@pytest.mark.parametrize("before", [None, b"earlier"])
def test_a_file_that_an_option_names_is_whole_or_as_before_wherever_its_process_is_killed(
    tmp_path: Path, before: bytes | None
) -> None:
    page = tmp_path / "page.html"
    if before is not None:
        page.write_bytes(before)
    for _ in killed_at_each_step(partial(write_named, page, 1 << 20)):
        assert (page.read_bytes() if page.exists() else None) == before
    assert page.stat().st_size == 1 << 20


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_written_again_keeps_its_mode_and_its_group(tmp_path: Path, mode: int) -> None:
    page = tmp_path / "page.html"
    page.touch()
    group = max(os.getgroups(), default=os.getegid()) if os.geteuid() else 12345
    os.chown(page, -1, group)
    page.chmod(mode)
    before = page.stat()
    write_named(page)
    after = page.stat()
    assert (after.st_mode, after.st_gid) == (before.st_mode, group)
    assert after.st_ino != before.st_ino


def test_a_group_that_cannot_be_kept_does_not_hand_its_rights_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.touch()
    page.chmod(0o664)
    real = os.fstat

    def in_another_group(handle: int) -> os.stat_result:
        fields = [*real(handle)]
        fields[5] += fields[1]  # the group differs from file to file
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fchown", lambda *_: os.close(-1))
    write_named(page)
    assert page.stat().st_mode & 0o777 == 0o664
    monkeypatch.setattr(os, "fstat", in_another_group)
    write_named(page)
    assert page.stat().st_mode & 0o777 == 0o604


def test_what_no_new_file_can_take_the_place_of_is_written_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, page = tmp_path / "pipe", tmp_path / "page"
    os.mkfifo(pipe)
    page.touch()
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_named(pipe)
    assert len(os.read(reader, 2000)) == 1001
    os.close(reader)
    write_named(Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="No space left"):
        write_named(Path("/dev/full"))
    number = page.stat().st_ino
    for name in ("os.access", "seatrial.files.named.is_ours"):
        with monkeypatch.context() as patched:
            patched.setattr(name, lambda *_, **__: False)
            write_named(page)
            assert (page.stat().st_ino, page.stat().st_size) == (number, 1001)
            with largest_file(1000), pytest.raises(OSError, match="File too large"):
                write_named(page)
            assert page.stat().st_size == 0
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "page"}
