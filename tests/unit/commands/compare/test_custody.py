"""One job holds the nodes from before a change until after its restoration; Slurm's commands are scripts here."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import ChangedFile, changes_folder
from seatrial.cli.compare import time_of_run
from seatrial.commands.compare import prove
from seatrial.commands.compare.prove import ProofRequest
from seatrial.commands.compare.toggle import Toggle, held_nodes, toggle_of, toggle_settings
from seatrial.driver.custody import Custody
from seatrial.driver.progress import Silent
from seatrial.driver.reach import Reach
from seatrial.driver.restoration import step_of
from seatrial.judgement.comparison.records import FileSetting
from seatrial.judgement.comparison.reversible import Reversal
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model import formats
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.imported import Sense
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.settings import SiteSettings, SlurmRequest
from seatrial.process.keeper import MARK
from seatrial.slurm.held_nodes import HELD_JOB, named_nodes, refuse_foreign_nodes
from tests.lab.waiting import eventually
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

SALLOC = """
echo "salloc $*" >>{log}
echo "salloc: Granted job allocation 42" >&2
while [ "$1" != sh ]; do shift; done
exec 3<&0  # what goes on in the background would read /dev/null
SLURM_JOB_ID=42 "$@" <&3 &
echo $! >{folder}/holder
wait $!
echo released >>{log}
echo "salloc: Relinquishing job allocation 42" >&2
"""
SCANCEL = """
echo "scancel $*" >>{log}
kill "$(cat {folder}/holder)"
"""
SRUN = """
while case $1 in -*) true ;; *) false ;; esac; do shift; done
exec "$@"
"""
SINFO = """
case "$*" in
    *"%N|%T"*) printf 'n%s|idle|normal*|none\\n' 1 2 3 ;;
    *) printf 'n%s\\n' 1 2 3 ;;
esac
"""
SQUEUE = """
if [ -e {folder}/down ]; then
    rm {folder}/down
    echo "squeue: error: Unable to contact slurm controller (connect failure)" >&2
    exit 1
fi
echo "42|RUNNING|0|n[1-2]"
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What happened, in order."""
    return tmp_path / "log"


@pytest.fixture
def slurm(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmScripts]:
    """A cluster of three idle nodes, which grants job 42; in the end nothing of that job is left."""
    scripts = in_place_of_slurm(tmp_path / "slurm", tmp_path / "archive", monkeypatch)
    scripts.runs("salloc", SALLOC.format(log=log, folder=tmp_path))
    scripts.runs("srun", SRUN)
    scripts.runs("sinfo", SINFO)
    scripts.runs("squeue", SQUEUE.format(folder=tmp_path))
    scripts.runs("scancel", SCANCEL.format(log=log, folder=tmp_path))
    yield scripts
    holder = tmp_path / "holder"
    assert not holder.exists() or eventually(lambda: not Path("/proc", holder.read_text().strip()).exists())


def logging(log: Path, word: str, then: str = "") -> str:
    return f"sh -c 'echo {word} $SLURM_JOB_ID >>{log}{then}'"


def toggle(log: Path, *benchmark: str) -> Toggle:
    words = benchmark or ("srun", "--nodelist=n[1-2]", "sh", "-c", f"echo run $SLURM_JOB_ID >>{log}; echo 1")
    return toggle_of(logging(log, "usual"), logging(log, "changed"), words, 1, Sense.HIGHER)


def lines(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if not line.startswith("salloc")]


def test_everything_runs_in_one_job_that_ends_after_the_restoration(
    slurm: SlurmScripts, log: Path, tmp_path: Path
) -> None:
    toggled = toggle_settings(tmp_path / "archive", toggle(log), 90.0, Silent())
    assert (toggled.unrestored, len(toggled.first), len(toggled.second)) == ("", 2, 2)
    order = ["usual", "run", "changed", "run", "run", "usual", "run", "usual"]
    assert lines(log) == [*(f"{word} 42" for word in order), "released"]
    asked = log.read_text().splitlines()[0].split()
    assert {"--nodes=2", "--nodelist=n[1-2]", "--exclusive", "--time=11"} <= set(asked)
    assert changed_settings.read(changes_folder()) == []


def test_the_nodes_are_held_until_a_setting_is_restored_that_took_three_tries(
    slurm: SlurmScripts, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "down").touch()
    failing = toggle(log, "srun", "--nodelist=n1", "false")
    with pytest.raises(LaunchError, match="The benchmark ended with exit code 1"):
        toggle_settings(tmp_path / "archive", failing, 90.0, Silent())
    assert lines(log) == ["usual 42", "usual 42", "released"]
    assert not (tmp_path / "down").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from seatrial.commands.compare.toggle import toggle_of, toggle_settings
from seatrial.driver.progress import Silent
from seatrial.model.imported import Sense
usual, changed = sys.argv[1:3]
benchmark = ("srun", "--nodelist=n1", "sh", "-c", f"kill -9 {os.getpid()}; sleep 300")
toggle_settings(Path(sys.argv[3]), toggle_of(usual, changed, benchmark, 1, Sense.HIGHER), 90.0, Silent())
"""


