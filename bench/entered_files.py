"""How many files of the program a command enters, so that a reader of it knows how far to go.

python -m bench.entered_files [--list]

A file counts if one of its functions is called; what is only imported does not, nor what an import calls. `check`
replays a run of 16 nodes, and `compare` compares two runs of them.
"""

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.support.builders import Cluster, names, record

import seatrial
from seatrial.frame.command_line import run

HOME = f"{Path(seatrial.__file__).parent}{os.sep}"
NODES = 16


def entered(*words: str) -> set[str]:
    """The files that the command enters, by their paths in the package. Raises AssertionError if the command fails."""
    files: set[str] = set()
    importing: Counter[int] = Counter()

    def called(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            importing[threading.get_ident()] += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing[threading.get_ident()] and code.co_filename.startswith(HOME):
            files.add(code.co_filename.removeprefix(HOME))

    printed = io.StringIO()
    threading.setprofile(called)
    sys.setprofile(called)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = run([*words])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert code in (0, 1, 2), printed.getvalue()
    return files


def entered_by_command(archive: Path) -> dict[str, set[str]]:
    """Command -> the files that it enters; two runs are recorded in `archive`."""
    for name in ("before", "after"):
        record(Cluster(nodes=names(NODES)), archive, name)
    place = ("--archive", str(archive))
    return {
        "check": entered("check", "--replay", str(archive / "before"), *place),
        "compare": entered("compare", "before", "after", *place),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for command, files in entered_by_command(Path(folder)).items():
            print(f"{len(files):4d} files  seatrial {command}")
            if "--list" in sys.argv:
                print(*sorted(files), sep="\n")


if __name__ == "__main__":
    main()
