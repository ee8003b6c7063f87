"""The folder of a case is copied as far as it is the case: no link leads out of it, and nothing in it is waited for."""

import os
from pathlib import Path

import pytest

from seatrial.driver.benchmark.scratch import case_hash, copy_case, read_case
from seatrial.model.errors import SeatrialError, UsageError


@pytest.fixture
def case(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    (folder / "system").mkdir(parents=True)
    (folder / "0").mkdir()
    (folder / "system" / "controlDict").write_text("endTime 100;")
    (folder / "Allrun").write_text("#!/bin/sh\n")
    (folder / "Allrun").chmod(0o755)
    (folder / "again").symlink_to("system/controlDict")
    return folder


def test_files_links_and_empty_folders_of_the_case_are_copied(case: Path, tmp_path: Path) -> None:
    texts = read_case(case)
    assert texts == {"Allrun": "", "again": "", "system/controlDict": "endTime 100;"}
    copy = tmp_path / "copy"
    copy.mkdir()
    copy_case(case, copy)
    assert (copy / "again").read_text() == "endTime 100;"
    assert (copy / "0").is_dir()
    assert os.access(copy / "Allrun", os.X_OK)
    assert case_hash(copy, texts) == case_hash(case, texts)


@pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "../elsewhere", "loop", ".", "/"])
def test_a_link_out_of_the_case_or_to_a_folder_is_refused(target: str, case: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("private")
    (case / "loop").symlink_to(target)
    with pytest.raises(UsageError):
        read_case(case)
    copy = tmp_path / "copy"
    copy.mkdir()
    with pytest.raises(SeatrialError):  # somebody may put the link there after the case was read
        copy_case(case, copy)
    assert not (copy / "loop").exists()


def test_a_pipe_in_the_case_is_refused(case: Path) -> None:
    os.mkfifo(case / "pipe")
    with pytest.raises(UsageError, match="a pipe"):
        read_case(case)


def test_a_file_that_is_larger_than_the_free_space_is_refused_before_it_is_copied(case: Path, tmp_path: Path) -> None:
    with (case / "sparse").open("wb") as stream:
        stream.truncate(1 << 42)
    copy = tmp_path / "copy"
    copy.mkdir()
    with pytest.raises(SeatrialError, match="sparse"):
        copy_case(case, copy)
    assert not (copy / "sparse").exists()


def test_a_name_that_is_not_text_has_a_hash(case: Path) -> None:
    (case / os.fsdecode(b"a\xff")).write_text("x")
    assert case_hash(case, read_case(case))


def test_a_case_that_is_too_deep_is_a_sentence(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 120)
    deep.mkdir(parents=True)
    with pytest.raises(UsageError, match="more than 100 folders deep"):
        read_case(tmp_path)
    assert read_case(tmp_path.joinpath(*["d"] * 40)) == {}
