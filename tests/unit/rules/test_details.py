"""Single rules on the cases that are easy to get wrong."""

from typing import Any

import msgspec
import pytest

from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice, PciHop, PciKind
from seatrial.model.hca import PortState
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import Finding, FindingKind
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from seatrial.rules.mounts import autofs_places, lasting_mounts
from seatrial.rules.pcie import path_rate
from tests.support.facts_examples import (
    CARD,
    all_alike,
    cluster,
    device,
    dimm,
    hca,
    hop,
    interface,
    memory,
    mount,
    odd,
    port,
    processor,
    server,
    settings,
    system,
)

UPSTREAM, DOWNSTREAM, ROOT = "0000:41:00.0", "0000:42:00.0", "0000:40:01.0"


def of(kind: str, readings: Readings) -> list[Finding]:
    return [one for one in fact_findings(readings) if one.kind is kind]


def degraded(*devices: PciDevice) -> list[Finding]:
    return of(FindingKind.PCIE_LINK_DEGRADED, odd(pci=devices))


def test_the_link_of_the_recorded_bridge_raises_no_alarm_and_one_step_lower_does() -> None:
    def drive(width: int) -> PciDevice:
        bridge = hop("0000:00:02.1", speed=8e9, width=8, current_width=width)
        own = hop("0000:01:00.0", speed=16e9, width=4, current_transfers_per_s=8e9, current_width=width)
        return device("0000:01:00.0", bridge, own=own, kind=PciKind.NVME)

    assert degraded(drive(4)) == []
    (finding,) = degraded(drive(2))
    assert "8.0 GT/s x2, where both ends support 8.0 GT/s x4" in finding.statement


def test_a_gpu_may_be_slow_at_idle_and_not_narrow() -> None:
    def gpu(**state: Any) -> PciDevice:
        return device("0000:81:00.0", hop("0000:80:01.0", **state), own=hop("0000:81:00.0", **state), kind=PciKind.GPU)

    assert degraded(gpu(current_transfers_per_s=2.5e9)) == []
    assert len(degraded(gpu(current_width=8))) == 1


def test_the_link_above_a_switch_is_told_once_for_all_that_hang_below() -> None:
    upper, lower = hop(ROOT, current_width=8), hop(UPSTREAM, current_width=8)
    below = [device(f"0000:4{place}:00.0", upper, lower, hop(f"0000:42:0{place}.0")) for place in (3, 4)]
    (finding,) = degraded(*below)
    assert finding.statement.count("x8, where both ends support 16.0 GT/s x16") == 1
    assert f"{ROOT} to {UPSTREAM}" in finding.statement


def test_ends_that_disagree_or_are_unknown_are_no_evidence() -> None:
    assert degraded(device(CARD, hop(ROOT, current_width=1), own=hop(CARD, current_width=8))) == []
    assert degraded(device(CARD, PciHop(address=ROOT), own=hop(CARD, current_width=8))) == []
    assert degraded(device(CARD, own=hop(CARD, current_width=8), virtual_function=True)) == []


def test_eight_lanes_of_the_second_generation_equal_qdr() -> None:
    slot = device(CARD, hop(ROOT, speed=5e9, width=8), own=hop(CARD, speed=5e9, width=8))
    assert path_rate(slot) == 32e9
    qdr = all_alike(hcas=(hca("mlx4_0", port(data_bits_per_s=32e9)),), pci=(slot,))
    assert of(FindingKind.PCIE_STARVES_PORT, qdr) == []
    third = device(CARD, hop(ROOT, speed=8e9, width=4), own=hop(CARD, speed=8e9, width=4))
    assert of(FindingKind.PCIE_STARVES_PORT, all_alike(hcas=qdr.facts["n1"].hcas, pci=(third,))) == []
    (finding,) = of(FindingKind.PCIE_STARVES_PORT, all_alike(hcas=(hca("a", port(data_bits_per_s=40e9)),), pci=(slot,)))
    assert finding.subject == CLUSTER
    assert "PCIe lets 32 Gb/s through" in finding.statement
    assert "whose port runs at 40 Gb/s" in finding.statement


