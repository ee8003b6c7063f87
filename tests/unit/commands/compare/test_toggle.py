"""`compare --toggle`: A B B A, without a shell, and setting A again at the end whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from seatrial.commands.compare import toggle
from seatrial.commands.compare.toggle import Toggle, toggle_of
from seatrial.driver.custody import Custody
from seatrial.driver.reach import Reach
from seatrial.frame.command_line import run
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.imported import Sense
from seatrial.process.process import Completed
from tests.support.command_line import Seatrial

BENCHMARK = """
import pathlib, sys, time
state, log = (pathlib.Path(name) for name in sys.argv[1:3])
with log.open("a") as lines:
    lines.write(state.read_text().strip() + "\\n")
number = len(log.read_text().split())
print("seconds 3")
print("rate", (100.0 if "slow" not in state.read_text() else 90.0) * (1 + 0.001 * (number % 3)))
time.sleep(float(sys.argv[3]))
"""


def setter(state: Path, word: str, code: int = 0) -> str:
    """A command line that writes a word, with quotes and characters that a shell would act on."""
    program = f"import pathlib; pathlib.Path({str(state)!r}).write_text({word!r}); raise SystemExit({code})"
    return f'{sys.executable} -c "{program}" "; touch $HOME/no && `x`"'


def toggled(folder: Path, second: str, *words: str, pause: str = "0") -> list[str]:
    benchmark = [sys.executable, str(folder / "b.py"), str(folder / "state"), str(folder / "log"), pause]
    (folder / "b.py").write_text(BENCHMARK)
    setters = [setter(folder / "state", "fast"), second]
    return ["compare", "--toggle", *setters, *words, "--archive", str(folder / "archive"), "--", *benchmark]


def test_a_slower_setting_is_found_and_the_first_one_restored(tmp_path: Path, seatrial: Seatrial) -> None:
    state = tmp_path / "state"
    printed = seatrial(*toggled(tmp_path, setter(state, "slow"), "--blocks", "2", "--json"), code=1)
    data = json.loads(printed.out)["data"]
    assert (tmp_path / "log").read_text().split() == ["fast", "slow", "slow", "fast"] * 2
    assert state.read_text() == "fast"
    assert (data["outcome"], data["worst"]["subject"]) == ("slower", "node:all")
    assert data["worst"]["ratio"]["low"] < 0.9 < data["worst"]["ratio"]["high"]
    assert [len(data[one]["runs"]) for one in ("first", "second")] == [4, 4]
    assert "restore the setting with" in printed.err


def test_times_are_better_lower(tmp_path: Path, seatrial: Seatrial) -> None:
    words = toggled(tmp_path, setter(tmp_path / "state", "slow"), "--blocks", "1", "--better", "lower", "--json")
    assert json.loads(seatrial(*words).out)["data"]["outcome"] == "faster"


@pytest.mark.parametrize("what", ["setting", "benchmark"])
def test_the_first_setting_is_restored_after_a_failure(what: str, tmp_path: Path, seatrial: Seatrial) -> None:
    state = tmp_path / "state"
    words = toggled(tmp_path, setter(state, "slow", code=3 if what == "setting" else 0), "--blocks", "1")
    if what == "benchmark":
        (tmp_path / "b.py").write_text(BENCHMARK + "sys.exit('slow' in state.read_text())\n")
    assert "ended with exit code" in seatrial(*words, code=2).err
    assert state.read_text() == "fast"


def test_a_setting_that_cannot_be_restored_is_never_a_success(tmp_path: Path, seatrial: Seatrial) -> None:
    once = tmp_path / "once.py"
    once.write_text(
        "import pathlib, sys\nstate = pathlib.Path(sys.argv[1])\ncount = pathlib.Path(sys.argv[1] + '.count')\n"
        "count.write_text(count.read_text() + 'x' if count.exists() else 'x')\n"
        "state.write_text('fast')\nsys.exit(len(count.read_text()) > 2)\n"
    )
    words = toggled(tmp_path, setter(tmp_path / "state", "fast"), "--blocks", "1")
    words[2] = f"{sys.executable} {once} {tmp_path / 'state'}"
    assert "The usual setting was NOT restored" in seatrial(*words, code=2).err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own folders as two users")
def test_the_runs_of_others_are_not_what_was_measured(tmp_path: Path) -> None:
    """They can give a run of theirs the name of one that is being measured."""
    archive = tmp_path / "archive"
    made = Toggle(changes=(), benchmark=("seatrial",), blocks=1)

    def measured(*closed_as: str) -> Path:
        (archive / "r").mkdir(parents=True, exist_ok=True)
        os.chown(archive / "r", 65534, 65534)
        for name in closed_as:
            (archive / name).mkdir()
        return toggle._benchmark(archive, made, custody, "r", {})

    done = Completed(argv=(), returncode=0, stdout="", stderr="")
    with mock.patch.object(toggle, "run", return_value=done), Custody("r", Reach(launcher="local"), (), 1.0) as custody:
        with pytest.raises(LaunchError, match="Others have taken the place of the run r"):
            measured()
        assert measured("r-closed") == archive / "r-closed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_restores_the_first_setting(number: signal.Signals, tmp_path: Path) -> None:
    state, log = tmp_path / "state", tmp_path / "log"
    words = toggled(tmp_path, setter(state, "slow"), "--blocks", "1", pause="600")
    (tmp_path / "b.py").write_text(
        BENCHMARK.replace("time.sleep(float", "'slow' in state.read_text() and time.sleep(float")
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (log.exists() and "slow" in log.read_text()):
        assert process.poll() is None, "it ended before the benchmark ran under setting B"
        time.sleep(0.05)
    os.kill(process.pid, number)
    assert process.wait(timeout=120) != 0
    assert state.read_text() == "fast"


def test_what_is_refused() -> None:
    for first, benchmark, said in (
        ("", ("b",), "empty command"),
        ("a 'b", ("b",), "divided into words"),
        ("a", (), "needs a benchmark"),
    ):
        with pytest.raises(UsageError, match=said):
            toggle_of(first, "b", benchmark, 1, Sense.HIGHER)
    assert run(["compare", "only-one"]) == 64
