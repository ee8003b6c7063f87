"""Nodes that alone have another subnet, slot, name of an adapter, layout of modules, or SMT."""

from typing import Any

import msgspec
import pytest

from seatrial.drift.comparison import drift
from seatrial.model.facts import NumaNode, PciKind, Topology
from seatrial.model.hca import PortState
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.facts_examples import (
    all_alike,
    cluster,
    device,
    dimm,
    hca,
    hop,
    memory,
    odd,
    port,
    processor,
    server,
)

FIRST, SECOND = "fe80:0000:0000:0000", "fec0:0000:0000:0002"


def kinds(readings: Readings) -> set[tuple[str, str]]:
    return {(one.kind.value, one.subject.text) for one in fact_findings(readings)}


def in_subnet(prefix: str) -> dict[str, Any]:
    return {"hcas": (hca("mlx5_0", port(subnet_prefix=prefix)),)}


def test_a_port_alone_in_another_subnet() -> None:
    facts = cluster(every=in_subnet(FIRST), odd=in_subnet(SECOND))
    assert kinds(Readings(facts=facts)) == {("subnet-manager-differs", "node:n2")}
    assert [one.fact for one in drift(facts)] == ["hcas.mlx5_0.ports.1.subnet_prefix"]


def test_an_island_of_several_nodes_is_a_design() -> None:
    facts = cluster(8, every=in_subnet(FIRST))
    facts |= {name: server(name, **in_subnet(SECOND)) for name in ("n2", "n3", "n4")}
    assert kinds(Readings(facts=facts)) == set()


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"numa_node": 0}, "adapter-place-differs", "the NUMA node of ibp161s0 is 0, where most of its peers have 1"),
        (
            {"ports": (port(data_bits_per_s=100e9),)},
            "port-rate-differs",
            "the data rate of port ibp161s0/1 is 100 Gb/s, where most of its peers have 200 Gb/s",
        ),
        (
            {"ports": (port(state=PortState.DOWN, physical_state="Polling", data_bits_per_s=None),)},
            "port-down",
            "port ibp161s0/1 is DOWN (Polling), where most of its peers have ACTIVE",
        ),
    ],
)
def test_an_adapter_named_after_its_slot_is_compared_with_those_in_other_slots(
    changes: dict[str, Any], kind: str, words: str
) -> None:
    facts = cluster(every={"hcas": (hca("ibp97s0"),)}, odd={"hcas": (hca("ibp161s0", **changes),)})
    (finding,) = fact_findings(Readings(facts=facts))
    assert (finding.kind.value, finding.subject.text) == (kind, "node:n2")
    assert finding.statement == f"Node n2: {words}."
    moved = cluster(every={"hcas": (hca("ibp97s0"),)}, odd={"hcas": (hca("ibp161s0"),)})
    assert fact_findings(Readings(facts=moved)) == []


def test_a_slot_with_fewer_lanes_than_on_the_peers() -> None:
    def of_node(lanes: int) -> dict[str, Any]:
        card = "0000:81:00.0"
        narrow = hop(card, current_width=lanes)
        gpu = device(card, hop("0000:80:01.0", width=lanes), own=narrow, kind=PciKind.GPU, vendor=0x10DE)
        return {"pci": (*server().pci, gpu)}

    facts = cluster(every=of_node(16), odd=of_node(8))
    assert kinds(Readings(facts=facts)) == {("pcie-link-degraded", "node:n2")}
    assert kinds(Readings(facts=cluster(every=of_node(8), odd=of_node(16)))) == set()
    narrow = of_node(8)["pci"]
    other = msgspec.structs.replace(narrow[-1], device=0x1234)  # a card of another model may have fewer lanes
    assert kinds(Readings(facts=cluster(every=of_node(16), odd={"pci": (*narrow[:-1], other)}))) == set()


def test_fewer_filled_channels_where_empty_slots_are_not_listed() -> None:
    full = tuple(dimm(channel, 0) for channel in "ABCDEFGH")
    half = tuple(dimm(channel, 0, 64) for channel in "ABCD")
    facts = cluster(every={"memory": memory(dimms=full)}, odd={"memory": memory(dimms=half)})
    assert kinds(Readings(facts=facts)) == {("memory-channel-empty", "node:n2")}
    facts = cluster(every={"memory": memory(dimms=half)}, odd={"memory": memory(dimms=full)})
    assert kinds(Readings(facts=facts)) == set()


def test_as_much_memory_in_other_numa_nodes() -> None:
    def of_node(*gib: float) -> dict[str, Any]:
        parts = tuple(NumaNode(index=index, memory_bytes=int(each * 2**30)) for index, each in enumerate(gib))
        return {"topology": Topology(cores=server().topology.cores, numa_nodes=parts)}

    facts = cluster(every=of_node(64, 64), odd=of_node(96, 32))
    assert kinds(Readings(facts=facts)) == {("memory-differs", "node:n2")}
    assert kinds(Readings(facts=cluster(every=of_node(64, 64), odd=of_node(63, 64)))) == set()
    assert kinds(Readings(facts=cluster(2, every=of_node(64, 64), odd=of_node(96, 32)))) == set()


def test_smt_where_the_kernel_does_not_say_it() -> None:
    silent = {"processor": processor(smt_active=None)}
    facts = cluster(every=silent, odd={"processors": 32})
    assert kinds(Readings(facts=facts)) == {("smt-differs", "node:n2")}
    assert kinds(Readings(facts=cluster(every=silent))) == set()
    assert kinds(odd(processor=processor(smt_active=None))) == set()


def test_a_boost_frequency_is_no_cap_where_nothing_says_that_boost_is_on() -> None:
    epyc = processor(
        frequency_driver="acpi-cpufreq",
        maximum_hz=(3.0e9,) * 16,
        hardware_maximum_hz=(3.729492e9,) * 16,
        base_hz=3.0e9,
        turbo=None,
    )
    assert kinds(all_alike(processor=epyc)) == set()
    capped = msgspec.structs.replace(epyc, maximum_hz=(2.6e9,) * 16)
    facts = cluster(every={"processor": epyc}, odd={"processor": capped})
    assert kinds(Readings(facts=facts)) == {("frequency-capped", "node:n2")}
