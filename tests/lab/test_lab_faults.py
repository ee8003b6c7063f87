"""Every fault has its effect, and clearing brings the design state back exactly."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting, state
from seatrial.lab.cluster.daemons import SETTLED, node_states
from seatrial.lab.cluster.network import tbf_rate_bit_per_s
from seatrial.lab.cluster.node_groups import name_of
from seatrial.lab.cluster.plan import FABRIC, LabPlan
from seatrial.lab.cluster.planting import FAULTS
from seatrial.lab.cluster.processes import named, pids_in, pids_marked, state_letter
from seatrial.lab.cluster.shared_storage import device_of
from seatrial.lab.faults.base import Parameters
from seatrial.lab.faults.load import MARK
from seatrial.model.errors import UsageError
from seatrial.model.subject import Direction
from seatrial.process.process import Completed, run
from tests.lab.waiting import eventually

pytestmark = pytest.mark.lab
DESIGN = tbf_rate_bit_per_s(1e9, 1500) // 8
InLab = Callable[..., Completed]


def rate(plan: LabPlan, part: str, device: str) -> int:
    """The rate of a device's shaper in bytes per second, as the kernel tells it."""
    text = run(["tc", "-n", plan.space(part), "-json", "qdisc", "show", "dev", device], timeout_s=60).stdout
    return int(json.loads(text)[0]["options"]["rate"])


def link(plan: LabPlan, part: str, device: str) -> dict[str, object]:
    text = run(["ip", "-n", plan.space(part), "-json", "link", "show", "dev", device], timeout_s=60).stdout
    found: dict[str, object] = json.loads(text)[0]
    return found


def everything(plan: LabPlan) -> dict[str, object]:
    """All that faults could have changed in the network of a lab."""
    found: dict[str, object] = {}
    for part in (FABRIC, *plan.node_names):
        space = ["-n", plan.space(part), "-json"]
        for qdisc in json.loads(run(["tc", *space, "qdisc", "show"], timeout_s=60).stdout):
            found[f"{part} {qdisc['dev']}"] = qdisc.get("options")
        for device in json.loads(run(["ip", *space, "link", "show"], timeout_s=60).stdout):
            works = device["operstate"] in ("UP", "UNKNOWN")  # a young bridge is UNKNOWN for a moment, then UP
            found[f"{part} {device['ifname']} link"] = (device["mtu"], works, device["flags"])
        rules = run(["nsenter", f"--net=/run/netns/{plan.space(part)}", "nft", "list", "ruleset"], timeout_s=60)
        found[f"{part} rules"] = rules.stdout
    return found


def states(plan: LabPlan, node: str, name: str = "slurmd") -> list[str]:
    """Of the node's processes of that program."""
    return [state_letter(pid) for pid in named(pids_in([plan.space(node)]), name)]


def plant(plan: LabPlan, kind: str, subject: str, **values: object) -> None:
    planting.plant(plan.name, kind, subject, Parameters(**values))  # type: ignore[arg-type]


def test_rates_are_changed_where_they_should_be_and_nowhere_else(lab4: LabPlan) -> None:
    before = everything(lab4)
    plant(lab4, "link-rate", "node:n1", percent=60)
    plant(lab4, "one-way-rate", "n2", rate_bit_per_s=600_000_000, direction=Direction.OUT)
    plant(lab4, "one-way-rate", "n3", percent=60, direction=Direction.IN)
    plant(lab4, "uplink-rate", "uplink:leaf2", percent=50)
    slow = tbf_rate_bit_per_s(6e8, 1500) // 8
    assert [rate(lab4, f"n{n}", "eth0") for n in (1, 2, 3, 4)] == pytest.approx([slow, slow, DESIGN, DESIGN], abs=2)
    ports = [rate(lab4, FABRIC, f"p-n{n}") for n in (1, 2, 3, 4)]
    assert ports == pytest.approx([slow, DESIGN, slow, DESIGN], abs=2)
    trunks = [rate(lab4, FABRIC, f"{end}-leaf{n}") for n in (1, 2) for end in ("up", "dn")]
    assert trunks == pytest.approx([DESIGN, DESIGN, DESIGN / 2, DESIGN / 2], abs=2)
    assert len(planting.clear(lab4.name)) == 4
    assert everything(lab4) == before


