"""The file of results that a program wrote last, in a folder where files come and go."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.driver.benchmark.run import newest


def test_the_file_written_last_is_taken_and_of_several_at_once_the_last_by_name(tmp_path: Path) -> None:
    assert newest(tmp_path, "*.out") is None
    for name, written_ns in (("c.out", 1), ("b.out", 2), ("a.out", 2), ("d.txt", 3)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(written_ns, written_ns))
    (tmp_path / "folder.out").mkdir()
    assert newest(tmp_path, "*.out") == tmp_path / "b.out"


def test_a_file_that_is_removed_while_it_is_looked_at_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left.out").touch()
    glob = Path.glob

    def with_one_that_goes(folder: Path, pattern: str) -> Iterator[Path]:
        yield folder / "gone.out"
        yield from glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", with_one_that_goes)
    assert newest(tmp_path, "*.out") == tmp_path / "left.out"
