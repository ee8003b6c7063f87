"""What a node of the lab says of itself, through Slurm and facts.sh, and what each fault of fact makes of it."""

from collections.abc import Callable, Mapping

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.sysroot import CARD, ROOT_PORT
from seatrial.lab.faults.base import Parameters
from seatrial.launch.collector import collector
from seatrial.model.facts import NodeFacts
from seatrial.node.frame import parse_frame
from seatrial.node.node import node_facts
from seatrial.process.process import Completed, run

pytestmark = pytest.mark.lab
InLab = Callable[..., Completed]

BASE: Mapping[str, object] = {
    "governors": {"performance"},
    "widths": [(ROOT_PORT, 8), (CARD, 8)],
    "bios": ("2.4.1", "03/14/2023"),
    "scratch": True,
    "slice": "2800000",
    "tcp_rmem": ["4096", "131072", "33554432"],
}


def read(plan: LabPlan, host: str) -> NodeFacts:
    """A node's facts as the steps of a check collect them; the login node's as somebody logged in there would."""
    step = [] if host == "login" else ["srun", "-N1", "-w", host]
    done = run(as_user(plan, [*step, "sh", "-s"]), timeout_s=60, stdin=collector())
    facts = node_facts(parse_frame(done.stdout))
    assert facts.hostname == host, done.stderr
    assert facts.complete
    return facts


def told(facts: NodeFacts) -> dict[str, object]:
    """What the faults of fact change."""
    cards = [device for device in facts.pci if "eth0" in device.names]
    return {
        "governors": set(facts.processor.governors),
        "widths": [(hop.address, hop.current_width) for device in cards for hop in device.path],
        "bios": (facts.system.firmware.bios_version, facts.system.firmware.bios_date),
        "scratch": any(mount.path == "/tmp/lab-scratch" for mount in facts.system.mounts),
        "slice": facts.settings.scheduler.get("base_slice_ns"),
        "tcp_rmem": facts.settings.sysctls.get("net.ipv4.tcp_rmem", "").split(),
    }


def test_every_host_says_the_same_of_its_made_up_hardware(lab4: LabPlan) -> None:
    for host in ("login", "n1", "n4"):
        facts = read(lab4, host)
        assert told(facts) == BASE
        assert facts.processor.governors == {"performance": facts.processors}
        assert facts.processor.frequency_driver == "acpi-cpufreq"
        assert set(facts.processor.hardware_maximum_hz) == {3.4e9}


def test_the_card_carries_eth0_whose_link_is_the_labs(lab4: LabPlan) -> None:
    facts = read(lab4, "n2")
    (card,) = [device for device in facts.pci if device.address == CARD]
    assert (card.kind, card.driver, card.numa_node, card.names) == ("network", "i40e", 0, ("eth0",))
    assert [hop.current_transfers_per_s for hop in card.path] == [8e9, 8e9]
    assert [hop.max_width for hop in card.path] == [8, 8]
    link = facts.fabric_interface
    assert link is not None
    assert (link.name, link.pci_address, link.driver) == ("eth0", CARD, "i40e")
    assert (link.speed_bits_per_s, link.mtu_bytes) == (1e9, 1500)


@pytest.mark.parametrize(
    ("kind", "fact", "value"),
    [
        ("governor", "governors", {"powersave"}),
        ("pcie-width", "widths", [(ROOT_PORT, 4), (CARD, 4)]),
        ("firmware", "bios", ("2.1.8", "06/02/2021")),
        ("mount", "scratch", False),
        ("scheduler-granularity", "slice", "24000000"),
        ("sysctl", "tcp_rmem", ["4096", "131072", "6291456"]),
    ],
)
def test_a_planted_fact_is_told_by_its_node_alone(lab4: LabPlan, kind: str, fact: str, value: object) -> None:
    planting.plant(lab4.name, kind, "n3", Parameters())
    assert told(read(lab4, "n3")) == {**BASE, fact: value}
    assert told(read(lab4, "n2")) == BASE
    planting.clear(lab4.name)
    assert told(read(lab4, "n3")) == BASE


def test_all_of_them_befall_one_node_and_go_one_by_one(lab4: LabPlan) -> None:
    kinds = ("governor", "pcie-width", "firmware", "mount", "scheduler-granularity", "sysctl")
    for kind in kinds:
        planting.plant(lab4.name, kind, "n1", Parameters())
    planted = told(read(lab4, "n1"))
    assert all(planted[fact] != BASE[fact] for fact in BASE)
    for left, kind in reversed(list(enumerate(kinds))):
        planting.clear(lab4.name, "n1", kind)
        now = told(read(lab4, "n1"))
        assert sum(now[fact] != BASE[fact] for fact in BASE) == left
    assert now == BASE


def test_a_hosts_own_facts_cannot_be_seen_by_another(lab4: LabPlan, in_lab: InLab) -> None:
    planting.plant(lab4.name, "governor", "n3", Parameters())
    for host, count in (("n3", True), ("n2", False), ("login", False)):
        listing = in_lab(lab4, ["sh", "-c", 'ls "${SEATRIAL_SYSROOT%%:*}"'], host=host).stdout
        assert bool(listing) is count


def test_the_scratch_file_system_is_lost_even_where_it_is_used(lab4: LabPlan, in_lab: InLab) -> None:
    in_lab(lab4, ["sh", "-c", "sleep 30 < /dev/null > /tmp/lab-scratch/held 2>&1 &"], host="n4")
    planting.plant(lab4.name, "mount", "n4", Parameters())
    assert in_lab(lab4, ["mountpoint", "-q", "/tmp/lab-scratch"], host="n4").returncode != 0
    planting.clear(lab4.name)
    assert in_lab(lab4, ["mountpoint", "-q", "/tmp/lab-scratch"], host="n4").returncode == 0
    assert in_lab(lab4, ["mountpoint", "-q", "/tmp/lab-scratch"], host="n3").returncode == 0
