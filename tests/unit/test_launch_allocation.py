"""Standing in Slurm's queue, with commands of our own in place of Slurm's."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seatrial.launch import allocation
from seatrial.launch.allocation import Waiting, obtain
from seatrial.launch.contract import LaunchError
from seatrial.launch.process import run_watched

PENDING = 'echo "salloc: Pending job allocation 7" >&2; exec sleep 20'
Commands = Callable[[str, str], list[str]]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Puts a squeue that gives a reason, and a scancel, on PATH; returns the argv of a salloc that does as told."""
    monkeypatch.setattr(allocation, "run_watched", partial(run_watched, every_s=0.2))

    def make(salloc: str, reason: str) -> list[str]:
        texts = {"salloc": salloc, "squeue": f"echo '{reason}'", "scancel": f'echo "$@" >>{tmp_path}/cancelled'}
        for name, text in texts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return [str(tmp_path / "salloc")]

    return make


def test_a_granted_job(commands: Commands) -> None:
    argv = commands('echo "salloc: Granted job allocation 12" >&2', "None")
    assert obtain(argv, ("n1",), 5) == "12"


def test_a_reason_that_no_waiting_removes_ends_it_early(commands: Commands, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="will not grant n1: the partition allows no job of so many") as caught:
        obtain(commands(PENDING, "PartitionNodeLimit"), ("n1",), 60)
    assert "--nodes" in caught.value.remedy
    assert (tmp_path / "cancelled").read_text() == "7\n"


def test_others_jobs_are_waited_for_as_long_as_told(commands: Commands, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"did not grant n\[1-2\] within 3 s: others have the nodes \(Resources\)"):
        obtain(commands(PENDING, "Resources"), ("n1", "n2"), 3)
    assert (tmp_path / "cancelled").read_text() == "7\n"


def test_a_node_that_does_not_wake_costs_the_job(commands: Commands) -> None:
    text = (Path(__file__).parent / "recorded/launch/salloc-not-woken.txt").read_text()
    argv = commands(f"cat >&2 <<'END'\n{text}END\nexit 1", "None")
    with pytest.raises(LaunchError, match="ResumeTimeout"):
        obtain(argv, ("n1",), 5)


def test_a_node_whose_prolog_fails_is_named_and_not_waited_for(commands: Commands, tmp_path: Path) -> None:
    argv = commands('echo "salloc: Granted job allocation 9" >&2; exec sleep 20', "None")
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'n1|idle|main*|none'\necho 'n2|drained|main*|Prolog error'\n")
    (tmp_path / "sinfo").chmod(0o755)
    with pytest.raises(LaunchError, match=r"granted n\[1-2\].*n2: Slurm says drained \(Prolog error\)") as caught:
        obtain(argv, ("n1", "n2"), 30)
    assert "prolog" in caught.value.remedy
    assert (tmp_path / "cancelled").read_text() == "9\n"


def test_nodes_that_were_woken_in_vain_are_named(commands: Commands, tmp_path: Path) -> None:
    argv = commands('echo "salloc: Granted job allocation 9" >&2; exec sleep 20', "None")
    lines = "".join(f"echo 'n{place}|down~|main*|ResumeTimeout reached'\n" for place in (1, 2))
    (tmp_path / "sinfo").write_text(f"#!/bin/sh\n{lines}")
    (tmp_path / "sinfo").chmod(0o755)
    with pytest.raises(LaunchError, match=r"granted n\[1-3\], and n\[1-2\] did not wake up in time") as caught:
        obtain(argv, ("n1", "n2", "n3"), 30)
    assert "ResumeProgram" in caught.value.remedy
    assert "NodeName=n[1-2] State=RESUME" in caught.value.remedy


def test_an_interrupt_gives_back_what_salloc_had_got(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = commands('echo "salloc: Granted job allocation 9" >&2; exec sleep 20', "None")

    def interrupted(self: Waiting, said: str) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Waiting, "hopeless", interrupted)
    with pytest.raises(KeyboardInterrupt):
        obtain(argv, ("n1",), 30)
    assert (tmp_path / "cancelled").read_text() == "9\n"


def test_watching_ends_a_program_and_keeps_what_it_said() -> None:
    seen: list[str] = []

    def give_up(said: str) -> bool:
        seen.append(said)
        return "two" in said

    argv = ["sh", "-c", "echo one >&2; sleep 0.3; echo two >&2; exec sleep 20"]
    done = run_watched(argv, timeout_s=15, give_up=give_up, every_s=0.1)
    assert (done.timed_out, done.ok, done.stderr) == (True, False, "one\ntwo\n")
    assert seen[-1] == "one\ntwo\n"


def test_a_program_that_is_not_there() -> None:
    assert run_watched(["/no/such"], timeout_s=1, give_up=lambda _: False).returncode == 127
