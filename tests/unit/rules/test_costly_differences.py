"""Facts that cost bandwidth where one node differs, and boost frequencies that are no cap."""

from typing import Any

import msgspec
import pytest

from seatrial.model.facts import Core, NodeFacts, NumaNode, ProcessorFacts, Topology
from seatrial.model.hca import PortState
from seatrial.model.verdict import Finding, FindingKind
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.facts_examples import (
    CARD,
    all_alike,
    cluster,
    device,
    hca,
    hop,
    interface,
    odd,
    port,
    processor,
    server,
    system,
)
from tests.support.rule_cases import BRIDGE, firmware

GHZ = 1e9


def found(readings: Readings, kind: FindingKind) -> list[Finding]:
    return [one for one in fact_findings(readings) if one.kind is kind]


def kinds(readings: Readings) -> set[tuple[str, str]]:
    return {(one.kind.value, one.subject.text) for one in fact_findings(readings)}


# Frequencies.


def epyc(allowed: float = 3.0, able: float = 3.729492, **changes: Any) -> ProcessorFacts:
    """acpi-cpufreq with boost, as Linux reports it from 5.11 on."""
    whole = processor(
        frequency_driver="acpi-cpufreq",
        maximum_hz=(allowed * GHZ,) * 16,
        hardware_maximum_hz=(able * GHZ,) * 16,
        base_hz=None,
    )
    return msgspec.structs.replace(whole, **changes)


@pytest.mark.parametrize(("allowed", "able"), [(3.0, 3.729492), (2.45, 3.529052), (2.25, 3.4), (2.0, 3.35)])
@pytest.mark.parametrize("boost", [True, False])
@pytest.mark.parametrize("base_known", [True, False])
def test_a_boost_frequency_beyond_the_policy_is_no_cap(
    allowed: float, able: float, boost: bool, base_known: bool
) -> None:
    of_node = epyc(allowed, able, turbo=boost, base_hz=allowed * GHZ if base_known else None)
    assert fact_findings(all_alike(processor=of_node)) == []
    assert fact_findings(all_alike(1, processor=of_node)) == []


def test_a_policy_below_the_base_frequency_is_a_cap_with_boost_on_or_off() -> None:
    for boost in (True, False):
        readings = all_alike(processor=epyc(1.5, turbo=boost, base_hz=3.0 * GHZ))
        (finding,) = found(readings, FindingKind.FREQUENCY_CAPPED)
        assert "may run at 1.5 GHz at most and can at 3 GHz" in finding.statement


def test_where_the_base_frequency_is_unknown_the_peers_show_a_cap() -> None:
    facts = cluster(every={"processor": epyc()}, odd={"processor": epyc(1.5)})
    assert kinds(Readings(facts=facts)) == {("frequency-capped", "node:n2")}
    facts = cluster(every={"processor": epyc()}, odd={"processor": epyc(2.9)})
    assert kinds(Readings(facts=facts)) == set()


def test_boost_that_is_off_on_one_node_alone_is_named_as_that() -> None:
    facts = cluster(every={"processor": epyc()}, odd={"processor": epyc(turbo=False)})
    assert kinds(Readings(facts=facts)) == {("turbo-off", "node:n2")}


def test_other_drivers_can_allow_the_highest_frequency_and_a_processor_without_boost_what_the_driver_says() -> None:
    others = [
        epyc(3.0, frequency_driver=name) for name in ("intel_cpufreq", "intel_pstate", "amd-pstate", "cppc_cpufreq")
    ]
    for known in (*others, epyc(1.5, 3.0, turbo=None)):
        assert {one.kind for one in fact_findings(all_alike(processor=known))} == {FindingKind.FREQUENCY_CAPPED}


# NUMA modes of the BIOS.


