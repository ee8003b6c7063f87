"""Suspects that `compare --prove` takes back on a real node, and that are restored although SIGTERM ends the proof."""

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.node_groups import name_of
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run
from tests.lab.waiting import eventually
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A change on n2, its fact, the file of the setting, and what that contains with the change and without it."""

    kind: str
    parameters: Parameters
    command: tuple[str, ...]
    fact: str
    file: str
    changed: str
    usual: str


CASES = (
    Case(
        kind="mtu", parameters=Parameters(mtu=600), fact="interfaces.eth0.mtu_bytes", changed="600", usual="1500",
        command=("curve", "n2", "n1", "--max-size", "1MiB", "--per-octave", "1", "--budget", "4s"),
        file="/sys/class/net/eth0/mtu",
    ),
    Case(
        kind="cpu-quota", parameters=Parameters(percent=25), fact="processor.quota_processors", changed="", usual="",
        command=("nodes", "n2", "--trials", "arithmetic", "--repetitions", "1"), file="",
    ),
)  # fmt: skip
"""With an MTU of 600 TCP carries 7 % less."""


def of_quota(plan: LabPlan, case: Case) -> Case:
    """With the file of the control group that n2 has now."""
    folders = run(["find", "/sys/fs/cgroup", "-maxdepth", "3", "-name", name_of(plan.name, "n2")], timeout_s=60).stdout
    for folder in folders.split():
        for file, usual in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
            path = Path(folder) / file
            if path.is_file():
                return msgspec.structs.replace(case, file=str(path), changed=path.read_text().strip(), usual=usual)
    raise AssertionError(f"no quota in {folders}")


def content(plan: LabPlan, file: str) -> str:
    return run(as_user(plan, ["cat", file], host="n2"), timeout_s=60).stdout.strip()


def seatrial(plan: LabPlan, *words: str) -> list[str]:
    return as_user(plan, [sys.executable, "-m", "seatrial", *words])


ALONE = {"cpu-quota": (pytest.mark.alone,)}
"""Beside other tests, a core that they have slowed before the change may lose nothing by a quota."""


@pytest.mark.parametrize("case", [pytest.param(case, marks=ALONE.get(case.kind, ()), id=case.kind) for case in CASES])
def test_a_proof_that_is_ended_restores_the_node(lab4: LabPlan, tmp_path: Path, case: Case) -> None:
    archive = ["--archive", str(tmp_path)]
    assert run(seatrial(lab4, *case.command, *archive, "--run", "before"), timeout_s=150).returncode in (0, 1, 2)
    planting.plant(lab4.name, case.kind, "n2", case.parameters)
    assert run(seatrial(lab4, *case.command, *archive, "--run", "after"), timeout_s=150).returncode in (0, 1, 2)
    case = case if case.file else of_quota(lab4, case)
    asked = seatrial(lab4, "compare", "before", "after", *archive, "--prove", "--blocks", "1")

    planned = parsed(run([*asked, "--dry-run", "--json"], timeout_s=150).stdout)["proofs"]
    assert [proof["outcome"] for proof in planned] == ["planned"]
    assert f"{case.fact} from {case.changed} to {case.usual} on n2 ({case.file};" in planned[0]["statement"]
    assert content(lab4, case.file) == case.changed, "a dry run changed it"

    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Run 2 of 4, setting B" in line:
                break
        assert content(lab4, case.file).split()[:1] == [case.usual], "".join(lines)
        process.send_signal(signal.SIGTERM)  # nsenter has become the command itself
        process.stderr.read()
        assert process.wait(timeout=150) != 0
    assert eventually(lambda: content(lab4, case.file) == case.changed), "it was not restored"
