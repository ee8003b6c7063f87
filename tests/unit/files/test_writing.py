"""Files are written without following what somebody else planted."""

import os
import time
from pathlib import Path

import pytest

from seatrial.files.named import named_file
from seatrial.files.writing import STALE_S, own_folder, replace_file, unfinished
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


def test_half_of_a_file_that_an_option_names_is_not_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(b"earlier")
    with largest_file(1000), pytest.raises(OSError, match="File too large"), named_file(page) as file:
        file.write(b"x" * 1001)
    assert page.read_bytes() == b""
    with named_file(page) as file:
        file.write(b"x" * 1001)
    assert page.stat().st_size == 1001
