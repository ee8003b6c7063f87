"""A command that fails prints an object of the schema with --json, and its sentence on standard error."""

import errno
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import Cluster, names, record
from tests.support.command_line import Seatrial
from tests.support.json_objects import frame


@pytest.fixture(autouse=True)
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    record(Cluster(nodes=names(3)), tmp_path / "archive", "run")
    return tmp_path / "archive"


def failed(seatrial: Seatrial, *words: str) -> dict[str, Any]:
    """The error of a command line, which standard error and the exit code repeat."""
    code, out, err = seatrial(*words, "--json", code=None)
    found = frame(out)
    assert (found["kind"], found["data"], found["verdict"], found["findings"]) == ("error", None, None, [])
    assert found["exit_code"] == found["error"]["exit_code"] == code
    assert found["error"]["what"].split()[0] in err
    assert found["headline"].startswith(found["error"]["what"])
    return dict(found["error"])


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["check", "--no-such-option"], 64, "usage"),
        (["no-such-command"], 64, "usage"),
        ([], 64, "usage"),
        (["check", "--budget", "3x"], 64, "usage"),
        (["judge", "/no/such/table.csv"], 64, "usage"),
        (["report", "nothing"], 64, "no-run"),
        (["runs", "show", "nothing"], 64, "no-run"),
        (["runs", "recover", "nothing"], 64, "no-run"),
        (["runs", "collect", "run"], 64, "no-run"),
        (["placement", "--", "srun", "-n2", "true"], 64, "usage"),
        (["check"], 2, "launch"),
    ],
)
def test_the_kind_of_each_error(words: list[str], code: int, kind: str, seatrial: Seatrial) -> None:
    if "--" in words:
        place = words.index("--")
        words = [*words[:place], "--json", *words[place:]]
        error = seatrial(*words, code=code).object["error"]
    else:
        error = failed(seatrial, *words)
    assert (error["kind"], error["exit_code"]) == (kind, code)


@pytest.mark.parametrize(
    ("raised", "code", "kind"),
    [
        (KeyboardInterrupt(), 2, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "no-space"),
        (OSError(errno.EFBIG, "File too large"), 2, "no-space"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "gone"), 2, "failed"),
        (MemoryError(), 2, "no-memory"),
        (RuntimeError("half a \ud800 pair and \x1b[31m"), 70, "internal"),
    ],
)
def test_whatever_ends_a_command(
    raised: BaseException, code: int, kind: str, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise raised

    monkeypatch.setattr("seatrial.commands.doctor.run.examine", broken)
    error = failed(seatrial, "doctor")
    assert (error["kind"], error["exit_code"]) == (kind, code)


def test_an_error_after_the_result_adds_no_second_object(seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("seatrial.cli.outcome.OutputForms.show", broken_after(monkeypatch, broken))
    assert seatrial("report", "run", "--json", code=2).object["kind"] == "check"


def broken_after(monkeypatch: pytest.MonkeyPatch, broken: Any) -> Any:
    from seatrial.cli.outcome import OutputForms

    show = OutputForms.show

    def both(*arguments: Any, **options: Any) -> int:
        show(*arguments, **options)
        return int(broken())

    return both


def test_a_file_that_cannot_be_written_is_in_the_object_of_the_result(seatrial: Seatrial) -> None:
    _, out, err = seatrial("report", "run", "--html", "/proc/page.html", "--json", code=2)
    found = frame(out)
    assert (found["kind"], found["verdict"], found["exit_code"]) == ("check", "PASS", 2)
    assert (found["error"]["kind"], found["error"]["exit_code"]) == ("unwritten", 2)
    assert found["error"]["what"] in err


def test_words_of_another_command_ask_for_nothing(seatrial: Seatrial) -> None:
    assert seatrial("placement", "--", "srun", "app", "--json", code=64).out == ""