def test_a_link_that_trained_low_is_not_told_twice() -> None:
    narrow = device(CARD, hop(ROOT, current_width=2), own=hop(CARD, current_width=2))
    found = fact_findings(odd(pci=(narrow, *server().pci[1:])))
    assert [one.kind for one in found] == [FindingKind.PCIE_LINK_DEGRADED]


def test_an_ethernet_card_can_be_starved_too() -> None:
    slot = device(CARD, hop(ROOT, speed=5e9, width=1), own=hop(CARD, speed=5e9, width=1))
    fast = interface(pci_address=CARD)
    assert len(of(FindingKind.PCIE_STARVES_PORT, odd(hcas=(), pci=(slot,), interfaces=(fast,)))) == 1


@pytest.mark.parametrize(
    ("driver", "governor", "preference", "good"),
    [
        ("intel_pstate", "powersave", "performance", True),
        ("amd-pstate-epp", "powersave", "performance", True),
        ("", "powersave", "performance", True),
        ("intel_pstate", "powersave", "balance_performance", False),
        ("intel_cpufreq", "powersave", "performance", False),
        ("acpi-cpufreq", "ondemand", None, False),
        ("acpi-cpufreq", "performance", None, True),
        ("intel_pstate", "performance", "balance_power", True),
    ],
)
def test_governors(driver: str, governor: str, preference: str | None, good: bool) -> None:
    facts = processor(
        frequency_driver=driver, governors={governor: 16}, energy_preferences={preference: 16} if preference else {}
    )
    assert (of(FindingKind.GOVERNOR, odd(processor=facts)) == []) is good


def test_a_governor_of_some_processors() -> None:
    (finding,) = of(FindingKind.GOVERNOR, odd(processor=processor(governors={"performance": 13, "powersave": 3})))
    assert "governor powersave on 3 of 16 processors" in finding.statement


def test_a_port_that_awaits_its_manager_is_not_called_down() -> None:
    waiting = port(state=PortState.INIT, data_bits_per_s=None)
    found = fact_findings(odd(hcas=(hca("mlx5_0", waiting),)))
    assert [one.kind for one in found] == [FindingKind.NO_SUBNET_MANAGER]
    (finding,) = fact_findings(all_alike(16, hcas=(hca("mlx5_0", port(subnet_manager_lid=0)),)))
    assert (finding.kind, finding.subject) == (FindingKind.NO_SUBNET_MANAGER, CLUSTER)


def test_a_second_port_that_nobody_uses_is_no_fault() -> None:
    second = port(number=2, state=PortState.DOWN, physical_state="Disabled", data_bits_per_s=None)
    assert fact_findings(all_alike(hcas=(hca("mlx5_0", port(), second),))) == []


@pytest.mark.parametrize(
    ("counter", "serious"), [("link_downed", True), ("port_xmit_wait", False), ("port_rcv_data", False)]
)
def test_only_serious_counters_count(counter: str, serious: bool) -> None:
    before, after = (hca("mlx5_0", port(counters={counter: count})) for count in (65535, 65536))
    facts = cluster(every={"hcas": (before,)})
    later = cluster(every={"hcas": (after,)})
    found = of(FindingKind.ERROR_COUNTERS_RISING, Readings(facts=facts, after={**facts, "n3": later["n3"]}))
    assert [one.subject for one in found] == ([node("n3")] if serious else [])


def test_a_counter_that_fell_or_is_new_has_not_risen() -> None:
    for counters in ({"symbol_error": 1}, {"symbol_error": 7, "port_rcv_errors": 9}):
        later = {"hcas": (hca("mlx5_0", port(counters=counters)),)}
        assert of(FindingKind.ERROR_COUNTERS_RISING, odd(after=later)) == []