def test_a_keeper_restores_while_the_controller_is_down_and_only_then_cancels(
    slurm: SlurmScripts, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "down").touch()
    words = [logging(log, "usual"), logging(log, "changed"), str(tmp_path / "archive")]
    assert subprocess.run([sys.executable, "-c", KILLED, *words], check=False).returncode == -9
    assert eventually(lambda: "scancel" in log.read_text())
    first, restored, cancelled, *_ = lines(log)
    assert (first, restored) == ("usual 42", "usual 42")
    assert cancelled.startswith(f"scancel --user={os.geteuid()} --name=seatrial-")
    assert not (tmp_path / "down").exists(), "the controller was asked while it was down"


def test_nodes_stay_held_while_a_setting_is_not_restored(slurm: SlurmScripts, log: Path, tmp_path: Path) -> None:
    once = tmp_path / "once"
    usual = f"sh -c 'test ! -e {once} && touch {once}'"
    wanted = toggle_of(usual, "true", ("srun", "--nodelist=n1", "echo", "1"), 1, Sense.HIGHER)
    custody = Custody("toggle-1", Reach(launcher="local"), held_nodes(wanted), 90.0)
    with custody:
        custody.protect(wanted.changes)
        assert [done.ok for done in custody.switch(usual=True)] == [True]
        assert [done.ok for done in custody.switch(usual=False)] == [True]
        assert "The usual setting was NOT restored" in custody.restore()
    assert lines(log) == []
    (left,) = changed_settings.read(changes_folder())
    assert (left.job, left.nodes) == ("42", ("n1",))
    once.unlink()
    changed_settings.remove(changes_folder(), left.name)  # the keeper tries again, and finds nothing to do
    assert eventually(lambda: "released" in lines(log) or any("scancel" in line for line in lines(log)), 60)


def test_nothing_is_changed_where_the_nodes_are_not_granted(slurm: SlurmScripts, log: Path, tmp_path: Path) -> None:
    slurm.runs("salloc", 'echo "salloc: error: Job submit/allocate failed: Invalid account" >&2; exit 1')
    with pytest.raises(LaunchError):
        toggle_settings(tmp_path / "archive", toggle(log), 90.0, Silent())
    assert not log.exists()


