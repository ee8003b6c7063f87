"""Files are written without following what somebody else planted."""

from pathlib import Path

import pytest

from seatrial.files.writing import own_folder, replace_file


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
