"""Facts of hosts that are named, and of those of another scheduler's job: over ssh, without MPI and without Slurm."""

import json
import os
from pathlib import Path

import pytest

from seatrial.driver import site as driver_site
from seatrial.driver.facts_reading import read_cluster
from seatrial.driver.progress import Silent
from seatrial.frame.command_line import run
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.settings import SiteSettings, SlurmRequest
from tests.support import fake_ssh
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="host names of our own need root")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith(("SLURM_", "PBS_", "LSB_", "FLUX_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(driver_site, "is_here", lambda: False)
    return fake_ssh.install(tmp_path / "bin", monkeypatch)


def site(**settings: object) -> SiteSettings:
    return SiteSettings(**{"archive": Path("runs"), **settings})  # type: ignore[arg-type]


@needs_root
def test_each_host_is_read_and_one_that_cannot_be_reached_is_silent(calls: Path) -> None:
    read = read_cluster(site(hosts=("n1", "n2", "refused1")), Silent())
    assert list(read.facts) == ["n1", "n2"]
    assert [facts.hostname for facts in read.facts.values()] == ["n1", "n2"]
    assert "no sshd listens on refused1 port 22" in read.silent["refused1"]
    assert read.launcher == "ssh"


@needs_root
def test_the_hosts_of_a_job_are_read_without_naming_them_as_such(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nodes").write_text("n1\nn1\nn2\nn3\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert list(read_cluster(site(nodes=("n3", "n1")), Silent()).facts) == ["n3", "n1"]
    with pytest.raises(UsageError, match="Node n7 is not one of the hosts"):
        read_cluster(site(nodes=("n7",)), Silent())


def test_slurm_comes_first_in_a_job_and_named_hosts_before_it(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSB_MCPU_HOSTS", "a 4 b 4")
    assert driver_site.uses_ssh(site())
    assert driver_site.named_hosts(site()).nodes == ("a", "b")
    monkeypatch.setattr(driver_site, "is_here", lambda: True)
    assert not driver_site.uses_ssh(site())
    assert driver_site.uses_ssh(site(hosts=("n1",)))
    assert driver_site.uses_ssh(site(launcher="ssh"))
    assert not driver_site.uses_ssh(site(launcher="slurm"))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"hosts": ("n1",), "partition": "main"}, "--partition is for Slurm"),
        ({"hosts": ("n1",), "slurm": SlurmRequest(account="a")}, "--account is for Slurm"),
        ({"hosts": ("n1",), "node_hours": 1.0}, "--node-hours is for Slurm"),
        ({"hosts": ("n1",), "launcher": "slurm"}, "not by --launcher slurm"),
        ({"launcher": "ssh"}, "--launcher ssh needs to know the hosts"),
        ({"hosts": ("n1", "-oProxyCommand=x")}, "is not a valid host name"),
        ({"hosts": ("n1", "fe80::1")}, "IPv6"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_login(calls: Path, settings: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_cluster(site(**settings), Silent())
    assert calls.read_text() == ""


def test_without_ssh_nothing_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match="no ssh on PATH"):
        read_cluster(site(hosts=("n1",)), Silent())


@needs_root
def test_facts_and_recordings_of_hosts(calls: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    said = seatrial("facts", "--hosts", "n[1-2],password1", "--json", code=2)
    assert sorted(parsed(said.out)["nodes"]) == ["n1", "n2"]
    assert "seatrial: password1 gave no facts: ssh cannot log in to password1 without a password" in said.err
    assert list(seatrial("facts", "n2", "--hosts", "n[1-2]", "--json").data["nodes"]) == ["n2"]
    (tmp_path / "hosts").write_text("n1 slots=4\nn2:2\n")
    output = tmp_path / "recording"
    assert "2 nodes in" in seatrial("facts", "--hostfile", tmp_path / "hosts", "--output", str(output)).out
    assert json.loads((output / "gather.json").read_text())["launcher"] == "ssh"
    seatrial("facts", "--from", str(output), "--json")


@pytest.mark.parametrize(
    "words",
    [
        ["facts", "--hosts", "n1", "--from", "here"],
        ["facts", "n1", "--hosts", "n1", "--detach"],
        ["facts", "--hosts", "n1", "--from", "here", "--output", "x"],
        ["facts", "--hosts", "n1", "--launcher", "local", "--output", "x"],
        ["placement", "--hosts", "n1", "--", "srun", "-n", "2", "true"],
    ],
)
def test_hosts_are_refused_where_they_mean_nothing(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    program(tmp_path / "bin", "srun", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert run(words) == 64
    assert calls.read_text() == ""