def test_which_nodes_are_held(slurm: SlurmScripts, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_nodes(("seatrial", "link", "n2", "n1", "--budget=2s")) == ("n2", "n1")
    assert named_nodes(("mpirun", "--host", "n1,n3", "x")) == ("n1", "n3")
    assert named_nodes(("srun", "-wn2", "n9", "[", "@all", "-n1")) == ("n2",)
    assert held_nodes(toggle(log, "seatrial", "check")) == ()
    assert held_nodes(toggle(log, "./script", "n1")) == (), "it may ask for a job of its own"
    wanted = toggle_of("ssh n3 a", "ssh n3 b", ("/usr/bin/srun", "-w", "n1", "x"), 1, Sense.HIGHER)
    assert held_nodes(wanted) == ("n1", "n3")
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    assert held_nodes(wanted) == ()
    refuse_foreign_nodes("42", ("n1", "n2"))
    with pytest.raises(UsageError, match="n3 is not part of job 42"):
        refuse_foreign_nodes("42", ("n1", "n3"))


def test_a_changed_file_is_written_in_a_step_of_the_job_that_holds_the_node(slurm: SlurmScripts) -> None:
    change = ChangedFile(node="n1", fact="f", root="", paths=("/a",), usual="1", changed="2")
    with Custody("x", Reach(launcher="slurm", slurm=SlurmRequest(account="a")), ("n1",), 60.0) as custody:
        inside = step_of(
            msgspec.structs.replace(custody.settings, launcher="slurm", job=custody.job), change, usual=True
        )
        assert custody.environment("seatrial") == {MARK: "x", HELD_JOB: "42"}
        assert custody.environment("/usr/bin/srun") == {MARK: "x", "SLURM_JOB_ID": "42", "SLURM_JOBID": "42"}
        assert custody.environment("mpirun")["SLURM_JOB_NODELIST"] == "n1"
        assert 0 < custody.left_s <= 60
    assert {"--jobid=42", "--overlap", "--nodelist=n1"} <= set(inside.argv)
    outside = step_of(msgspec.structs.replace(custody.settings, launcher="slurm"), change, usual=True)
    assert "--immediate=60" in outside.argv


def test_a_benchmark_of_ours_measures_in_the_job_as_if_it_had_made_it(
    slurm: SlurmScripts, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HELD_JOB, "42")
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path("/probe"))
    assert launcher.job == "", "it is no job of the user's own"
    assert launcher.hosts().nodes == ("n1", "n2")
    launcher.allocate(("n1", "n2"), 60.0)
    assert launcher.job == "42"
    launcher.close()
    assert not log.exists(), "nothing was asked for, and nothing cancelled"


def proving(*benchmark: str) -> tuple[ProofRequest, Reversal, RunInfo]:
    request = ProofRequest(
        archive=Path(), first="a", second="b", benchmark=benchmark, blocks=1, dry_run=False,
        site=SiteSettings(archive=Path()),
    )  # fmt: skip
    setting = FileSetting(fact="f", places=(("/a",),), present="x", earlier="y")
    info = RunInfo(
        format=formats.RUN, run="b", kind=RunKind.CHECK, seatrial="1", command=(), started="", launcher="slurm",
        nodes=("n1", "n3", "n9"),
    )  # fmt: skip
    return request, Reversal(facts=(), nodes=("n2",), files=(setting,)), info


def test_a_proof_holds_the_changed_node_and_those_of_the_benchmark(
    slurm: SlurmScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*benchmark: str) -> Custody:
        request, reversal, info = proving(*benchmark)
        return prove.custody_of(request, reversal, Reach(launcher="slurm"), info)

    for benchmark, nodes in (((), ("n2", "n1", "n3")), (("seatrial", "link", "n2", "n1"), ("n2", "n1"))):
        with held(*benchmark) as custody:
            assert custody.held is not None
            assert custody.held.nodes == nodes
            assert custody.reach.job == "42"
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    with held() as custody:
        assert custody.held is None
        assert custody.reach.job == "42", "steps of the user's own job"
        custody.protect([])
        assert custody.settings.job_name == "", "which is never cancelled"
    with pytest.raises(UsageError, match="n7 is not part of job 42"):
        request, reversal, info = proving()
        prove.custody_of(request, msgspec.structs.replace(reversal, nodes=("n7",)), Reach(launcher="slurm"), info)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [((), 3600.0), (("mpirun", "x"), 3600.0), (("seatrial", "check", "--budget", "2m"), 540.0),
     (("seatrial", "check", "--budget=1m", "--json"), 420.0)],
)  # fmt: skip
def test_for_how_long_nodes_are_held_for_a_run(words: tuple[str, ...], seconds: float) -> None:
    assert time_of_run(words) == seconds


def test_a_budget_without_a_duration_is_refused() -> None:
    with pytest.raises(UsageError, match="not a valid duration"):
        time_of_run(("seatrial", "check", "--budget"))
