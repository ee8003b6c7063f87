"""The copy of what a run delivered: whole, though only its end is in memory."""

import io
import tempfile
from pathlib import Path

import pytest

from seatrial.archive import layout, writer
from seatrial.archive.writer import RescueCopy

LINES = [f'{{"entry":"round-end","number":{number},"detail":"{number * 7919:x}"}}\n'.encode() for number in range(9000)]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(writer, "MEMORY_BYTES", 1000)
    return tmp_path / "cache"


def filled() -> RescueCopy:
    copy = RescueCopy()
    for line in LINES:
        copy.add_line(line)
    return copy


def test_a_long_journal_is_whole_again(cache: Path, tmp_path: Path) -> None:
    copy = filled()
    assert [*cache.iterdir()] == [], "the file has no name"
    assert b"".join(copy.journal()) == b"".join(LINES)
    copy.add_line(b"one more\n")
    assert b"".join(copy.journal()) == b"".join([*LINES, b"one more\n"])
    copy.write_journal(tmp_path)
    assert (tmp_path / layout.JOURNAL_FILE).read_bytes().endswith(b"one more\n")


@pytest.mark.usefixtures("cache")
def test_a_full_disk_of_the_cache_costs_memory_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, piece: object) -> int:
            if self.tell() > 4000:
                super().write(bytes(piece)[:100])  # type: ignore[call-overload]
                raise OSError("no space left")
            return super().write(piece)  # type: ignore[arg-type]

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    assert b"".join(filled().journal()) == b"".join(LINES)


@pytest.mark.usefixtures("cache")
def test_without_a_cache_folder_it_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert b"".join(filled().journal()) == b"".join(LINES)
