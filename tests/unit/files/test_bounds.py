"""Inputs that take no space, or little, and would take minutes or all memory: many parts, many files, endless lines."""

import bz2
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.commands.doctor.starts import last_words
from seatrial.driver.facts_reading import read_recording
from seatrial.files import inputs
from seatrial.files.inputs import Allowance, BadInput, TooMuch, as_text, files_in, read_end
from seatrial.importers.accounting import MOST_REFUSED, read_accounting
from seatrial.importers.fields import LONGEST_LINE_BYTES
from seatrial.model.errors import UsageError
from seatrial.recordings import machine_files, recording
from tests.unit.files.test_inputs import seatrial

STREAM = b"#seatrial-facts 1 n1\n@value /proc/sys/kernel/hostname|n1\n"
HEAD = b"JobID|State|ElapsedRaw\n"


@pytest.mark.parametrize("end", ["\n", "\r", "\x0c", "\x85", "\u2028", "\u2029", ",", ";", "\t", "|", "[", "{", "<"])
def test_a_text_has_a_limited_number_of_parts(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_PARTS", 100)
    assert as_text((100 * f"a{end}").encode(), Path("x")) == 100 * f"a{end}"
    with pytest.raises(BadInput, match="x has 101 lines and cells; at most 100 are read"):
        as_text((101 * f"a{end}").encode(), Path("x"))


@pytest.mark.parametrize("command", [("judge",), ("doctor", "--from")])
def test_commands_refuse_a_text_of_only_line_ends(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1\n" * (inputs.MOST_PARTS + 1))
    done = seatrial(*command, "x", folder=tmp_path)
    assert (done.returncode, "10,000,001 lines and cells" in done.stderr) == (64, True), done.stderr


def test_files_that_are_one_by_hard_links_have_a_limit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "ALL_FACTS_BYTES", 5 * len(STREAM))
    (tmp_path / "n1.facts").write_bytes(STREAM)
    for number in range(2, 6):
        os.link(tmp_path / "n1.facts", tmp_path / f"n{number}.facts")
    assert len(read_recording(tmp_path).texts) == 5
    os.link(tmp_path / "n1.facts", tmp_path / "n6.facts")
    with pytest.raises(TooMuch, match=r"All that is in .* is too large"):
        read_recording(tmp_path)


@pytest.mark.parametrize("cut", [0, 20])
def test_files_that_are_small_by_compression_have_a_limit_together(
    cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where each is damaged at its end."""
    text = b"Architecture: x86_64\nCPU(s): 4\n" + b" \n" * 1_000_000
    packed = bz2.compress(text)
    for number in range(4):
        (tmp_path / f"n{number}.lscpu.bz2").write_bytes(packed[: len(packed) - cut])
    monkeypatch.setattr(machine_files, "ALL_FACTS_BYTES", 3_000_000)
    with pytest.raises(TooMuch, match="All that is in"):
        read_recording(tmp_path)


def test_an_allowance_is_for_all() -> None:
    together = Allowance(10, "x")
    assert together.take(b"12345") == b"12345"
    assert together.take("67890") == "67890"
    with pytest.raises(TooMuch, match="All that is in x is too large; at most 10 B are read"):
        together.take(b"1")


def test_a_folder_has_a_limited_number_of_entries(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert files_in(tmp_path, 4) == [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(BadInput, match="has more than 3 entries"):
        files_in(tmp_path, 3)


def test_accounting_without_an_end_of_line_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    os.truncate(tmp_path / "x", inputs.MATRIX_BYTES)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with (tmp_path / "x").open("rb") as stream, pytest.raises(UsageError, match="names no column"):
        read_accounting(stream)
    (tmp_path / "x").write_bytes(HEAD)
    os.truncate(tmp_path / "x", inputs.MATRIX_BYTES)
    with (tmp_path / "x").open("rb") as stream, pytest.raises(UsageError, match="a line of more than 16 MiB"):
        read_accounting(stream)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < 8 * LONGEST_LINE_BYTES


@pytest.mark.parametrize(
    "content", [HEAD + b"x|y|z\n" * (MOST_REFUSED + 1), b'{"jobs":[' + b"0," * MOST_REFUSED + b"0]}"]
)
def test_accounting_of_nothing_that_can_be_read_ends_early(content: bytes) -> None:
    with pytest.raises(UsageError, match=r"100,001 of the first 100,001 records cannot be read"):
        read_accounting([content])


def test_of_what_programs_printed_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    os.truncate(log, 1 << 40)
    with log.open("ab") as stream:
        stream.write(b"\nsrun: error: no such node\n")
    assert "no such node" in last_words(log)
    (tmp_path / "pipe").symlink_to(tmp_path / "fifo")
    os.mkfifo(tmp_path / "fifo")
    assert read_end(tmp_path / "pipe") == ""


PRINT_LIMIT = ["sh", "-c", "ulimit -d"]
LITTLE = """
import sys
from pathlib import Path
from seatrial.frame import memory
from seatrial.frame.command_line import run
from seatrial.process.process import run as run_program
memory.MEMORY, memory.ALWAYS_BYTES = Path("meminfo"), 1 << 28
code = run(["jobs", "--from", "bomb"])
print(run_program(["sh", "-c", "ulimit -d"], timeout_s=60).stdout.strip())
sys.exit(code)
"""


def test_a_command_takes_a_share_of_the_free_memory_and_programs_that_it_starts_do_not(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 1000000 kB\nMemAvailable: 400000 kB\n")
    (tmp_path / "bomb").write_text('{"jobs":[' + "0," * (8 << 20) + "0]}")
    done = subprocess.run(
        [sys.executable, "-c", LITTLE], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "There is too little memory here" in done.stderr
    assert done.stdout.strip() == subprocess.run(PRINT_LIMIT, capture_output=True, text=True, check=True).stdout.strip()
