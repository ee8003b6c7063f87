"""The hosts of PBS, LSF and Flux jobs, as these schedulers document their lists."""

from pathlib import Path

import pytest

from seatrial.launch.hosts.job_nodes import in_other_job, job_nodes, parse_flux, parse_pairs
from seatrial.model.errors import LaunchError
from tests.support.collecting import program


def flux_says(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program(folder, "flux", script)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_pbs_job_lists_a_host_for_each_of_its_slots(tmp_path: Path) -> None:
    file = tmp_path / "nodes"
    file.write_text("r1n1.site\nr1n1.site\nr1n2.site\nr1n2.site\n")
    found = job_nodes({"PBS_NODEFILE": str(file), "PBS_JOBID": "17.server"})
    assert found is not None
    assert (found.scheduler, found.job, found.nodes) == ("PBS", "17.server", ("r1n1.site", "r1n2.site"))


def test_an_lsf_job_has_a_file_or_pairs_of_hosts_and_slots(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("hostA\nhostA\nhostB\n")
    by_file = job_nodes({"LSB_DJOB_HOSTFILE": str(file), "LSB_MCPU_HOSTS": "hostC 2", "LSB_JOBID": "5"})
    by_pairs = job_nodes({"LSB_MCPU_HOSTS": "hostA 2 hostB 1 hostA 3", "LSB_JOBID": "5"})
    assert by_file is not None
    assert by_file == by_pairs
    assert (by_file.scheduler, by_file.job, by_file.nodes) == ("LSF", "5", ("hostA", "hostB"))


@pytest.mark.parametrize("text", ["hostA 2 hostB", "hostA hostB", "2 hostA"])
def test_another_form_of_pairs_is_refused(text: str) -> None:
    with pytest.raises(LaunchError, match="not a list of hosts and numbers"):
        parse_pairs(text)


def test_flux_is_asked_for_the_hosts_of_its_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flux_says(tmp_path, monkeypatch, '[ "$*" = "hostlist local" ] && echo "c[1-3],c7"')
    found = job_nodes({"FLUX_JOB_ID": "f123", "FLUX_URI": "local:///run/flux"})
    assert found is not None
    assert (found.scheduler, found.job, found.nodes) == ("Flux", "f123", ("c1", "c2", "c3", "c7"))


def test_a_flux_that_does_not_answer_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flux_says(tmp_path, monkeypatch, "echo 'flux-hostlist: ERROR: no broker' >&2; exit 1")
    with pytest.raises(LaunchError, match="no broker") as failure:
        job_nodes({"FLUX_URI": "local:///gone"})
    assert "--hosts" in failure.value.remedy


def test_an_odd_answer_of_flux_is_shown() -> None:
    with pytest.raises(LaunchError, match="@all"):
        parse_flux("@all")


def test_a_file_that_is_gone_or_empty_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="PBS_NODEFILE names"):
        job_nodes({"PBS_NODEFILE": str(tmp_path / "gone")})
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(LaunchError, match="lists no node of this LSF job"):
        job_nodes({"LSB_DJOB_HOSTFILE": str(tmp_path / "empty")})


def test_without_a_job_there_are_none() -> None:
    assert job_nodes({"SLURM_JOB_ID": "1", "PBS_NODEFILE": ""}) is None
    assert not in_other_job({"SLURM_JOB_ID": "1", "PBS_NODEFILE": ""})
    assert in_other_job({"FLUX_URI": "local:///run/flux"})
