"""No command measures the machine that it is typed on, unless it is asked for: a login node has other users."""

from pathlib import Path

import pytest

from seatrial.commands.doctor.run import examine
from seatrial.commands.doctor.versions import SlurmAnswers
from seatrial.driver.site import refuse_without_slurm
from seatrial.launch.contract import Hosts
from seatrial.model.errors import LaunchError
from seatrial.model.settings import SiteSettings
from seatrial.model.verdict import Verdict
from seatrial.process.process import Completed
from seatrial.slurm import presence
from seatrial.slurm.presence import OVER_SSH
from tests.support.command_line import Seatrial, Text

COMMANDS = {
    "check": [],
    "nodes": [],
    "nodes --for 10m": [],
    "bench run": ["stream"],
    "bench scale": ["stream", "--node-count", "1,2"],
    "link": [],
    "link --transports": [],
}
"""All that could; `link --ranks-per-node` has no --launcher and needs two nodes."""
SPEC = """
name = "spring"
[[benchmark]]
name = "memory"
benchmark = "stream"
"""


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an MPI and no scheduler. Whatever would measure it fails the test."""
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(presence, "QUESTION", ("sinfo-of-nowhere",))
    monkeypatch.setattr("seatrial.driver.site.build", lambda *_: pytest.fail("it prepares to measure this machine"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_measures_refuses(command: str, tmp_path: Path, seatrial: Seatrial) -> None:
    words = [*command.split(), "--archive", str(tmp_path / "runs"), *COMMANDS[command]]
    error = seatrial(*words, code=2).err
    assert "No Slurm answers here (sinfo), so nothing was measured." in error
    assert "--launcher local" in error
    assert list(tmp_path.glob("runs/*")) == []


def test_an_acceptance_carries_out_nothing(tmp_path: Path, seatrial: Seatrial) -> None:
    ran = seatrial("bench", "accept", Text(SPEC, "spring.toml"), "--archive", tmp_path / "runs", code=2)
    assert "No Slurm answers here (sinfo), so nothing was measured." in " ".join(ran.out.split())


@pytest.mark.parametrize("words", [[], ["n3"]])
def test_nodes_that_return_are_never_this_machine(words: list[str], tmp_path: Path, seatrial: Seatrial) -> None:
    error = seatrial("requalify", *words, "--archive", tmp_path / "runs", code=2).err
    assert "--launcher local" not in error
    assert OVER_SSH in " ".join(error.split())


def test_the_rule_knows_the_launcher_alone() -> None:
    with pytest.raises(LaunchError, match="so nothing was measured"):
        refuse_without_slurm(SiteSettings(archive=Path()))
    refuse_without_slurm(SiteSettings(archive=Path(), launcher="local"))


class Prepared:
    """A launcher of this machine; to start anything with it fails the test."""

    probe = "probe"

    def hosts(self) -> Hosts:
        """Asked for before ranks are started."""
        return pytest.fail("the doctor starts ranks of this machine")

    def close(self) -> None:
        """Nothing was started."""


@pytest.mark.parametrize(("code", "words"), [(127, "not installed here"), (1, "Slurm does not answer")])
def test_the_doctor_reports_and_starts_no_ranks(monkeypatch: pytest.MonkeyPatch, code: int, words: str) -> None:
    sinfo = Completed(argv=("sinfo",), returncode=code, stdout="", stderr="sinfo: error: no")
    answers = SlurmAnswers(sinfo=sinfo, client="", config="", nodes="", partitions="", mpi_types="", running_jobs=0)
    monkeypatch.setattr("seatrial.commands.doctor.run.ask_slurm", lambda: answers)
    monkeypatch.setattr("seatrial.commands.doctor.run.choose_launcher", lambda _: Prepared())
    remarks = examine(SiteSettings(archive=Path())).remarks
    assert [remark.verdict for remark in remarks] == [Verdict.BLOCKED, Verdict.PASS]
    assert words in remarks[0].statement