def test_mtu(lab4: LabPlan, in_lab: InLab) -> None:
    before = everything(lab4)
    plant(lab4, "mtu", "n4", mtu=1400)
    assert in_lab(lab4, ["cat", "/sys/class/net/eth0/mtu"], host="n4").stdout == "1400\n"
    assert link(lab4, FABRIC, "p-n4")["mtu"] == 1500
    planting.clear(lab4.name, "n4")
    assert everything(lab4) == before


@pytest.mark.parametrize("direction", [None, Direction.IN, Direction.OUT])
@pytest.mark.parametrize(("kind", "rule"), [("packet-loss", "< 2500 drop"), ("data-corrupt", "mod 100000 < 2500 @th")])
def test_lost_and_corrupted_packets(lab4: LabPlan, kind: str, rule: str, direction: Direction | None) -> None:
    before = everything(lab4)
    plant(lab4, kind, "n2", percent=2.5, direction=direction)
    now = everything(lab4)
    assert (rule in str(now["n2 rules"])) == (direction is not Direction.OUT)
    assert (rule in str(now[f"{FABRIC} rules"])) == (direction is not Direction.IN)
    planting.clear(lab4.name, kind=kind)
    assert everything(lab4) == before


@pytest.mark.parametrize(
    ("kind", "left"), [("slurmd-killed", []), ("slurmd-stopped", ["T"]), ("node-down", []), ("node-hung", ["T"])]
)
def test_lives_end_or_stand_still_and_come_back(lab4: LabPlan, in_lab: InLab, kind: str, left: list[str]) -> None:
    before = everything(lab4)
    job = in_lab(lab4, ["sbatch", "--parsable", "-w", "n3", "-o", "/dev/null", "--wrap", "sleep 60"]).stdout.strip()
    assert eventually(lambda: states(lab4, "n3", "sleep") == ["S"] and states(lab4, "n3") == ["S"])
    plant(lab4, kind, "n3")
    rest = {"node-down": [], "node-hung": ["T"]}.get(kind, ["S"])
    assert eventually(lambda: states(lab4, "n3") == left), "a signal strikes when the kernel gets to it"
    assert eventually(lambda: states(lab4, "n3", "sleep") == rest)
    assert eventually(lambda: states(lab4, "n3", "sshd") == (rest if lab4.ssh else []))
    assert eventually(lambda: (link(lab4, "n3", "eth0")["operstate"] == "DOWN") == (kind == "node-down"))
    in_lab(lab4, ["scancel", job])
    planting.clear(lab4.name)
    assert eventually(lambda: states(lab4, "n3", "sleep") == [])
    assert eventually(lambda: states(lab4, "n3", "sshd") == (["S"] if lab4.ssh else [])), "it wakes up in its turn"
    assert eventually(lambda: node_states(lab4).get("n3") in SETTLED), "it may just be completing the job"
    assert eventually(lambda: everything(lab4) == before), everything(lab4)
    done = in_lab(lab4, ["srun", "-N4", "hostname"])
    assert sorted(done.stdout.split()) == ["n1", "n2", "n3", "n4"], done.stderr


@pytest.mark.parametrize(
    ("kind", "values", "hogs"),
    [("cpu-quota", {"percent": 40}, 0), ("cpu-hog", {}, 1), ("core-hog", {}, 1), ("memory-hog", {}, 1)],
)
def test_loads_are_planted_on_one_node_and_leave_nothing(
    lab4: LabPlan, kind: str, values: dict[str, object], hogs: int
) -> None:
    mark = f"{MARK}={lab4.name}:n3"
    plant(lab4, kind, "n3", **values)
    group = f"/{name_of(lab4.name, 'n3')}\n"
    assert eventually(lambda: len(pids_marked(mark)) == hogs)
    for node in lab4.node_names:
        (pid,) = named(pids_in([lab4.space(node)]), "slurmd")
        assert (group in Path(f"/proc/{pid}/cgroup").read_text()) == (node == "n3")
    planting.clear(lab4.name)
    (pid,) = named(pids_in([lab4.space("n3")]), "slurmd")
    assert group not in Path(f"/proc/{pid}/cgroup").read_text()
    assert pids_marked(mark) == []


