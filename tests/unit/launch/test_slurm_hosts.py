"""What sinfo lists becomes nodes to measure: quickly on the largest clusters, too, and before other questions."""

import time
from pathlib import Path

import pytest

from seatrial.launch.contract import Hosts
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.settings import SiteSettings
from tests.support.slurm_scripts import SlurmScripts

STATES = ("idle", "allocated", "idle~", "down*")


def lists(slurm: SlurmScripts, nodes: int) -> None:
    """Let sinfo list so many nodes, each in two partitions, and in every state."""
    slurm.says(
        "sinfo",
        "".join(f"n{i}|{STATES[i % 4]}|{name}|none\n" for i in range(1, nodes + 1) for name in ("main*", "debug")),
    )


def timed(wanted: tuple[str, ...] = ()) -> tuple[Hosts, float]:
    launcher = SlurmLauncher(SiteSettings(archive=Path(), nodes=tuple(wanted)), probe=Path())
    began = time.process_time()
    return launcher.hosts(), time.process_time() - began


@pytest.mark.parametrize("by_name", [False, True])
def test_the_time_grows_with_the_number_of_nodes_and_no_faster(slurm: SlurmScripts, by_name: bool) -> None:
    seconds = []
    for number in (1_000, 8_000):
        lists(slurm, number)
        wanted = tuple(f"n{i}" for i in range(1, number + 1)) if by_name else ()
        tries = [timed(wanted) for _ in range(3)]
        hosts = tries[0][0]
        assert len(hosts.nodes) == number * (3 if by_name else 2) // 4
        assert len(hosts.left_out) == number - len(hosts.nodes)
        assert len(hosts.asleep) == number // 4
        seconds.append(min(took for _, took in tries))
    assert seconds[1] < 24 * seconds[0]


def test_a_node_that_slurm_does_not_know_is_named_by_one_question(slurm: SlurmScripts) -> None:
    with pytest.raises(UsageError, match="no node 'n4'"):
        SlurmLauncher(
            SiteSettings(archive=Path(), nodes=tuple(f"n{i}" for i in range(1, 60_000))), probe=Path()
        ).hosts()
    assert len(slurm.all_asked("sinfo")) == 1
    assert not slurm.all_asked("scontrol")


STEP = """
case "$*" in
    *"echo missing"*) printf '{missing}' ;;
    */bin/seatrial-probe) echo 'execve(): /x/seatrial-probe: No such file or directory' >&2; exit 2 ;;
    *) echo "started $*" >&2; exit 3 ;;
esac
"""


@pytest.mark.parametrize(("missing", "copied"), [("0: missing\n1: missing\n", True), ("1: missing\n", False)])
def test_the_probe_is_copied_where_no_node_has_it(
    slurm: SlurmScripts, tmp_path: Path, missing: str, copied: bool
) -> None:
    """On some nodes alone a folder is missing that they should share: that is a fault, and stays one."""
    slurm.runs("srun", STEP.replace("{missing}", missing.replace("\n", "\\n")))
    slurm.says("sbcast", "")
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path("/site/bin/seatrial-probe"))
    launcher.job = "17"
    with pytest.raises(LaunchError) as caught:
        launcher.start(("n1", "n2"), tmp_path / "err")
    assert bool(slurm.all_asked("sbcast")) is copied
    if not copied:
        assert "does not exist on" in caught.value.what
        return
    job, source, target = slurm.asked("sbcast")
    assert (job, source) == ("--jobid=17", "/site/bin/seatrial-probe")
    assert target.startswith("/tmp/seatrial-probe-") and launcher.program == target
    assert "/bin/seatrial-probe" not in caught.value.what and target in caught.value.what
    assert "copied to them with sbcast" in launcher.remark
    launcher.close()
    assert launcher.program == "/site/bin/seatrial-probe"
