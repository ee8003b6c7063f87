"""What a killed `compare` left changed: its keeper restores it, or else the next command does. Files are the node."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import (
    ChangedByCommand,
    ChangedFile,
    ChangedSettings,
    changes_folder,
    foreign,
    left_settings,
    refuse_left_settings,
    warning,
)
from seatrial.commands.doctor.changed_settings import judge_own_notes
from seatrial.driver import restoration
from seatrial.driver.custody import Custody
from seatrial.driver.reach import Reach, writing
from seatrial.driver.restoration import restore, restore_left
from seatrial.model.errors import LaunchError, UsageError
from seatrial.process.after_driver import bearers
from seatrial.process.keeper import MARK, NAME
from tests.lab.waiting import eventually
from tests.support.command_line import Seatrial
from tests.support.processes import kill_all, read_of
from tests.support.slurm_scripts import in_place_of_slurm

BENCHMARK = """
import pathlib, subprocess, sys, time
pathlib.Path(sys.argv[1]).write_text("runs")
if pathlib.Path(sys.argv[2]).read_text().strip() != "usual":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
    pathlib.Path(sys.argv[1]).write_text("changed")
    time.sleep(300)
print("rate 1")
"""
CHANGED = """
import sys, time
from pathlib import Path
from seatrial.archive.changed_settings import ChangedFile
from seatrial.driver.custody import Custody
from seatrial.driver.reach import Reach
change = ChangedFile(
    node="n2", fact="interfaces.eth0.mtu_bytes", root=sys.argv[1], paths=("/sys/class/net/eth0/mtu",), usual="600",
    changed="1500",
)
with Custody("proof-1", Reach(launcher="local"), (), 1.0) as custody:
    custody.protect([change])
    print([done.returncode for done in custody.switch(usual=False)], flush=True)
    time.sleep(300)
"""


class Toggling:
    """A `compare --toggle` that has changed the setting, and whose benchmark runs."""

    def __init__(self, folder: Path) -> None:
        self.setting, self.log = folder / "setting", folder / "log"
        (folder / "b.py").write_text(BENCHMARK)
        usual, changed = (f"sh -c 'echo {word} >{self.setting}'" for word in ("usual", "changed"))
        words = ["--blocks", "1", "--archive", str(folder / "archive"), "--", sys.executable, str(folder / "b.py")]
        self.words = ["compare", "--toggle", usual, changed, *words, str(self.log), str(self.setting)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "seatrial", *self.words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert eventually(lambda: self.log.exists() and self.log.read_text() == "changed", 60)
        assert self.setting.read_text() == "changed\n"
        (self.note,) = changed_settings.read(changes_folder())

    @property
    def programs(self) -> list[int]:
        """What the benchmark has started and not ended."""
        return bearers({f"{MARK}={self.note.name}".encode()})

    @property
    def keepers(self) -> list[int]:
        """The keeper, found by its parent."""
        children = read_of(self.process.pid, f"task/{self.process.pid}/children").split()
        return [int(pid) for pid in children if NAME.encode() in read_of(int(pid), "cmdline")]

    def kill(self, *, keeper: bool) -> None:
        """Kill the command, and its keeper before it."""
        kill_all(self.keepers if keeper else [])
        self.process.kill()
        self.process.wait()


@contextmanager
def toggling(folder: Path) -> Iterator[Toggling]:
    """Nothing of it is left afterwards."""
    command = Toggling(folder)
    try:
        yield command
    finally:
        command.kill(keeper=True) if command.process.poll() is None else None
        kill_all(command.programs)


def test_a_killed_toggle_is_restored_and_its_benchmark_ended(tmp_path: Path) -> None:
    with toggling(tmp_path) as command:
        assert len(command.programs) == 2, "the benchmark and what it has started in another session"
        command.kill(keeper=False)
        assert eventually(lambda: command.setting.read_text() == "usual\n")
        assert eventually(lambda: not changed_settings.read(changes_folder()))
        assert command.programs == []


def test_what_keeper_and_command_left_is_named_and_restored_by_the_next(tmp_path: Path, seatrial: Seatrial) -> None:
    with toggling(tmp_path) as command:
        with pytest.raises(UsageError, match="the command that restores it at its end runs: process"):
            restore_left()
        assert left_settings() == []
        command.kill(keeper=True)
        line = warning(*left_settings())
        assert "echo changed" in line
        assert "echo usual" in line
        assert f"`seatrial compare --restore {command.note.name}`" in line
        assert "Restore it before the next --toggle or --prove." in seatrial(*command.words, code=2).err
        ran = seatrial("nodes", "--launcher", "no-such", "--archive", tmp_path / "archive", code=64)
        assert line in ran.err, "a command that measures says it"
        assert command.setting.read_text() == "changed\n"
        assert "Restored: the setting is that of `sh -c 'echo usual" in seatrial("compare", "--restore").out
        assert command.setting.read_text() == "usual\n"
        assert command.programs == []
        assert seatrial("compare", "--restore").out == "Nothing is left to restore.\n"
    seatrial("compare", "--restore", "--prove", code=64)
    seatrial("compare", "--restore", "--json", code=64)


def mtu(folder: Path, content: str) -> Path:
    """The file of the setting below a root."""
    file = folder / "here/sys/class/net/eth0/mtu"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    return file


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the files of the node are."""
    monkeypatch.setenv("SEATRIAL_SYSROOT", f"{tmp_path}/here")
    return f"{tmp_path}/here"


