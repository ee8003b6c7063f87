"""Whether Slurm is here, whole, and answers: a cluster that is silent is never taken for none."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seatrial.model.errors import LaunchError
from seatrial.process.process import Completed, environment, step_binding
from seatrial.slurm import presence
from tests.support.clocks import Clock
from tests.support.collecting import program


@pytest.fixture
def sinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that alone is on PATH, with a sinfo that says what the test writes after it; no SLURM_CONF."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    return tmp_path


def says(folder: Path, *, error: str = "", code: int = 0) -> None:
    program(folder, "sinfo", f"echo '{error}' >&2\nexit {code}")


def test_without_slurm_or_a_cluster_this_machine_is_alone(sinfo: Path) -> None:
    assert not presence.is_here()
    says(sinfo, error=f"sinfo: error: resolve_ctls_from_dns_srv\nsinfo: fatal: {presence.NO_SITE}", code=1)
    assert not presence.is_here()
    says(sinfo)
    assert presence.is_here()


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        ("slurm_load_partitions: Socket timed out on send/recv operation", "accepts connections but does not answer"),
        ("slurm_load_partitions: Unable to contact slurm controller (connect failure)", "controller does not answer"),
        ("sinfo: error: The moon is full", "The moon is full"),
    ],
)
def test_a_silent_cluster_is_an_error_and_not_no_cluster(sinfo: Path, error: str, meaning: str) -> None:
    says(sinfo, error=error, code=1)
    with pytest.raises(LaunchError, match=f"Slurm does not answer: .*{meaning}") as caught:
        presence.is_here()
    assert "--launcher local" in caught.value.remedy


def test_a_configuration_that_is_not_there_is_not_waited_for(sinfo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(sinfo)
    monkeypatch.setenv("SLURM_CONF", str(sinfo / "none.conf"))
    with pytest.raises(LaunchError, match=r"none\.conf: No such file or directory"):
        presence.is_here()
    monkeypatch.setenv("SLURM_CONF", str(sinfo / "sinfo"))
    assert presence.is_here()


def test_missing_commands_are_named(sinfo: Path) -> None:
    for name in ("salloc", "squeue", "scancel", "scontrol"):
        program(sinfo, name, "")
    assert presence.missing() == ("srun",)
    assert presence.lacking(("srun",))[0] == "sinfo is here, and srun is not on PATH."


def test_nothing_that_is_started_takes_itself_for_a_rank_of_the_step_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMIX_RANK", "PMIX_NAMESPACE", "PMI_FD", "PMIX_MCA_gds", "SLURM_JOB_ID"):
        monkeypatch.setenv(name, "1")
    inherited = environment({"PMI_SIZE": "2"})
    assert not {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_FD"} & set(inherited)
    assert {"PMIX_MCA_gds", "SLURM_JOB_ID", "PMI_SIZE"} <= set(inherited)


def test_a_users_habits_do_not_change_what_slurms_commands_do_for_us(monkeypatch: pytest.MonkeyPatch) -> None:
    habits = {
        "SCANCEL_STATE", "SCANCEL_INTERACTIVE", "SQUEUE_STATES", "SQUEUE_FORMAT2", "SINFO_PARTITION", "SCONTROL_ALL",
        "SLURM_LABELIO", "SLURM_STDOUTMODE", "SLURM_STDINMODE", "SLURM_MULTI_PROG", "SBATCH_WAIT", "SBATCH_ARRAY_INX",
    }  # fmt: skip
    for name in (*habits, "SBATCH_ACCOUNT", "SALLOC_QOS", "SLURM_STDOUTMODES"):
        monkeypatch.setenv(name, "1")
    inherited = set(environment())
    assert not habits & inherited
    assert {"SBATCH_ACCOUNT", "SALLOC_QOS", "SLURM_STDOUTMODES"} <= inherited


def test_how_the_shell_of_a_step_is_bound_is_no_matter_of_our_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = {"SLURM_CPU_BIND": "quiet,mask_cpu:0x1", "SLURM_CPU_BIND_LIST": "0x1", "SLURM_MEM_BIND": "local"}
    for name, value in bound.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_STEP_ID", raising=False)
    assert (bound.items() <= environment().items(), step_binding()) == (True, {})
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    assert not bound.keys() & environment().keys()
    assert step_binding() == bound
    assert bound.items() <= environment(step_binding()).items()


def completing(*nodes: str) -> Completed:
    text = "".join(f"{node}|completing|main*|none\n" for node in nodes) + "n9|idle|main*|none\n"
    return Completed(argv=("sinfo",), returncode=0, stdout=text, stderr="")


def asked_at(answers: Callable[[int], Completed]) -> list[float]:
    """The times at which sinfo is asked until it is settled, on a clock that only sleep moves."""
    clock = Clock()
    asked: list[float] = []

    def ask(_: Sequence[str]) -> Completed:
        asked.append(clock())
        return answers(len(asked))

    presence.asked_settled(("sinfo",), ask, clock, clock.sleep)
    return asked


def test_nodes_that_clean_up_are_waited_for_with_growing_pauses() -> None:
    asked = asked_at(lambda _: completing("n1"))
    assert len(asked) <= 7
    assert asked[1] < 0.5
    assert asked[-1] >= presence.SETTLE_S
    assert len(asked_at(lambda number: completing(*["n1"] * (number < 3)))) == 3


def test_other_jobs_that_end_meanwhile_are_not_waited_for() -> None:
    """On a large cluster some node is always cleaning up."""
    assert len(asked_at(lambda number: completing(f"n{number}", f"n{number + 1}"))) == 3
