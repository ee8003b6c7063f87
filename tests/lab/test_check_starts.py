"""Checks that cannot start, or start in an unusual way: each ends with a sentence, or with its result."""

import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seatrial.archive.journal import Delivered, of_type
from seatrial.archive.layout import PARTIAL
from seatrial.archive.reader import read_entries
from seatrial.lab.cluster.host_argv import as_user, in_space, inside
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, inconclusive
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
Check = Callable[..., Completed]
SEATRIAL = (sys.executable, "-m", "seatrial")


@pytest.fixture
def check(lab4: LabPlan, tmp_path: Path) -> Check:
    def run_check(*options: str, prefix: tuple[str, ...] = (), json_too: bool = True) -> Completed:
        asked = ["--archive", str(tmp_path), *(["--json"] if json_too else []), *options]
        argv = as_user(lab4, [*prefix, *SEATRIAL, "check", "--no-nodes", *asked])
        return decided(partial(run, argv, timeout_s=150), inconclusive)

    return run_check


@pytest.mark.skipif(shutil.which("mpicc.mpich") is None, reason="no MPICH (libmpich-dev)")
def test_singletons_are_called_by_their_name(check: Check) -> None:
    done = check("--mpi", "none", "--mpicc", "mpicc.mpich")
    assert done.returncode == 2
    assert "4 worlds of one rank" in done.stderr
    assert "--mpi" in done.stderr


@pytest.mark.skipif(shutil.which("mpicc.mpich") is None, reason="no MPICH (libmpich-dev)")
def test_an_mpi_that_the_sites_own_type_does_not_start_is_started_by_another(check: Check) -> None:
    done = check("--mpicc", "mpicc.mpich", "--nodes", "n[1-2]", "--budget", "10s")
    found = parsed(done.stdout)
    assert any("--mpi=pmix, does not work" in note and "--mpi=pmi2 was used" in note for note in found["notes"])
    assert all(pair["bandwidth_bytes_per_s"] for pair in found["pairs"])


def test_pairs_are_measured_with_two_ranks_on_each_node_too(check: Check) -> None:
    done = check("--ranks-per-node", "1,2", "--nodes", "n[1-2]", "--no-loaded", "--budget", "20s")
    found = parsed(done.stdout)
    limit = min(pair["limit_bytes_per_s"] for pair in found["pairs"])
    spectra = {(one["ranks_per_node"], one["metric"]): one for one in found["spectra"]}
    assert spectra.keys() == {(ranks, metric) for ranks in (1, 2) for metric in ("latency_s", "bandwidth_bytes_per_s")}
    for (ranks, metric), spectrum in spectra.items():
        assert spectrum["pairs"] == ranks * (1 if metric == "latency_s" else 2)
        assert (spectrum["ranks_per_port"], spectrum["median"] > 0) == (ranks, True)
    both = spectra[2, "bandwidth_bytes_per_s"]
    assert both["together"] < 1.1 * limit, "two ranks share the port"
    assert both["together"] > 0.6 * limit or found["verdict"] == "INCONCLUSIVE"
    assert both["median"] < 1.1 * limit, "on busy cores a rank may have the port to itself"


def test_an_mpi_that_finds_no_launcher_to_join(check: Check) -> None:
    done = check("--mpi", "none")
    assert done.returncode == 2
    assert "do not know each other" in done.stderr
    assert "--mpi" in done.stderr


@pytest.mark.parametrize("start", [(), ("--start", "mpiexec")], ids=["srun", "mpiexec"])
def test_a_probe_that_no_node_sees_is_copied_to_them(check: Check, lab4: LabPlan, start: tuple[str, ...]) -> None:
    def copies() -> list[str]:
        listed = [run(inside(lab4, node, ["ls", "/tmp"]), timeout_s=60) for node in ("n1", "n2")]
        return [line for done in listed for line in done.stdout.splitlines() if "seatrial-probe" in line]

    before = copies()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as unseen:
        done = check("--probe-dir", unseen, "--nodes", "n[1-2]", "--budget", "10s", *start)
        found = parsed(done.stdout)
        assert any("the probe was copied to them with sbcast" in note for note in found["notes"])
        assert all(pair["bandwidth_bytes_per_s"] for pair in found["pairs"])
        assert copies() == before


