"""Partners of nodes that are to return, and a way to those that Slurm has out of service; Slurm is scripts here."""

import os
import pwd
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import changes_folder
from seatrial.driver import returning
from seatrial.driver.progress import Silent
from seatrial.driver.restoration import restore
from seatrial.driver.returning import NO_REASON, Act, acts, partners_of, reached
from seatrial.driver.site import launcher_factory
from seatrial.launch.contract import Hosts
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, SeatrialError, UsageError
from seatrial.model.fabric import Fabric
from seatrial.model.gate import OURS
from seatrial.model.run import NodeCause, NodeState
from seatrial.model.settings import CheckSettings
from seatrial.slurm.text import parse_sinfo
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

SINFO = """
for node in n1 n2 n4 n5; do echo "$node|idle|main*|none"; done
[ -e {folder}/resumed ] && echo "n3|idle|main*|none" || echo "n3|$(cat {folder}/state)|main*|bad memory: \\"DIMM 3\\""
"""
SCONTROL = """
echo "$*" >>{folder}/log
case "$*" in
    *"create reservation"*)
        [ ! -e {folder}/refuses ] || {{ echo "Error creating the reservation: Access/permission denied" >&2; exit 1; }}
        touch {folder}/reserved ;;
    *State=RESUME)
        [ ! -e {folder}/resumes-not ] || {{ echo "slurm_update error: Invalid user id" >&2; exit 1; }}
        touch {folder}/resumed ;;
    *State=DRAIN*) rm -f {folder}/resumed ;;
    *"delete ReservationName"*) [ ! -e {folder}/job ] && rm {folder}/reserved ;;
    *"show reservation"*) cat {folder}/log | sed -n 's/.*create reservation //p' ;;
    *config) echo "ClusterName = demo" ;;
esac
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmScripts]:
    """A cluster of five nodes, of which n3 is drained."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    scripts = in_place_of_slurm(tmp_path / "slurm", tmp_path / "archive", monkeypatch)
    (tmp_path / "state").write_text("drained")
    scripts.runs("sinfo", SINFO.format(folder=tmp_path))
    scripts.runs("scontrol", SCONTROL.format(folder=tmp_path))
    token = launcher_factory.set(lambda settings: SlurmLauncher(settings, probe=Path("p")))
    yield scripts
    launcher_factory.reset(token)


def settings(tmp_path: Path, **changes: Any) -> CheckSettings:
    return CheckSettings(**{"archive": tmp_path / "archive", "returning": ("n3",), **changes})


def hosts(*free: str, busy: tuple[str, ...] = ("n3",), **known: Any) -> Hosts:
    out = tuple(NodeState(node=node, reason="Slurm says x", fault=False, cause=NodeCause.BUSY) for node in busy)
    fabric = Fabric(leaf_of=known.pop("leaf_of", {}), source="test")
    return Hosts(nodes=free, left_out=out, fabric=fabric, **known)


def log(tmp_path: Path) -> list[str]:
    changing = ("create", "update", "delete")
    return [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith(changing)]


def test_partners_are_more_than_the_returning_nodes_alike_and_near() -> None:
    free = ("n1", "n2", "n4", "n5", "n6", "n7", "n8")
    assert partners_of(("n3",), hosts(*free)) == ("n1", "n2", "n4")
    leaves = {"n3": "b", "n6": "b", "n8": "b", "n1": "a"}
    assert partners_of(("n3",), hosts(*free, leaf_of=leaves)) == ("n6", "n8", "n1")
    features = dict.fromkeys(("n3", "n7", "n8"), ("milan",))
    assert partners_of(("n3",), hosts(*free, features=features, leaf_of=leaves))[:2] == ("n8", "n7")
    assert len(partners_of(("n3", "n4", "n5"), hosts(*free))) == 4


def test_without_partners_or_with_a_foreign_name_it_is_said() -> None:
    with pytest.raises(UsageError, match=r"Node n9 is not among the nodes here \(n\[1,3\]\)"):
        partners_of(("n3", "n9"), hosts("n1"))
    with pytest.raises(SeatrialError, match=r"no other node is free \(n4: Slurm says x\)"):
        partners_of(("n3",), hosts(busy=("n3", "n4")))


