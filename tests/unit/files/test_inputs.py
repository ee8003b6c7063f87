"""Inputs that must not block a command or fill its memory: devices, pipes, huge files, deep nesting."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec
import pytest

from seatrial.commands.judge import sources
from seatrial.files import inputs
from seatrial.files.inputs import BadInput, argument_text, decoded, open_argument, open_regular, read_input
from tests.support.command_line import call
from tests.support.command_server import server

MEMORY_BYTES = 2 << 30
"""What a command may take that is given an endless input: enough for any of them, and little for the machine."""
MATRIX = "source,target,bandwidth_mb_s\nn1,n2,1000\nn2,n1,1000\n"


def seatrial(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own with bounded memory, which fails the test where it blocks."""
    return server().run(arguments, folder, os.environ | {"SEATRIAL_ARCHIVE": str(folder / "archive")}, MEMORY_BYTES)


COMMANDS = {
    "judge": ("judge", "{}"),
    "judge --topology": ("judge", "matrix.csv", "--topology", "{}"),
    "fabric show": ("fabric", "show", "{}"),
    "fabric check": ("fabric", "check", "{}"),
    "fabric check --counters": ("fabric", "check", "matrix.csv", "--counters", "{}", "{}"),
    "facts": ("facts", "--from", "{}"),
    "facts --since": ("facts", "--since", "./{}"),
    "limits": ("limits", "--from", "{}"),
    "lab trial": ("lab", "trial", "{}"),
    "judge --as output": ("judge", "--as", "output", "{}"),
    "scale": ("judge", "--as", "scaling", "{}"),
    "scale --own-rates": ("judge", "--as", "scaling", "matrix.csv", "--own-rates", "{}"),
    "judge --as series": ("judge", "--as", "series", "{}"),
    "judge --as fleet": ("judge", "--as", "fleet", "{}"),
    "swap start": ("swap", "start", "x", "--from", "{}"),
    "bench show": ("bench", "show", "{}"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["device", "huge"])
def test_an_endless_input_is_refused_at_once(command: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_text(MATRIX)
    (tmp_path / "archive").mkdir()
    name = "endless.toml"
    if kind == "device":
        (tmp_path / name).symlink_to("/dev/zero")
    else:
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, 1 << 40)
    done = seatrial(*(word.format(name) for word in COMMANDS[command]), folder=tmp_path)
    assert done.returncode == 64, done.stderr
    assert "Traceback" not in done.stderr
    assert name in done.stderr or command == "fabric check --counters"


@pytest.mark.parametrize("command", ["facts", "lab trial", "judge"])
def test_a_pipe_that_nobody_writes_to_is_refused(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = seatrial(*(word.format("pipe") for word in COMMANDS[command]), folder=tmp_path)
    assert done.returncode == 64, done.stderr
    assert "pipe is a pipe (FIFO), " in done.stderr


def test_a_folder_of_tables_has_one_limit_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "TABLES_BYTES", 1 << 20)
    for name in ("a-b.out", "b-a.out"):
        (tmp_path / name).write_bytes(bytes((1 << 20) - 5))
    with pytest.raises(BadInput, match=r"All that is in .* is too large; at most 1 MiB are read"):
        call("judge", str(tmp_path))


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


KINDS: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a character device": lambda path: path.symlink_to("/dev/zero"),
    "a pipe (FIFO)": make_fifo,
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    KINDS[kind](path)
    with pytest.raises(BadInput) as caught:
        read_input(path, 10)
    assert f"{path} is {kind}" in str(caught.value)


def test_a_socket_a_loop_and_a_null_byte_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_socket(Path("socket"))
    Path("loop").symlink_to("loop")
    for name in ("socket", "loop", "a\0b", "missing"):
        with pytest.raises(BadInput, match="cannot be read"):
            read_input(Path(name), 10)


def test_the_limit_is_the_last_size_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_input(path, 5) == b"12345"
    with pytest.raises(BadInput, match="has 5 B; at most 4 B are read"):
        read_input(path, 4)


def test_a_file_that_grows_while_it_is_read_stays_within_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"123")
    with open_regular(path, 5) as stream:
        path.write_bytes(b"123456")
        with pytest.raises(BadInput, match="at most 5 B"):
            inputs.read_up_to(stream, path, 5)