def test_errors_of_an_ethernet_interface_count_and_drops_do_not() -> None:
    def rising(name: str) -> list[Finding]:
        return of(FindingKind.ERROR_COUNTERS_RISING, odd(after={"interfaces": (interface(errors={name: 4}),)}))

    (finding,) = rising("rx_errors")
    assert "rx_errors of eth0 rose by 1" in finding.statement
    assert rising("rx_dropped") == []


@pytest.mark.parametrize(
    ("cards", "named"),
    [
        ((interface(state="down", speed_bits_per_s=None, driver="i40e"),), True),
        ((interface(state="down", speed_bits_per_s=None, driver=""),), False),  # a bridge of containers
        ((interface(state="up", speed_bits_per_s=None, driver="virtio_net"),), False),
        ((interface(state="down", driver="i40e"), interface("eth1", driver="i40e")), False),
        ((), False),
    ],
)
def test_cards_that_are_all_down(cards: tuple[NetworkInterface, ...], *, named: bool) -> None:
    usual = {"interfaces": (interface(driver="i40e"),), "hcas": ()}
    facts = cluster(5, {"interfaces": cards}, usual)
    findings = of(FindingKind.INTERFACE_SPEED_DIFFERS, Readings(facts=facts))
    assert [(each.subject.name, "all are down" in each.statement) for each in findings] == [("n2", True)] * named
    mostly = cluster(5, usual, {"interfaces": cards, "hcas": ()})
    assert of(FindingKind.INTERFACE_SPEED_DIFFERS, Readings(facts=mostly)) == []


def test_adapters_are_counted_whatever_their_drivers() -> None:
    two = (hca("mlx5_0"), hca("mlx5_1"))
    (finding,) = of(FindingKind.HCA_MISSING, Readings(facts=cluster(every={"hcas": two}) | {"n2": server("n2")}))
    assert "the number of its adapters is 1, where most of its peers have 2" in finding.statement
    for driver in ("", "mlx4_core"):
        other = server("n2", hcas=(hca("mlx5_0", driver=driver), hca("mlx5_1")))
        assert of(FindingKind.HCA_MISSING, Readings(facts=cluster(every={"hcas": two}) | {"n2": other})) == []


def drives(*makers: int) -> tuple[PciDevice, ...]:
    return tuple(
        device(f"0000:0{at}:00.0", kind=PciKind.NVME, vendor=maker, device=1)
        for at, maker in enumerate(makers, start=1)
    )


