"""Every command that has --json prints one object of the schema, whatever its files do when they are opened."""

import builtins
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.benchmark_outputs import hpl
from tests.support.command_line import Seatrial
from tests.support.json_objects import frame
from tests.unit.cli.test_json import PRINTING, archive, recorded
from tests.unit.cli.test_terminals import FABRIC

FIXTURES = (archive, recorded)
WITHOUT_FILES = [
    ["doctor"], ["check"], ["check", "--dry-run"], ["link", "n1", "n2"],
    ["link", "n1", "n2", "--ranks-per-node", "auto"], ["link", "--transports"],
    ["nodes"], ["nodes", "--for", "10m"], ["bench", "run", "hpl"], ["bench", "show", "hpl"],
]  # fmt: skip
"""Without Slurm and MPI they end before they open a file."""
READING = [
    *(words for words in PRINTING if words[0] not in ("doctor", "bench", "lab")),
    ["fabric", "show", "fabric.txt"],
    ["fabric", "check", "fabric.txt"],
    ["judge", "--benchmark", "hpl", "hpl.out"],
    ["judge", "--as", "scaling", "hpl.out"],
    ["import", "fleet.csv"],
    ["runs", "collect", "run"],
    ["bench", "accept", "list.toml"],
]
LISTING = (["runs", "list"], ["runs", "recover"], ["baseline", "list"], ["site", "pages"])
"""They list what is damaged, or have a page of it, and exit with 0."""
ERRORS = [
    (OSError(errno.EACCES, "Permission denied", "runs"), (2, 64), ("failed", "usage")),
    (OSError(errno.EIO, "Input/output error", "runs"), (2, 64), ("failed", "usage")),
    (OSError(errno.ESTALE, "Stale file handle", "runs"), (2, 64), ("failed", "usage")),
    (OSError(errno.ENOSPC, "No space left on device"), (2, 64), ("failed", "usage", "no-space")),
    (KeyboardInterrupt(), (2,), ("interrupted",)),
    (MemoryError(), (2,), ("no-memory",)),
]
OPENING = ((builtins, "open"), (io, "open"), (os, "open"), (os, "listdir"), (os, "scandir"))


@pytest.fixture
def folder(archive: Path, tmp_path: Path) -> Path:
    """An archive, and the inputs of all commands."""
    (tmp_path / "fabric.txt").write_text(FABRIC)
    (tmp_path / "hpl.out").write_text(hpl())
    (tmp_path / "list.toml").write_text('[[benchmark]]\nname = "hpl"\n')
    return tmp_path


def opening(function: Callable[..., Any], below: Path, error: BaseException) -> Callable[..., Any]:
    """The same, but what is below a folder cannot be opened or listed."""

    def opened(path: Any = ".", *rest: Any, **options: Any) -> Any:
        if not isinstance(path, int) and str(Path.cwd() / os.fspath(path)).startswith(str(below)):
            raise error
        return function(path, *rest, **options)

    return opened


def printed(words: list[str], seatrial: Seatrial) -> tuple[int, dict[str, Any], str]:
    """Exit code, object and standard error of a command line."""
    code, out, err = seatrial(*words, "--json", code=None)
    found = frame(out)
    assert found["exit_code"] == code
    assert "Traceback" not in err
    assert found["error"] is None or found["error"]["exit_code"] == code
    return code, found, err


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_files_that_cannot_be_opened(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    for error, codes, kinds in ERRORS:
        with monkeypatch.context() as patched:
            for module, name in OPENING:
                patched.setattr(module, name, opening(getattr(module, name), folder, error))
            code, found, err = printed(words, seatrial)
        assert code in codes, (error, err)
        assert found["error"]["kind"] in kinds, (error, err)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x1b[31m\0\n{" * 50], ids=["empty", "binary"])
@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_files_of_another_content(words: list[str], content: bytes, folder: Path, seatrial: Seatrial) -> None:
    """All files of the archive and all inputs were overwritten."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(content)
    code, found, err = printed(words, seatrial)
    assert code in ((0, 2) if words in LISTING else (2, 64)), err
    assert found["verdict"] not in ("PASS", "SLOW")
    assert "\x1b" not in err


@pytest.mark.parametrize("words", [*READING, *WITHOUT_FILES], ids=" ".join)
def test_an_option_that_no_command_has(words: list[str], folder: Path, seatrial: Seatrial) -> None:
    code, found, _ = printed([*words, "--no-such-option"], seatrial)
    assert (code, found["error"]["kind"], found["kind"]) == (64, "usage", "error")


@pytest.mark.parametrize("words", WITHOUT_FILES[:-1], ids=" ".join)
def test_without_slurm_and_mpi_nothing_is_measured(words: list[str], folder: Path, seatrial: Seatrial) -> None:
    code, found, err = printed(words, seatrial)
    assert code in (1, 2, 64), err
    assert found["verdict"] in (None, "BLOCKED")
