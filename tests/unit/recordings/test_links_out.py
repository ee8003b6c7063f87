"""A recording or a folder of tables that somebody else made shows nothing of the reader's private files."""

import json
import os
from pathlib import Path

import pytest

from seatrial.frame.command_line import run
from tests.support.second_user import OTHER, folder_for_all, needs_root

PRIVATE = "of nobody else"


@pytest.mark.parametrize("command", ["judge", "import", "compare --side-by-side"])
def test_a_folder_of_tables_shows_nothing_from_elsewhere(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private = tmp_path / "private.csv"
    private.write_text(f"node,triad\n{PRIVATE},1\n")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "n1.csv").symlink_to(private)
    where = ["--archive", str(tmp_path / "archive")] if command == "import" else []
    assert run([*command.split(), str(tmp_path / "tables"), *where]) == 64
    said = capsys.readouterr()
    assert "leads out of the folder" in said.err
    assert PRIVATE not in said.out + said.err


@needs_root
def test_a_link_of_somebody_else_to_a_folder_of_tables_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with folder_for_all() as place:
        (place / "private").mkdir(mode=0o700)
        (place / "private" / "rates.csv").write_text(f"node,triad\n{PRIVATE},1\nn2,2\n")
        (place / "given").symlink_to(place / "private")
        os.chown(place / "given", OTHER, OTHER, follow_symlinks=False)
        for words in (["judge"], ["compare", "--side-by-side"], ["import", "--archive", str(place / "archive")]):
            assert run([*words, str(place / "given")]) == 64
            said = capsys.readouterr()
            assert "a link of" in said.err and PRIVATE not in said.out + said.err


STREAM = "#seatrial-facts 1 n1\n@value /proc/sys/kernel/hostname|{}\n#end\n"


@pytest.mark.parametrize("form", ["stream", "text", "raw", "description"])
def test_a_recording_shows_nothing_from_elsewhere(form: str, tmp_path: Path) -> None:
    recording, private = tmp_path / "recording", tmp_path / "private"
    (recording / "raw").mkdir(parents=True)
    private.write_text(STREAM.format(PRIVATE) if form == "stream" else f"Architecture: x\nModel name: {PRIVATE}\n")
    (recording / "n1.facts").write_text(STREAM.format("n1"))
    place = {"stream": "n2.facts", "text": "n2.lscpu.txt", "raw": "raw/sinfo.txt", "description": "gather.json"}[form]
    (recording / place).symlink_to(private)
    code = run(["facts", "--from", str(recording), "--output", str(tmp_path / "made")])
    assert code in (0, 64)
    assert not [path for path in (tmp_path / "made").rglob("*.*") if PRIVATE in path.read_text()]


def test_a_recorded_tree_shows_nothing_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tmp_path / "tree" / "proc" / "sys" / "kernel"
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "osrelease").write_text(PRIVATE)
    kernel.mkdir(parents=True)
    (kernel / "ostype").write_text("Linux\n")
    (kernel / "osrelease").symlink_to(tmp_path / "private" / "osrelease")
    (tmp_path / "tree" / "proc" / "version").symlink_to("sys/kernel/ostype")
    os.mkfifo(tmp_path / "tree" / "proc" / "meminfo")
    (tmp_path / "tree" / "sys").symlink_to(tmp_path / "private")
    assert run(["facts", "--from", str(tmp_path / "tree"), "--json"]) == 0
    assert PRIVATE not in json.dumps(json.loads(capsys.readouterr().out))


def test_a_map_of_the_automounter_that_is_elsewhere_is_not_read(tmp_path: Path) -> None:
    """A file of the recorded tree names the map, and may name it by a path that climbs out of the tree."""
    (tmp_path / "private").write_text(f"{PRIVATE} srv:/x\n")
    (tmp_path / "tree" / "etc").mkdir(parents=True)
    (tmp_path / "tree" / "proc").mkdir()
    climbing = "/.." * 30
    (tmp_path / "tree" / "etc" / "auto.master").write_text(f"/x {climbing}{tmp_path}/private\n")
    assert run(["facts", "--from", str(tmp_path / "tree"), "--output", str(tmp_path / "made")]) == 0
    made = [path.read_text() for path in (tmp_path / "made").rglob("*.*")]
    assert made and not [text for text in made if PRIVATE in text]