def test_a_pipe_of_the_command_line_is_read_within_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write(content: bytes) -> threading.Thread:
        writer = threading.Thread(target=lambda: path.open("wb", buffering=0).write(content), daemon=True)
        writer.start()
        return writer

    writer = write(MATRIX.encode())
    assert argument_text(path, 1000) == MATRIX
    writer.join()
    write(bytes(50))
    with pytest.raises(BadInput, match="is too large; at most 20 B"):
        open_argument(path, 20)


def test_a_silent_pipe_is_reported_and_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "NOTICE_S", 0.05)
    monkeypatch.setattr(inputs, "SILENT_S", 0.1)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    said: list[str] = []
    writer = os.open(path, os.O_RDWR)
    with pytest.raises(BadInput, match="delivered nothing"):
        open_argument(path, 20, said.append)
    os.close(writer)
    assert said == [f"Waiting for data from the pipe {path}."]


def test_a_pipe_without_a_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "WRITER_S", 0.1)
    monkeypatch.setattr(inputs, "SILENT_S", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="and no program writes to it"):
        open_argument(tmp_path / "pipe", 20)


@pytest.mark.parametrize("text", [MATRIX, ""])
def test_a_writer_may_come_a_little_later(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaves without a word is an empty file."""
    monkeypatch.setattr(inputs, "WRITER_S", 60.0)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Timer(0.3, (tmp_path / "pipe").write_text, [text])
    writer.start()
    assert argument_text(tmp_path / "pipe", 1000) == text
    writer.join()


def test_a_report_is_not_written_to_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("node,value\nn1,1\nn2,2\nn3,3\n")
    os.mkfifo(tmp_path / "pipe")
    done = seatrial("judge", "f.csv", "--junit", "pipe", folder=tmp_path)
    assert done.returncode == 2
    assert "The JUnit report pipe cannot be written: no program reads from it." in done.stderr
    with socket.socket(socket.AF_UNIX) as server_:
        server_.bind(str(tmp_path / "socket"))
    done = seatrial("judge", "f.csv", "--junit", "socket", folder=tmp_path)
    assert done.returncode == 64
    assert "--junit 'socket' is a socket." in done.stderr


SEATRIAL = f"{sys.executable} -m seatrial"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cat f.csv | {} judge /dev/stdin --json", '"nodes"'),
        ("{} judge <(cat f.csv) --json", '"nodes"'),
        ("{} judge <(sleep 3; cat f.csv) --json", '"nodes"'),
        ("{} judge <(true) --json", "The file is empty"),
        ("mkfifo p; (cat f.csv > p) & {} judge p --json", '"nodes"'),
    ],
)
def test_pipes_of_a_shell_are_read_to_their_end(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("node,value\nn1,1\nn2,2\nn3,3\n")
    words = ["bash", "-c", line.format(SEATRIAL)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "nested too deeply"),
        (b'{"b": ' + b"[" * 20_000 + b"]" * 20_000 + b', "format": 1}', "nested too deeply"),
        (b"\xff", "cannot be read"),
        (b"{}", "missing required field"),
    ],
)
def test_what_is_no_record_is_a_sentence(content: bytes, said: str) -> None:
    class Record(msgspec.Struct):
        format: int

    with pytest.raises(BadInput, match=said):
        decoded(content, Record, Path("x"))


def test_an_interrupt_while_a_file_is_opened_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream that nobody holds any more has closed the file already."""
    (tmp_path / "run.json").touch()

    def interrupted(handle: int, *_: object) -> None:
        os.close(handle)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(inputs, "_NamedErrors", interrupted)
        with pytest.raises(KeyboardInterrupt):
            open_regular(tmp_path / "run.json", 1)


@pytest.mark.parametrize("read", [lambda file: file.read(), lambda file: file.read(9), lambda file: file.readline()])
def test_an_error_while_a_file_is_read_names_it(read: Callable[[IO[bytes]], object], tmp_path: Path) -> None:
    """The first page of a process is never mapped."""
    with open_regular(Path("/proc/self/mem"), 1) as file, pytest.raises(OSError, match="Input/output error") as error:
        read(file)
    assert error.value.filename == "/proc/self/mem"
    (tmp_path / "table").write_bytes(b"n1\n" * 9999)
    with open_regular(tmp_path / "table", 1 << 20) as file:
        assert (file.readline(), file.read(2), file.read()) == (b"n1\n", b"n1", b"\n" + b"n1\n" * 9997)