@pytest.mark.parametrize(
    ("makers", "lacks"),
    [((0x144D, 0x144D), False), ((0x144D, 0x1C5C), False), ((0x1C5C, 0x1C5C), False),
     ((0x144D,), True), ((0x1C5C,), True), ((), True), ((0x144D, 0x144D, 0x1C5C), False)],
)  # fmt: skip
def test_a_drive_of_another_maker_is_not_missing(makers: tuple[int, ...], *, lacks: bool) -> None:
    usual = (device(CARD), *drives(0x144D, 0x144D))
    facts = cluster(5, {"pci": (device(CARD), *drives(*makers))}, {"pci": usual})
    assert [each.subject.name for each in of(FindingKind.DEVICE_MISSING, Readings(facts=facts))] == ["n2"] * lacks
    half = {name: msgspec.structs.replace(node, pci=drives(*(0x100 + int(name[1:]) // 3,) * 2))
            for name, node in cluster(5).items()}  # fmt: skip
    assert of(FindingKind.DEVICE_MISSING, Readings(facts=half)) == []


def test_the_adapter_is_near_if_one_of_several_is() -> None:
    far = processor(allowed=(0, 1))
    (finding,) = of(FindingKind.NIC_FAR_FROM_RANKS, all_alike(processor=far))
    assert finding.subject == CLUSTER
    assert "are on socket 0, and mlx5_0 on socket 1" in finding.statement
    near = (hca("mlx5_0"), hca("mlx5_1", numa_node=0))
    unknown = (hca("mlx5_0"), hca("mlx5_1", numa_node=None))
    for hcas in (near, unknown):
        assert of(FindingKind.NIC_FAR_FROM_RANKS, all_alike(processor=far, hcas=hcas)) == []


def test_without_an_adapter_the_fabric_interface_counts() -> None:
    card = device("0000:01:00.0", numa_node=1)
    facts: dict[str, Any] = {"hcas": (), "interfaces": (interface(pci_address="0000:01:00.0"),), "pci": (card,)}
    assert len(of(FindingKind.NIC_FAR_FROM_RANKS, all_alike(processor=processor(allowed=(0,)), **facts))) == 1


def test_processors_that_the_topology_does_not_know_are_no_evidence() -> None:
    assert of(FindingKind.NIC_FAR_FROM_RANKS, all_alike(processor=processor(allowed=(0, 64)))) == []


def test_a_node_that_is_better_than_its_peers_is_well() -> None:
    facts = cluster(every={"processor": processor(turbo=False)}) | {"n2": server("n2")}
    assert fact_findings(Readings(facts=facts)) == []


def test_packets_greater_than_the_peers_are_no_fault() -> None:
    def card(payload: int) -> dict[str, Any]:
        return {"pci": (device(CARD, own=hop(CARD, max_payload_bytes=payload)), *server().pci[1:])}

    facts = cluster(every=card(128)) | {"n2": server("n2", **card(256))}
    assert fact_findings(Readings(facts=facts)) == []


def test_the_rate_of_a_port_that_is_down_means_nothing() -> None:
    down = port(number=2, state=PortState.DOWN, physical_state="Polling", data_bits_per_s=8e9)
    facts = cluster(every={"hcas": (hca("mlx5_0", port(), port(number=2)),)})
    facts["n2"] = server("n2", hcas=(hca("mlx5_0", port(), down),))
    assert [one.kind for one in fact_findings(Readings(facts=facts))] == [FindingKind.PORT_DOWN]


def test_another_kernel_has_its_own_words_for_mitigations() -> None:
    words = processor(mitigations={"meltdown": "Mitigation: Clear CPU buffers and more"})
    assert [one.kind for one in fact_findings(odd(kernel="6.8", processor=words))] == [FindingKind.KERNEL_DIFFERS]


def test_a_command_line_that_is_not_told_lacks_nothing() -> None:
    assert fact_findings(odd(settings=settings(command_line=""))) == []


def test_memory_errors_that_are_corrected_meanwhile() -> None:
    (finding,) = fact_findings(odd(after={"memory": memory(corrected_errors=9)}))
    assert "4 memory errors were corrected" in finding.statement


def test_all_channels_empty_but_one_socket_full() -> None:
    dimms = (dimm("A", 0), dimm("B", 0), dimm("A", 1, 0), dimm("B", 1, 0))
    assert of(FindingKind.MEMORY_CHANNEL_EMPTY, all_alike(memory=memory(dimms=dimms))) == []
    (finding,) = of(FindingKind.MEMORY_CHANNEL_EMPTY, odd(memory=memory(dimms=dimms)))
    assert "the number of its filled memory channels is 2, where most of its peers have 4" in finding.statement


def test_memory_that_is_slow_everywhere_is_one_finding() -> None:
    dimms = tuple(dimm(channel, 0, configured=2933e6) for channel in "AB")
    (finding,) = fact_findings(all_alike(16, memory=memory(dimms=dimms)))
    assert (finding.kind, finding.subject) == (FindingKind.MEMORY_SLOW, CLUSTER)
    assert "2 memory modules run at 2933 MT/s, rated 3200 MT/s" in finding.statement


@pytest.mark.parametrize(
    ("model", "configured", "named"),
    [
        (85, 2933e6, False),  # Cascade Lake: no model of the line is faster
        (85, 2904e6, False),
        (85, 2666e6, True),
        (106, 2933e6, True),  # Ice Lake allows 3200 MT/s
        (106, 3200e6, False),
    ],
)
def test_modules_that_are_faster_than_the_processor_are_not_slow(model: int, configured: float, *, named: bool) -> None:
    seen = processor(vendor="GenuineIntel", family=6, model_number=model, stepping=7)
    name = "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz" if model == 85 else "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz"
    modules = memory(dimms=(dimm("A", 0, configured=configured), dimm("B", 0, configured=configured)))
    facts = cluster(1, {}, {"processor": seen, "cpu_model": name, "memory": modules})
    kinds = [finding.kind for finding in fact_findings(Readings(facts=facts))]
    assert (FindingKind.MEMORY_SLOW in kinds) is named


def test_a_thread_that_is_offline() -> None:
    smt = processor(smt_active=True)
    facts = cluster(every={"processor": smt, "processors": 32})
    facts["n2"] = server("n2", processor=smt, processors=31)
    (finding,) = fact_findings(Readings(facts=facts))
    assert finding.kind is FindingKind.CORES_DIFFER
    assert "31, where most of its peers have 32" in finding.statement


def test_what_autofs_mounts_comes_and_goes() -> None:
    asleep = system(mounts=(mount("/", "ext4"), mount("/net/home", "autofs")))
    awake = system(
        mounts=(mount("/", "ext4"), mount("/net/home", "autofs"), mount("/net/home/kim"), mount("/net/home"))
    )
    facts = cluster(every={"system": awake}) | {"n2": server("n2", system=asleep)}
    assert fact_findings(Readings(facts=facts)) == []
    places = autofs_places(facts.values())
    assert places == ("/net/home/",)
    assert set(lasting_mounts(awake.mounts, places)) == {"/", "/net/home"}


def test_a_file_system_that_became_read_only() -> None:
    mounts = server().system.mounts
    readings = odd(system=system(mounts=(mount("/", "ext4", "ro", "hard"), *mounts[1:])))
    (finding,) = of(FindingKind.MOUNT_OPTIONS_DIFFER, readings)
    assert "/ is mounted as ext4 with ro and without rw" in finding.statement


def test_a_mount_that_answers_nobody_is_one_thing() -> None:
    dead = system(mounts=(mount("/scratch", "lustre", reachable=False),), paths={"/scratch": False, "/gone": False})
    (finding,) = of(FindingKind.MOUNT_DEAD, all_alike(2, system=dead))[:1]
    assert finding.subject == CLUSTER
    assert "/scratch is mounted and does not answer" in finding.statement
    assert len(of(FindingKind.MOUNT_DEAD, all_alike(2, system=dead))) == 2


def test_slurms_words_for_modes_are_understood() -> None:
    def found(*words: str) -> list[str]:
        return [one.kind for one in fact_findings(Readings(facts={"n1": server()}, features={"n1": words}))]

    assert found("knl", "quad", "cache") == []
    assert found("CACHE") == []
    assert found("flat") == [FindingKind.FIRMWARE_MODE]
    assert found("snc4") == [FindingKind.FIRMWARE_MODE]
    assert found("flat", "cache", "a2a", "quad") == []
    assert found("snc2", "snc4") == []
    assert found("big", "fast") == []


def test_a_virtual_machine_has_none_of_it_and_no_finding() -> None:
    machine = NodeFacts(
        hostname="v",
        complete=True,
        boot_id="b",
        processors=2,
        cores=2,
        memory_bytes=8 << 30,
        interfaces=(interface(speed_bits_per_s=None, duplex="", errors={}),),
        pci=(PciDevice(address="0000:00:03.0", kind=PciKind.NETWORK, path=(PciHop(address="0000:00:03.0"),)),),
    )
    facts = dict.fromkeys(("n1", "n2", "n3"), machine)
    assert fact_findings(Readings(facts=facts, after=facts)) == []
