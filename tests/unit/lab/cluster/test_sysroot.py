"""Where the made-up facts lie, and that planted ones leave no trace when they are cleared."""

from pathlib import Path

import pytest

from seatrial.lab.cluster import state
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.planting import fault_named
from seatrial.lab.cluster.sysroot import DMI, base, base_files, here, own, processors, search_path, write_base
from seatrial.lab.faults import facts
from seatrial.lab.faults.base import LabFault, Parameters
from tests.support.lab_hosts import CARD_FOLDER

OVERLAID = tuple(fault for fault in facts.FACTS if fault.kind not in ("mount", "sysctl"))


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabPlan:
    monkeypatch.setattr(state, "ROOT", tmp_path)
    plan = make_plan(name="a", nodes=2)
    write_base(plan)
    return plan


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def seen(plan: LabPlan, node: str, path: str) -> str:
    """What a node reads at a path, as facts.sh looks for it: its own folder first."""
    home = state.folder(plan.name)
    for root in (own(home, node), base(home)):
        file = root / path.lstrip("/")
        if file.exists():
            return file.read_text().strip()
    return ""


def differing(plan: LabPlan, node: str) -> dict[str, str]:
    return {
        path: now
        for path, content in base_files(processors()).items()
        if (now := seen(plan, node, path)) != content.strip()
    }


def test_every_host_has_a_folder_of_its_own_and_all_share_the_base(plan: LabPlan) -> None:
    home = state.folder("a")
    assert search_path(plan) == f"{home}/facts/here:{home}/facts/base:/"
    for folder in (here(home), *(own(home, host) for host in plan.hosts)):
        assert folder.is_dir()
        assert entries(folder) == []
    assert (base(home) / "sys/class/net/eth0/device/current_link_width").read_text() == "8\n"
    assert (base(home) / "sys/class/net/eth0/device/driver").resolve().name == "i40e"
    assert (base(home) / "sys/bus/pci/devices/0000:41:00.0/net/eth0").is_dir()


def test_the_processors_are_this_machines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("cpu0", "cpu10", "cpu2", "cpufreq", "cpuidle", "cpu2x"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("seatrial.lab.cluster.sysroot.PROCESSORS", tmp_path)
    assert processors() == [0, 2, 10]


@pytest.mark.parametrize("fault", OVERLAID, ids=lambda fault: fault.kind)
def test_a_planted_fact_befalls_one_node_and_goes_without_a_trace(plan: LabPlan, fault: LabFault) -> None:
    home = state.folder("a")
    shared = [(path, path.read_text()) for path in entries(base(home)) if path.is_file()]
    fault.plant(plan, "n2", Parameters())
    changed = differing(plan, "n2")
    assert changed
    assert differing(plan, "n1") == differing(plan, "login") == {}
    fault.plant(plan, "n2", Parameters())
    assert differing(plan, "n2") == changed
    fault.clear(plan, "n2")
    fault.clear(plan, "n2")
    assert differing(plan, "n2") == {}
    assert entries(own(home, "n2")) == []
    assert [(path, path.read_text()) for path in entries(base(home)) if path.is_file()] == shared


def test_what_each_fault_says(plan: LabPlan) -> None:
    for fault in OVERLAID:
        fault.plant(plan, "n1", Parameters())
    assert seen(plan, "n1", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") == "powersave"
    assert seen(plan, "n1", f"{CARD_FOLDER}/current_link_width") == "4"
    assert seen(plan, "n1", "/sys/bus/pci/devices/0000:40:01.0/current_link_width") == "4"
    assert seen(plan, "n1", "/sys/bus/pci/devices/0000:41:00.0/current_link_width") == "4"
    assert seen(plan, "n1", "/sys/bus/pci/devices/0000:41:00.0/max_link_width") == "8"
    assert (seen(plan, "n1", f"{DMI}/bios_version"), seen(plan, "n1", f"{DMI}/bios_date")) == ("2.1.8", "06/02/2021")
    assert seen(plan, "n1", "/sys/kernel/debug/sched/base_slice_ns") == "24000000"


def test_faults_on_one_node_go_one_by_one(plan: LabPlan) -> None:
    for fault in OVERLAID:
        fault.plant(plan, "n1", Parameters())
    everything = differing(plan, "n1")
    fault_named("pcie-width").clear(plan, "n1")
    left = differing(plan, "n1")
    assert {path for path in everything if path not in left} == {path for path in everything if "pci" in path}
    for fault in OVERLAID:
        fault.clear(plan, "n1")
    assert entries(own(state.folder("a"), "n1")) == []


def test_what_is_planted_for_real(plan: LabPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[list[str], str]] = []

    def call(argv: list[str], *, stdin: str = "") -> str:
        said.append((argv, stdin))
        return ""

    monkeypatch.setattr(facts, "call", call)
    mount, sysctl = fault_named("mount"), fault_named("sysctl")
    for fault in (mount, sysctl):
        fault.plant(plan, "n2", Parameters())
        fault.clear(plan, "n2")
    (unmount, _), (remount, _), (_, planted), (tee, cleared) = said
    assert unmount[-3:] == ["umount", "-l", "/tmp/lab-scratch"]
    assert unmount[:2] == ["sh", f"{state.folder('a')}/ns/n2"]
    assert remount[-1].startswith("mountpoint -q /tmp/lab-scratch || { ")
    assert remount[-1].endswith("mount -t tmpfs -o size=16m,mode=1777 scratch /tmp/lab-scratch; }")
    assert (planted, cleared) == ("4096 131072 6291456\n", "4096 131072 33554432\n")
    assert tee == ["nsenter", "--net=/run/netns/st-a-n2", "--", "tee", "/proc/sys/net/ipv4/tcp_rmem"]