def test_a_slow_mount_is_slow_on_its_node_and_leaves_nothing(lab4: LabPlan, in_lab: InLab) -> None:
    """What dd says of a write past the page cache, by a process that a job starts."""
    if device_of(lab4.name) is None:
        pytest.skip("no loop device")
    file = state.folder(lab4.name) / "work" / "written"
    plant(lab4, "slow-mount", "n3", rate_bit_per_s=32_000_000)
    write = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=4", "oflag=direct"]
    done = in_lab(lab4, ["srun", "--nodelist=n3", "env", "LC_ALL=C", *write])
    assert (done.returncode, file.stat().st_size) == (0, 4 << 20), done.stderr
    file.unlink()
    took = re.search(r"copied, ([0-9.]+) s,", done.stderr)
    assert took is not None, done.stderr
    assert float(took[1]) > 0.8 * (4 << 20) / 4e6
    with pytest.raises(UsageError, match="already has the fault slow-mount"):
        plant(lab4, "core-hog", "n3")
    planting.clear(lab4.name)
    (pid,) = named(pids_in([lab4.space("n3")]), "slurmd")
    assert name_of(lab4.name, "n3") not in Path(f"/proc/{pid}/cgroup").read_text()


def test_faults_that_would_mix_are_refused_and_the_others_remembered(lab4: LabPlan) -> None:
    plant(lab4, "link-rate", "n1", percent=60)
    with pytest.raises(UsageError, match="already has the fault link-rate"):
        plant(lab4, "one-way-rate", "n1", percent=50, direction=Direction.OUT)
    plant(lab4, "mtu", "n1", mtu=1400)
    assert [one.kind for one in state.standing(lab4.name).planted] == ["link-rate", "mtu"]
    assert [one.kind for one in planting.clear(lab4.name, "n1", "mtu")] == ["mtu"]


def test_a_fault_that_flaps_is_switched_and_stays_on_record(lab4: LabPlan) -> None:
    before = everything(lab4)
    slow = tbf_rate_bit_per_s(5e8, 1500) // 8
    planted = planting.plant(lab4.name, "link-rate", "n3", Parameters(percent=50), every_s=2.0)
    assert rate(lab4, "n3", "eth0") == pytest.approx(slow, abs=2)
    assert planting.switch(lab4.name, planted, False)
    assert everything(lab4) == before
    with pytest.raises(UsageError, match="already has the fault link-rate"):
        plant(lab4, "one-way-rate", "n3", percent=50, direction=Direction.OUT)
    assert planting.switch(lab4.name, planted, True)
    assert rate(lab4, FABRIC, "p-n3") == pytest.approx(slow, abs=2)
    assert planting.clear(lab4.name) == [planted]
    assert not planting.switch(lab4.name, planted, True), "it is cleared, and stays so"
    assert everything(lab4) == before


@pytest.mark.parametrize("end", ["interrupt", "clear"])
def test_the_command_lets_a_fault_flap_until_it_is_told_to_end(lab4: LabPlan, end: str) -> None:
    before = everything(lab4)
    asked = ["lab", "fault", "add", "link-rate", "n2", "--percent", "50", "--after", "0.2s", "--every", "0.3s"]
    argv = ["env", "--default-signal=INT", sys.executable, "-m", "seatrial", *asked, "--name", lab4.name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        seen = {False: False, True: False}

        def both() -> bool:
            seen[rate(lab4, "n2", "eth0") == pytest.approx(DESIGN, abs=2) and bool(planted_in(lab4))] = True
            return all(seen.values())

        assert eventually(lambda: bool(planted_in(lab4)))
        assert eventually(both, every_s=0.02), seen
        if end == "interrupt":
            process.send_signal(signal.SIGINT)
        else:
            planting.clear(lab4.name, "n2")
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "planted link-rate on n2 percent=50 every 0.3 s" in stdout
    assert everything(lab4) == before


def planted_in(plan: LabPlan) -> list[str]:
    return [one.kind for one in state.standing(plan.name).planted]


def test_every_kind_is_in_the_guide() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/lab.md").read_text()
    for fault in FAULTS:
        assert f"| `{fault.kind}` | {fault.takes} |" in text
        for name in {name for group in (*fault.needs, fault.may) for name in group}:
            assert f"`--{name}`" in text
