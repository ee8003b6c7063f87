"""seatrial qualify with scripts in the place of Slurm's commands: what it reports, and when it measures nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from seatrial.judgement.qualification import threshold
from seatrial.model.qualification import QualifyPolicy
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, names, record, sail, slow_part
from tests.support.command_line import Seatrial
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

CLUSTER, SLOW = Cluster(nodes=names(6)), Cluster(nodes=names(6), parts=slow_part("node", "n3", 0.6))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    scripts = in_place_of_slurm(tmp_path / "bin", tmp_path / "archive", monkeypatch)
    scripts.says("sinfo", "".join(f"n{number}|idle|main*|none\n" for number in range(1, 7)))
    scripts.says("squeue", "")
    scripts.says("sacct", "")
    (tmp_path / "policy.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return scripts


def slices(archive: Path, *clusters: Cluster, ago: timedelta = timedelta(hours=1)) -> None:
    """Closed runs that qualify made, a minute apart."""
    settings = CheckSettings(archive=archive, threshold=threshold(QualifyPolicy()))
    for number, cluster in enumerate(clusters):
        recorded = sail(cluster)
        ended = (datetime.now(UTC) - ago + timedelta(minutes=number)).isoformat(timespec="seconds")
        info = msgspec.structs.replace(recorded.info, settings=settings, started=ended, ended=ended)
        name = f"s{len(list(archive.iterdir())) if archive.is_dir() else 0}"
        record(cluster, archive, name, msgspec.structs.replace(recorded, info=info), settings=settings)


def test_findings_of_separate_slices_name_the_node_and_no_other(
    slurm: SlurmScripts, seatrial: Seatrial, tmp_path: Path
) -> None:
    slices(tmp_path / "archive", CLUSTER, SLOW, SLOW)
    found = seatrial("qualify", "policy.toml", "--report-only", "--json", code=0)
    assert found.object["headline"] == "NOTE  1 node suspected, none found bad: n3"
    slices(tmp_path / "archive", SLOW, ago=timedelta(minutes=50))
    found = seatrial("qualify", "policy.toml", "--report-only", "--json", code=1)
    assert found.object["headline"].startswith("SLOW  n3: link at ")
    assert [node["node"] for node in found.data["nodes"] if node["bad"]] == ["n3"]
    assert found.data["coverage"]["nodes_judged"] == 6 and found.data["coverage"]["pairs_judged"] == 15
    assert found.data["slice"] == {"nodes": [], "run": "", "why": "--report-only"}
    assert slurm.all_asked("salloc") == []


def test_a_call_that_comes_too_early_measures_nothing(slurm: SlurmScripts, seatrial: Seatrial, tmp_path: Path) -> None:
    slices(tmp_path / "archive", CLUSTER, ago=timedelta(minutes=5))
    _, out, _ = seatrial("qualify", "policy.toml", code=0)
    assert out.startswith("PASS  6 of 6 nodes judged within a week, none found bad\n")
    assert "none: the last slice ended 5 of 20 minutes ago" in out
    assert slurm.all_asked("salloc") == []


def test_a_call_that_comes_a_little_too_early_says_that_time_is_left(
    slurm: SlurmScripts, seatrial: Seatrial, tmp_path: Path
) -> None:
    slices(tmp_path / "archive", CLUSTER, ago=timedelta(minutes=19.7))
    _, out, _ = seatrial("qualify", "policy.toml", code=0)
    assert "none: the last slice ended 19 of 20 minutes ago" in out


def test_a_call_while_a_job_waits_measures_nothing(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    slurm.says("squeue", "2|main|Priority|(null)\n")
    _, out, _ = seatrial("qualify", "policy.toml", code=0)
    assert out.startswith("MEASURED  0 of 6 nodes judged within a week\n")
    assert "none: a job that needs 2 nodes waits in main" in out


def test_without_an_answer_of_slurm_nothing_is_said(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    slurm.says("sinfo", "sinfo: error: no", code=1)
    assert "Slurm does not answer" in seatrial("qualify", "policy.toml", code=2)[2]


def test_nothing_is_drained_without_a_policy_of_the_gate(
    slurm: SlurmScripts, seatrial: Seatrial, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text("drain = true\n")
    assert "no file of the site has a table [gate]" in seatrial("qualify", "policy.toml", code=64)[2]
