"""Hosts are asked over ssh before they are measured: what is wrong with one is said of that one."""

import os
import time
from pathlib import Path

import pytest

from seatrial.launch.hosts import launcher as hosts_launcher
from seatrial.launch.hosts import reach
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.mpi import Family, Mpi
from seatrial.model.errors import LaunchError, UsageError
from tests.support import fake_ssh

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="host names of our own need root")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fake_ssh.install(tmp_path / "bin", monkeypatch)


@pytest.fixture
def mpi(tmp_path: Path) -> Mpi:
    folder = tmp_path / "mpi bin"
    folder.mkdir()
    for name in ("mpirun", "orted"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return Mpi(mpicc="mpicc", mpirun=str(folder / "mpirun"), family=Family.OPEN_MPI)


@pytest.fixture
def probe(tmp_path: Path) -> Path:
    program = tmp_path / "a folder" / "probe"
    program.parent.mkdir()
    program.write_bytes(bytes(range(256)) * 40)
    program.chmod(0o700)
    return program


def test_hosts_that_answer_are_measured_and_the_others_are_left_out_with_the_reason(
    calls: Path, mpi: Mpi, probe: Path
) -> None:
    found = HostsLauncher(("n1", "refused1", "n2", "password1"), mpi, probe).hosts()
    assert found.nodes == ("n1", "n2")
    reasons = {state.node: state.reason for state in found.left_out}
    assert "no sshd listens on refused1 port 22" in reasons["refused1"]
    assert "ssh-copy-id password1" in reasons["password1"]
    assert all(state.fault for state in found.left_out)


def test_a_host_that_hangs_costs_no_more_than_its_time(
    calls: Path, mpi: Mpi, probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "ANSWER_S", 4.0)
    began = time.monotonic()
    found = HostsLauncher(("n1", "hangs1", "n2"), mpi, probe).hosts()
    assert time.monotonic() - began < 60  # of the 600 that it hangs
    assert found.nodes == ("n1", "n2")
    assert found.left_out[0].reason == "it did not answer over ssh within 4 s"


def test_where_no_host_answers_the_first_reason_is_the_error(calls: Path, mpi: Mpi, probe: Path) -> None:
    with pytest.raises(LaunchError, match="None of the 2 hosts can be measured; password1: ssh cannot log in") as error:
        HostsLauncher(("password1", "password2"), mpi, probe).hosts()
    assert not error.value.transient
    assert "BatchMode=yes" in error.value.remedy


def test_a_login_that_says_nothing_is_named(calls: Path, mpi: Mpi, probe: Path) -> None:
    found = HostsLauncher(("n1", "n2", "silent1"), mpi, probe).hosts()
    assert found.left_out[0].reason == "ssh ended without an answer"


def test_the_daemon_of_mpi_must_be_on_every_host(
    calls: Path, mpi: Mpi, probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts_launcher, "DAEMONS", {Family.OPEN_MPI: ("orted",)})
    monkeypatch.setattr(os, "access", lambda *_: True)
    Path(mpi.mpirun).with_name("orted").unlink()
    with pytest.raises(LaunchError, match=r"MPI's own daemon /\S.*orted does not exist there; install the same MPI"):
        HostsLauncher(("n1", "n2"), mpi, probe).hosts()


def test_one_host_under_two_names_is_refused(calls: Path, mpi: Mpi, probe: Path) -> None:
    with pytest.raises(UsageError, match="n1 and alias-n1 are the same host, n1"):
        HostsLauncher(("n1", "n2", "alias-n1"), mpi, probe).hosts()


@pytest.mark.parametrize("name", ["-oProxyCommand=touch x", "n1,n2", "n1;x", "fe80::1"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(
    calls: Path, mpi: Mpi, probe: Path, name: str
) -> None:
    with pytest.raises(UsageError):
        HostsLauncher(("n1", name), mpi, probe).hosts()
    assert calls.read_text() == ""


def test_nodes_select_from_the_hosts(calls: Path, mpi: Mpi, probe: Path) -> None:
    assert HostsLauncher(("n1", "n2", "n3"), mpi, probe, nodes=("n3", "n1")).hosts().nodes == ("n3", "n1")
    with pytest.raises(UsageError, match="n9 is not one of the hosts"):
        HostsLauncher(("n1", "n2"), mpi, probe, nodes=("n9",)).hosts()


def test_mpirun_is_needed(calls: Path, probe: Path) -> None:
    with pytest.raises(LaunchError, match="There is no mpirun beside mpicc"):
        HostsLauncher(("n1", "n2"), Mpi(mpicc="mpicc", mpirun="", family=Family.UNKNOWN), probe).hosts()
    with pytest.raises(LaunchError, match="neither of Open MPI nor of the MPICH family"):
        HostsLauncher(("n1", "n2"), Mpi(mpicc="mpicc", mpirun="/x", family=Family.UNKNOWN), probe).hosts()


def test_a_program_is_copied_as_it_is(calls: Path, tmp_path: Path) -> None:
    target, content = tmp_path / "new folder" / "it's" / "probe", bytes(range(256)) * 40
    assert reach.copy_program("n1", target, content, lambda _: False) == ""
    assert target.read_bytes() == content
    assert os.access(target, os.X_OK)
    assert [path.name for path in target.parent.iterdir()] == ["probe"]


def test_a_program_that_cannot_be_copied_has_a_reason(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot create directory" in reach.copy_program("n1", tmp_path / "file" / "p", b"x", lambda _: False)
    assert "Connection refused" in reach.copy_program("refused1", tmp_path / "p", b"x", lambda _: False)


def test_a_probe_that_no_host_has_and_none_can_get_is_named_with_the_option(
    calls: Path, mpi: Mpi, probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts_launcher, "copy_program", lambda *_: "Read-only file system")
    probe.chmod(0o600)
    with pytest.raises(LaunchError, match=r"cannot be copied \(Read-only file system\).*--probe-dir"):
        HostsLauncher(("n1", "n2"), mpi, probe).hosts()


def test_facts_come_from_each_host_and_silence_has_a_reason(calls: Path, mpi: Mpi, probe: Path) -> None:
    reading = HostsLauncher(("n1", "n2", "refused1"), mpi, probe, quick_facts=True).read_facts(("n1", "n2", "refused1"))
    assert set(reading.texts) == {"n1", "n2"}
    assert all(text.startswith("#seatrial-facts ") for text in reading.texts.values())
    assert reading.texts["n1"].rstrip().endswith("#end n1")
    assert "no sshd listens" in reading.silent["refused1"]
