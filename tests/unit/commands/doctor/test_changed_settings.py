"""What the doctor says of settings that a killed `compare` left changed."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import changed_settings as notes
from seatrial.archive.changed_settings import ChangedByCommand, ChangedFile, changes_folder, left_settings
from seatrial.archive.lease import Lease
from seatrial.commands.doctor import changed_settings
from seatrial.commands.doctor.node_identity import parse_places, question
from seatrial.model.subject import node as node_subject
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.command_line import Seatrial
from tests.support.second_user import OTHER, needs_root

FILE = ChangedFile(
    node="n2", fact="interfaces.eth0.mtu_bytes", root="", paths=("/sys/class/net/eth0/mtu",), usual="600",
    changed="1500",
)  # fmt: skip
COMMAND = ChangedByCommand(usual=("a",), changed=("b",), folder="/")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def left(name: str, **driver: object) -> None:
    settings = notes.describe(name)
    lease: Lease = msgspec.structs.replace(settings.driver, **driver)
    notes.write(changes_folder(), msgspec.structs.replace(settings, driver=lease, changes=(FILE, COMMAND)))


def test_it_names_node_setting_both_values_and_what_to_type() -> None:
    left("running")
    left("killed", started_ticks=1)
    (settings,) = left_settings()
    of_file, of_command = changed_settings.judge_own_notes([settings])
    assert (of_file.kind, of_file.verdict) == (FindingKind.SETTING_LEFT, Verdict.NOTE)
    assert of_file.subject == node_subject("n2")
    assert of_file.statement.startswith("interfaces.eth0.mtu_bytes of n2 is 1500 in place of 600, since 20")
    assert of_file.remedy == "seatrial compare --restore killed"
    assert "the setting is that of `b` in place of `a`" in of_command.statement


def test_it_says_so_of_a_command_that_may_still_run_on_another_host() -> None:
    left("elsewhere", boot_id="another", host="login2", pid=7)
    (settings,) = left_settings()
    finding = changed_settings.judge_own_notes([settings])[0]
    assert "process 7 on login2 restores it at its end, if it still runs" in finding.statement
    left("elsewhere", boot_id="another")
    assert [settings.running for settings in left_settings()] == [False], "this host was restarted since"


def test_notes_of_other_users_on_the_nodes_are_named_once(tmp_path: Path) -> None:
    left("mine", started_ticks=1)
    folder = tmp_path / "run/seatrial"
    folder.mkdir(parents=True)
    for name in ("n2.mine", "n3.others"):
        (folder / f"{name}.note").write_text(f"{FILE.text}, since 2026, by ann\n")
    words = [word.replace("/run/seatrial", str(folder)) for word in question()]
    answer = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ).stdout
    assert len(parse_places(answer)) == 1
    (finding,) = changed_settings.judge_notes_of_nodes(2 * answer, left_settings())
    assert finding.subject == node_subject("n3")
    assert "600, since 2026, by ann" in finding.statement
    assert "remove the note n3.others.note" in finding.remedy


@needs_root
def test_notes_that_anybody_may_have_left_on_a_node_are_not_read(tmp_path: Path) -> None:
    """A pipe would keep the node from answering, and a link would show the first line of a file of root's."""
    folder = tmp_path / "var-tmp-seatrial"
    folder.mkdir()
    os.mkfifo(folder / "n1.pipe.note")
    (tmp_path / "private").write_text("secret\n")
    (folder / "n1.link.note").symlink_to(tmp_path / "private")
    os.chown(folder, OTHER, OTHER)
    words = [word.replace("/var/tmp/seatrial", str(folder)) for word in question()]
    answer = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    assert (len(parse_places(answer)), "secret" in answer) == (1, False)


def test_the_doctor_begins_with_it(seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch) -> None:
    left("killed", started_ticks=1)
    monkeypatch.setenv("PATH", "/no/such/folder")
    printed = " ".join(seatrial("doctor", "--launcher", "slurm", code=None).out.split())
    assert "interfaces.eth0.mtu_bytes of n2 is 1500 in place of 600" in printed
    assert "seatrial compare --restore killed" in printed