def test_a_drained_node_is_resumed_in_a_reservation_and_drained_again(slurm: SlurmScripts, tmp_path: Path) -> None:
    with reached(settings(tmp_path), Silent(), None, pytest.fail) as found:
        name = found.settings.slurm.reservation
        assert (tmp_path / "resumed").exists()
        assert found.settings.nodes == ("n1", "n2", "n3", "n4")
        assert found.settings.drained == ("n3",)
        [kept] = changed_settings.read(changes_folder())
        assert kept.text.startswith(f"in the reservation {name}, in service in place of: n3 is DRAIN (bad")
    assert not (tmp_path / "resumed").exists()
    assert not (tmp_path / "reserved").exists()
    assert changed_settings.read(changes_folder()) == []
    created, resumed, drained, deleted = log(tmp_path)
    assert f"ReservationName={name} Nodes=n[1-4] Users=" in created
    assert resumed == "update NodeName=n3 State=RESUME"
    assert drained == 'update NodeName=n3 State=DRAIN Reason="bad memory: "DIMM 3""'
    assert deleted == f"delete ReservationName={name}"


def test_a_job_that_is_left_in_the_reservation_ends_with_it(
    slurm: SlurmScripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver and its keepers that were all killed leave one, and Slurm deletes no reservation with a job."""
    monkeypatch.setattr("seatrial.driver.restoration.PAUSES_S", (0.0, 0.0))
    said: list[str] = []
    for cancels in (False, True):
        slurm.runs("scancel", f'case "{cancels:d} $*" in "1 --reservation=seatrial-"*) rm {tmp_path}/job ;; esac')
        with reached(settings(tmp_path), Silent(), None, said.append):
            (tmp_path / "job").touch()
        assert (tmp_path / "reserved").exists() is not cancels
        assert len(said) == 1


def test_a_drain_without_a_reason_gets_none_that_the_gate_would_end(slurm: SlurmScripts, tmp_path: Path) -> None:
    slurm.runs("sinfo", SINFO.format(folder=tmp_path).replace('bad memory: \\"DIMM 3\\"', "none"))
    with reached(settings(tmp_path), Silent(), None, pytest.fail):
        pass
    drained = log(tmp_path)[2]
    assert drained == f'update NodeName=n3 State=DRAIN Reason="{NO_REASON}"'
    assert not NO_REASON.startswith(OURS)


def test_a_node_that_somebody_drains_meanwhile_keeps_that_reason(slurm: SlurmScripts, tmp_path: Path) -> None:
    with reached(settings(tmp_path), Silent(), None, pytest.fail):
        slurm.runs("sinfo", 'case "$*" in *n3*%T) echo drained ;; esac')
    assert not any("State=DRAIN" in line for line in log(tmp_path))
    assert not (tmp_path / "reserved").exists()


def test_an_error_drains_it_again_too_and_what_could_not_be_put_back_is_said_and_restored_later(
    slurm: SlurmScripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.driver.restoration.PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr("seatrial.driver.custody.RESTORE_TRIES", 1)
    said: list[str] = []
    with pytest.raises(ZeroDivisionError), reached(settings(tmp_path), Silent(), None, said.append):
        raise ZeroDivisionError
    assert (said, (tmp_path / "resumed").exists()) == ([], False)
    with reached(settings(tmp_path), Silent(), None, said.append):
        slurm.runs("scontrol", "echo unreachable >&2; exit 1")
    assert len(said) == 1
    assert "was NOT restored" in said[0]
    slurm.runs("scontrol", SCONTROL.format(folder=tmp_path))
    [kept] = changed_settings.read(changes_folder())
    assert kept.changes[0].usual_text == 'n3 is DRAIN (bad memory: "DIMM 3")'
    assert restore(kept) == ""
    assert not (tmp_path / "resumed").exists()


def test_where_nothing_can_be_noted_down_nothing_is_resumed_and_no_reservation_is_left(
    slurm: SlurmScripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state-home").write_text("a file")
    with pytest.raises(LaunchError, match="Nothing was changed"), reached(settings(tmp_path), Silent(), None, print):
        pytest.fail("it was resumed")
    assert not (tmp_path / "resumed").exists()
    assert not (tmp_path / "reserved").exists()


def test_the_reservation_is_this_users_whatever_the_shell_says(
    slurm: SlurmScripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`su` to root leaves LOGNAME as it was, and that user's jobs must not run on the nodes."""
    monkeypatch.setenv("LOGNAME", "somebody")
    monkeypatch.setenv("USER", "somebody")
    with reached(settings(tmp_path), Silent(), None, pytest.fail):
        assert f"Users={pwd.getpwuid(os.geteuid()).pw_name} " in log(tmp_path)[0]


@pytest.mark.parametrize("refused", ["refuses", "resumes-not"])
def test_where_slurm_does_not_permit_it_ssh_is_the_way_and_nothing_is_left(
    slurm: SlurmScripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    (tmp_path / refused).touch()
    seen = []

    def no_ssh(*words: Any) -> None:
        seen.append(words)
        raise LaunchError("no ssh here.")

    monkeypatch.setattr(returning, "_beside_held", no_ssh)
    with pytest.raises(LaunchError, match="no ssh here"), reached(settings(tmp_path), Silent(), None, pytest.fail):
        pytest.fail("it is out of reach")
    [(_, held, cluster, why, _)] = seen
    assert (held, cluster) == (["n1", "n2", "n4"], "demo")
    assert "denied" in why or "Invalid user id" in why
    assert not (tmp_path / "reserved").exists()
    assert changed_settings.read(changes_folder()) == []
    assert not any("State=DRAIN" in line for line in log(tmp_path))


@pytest.mark.parametrize("refused", [False, True])
def test_where_ssh_reaches_no_host_either_it_is_said_why_slurm_was_not_the_way(
    slurm: SlurmScripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    class NoSshd:
        def hosts(self) -> Hosts:
            raise LaunchError("None of the 4 hosts can be measured.", "Start sshd.")

    monkeypatch.setattr(returning, "Custody", lambda *_: nullcontext())
    (tmp_path / "refuses").touch()
    launcher = SlurmLauncher(settings(tmp_path), probe=Path("p"))
    monkeypatch.setattr(returning, "choose_launcher", lambda settings: NoSshd() if settings.hosts else launcher)
    asked = settings(tmp_path, launcher="auto" if refused else "ssh")
    with pytest.raises(LaunchError) as raised, reached(asked, Silent(), None, pytest.fail):
        pytest.fail("it is out of reach")
    assert ("denied" in raised.value.what) is refused
    assert "None of the 4 hosts" in raised.value.what


def test_a_node_that_still_runs_jobs_is_left_alone(slurm: SlurmScripts, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("draining")
    with (
        pytest.raises(SeatrialError, match="n3 is out of service and still runs jobs"),
        reached(settings(tmp_path), Silent(), None, pytest.fail),
    ):
        pytest.fail("it is busy")


@pytest.mark.parametrize("state", ["idle", "drained*", "inval"])
def test_a_node_in_service_or_dead_is_not_touched(slurm: SlurmScripts, tmp_path: Path, state: str) -> None:
    (tmp_path / "state").write_text(state)
    with reached(settings(tmp_path), Silent(), None, pytest.fail) as found:
        assert found.settings.slurm.reservation == ""
        assert found.settings.nodes == ("n1", "n2", "n3", "n4")
    assert log(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after", "act"),
    [
        ("idle", "drained", Act.DRAINED),
        ("idle", "down*", Act.FELL),
        ("idle*", "down*", Act.KEPT),
        ("drained", "idle", Act.RESUMED),
        ("idle", "mixed", Act.SERVES),
    ],
)
def test_what_became_of_a_node_is_a_drain_only_if_slurm_has_it_drained(before: str, after: str, act: Act) -> None:
    """A node whose slurmd died before the check was set down by Slurm, and the first line said that it was drained."""
    (one,), (other,) = (parse_sinfo(f"n1|{state}|main*|none\n") for state in (before, after))
    assert acts({"n1": one}, {"n1": other}) == {"n1": act}
