"""The sysinfo file of a site: what maps onto facts, and what is said not to be told."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.limits.path import path_limit
from seatrial.model.facts import NodeFacts, PciKind
from seatrial.model.hca import PortFamily
from seatrial.model.limit import Limit
from seatrial.node.frame import FactsFormatError
from seatrial.recordings.sysinfo import facts_from_sysinfo
from tests.support.machine_forms import sysinfo
from tests.support.machines import machine
from tests.support.properties import examples

INFINIBAND = "03:00.0 Infiniband controller [0207]: Mellanox Technologies MT27700 [ConnectX-4] [15b3:1013] (rev 01)"
NODE: dict[str, Any] = {
    "hostname": "n1",
    "os": {"kernel": "5.14.0"},
    "chassis": {"sys_vendor": "Maker", "product_name": "Model 1"},
    "cpu": {
        "CPU(s)": "8",
        "Thread(s) per core": "2",
        "Core(s) per socket": "2",
        "Socket(s)": "2",
        "NUMA node(s)": "2",
        "Vendor ID": "GenuineIntel",
        "CPU family": "6",
        "Model": "79",
        "Model name": "Processor",
        "CPU max MHz": "3000.0000",
        "NUMA node0 CPU(s)": "0-1,4",
        "NUMA node1 CPU(s)": "2,3,5-7",
        "Flags": "fpu sse2 avx avx2 fma ht",
    },
    "net": {
        "em1": {"speed": "10000 Mbits/s", "descr": "01:00.0 Ethernet controller [0200]: Intel [8086:10fb] (rev 01)"},
        "ib0": {
            "speed": "56000 Mbits/s",
            "descr": INFINIBAND,
            "rate": "56 Gb/sec (4X FDR)",
            "link_layer": "InfiniBand",
        },
        "p1": {"speed": "25000 Mbits/s", "rate": "25 Gb/sec (1X EDR)", "link_layer": "Ethernet"},
    },
    "memory": {"total": "131G", "types": "DDR4"},
}


def read(node: dict[str, Any]) -> NodeFacts:
    (facts,) = facts_from_sysinfo(json.dumps({"n1": node})).values()
    return facts


def test_what_maps() -> None:
    facts = read(NODE)
    assert (facts.hostname, facts.kernel, facts.cpu_model) == ("n1", "5.14.0", "Processor")
    assert (facts.processors, facts.cores, facts.sockets, facts.numa_nodes) == (8, 4, 2, 2)
    assert facts.system.firmware.vendor == "Maker"
    assert [node.processors for node in facts.topology.numa_nodes] == [(0, 1, 4), (2, 3, 5, 6, 7)]
    assert facts.processor.hardware_maximum_hz == (3e9,) * 8
    assert facts.processor.smt_active is True
    assert facts.processor.instruction_sets == ("sse2", "avx", "avx2", "fma")
    assert {each.name: each.speed_bits_per_s for each in facts.interfaces} == {"em1": 1e10, "ib0": 56e9, "p1": 25e9}
    assert [(each.address, each.kind, each.names) for each in facts.pci] == [
        ("0000:01:00.0", PciKind.NETWORK, ("em1",)),
        ("0000:03:00.0", PciKind.NETWORK, ("ib0",)),
    ]


def test_ports_are_called_by_their_right_names_and_rates() -> None:
    facts = read(NODE)
    ports = {hca.name: hca.ports[0] for hca in facts.hcas}
    assert {name: port.family for name, port in ports.items()} == {"ib0": PortFamily.INFINIBAND, "p1": PortFamily.ROCE}
    assert ports["ib0"].data_bits_per_s == pytest.approx(54.545e9, rel=1e-4)
    assert (ports["ib0"].speed_name, ports["ib0"].width) == ("FDR", 4)
    assert ports["p1"].data_bits_per_s == 25e9


@pytest.mark.parametrize(("vendor", "family"), [("8086", PortFamily.OMNI_PATH), ("1077", PortFamily.TRUE_SCALE)])
def test_infiniband_that_is_none_is_told_by_its_maker(vendor: str, family: PortFamily) -> None:
    port = {**NODE["net"]["ib0"], "descr": INFINIBAND.replace("15b3", vendor)}
    assert read({**NODE, "net": {"ib0": port}}).hcas[0].ports[0].family is family


def test_an_amount_in_a_unit_that_nobody_tells_is_no_amount() -> None:
    facts = read(NODE)
    assert facts.memory_bytes is None
    assert facts.absent["memory_bytes"] == "the sysinfo file contains '131G', which may be GB or GiB"


@pytest.mark.parametrize(
    ("field", "value"),
    [("CPU(s)", "many"), ("CPU(s)", 8), ("CPU(s)", None), ("Socket(s)", "-1"), ("CPU(s)", "9" * 5000)],
)
def test_a_value_that_is_none_is_absent(field: str, value: object) -> None:
    facts = read({**NODE, "cpu": {**NODE["cpu"], field: value}})
    named = {"CPU(s)": "processors", "Socket(s)": "sockets"}[field]
    assert getattr(facts, named) is None
    assert "does not contain it" in facts.absent[named]


def test_lists_of_processors_beyond_all_bounds_are_none() -> None:
    facts = read({**NODE, "cpu": {"NUMA node0 CPU(s)": "0-999999", "NUMA node1 CPU(s)": "3-1"}})
    assert [node.processors for node in facts.topology.numa_nodes] == [(), ()]


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"n1": {}}', '{"n1": 3}', "[" * 100_000])
def test_what_is_no_sysinfo_is_refused(text: str) -> None:
    with pytest.raises(FactsFormatError, match="JSON"):
        facts_from_sysinfo(text)


def test_one_node_without_its_name_around_it() -> None:
    assert list(facts_from_sysinfo(json.dumps(NODE))) == ["n1"]


def test_sixteen_nodes_that_are_alike() -> None:
    alike = machine("2 sockets x 16 cores x 2 threads, HCA mlx5_0 4xEDR gen3 x16 on socket 0")
    nodes = facts_from_sysinfo(sysinfo(alike, tuple(f"n{number}" for number in range(16))))
    assert len(nodes) == 16
    one, other = list(nodes.values())[:2]
    assert (one.processors, one.cores, one.sockets) == (64, 32, 2)
    limit = path_limit(one, other)
    assert isinstance(limit, Limit)
    assert limit.limit_bytes_per_s == pytest.approx(12.421e9, rel=1e-4)  # EDR at 4096 bytes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["cpu", "net", "speed", "x"]), inner),
    max_leaves=8,
)


@settings(max_examples=examples(200), deadline=None)
@given(part=st.sampled_from(sorted(NODE)), inner=st.text(max_size=6), value=json_values)
def test_any_values_at_all(part: str, inner: str, value: object) -> None:
    for node in ({**NODE, part: value}, {**NODE, part: {**dict.fromkeys([inner], value)}}):
        if isinstance(node.get("cpu"), dict):
            assert read(node).complete


@settings(max_examples=examples(100), deadline=None)
@given(key=st.sampled_from(sorted(NODE["cpu"])), value=json_values | st.text())
def test_any_words_of_lscpu(key: str, value: object) -> None:
    assert read({**NODE, "cpu": {**NODE["cpu"], key: value}}).complete
