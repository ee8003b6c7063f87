"""Draws every picture of docs/gallery.md: `python -m tests.gallery [FOLDER]`, by default into build/gallery."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from seatrial.process.process import run
from tests.support.case_files import write_case_files
from tests.support.documents import headings
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "gallery.md"
RECORDED = ROOT / "tests" / "data" / "archives"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONGEST_S = 120.0


class Drawn(msgspec.Struct, frozen=True):
    """A command of the page, with the file that it draws; empty: it prepares others."""

    words: tuple[str, ...]
    file: str


def commands_of(page: str) -> list[Drawn]:
    """All commands of the page, in its order."""
    lines = "".join(BLOCK.findall(page)).splitlines()
    found = []
    for line in lines:
        words = tuple(shlex.split(line))
        found.append(Drawn(words, words[words.index("--plot") + 1] if "--plot" in words else ""))
    return found


def sections_of(page: str) -> list[str]:
    """The titles of the page's sections."""
    return [title for level, title, _, _ in headings(page) if level == 2]


def prepare(folder: Path) -> Mapping[str, str]:
    """Write all files that the commands name into an empty folder; the environment of the commands."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_case_files(folder)
    shutil.copytree(RECORDED, folder / "recorded", ignore=shutil.ignore_patterns("*.md", "*.json.gz"))
    here = {"SEATRIAL_ARCHIVE": str(folder / "runs"), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return {**here, "MPLCONFIGDIR": str(folder / "matplotlib")}


def draw(folder: Path) -> Iterator[tuple[Drawn, str]]:
    """Carry out each command in the folder, which is emptied first; the command, and the first line that it printed.

    Raises RuntimeError for one that draws nothing.
    """
    environment = prepare(folder)
    for drawn in commands_of(PAGE.read_text()):
        done = run(drawn.words, timeout_s=LONGEST_S, extra_environment=environment, cwd=str(folder))
        if done.returncode not in (0, 1, 2) or (drawn.file and not (folder / drawn.file).is_file()):
            raise RuntimeError(f"{shlex.join(drawn.words)}: {done.stdout}{done.stderr}")
        yield drawn, done.stdout.partition("\n")[0]


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "gallery"
    for made, first_line in draw(target):
        if made.file:
            print(f"{target / made.file}: {first_line}", flush=True)