def divided(per_package: int, packages: int = 2, mode: str = "") -> dict[str, Any]:
    """A topology of 16 cores with so many NUMA nodes for each package; 0: one for all."""
    nodes = per_package * packages or 1
    cores = tuple(
        Core(processors=(number,), package=number * packages // 16, numa_node=number * nodes // 16)
        for number in range(16)
    )
    topology = Topology(cores=cores, numa_nodes=tuple(NumaNode(index=number) for number in range(nodes)))
    return {
        "topology": topology,
        "numa_nodes": nodes,
        "sockets": packages,
        "system": system(firmware=firmware(cluster_mode=mode)),
    }


@pytest.mark.parametrize(
    ("usual", "other", "words"),
    [
        (divided(4, mode="nps4"), divided(1, mode="nps1"), "1 NUMA node per socket (nps1), where most of its peers"),
        (divided(1), divided(0), "1 NUMA node for 2 sockets, where most of its peers have 1 NUMA node per socket"),
        (divided(1), divided(2), "2 NUMA nodes per socket, where most of its peers have 1 NUMA node per socket"),
        (divided(2, 1, mode="snc2"), divided(1, 1), "have 2 NUMA nodes per socket (snc2)"),
    ],
)
def test_another_numa_mode_of_the_bios(usual: dict[str, Any], other: dict[str, Any], words: str) -> None:
    facts = cluster(5, every=usual, odd={**other, "hcas": (hca(numa_node=0),)})
    (finding,) = fact_findings(Readings(facts=facts))
    assert (finding.kind, finding.subject.text) == (FindingKind.FIRMWARE_MODE, "node:n2")
    assert words in finding.statement
    assert "BIOS" in finding.remedy


def test_a_mode_that_the_features_promise_is_a_choice() -> None:
    features = dict.fromkeys(("n1", "n3", "n4"), ("knl", "quad", "flat")) | {"n2": ("hemi", "cache")}
    facts = cluster(every={"system": system(firmware=firmware(cluster_mode="quadrant", memory_mode="flat"))})
    facts["n2"] = server("n2", system=system(firmware=firmware(cluster_mode="hemisphere", memory_mode="cache")))
    assert found(Readings(facts=facts, features=features), FindingKind.FIRMWARE_MODE) == []
    (finding,) = found(Readings(facts=facts), FindingKind.FIRMWARE_MODE)
    assert "the memory mode of its BIOS is cache, where most of its peers have flat" in finding.statement


def test_a_node_without_topology_has_no_mode() -> None:
    assert found(odd(topology=Topology()), FindingKind.FIRMWARE_MODE) == []


# Adapters.


def test_one_of_two_adapters_in_another_place() -> None:
    usual = (hca("mlx5_0", numa_node=1), hca("mlx5_1", numa_node=3))
    facts = cluster(6, every={"hcas": usual}, odd={"hcas": (usual[0], hca("mlx5_1", numa_node=0))})
    (finding,) = found(Readings(facts=facts), FindingKind.ADAPTER_PLACE_DIFFERS)
    assert finding.statement == "Node n2: the NUMA node of mlx5_1 is 0, where most of its peers have 3."


def test_an_ethernet_card_in_another_place() -> None:
    def of_node(numa: int) -> dict[str, Any]:
        card = msgspec.structs.replace(device(CARD, names=("eth0",)), numa_node=numa)
        return {"hcas": (), "interfaces": (interface(pci_address=CARD),), "pci": (card,)}

    facts = cluster(every=of_node(1), odd=of_node(0))
    assert kinds(Readings(facts=facts)) == {("adapter-place-differs", "node:n2")}


def test_a_missing_adapter_is_not_also_in_another_place() -> None:
    usual = (hca("mlx5_0", numa_node=1), hca("mlx5_1", numa_node=3))
    facts = cluster(every={"hcas": usual}, odd={"hcas": (hca("mlx5_0", numa_node=3),)})
    assert kinds(Readings(facts=facts)) == {("hca-missing", "node:n2")}


def reads(size: int) -> dict[str, Any]:
    return {"pci": (device(CARD, hop(BRIDGE), own=hop(CARD, max_read_request_bytes=size)), *server().pci[1:])}


@pytest.mark.parametrize(("usual", "other"), [(4096, 512), (512, 256), (4096, 128)])
def test_smaller_read_requests_than_those_of_the_peers(usual: int, other: int) -> None:
    facts = cluster(every=reads(usual), odd=reads(other))
    (finding,) = found(Readings(facts=facts), FindingKind.PCIE_READ_REQUEST_SMALL)
    assert f"at most {other} bytes in a read request, where most of its peers ask for {usual}" in finding.statement


def test_small_read_requests_of_all_fast_adapters_are_one_finding() -> None:
    (finding,) = found(all_alike(**reads(128)), FindingKind.PCIE_READ_REQUEST_SMALL)
    assert finding.subject.text == "cluster:all"
    slow = hca("mlx5_0", port(data_bits_per_s=25e9))
    assert found(all_alike(**reads(128), hcas=(slow,)), FindingKind.PCIE_READ_REQUEST_SMALL) == []


@pytest.mark.parametrize(("model", "named"), [(0x101B, True), (0x101D, False)])
def test_another_device_in_the_place_asks_for_its_own_sizes(model: int, *, named: bool) -> None:
    """Same address, another model: only its default could be wrong."""
    usual, other = reads(4096), reads(512)
    card = msgspec.structs.replace(other["pci"][0], device=model)
    facts = cluster(every=usual, odd={"pci": (card, *other["pci"][1:])})
    assert bool(found(Readings(facts=facts), FindingKind.PCIE_READ_REQUEST_SMALL)) is named


def test_larger_read_requests_than_those_of_the_peers_cost_nothing() -> None:
    assert found(Readings(facts=cluster(every=reads(512), odd=reads(4096))), FindingKind.PCIE_READ_REQUEST_SMALL) == []


# Networks.


def ipoib(**mtus: int) -> dict[str, Any]:
    others = (interface(name, link_type=32, mtu_bytes=mtu, speed_bits_per_s=None) for name, mtu in mtus.items())
    return {"interfaces": (interface(), *others)}


def mtu_findings(facts: dict[str, NodeFacts]) -> list[str]:
    return [one.statement for one in found(Readings(facts=facts), FindingKind.MTU_DIFFERS)]


@pytest.mark.parametrize(
    ("usual", "other", "words"),
    [
        (2044, 65520, "MTU 65520 on ib0 (connected mode), where its peers have 2044 (datagram mode)"),
        (65520, 2044, "MTU 2044 on ib0 (datagram mode), where its peers have 65520 (connected mode)"),
        (4092, 2044, "MTU 2044 on ib0 (datagram mode), where its peers have 4092 (datagram mode)"),
    ],
)
def test_another_mode_or_mtu_of_ip_over_infiniband(usual: int, other: int, words: str) -> None:
    assert mtu_findings(cluster(5, every=ipoib(ib0=usual), odd=ipoib(ib0=other))) == [f"Node n2: {words}."]


def test_two_networks_over_infiniband_may_have_two_mtus() -> None:
    assert mtu_findings(cluster(every=ipoib(ib0=2044, ib1=65520))) == []
    (said,) = mtu_findings(cluster(every=ipoib(ib0=2044, ib1=65520), odd=ipoib(ib0=65520, ib1=65520)))
    assert "on ib0" in said
    (said,) = mtu_findings(cluster(every=ipoib(ib0=2044), odd=ipoib(ibp65s0=65520)))
    assert "on ibp65s0" in said


def test_ethernet_and_infiniband_are_not_compared_with_each_other() -> None:
    assert mtu_findings(cluster(every=ipoib(ib0=2044))) == []


def test_another_subnet_manager_on_one_port_of_two() -> None:
    usual = (hca("mlx5_0", port()), hca("mlx5_1", port(subnet_manager_lid=9)))
    other = (usual[0], hca("mlx5_1", port(subnet_manager_lid=4)))
    facts = cluster(5, every={"hcas": usual}, odd={"hcas": other})
    (finding,) = found(Readings(facts=facts), FindingKind.SUBNET_MANAGER_DIFFERS)
    assert "port mlx5_1/1 is 4, where most of its peers have 9" in finding.statement


@pytest.mark.parametrize("lid", [0, 65535])
def test_no_lid_is_not_another_subnet_manager(lid: int) -> None:
    assert kinds(odd(hcas=(hca("mlx5_0", port(subnet_manager_lid=lid)),))) == {("no-subnet-manager", "node:n2")}


def test_a_port_that_is_down_remembers_nothing() -> None:
    asleep = port(state=PortState.DOWN, physical_state="Polling", subnet_manager_lid=7, data_bits_per_s=None)
    assert found(odd(hcas=(hca("mlx5_0", asleep),)), FindingKind.SUBNET_MANAGER_DIFFERS) == []


def test_several_at_once_on_two_nodes() -> None:
    facts = cluster(6, every=reads(4096))
    facts["n2"] = server("n2", **reads(512), hcas=(hca("mlx5_0", port(subnet_manager_lid=5)),))
    facts["n5"] = server("n5", **reads(4096), hcas=(hca(numa_node=0),))
    assert kinds(Readings(facts=facts)) == {
        ("pcie-read-request-small", "node:n2"),
        ("subnet-manager-differs", "node:n2"),
        ("adapter-place-differs", "node:n5"),
    }


def test_smt_is_as_the_features_promise_whatever_the_partners_have() -> None:
    def kinds(features: dict[str, tuple[str, ...]]) -> list[str]:
        facts = cluster(every={"processor": processor(smt_active=False)}, odd={"processor": processor(smt_active=True)})
        return [f"{one.kind} {one.subject.name}" for one in fact_findings(Readings(facts=facts, features=features))]

    assert kinds({}) == ["smt-differs n2"]
    assert kinds({"n2": ("smt",)}) == []
    assert kinds({"n2": ("nosmt",)}) == ["firmware-mode n2"]
    assert kinds({"n2": ("smt",), "n3": ("ht_on", "milan")}) == ["firmware-mode n3"]