def test_an_mpi_type_that_slurm_does_not_know(check: Check) -> None:
    done = check("--mpi", "pmi9")
    assert done.returncode == 2
    assert "pmi9" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--partition", "no; such|partition"), 64, "no; such|partition"),
        (("--nodes", "n[1-9]"), 64, "n5"),
        (("--nodes", "n1"), 64, "two"),
        (("--partition", "debug"), 2, "two"),
        (("--archive", "/proc/nowhere"), 2, "/proc/nowhere"),
        (("--probe", "/etc/passwd"), 64, "/etc/passwd"),
        (("--mpicc", "no-such-mpicc"), 64, "no-such-mpicc"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    check: Check, options: tuple[str, ...], code: int, word: str
) -> None:
    done = check(*options)
    assert done.returncode == code, done.stderr
    assert word in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.alone
def test_an_odd_number_of_nodes_inside_an_allocation(check: Check, tmp_path: Path) -> None:
    done = check(prefix=("salloc", "-Q", "-N3", "--exclusive"))
    judged = parsed(done.stdout)
    assert judged["complete"], done.stderr
    assert not judged["findings"]
    assert [node["node"] for node in judged["nodes"]] == ["n1", "n2", "n3"]
    assert len(judged["pairs"]) == 6
    # a machine that is busy in all attempts leaves pairs undecided; none is named
    assert {pair["verdict"] for pair in judged["pairs"]} <= {"PASS", *(["INCONCLUSIVE"] if inconclusive(done) else [])}


def test_a_full_disk_ends_with_a_sentence_and_keeps_the_samples(lab4: LabPlan, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    assert run(["mount", "-t", "tmpfs", "-o", "size=140k", "tmpfs", str(small)], timeout_s=60).ok
    try:
        # the login node's mounts are older than this one: the driver has the network of the lab and the mounts of here
        _, _, *argv = as_user(lab4, [*SEATRIAL, "check", "--no-nodes", "--archive", str(small)])
        done = run(in_space(lab4.space(LOGIN), argv), timeout_s=120)
        assert done.returncode == 2, done.stdout
        assert "No space left" in done.stderr
        (partial,) = small.glob(f"*{PARTIAL}")
        assert len(of_type(read_entries(partial), Delivered)) > 5
    finally:
        run(["umount", str(small)], timeout_s=60)


def test_a_detached_check_is_collected_later(lab4: LabPlan, tmp_path: Path) -> None:
    """With the verdict and the exit code that the job's own report has, whatever they are on busy cores."""
    archive = ["--archive", str(tmp_path)]
    options = [*archive, "--nodes", "n[1-2]", "--budget", "6s", "--run", "later"]
    done = run(as_user(lab4, [*SEATRIAL, "check", "--detach", "--no-nodes", *options]), timeout_s=60)
    assert done.returncode == 0, done.stderr
    collect = as_user(lab4, [*SEATRIAL, "runs", "collect", "later", *archive, "--json"])
    first = run(collect, timeout_s=60)
    assert first.returncode == 2
    assert "later" in parsed(first.stdout)["state"]
    assert eventually((tmp_path / "later").exists, timeout_s=120)
    collected = run(collect, timeout_s=60)
    told = run([*SEATRIAL, "report", "later", *archive, "--json"], timeout_s=60)
    assert collected.returncode == told.returncode in (0, 1, 2), (tmp_path / "later.submitted/output.txt").read_text()
    verdicts = [parsed(one.stdout)["verdict"] for one in (collected, told)]
    assert verdicts[0] == verdicts[1] != "NOT_RUN"