def test_a_file_that_a_killed_proof_changed_is_restored_and_the_nodes_note_removed(root: str, tmp_path: Path) -> None:
    file = mtu(tmp_path, "600\n")
    with subprocess.Popen([sys.executable, "-c", CHANGED, root], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "[0]\n"
        assert file.read_text() == "1500\n"
        (note,) = Path(root, "run/seatrial").iterdir()
        assert note.stat().st_mode & 0o777 == 0o600
        assert "interfaces.eth0.mtu_bytes of n2 is 1500 in place of 600, since 20" in note.read_text()
        process.kill()
    assert eventually(lambda: not changed_settings.read(changes_folder()))
    assert file.read_text() == "600\n"
    assert not note.exists()


def settings_of(root: str) -> ChangedSettings:
    change = ChangedFile(
        node="n2", fact="interfaces.eth0.mtu_bytes", root=root, paths=("/sys/class/net/eth0/mtu",), usual="600",
        changed="1500",
    )  # fmt: skip
    return msgspec.structs.replace(changed_settings.describe("x"), launcher="local", changes=(change,))


@pytest.mark.parametrize(
    "other",
    [{"paths": ("/etc/passwd",)}, {"fact": "system.kernel"}, {"root": "/elsewhere"}, {"paths": ("/sys/../x/mtu",)}],
)
def test_only_files_of_reversible_settings_are_ever_written(
    root: str, tmp_path: Path, other: dict[str, object]
) -> None:
    file = mtu(tmp_path, "1500\n")
    settings = settings_of(root)
    outside = msgspec.structs.replace(settings.changes[0], **other)
    assert "is not a setting that seatrial changes" in restore(msgspec.structs.replace(settings, changes=(outside,)))
    assert file.read_text() == "1500\n"
    assert restore(settings) == ""
    assert file.read_text() == "600\n"


@pytest.mark.parametrize(
    ("value", "reads", "code"),
    [("600", "600\n", 0), ("600", "1500\n", 1), ("madvise", "always [madvise] never\n", 0), ("max", "max 100000\n", 0),
     ("madvise", "[always] madvise never\n", 1), ("0", "10\n", 1)],
)  # fmt: skip
def test_what_was_written_is_read_back(root: str, tmp_path: Path, value: str, reads: str, code: int) -> None:
    """`tee` is a kernel here that takes a value as it likes."""
    mtu(tmp_path, reads)
    (tmp_path / "tee").write_text("#!/bin/sh\ncat\n")
    (tmp_path / "tee").chmod(0o755)
    change = settings_of(root).changes[0]
    assert isinstance(change, ChangedFile)
    words = writing(change, "x", value)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(words, input="note\n", text=True, capture_output=True, env=path, check=False)
    assert done.returncode == code, done.stderr
    note = Path(root, "run/seatrial/n2.x.note")
    assert note.read_text() == "note\n"
    subprocess.run(words, input="", text=True, capture_output=True, env=path, check=False)
    assert note.exists() is bool(code), "the note goes with a restoration that worked"


def test_a_note_follows_no_link_and_is_in_no_folder_of_others(root: str, tmp_path: Path) -> None:
    mtu(tmp_path, "1500\n")
    change = settings_of(root).changes[0]
    assert isinstance(change, ChangedFile)
    (tmp_path / "precious").write_text("mine")
    note = Path(root, "run/seatrial/n2.x.note")
    note.parent.mkdir(parents=True)
    note.symlink_to(tmp_path / "precious")
    subprocess.run(writing(change, "x", change.changed), input="note\n", text=True, check=False)
    assert (tmp_path / "precious").read_text() == "mine"
    assert note.read_text() == "note\n"
    note.unlink()
    note.parent.rmdir()
    note.parent.symlink_to(tmp_path)
    subprocess.run(writing(change, "x", change.changed), input="note\n", text=True, check=False)
    assert not (tmp_path / note.name).exists()
    assert Path(root, "var/tmp/seatrial/n2.x.note").read_text() == "note\n"


def test_three_tries_and_an_interrupt_is_none_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tmp_path / "count"
    fails = ("sh", "-c", f'echo x >>{count}; test "$(wc -l <{count})" -ge 3')
    settings = changed_settings.describe("x")
    change = ChangedByCommand(usual=fails, changed=("true",), folder="/")
    settings = msgspec.structs.replace(settings, changes=(change,))
    changed_settings.write(changes_folder(), settings)
    assert restore(settings) == ""
    assert count.read_text().split() == ["x"] * 3
    assert changed_settings.read(changes_folder()) == []
    count.unlink()
    interrupts = iter([KeyboardInterrupt(), KeyboardInterrupt()])
    tried = restoration._tried

    def interrupted(*given: object) -> str:
        if error := next(interrupts, None):
            raise error
        return tried(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(restoration, "_tried", interrupted)
    assert "ended with exit code 1" in restore(settings)
    assert count.read_text().split() == ["x"]


def test_a_note_of_another_host_is_restored_only_by_its_name(tmp_path: Path, seatrial: Seatrial) -> None:
    settings = changed_settings.describe("x")
    driver = msgspec.structs.replace(settings.driver, boot_id="another", host="login2")
    change = ChangedByCommand(usual=("touch", str(tmp_path / "usual")), changed=("true",), folder="/")
    changed_settings.write(changes_folder(), msgspec.structs.replace(settings, driver=driver, changes=(change,)))
    assert "may still run: process" in seatrial("compare", "--restore", code=64).err
    seatrial("compare", "--restore", "x")
    assert (tmp_path / "usual").exists()


def test_what_was_changed_on_another_cluster_is_left_to_that(
    tmp_path: Path, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = in_place_of_slurm(tmp_path / "slurm", tmp_path / "runs", monkeypatch)
    settings = changed_settings.describe("x")
    driver = msgspec.structs.replace(settings.driver, started_ticks=1)
    change = ChangedByCommand(usual=("touch", str(tmp_path / "usual")), changed=("true",), folder="/")
    note = msgspec.structs.replace(settings, driver=driver, changes=(change,), cluster="other")
    changed_settings.write(changes_folder(), note)
    for words in ((), ("x",)):
        out = seatrial("compare", "--restore", *words, code=2).out
        assert out.startswith("NOT restored: A setting was left changed on the cluster other: ")
    refuse_left_settings()
    (finding,) = judge_own_notes(left_settings())
    assert "on the cluster other" in finding.statement
    assert finding.remedy == "On the cluster other: seatrial compare --restore x"
    assert not (tmp_path / "usual").exists()
    slurm.says("scontrol", "ClusterName = other\n")
    with pytest.raises(LaunchError, match="Restore it before"):
        refuse_left_settings()
    seatrial("compare", "--restore")
    assert (tmp_path / "usual").exists()


def test_a_host_of_no_cluster_restores_only_what_was_changed_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place_of_slurm(tmp_path / "slurm", tmp_path / "runs", monkeypatch).says("scontrol", "", code=1)
    note = msgspec.structs.replace(changed_settings.describe("x"), cluster="other")
    assert not foreign(note), "its controller may just be down"
    assert foreign(msgspec.structs.replace(note, driver=msgspec.structs.replace(note.driver, host="login2")))


def test_the_note_of_a_change_through_slurm_names_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_place_of_slurm(tmp_path / "slurm", tmp_path / "runs", monkeypatch)
    change = ChangedByCommand(usual=("true",), changed=("true",), folder="/")
    for launcher, cluster in (("slurm", "demo"), ("local", "")):
        with Custody("x", Reach(launcher=launcher), (), 1.0) as custody:
            custody.protect([change])
            assert [note.cluster for note in changed_settings.read(changes_folder())] == [cluster]
            custody.forget()


def test_nothing_is_changed_without_a_note_or_a_keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = ChangedByCommand(usual=("true",), changed=("true",), folder="/")
    with Custody("x", Reach(launcher="local"), (), 1.0) as custody:
        changes_folder().parent.mkdir(parents=True)
        changes_folder().write_text("no folder")
        with pytest.raises(LaunchError, match="Nothing was changed"):
            custody.protect([change])
        changes_folder().unlink()
        custody._keeper.dismiss()
        monkeypatch.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(LaunchError, match="cannot be started"):
            custody.protect([change])
        changed_settings.remove(changes_folder(), "x")
        custody._unrestored = False


def test_the_note_is_json(tmp_path: Path) -> None:
    changed_settings.write(changes_folder(), settings_of("/r"))
    (file,) = changes_folder().iterdir()
    assert json.loads(file.read_text())["changes"][0]["usual"] == "600"
