"""From violations to findings: nodes, the cluster, places of one host, and what it costs."""

import time

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.hardware import (
    Core,
    Dimm,
    IdleState,
    MemoryFacts,
    PciDevice,
    PciHop,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.subject import CLUSTER, node
from seatrial.model.system import ClockState, KernelFacts, Limits, Mount, SoftwareFacts, SystemFacts
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import Unknown
from seatrial.rules.base import Readings, named
from seatrial.rules.catalogue import RULES, fact_findings
from tests.support.facts_examples import all_alike, cluster, odd, processor, server
from tests.support.facts_examples import settings as kernel_settings

POWERSAVE = processor(governors={"powersave": 16})


def fact_text(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.kind, one.subject.text) for one in findings]


def test_what_befalls_all_nodes_is_one_finding_of_the_cluster() -> None:
    (finding,) = fact_findings(all_alike(64, processor=POWERSAVE))
    assert (finding.kind, finding.subject) == (FindingKind.GOVERNOR, CLUSTER)
    assert finding.statement.startswith("All 64 nodes (n1, n2, n3 and 61 more): governor powersave on 16 of 16")


def test_a_few_who_are_spared_or_silent_do_not_make_a_thousand_findings() -> None:
    facts = cluster(20, every={"processor": POWERSAVE})
    facts["n7"] = server("n7")
    facts["n8"] = server("n8", processor=processor(governors={}))
    (finding,) = fact_findings(Readings(facts=facts))
    assert finding.subject == CLUSTER
    assert finding.statement.startswith("18 of 19 nodes that report it (n1, n2, n3 and 15 more)")


def test_below_nine_tenths_each_node_is_named() -> None:
    facts = cluster(10) | {f"n{number}": server(f"n{number}", processor=POWERSAVE) for number in range(1, 9)}
    assert fact_text(fact_findings(Readings(facts=facts))) == [
        (FindingKind.GOVERNOR, f"node:n{number}") for number in range(1, 9)
    ]


def test_a_node_alone_is_a_node() -> None:
    (finding,) = fact_findings(all_alike(1, processor=POWERSAVE))
    assert finding.subject == node("n1")


def test_one_finding_of_a_kind_for_each_node() -> None:
    names = [f"net.core.{letter}" for letter in "abcdef"]
    facts = cluster(5, every={"settings": kernel_settings(sysctls=dict.fromkeys(names, "1"))})
    facts["n2"] = server("n2", settings=kernel_settings(sysctls=dict.fromkeys(names, "2")))
    (finding,) = fact_findings(Readings(facts=facts))
    assert finding.statement == (
        "Node n2: net.core.a is 2, where most of its peers have 1; net.core.b is 2, where most of its peers have 1; "
        "net.core.c is 2, where most of its peers have 1; net.core.d is 2, where most of its peers have 1; "
        "and 2 more of this kind."
    )


def test_half_and_half_is_one_finding_that_names_both() -> None:
    facts = cluster(64, every={"kernel": "6.1"})
    facts |= {f"n{number}": server(f"n{number}", kernel="6.8") for number in range(1, 33)}
    (finding,) = fact_findings(Readings(facts=facts))
    assert (finding.kind, finding.subject) == (FindingKind.KERNEL_DIFFERS, CLUSTER)
    assert "6.8 on 32 nodes (" in finding.statement
    assert "6.1 on 32 (" in finding.statement


def test_two_that_differ_are_both_named() -> None:
    (finding,) = fact_findings(odd(2, kernel="6.8"))
    assert finding.subject == CLUSTER
    assert finding.statement == ("The nodes differ: the kernel is 5.14.0-427.el9 on 1 node (n1) and 6.8 on 1 (n2).")


def test_two_that_differ_where_only_less_is_wrong() -> None:
    for gib in (64, 256):
        (finding,) = fact_findings(odd(2, memory_bytes=gib << 30))
        assert (finding.kind, finding.subject) == (FindingKind.MEMORY_DIFFERS, CLUSTER)


def test_mtu_names_every_node_where_none_is_usual() -> None:
    interfaces = tuple(msgspec.structs.replace(each, mtu_bytes=1500) for each in server().interfaces)
    found = fact_text(fact_findings(odd(2, interfaces=interfaces)))
    assert found == [(FindingKind.MTU_DIFFERS, "node:n1"), (FindingKind.MTU_DIFFERS, "node:n2")]


def test_other_hardware_is_no_peer() -> None:
    facts = cluster(4) | {f"g{number}": server(f"g{number}", cpu_model="GPU node", cores=64) for number in range(4)}
    assert fact_findings(Readings(facts=facts)) == []


def test_places_of_one_host_are_looked_at_once() -> None:
    facts = {f"box:{rank}": server("box", processor=POWERSAVE) for rank in range(4)}
    assert fact_text(fact_findings(Readings(facts=facts, after=facts))) == [(FindingKind.GOVERNOR, "node:box:0")]


def test_nodes_on_one_kernel_are_nodes_nevertheless() -> None:
    facts = {name: msgspec.structs.replace(known, boot_id="one") for name, known in cluster(4).items()}
    facts["n3"] = server("n3", boot_id="one", processor=POWERSAVE)
    assert fact_text(fact_findings(Readings(facts=facts))) == [(FindingKind.GOVERNOR, "node:n3")]


def test_the_order_is_the_catalogues() -> None:
    both = odd(4, kernel="6.8", processor=POWERSAVE)
    order = [rule.kind for rule in RULES]
    kinds = [one.kind for one in fact_findings(both)]
    assert kinds == sorted(kinds, key=order.index)
    assert kinds[:2] == [FindingKind.GOVERNOR, FindingKind.KERNEL_DIFFERS]


def test_names_and_clauses_are_counted_where_they_are_many() -> None:
    assert named(["n1", "n2"]) == "n1, n2"
    assert named(["n1", "n2", "n3", "n4"]) == "n1, n2, n3, n4"
    assert named(["n1", "n2", "n3", "n4", "n5"]) == "n1, n2, n3 and 2 more"


def test_a_thousand_nodes_cost_less_than_a_second() -> None:
    modules = {f"module{number}": "1" for number in range(150)}
    sysctls = {f"net.core.s{number}": "1" for number in range(40)}
    tuned = kernel_settings(modules=modules, sysctls=sysctls)
    facts = cluster(1000, every={"settings": tuned})
    facts["n500"] = server("n500", settings=kernel_settings(modules={"module1": "2"}, sysctls={}))
    started = time.process_time()
    found = fact_findings(Readings(facts=facts, after=facts))
    taken_s = time.process_time() - started
    assert fact_text(found) == [(FindingKind.MODULE_VERSION_DIFFERS, "node:n500")]
    assert taken_s < 1  # of the processor's time; 0.3 s on an idle machine


words = st.sampled_from(["", "a", "b", "half", "up", "powersave", "performance", "SMT x; SMT y", "/", "/run/", "1.2.3"])
counts = st.none() | st.integers(0, 3)
rates = st.none() | st.sampled_from([0.0, 1e9, 8e9, 16e9, 25e9])
mappings = st.dictionaries(words, words, max_size=2)
numbers = st.dictionaries(
    st.sampled_from(["symbol_error", "rx_errors", "powersave", "x"]), st.integers(0, 3), max_size=2
)


def some(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=2).map(tuple)


hops = st.builds(
    PciHop,
    address=words,
    current_transfers_per_s=rates,
    max_transfers_per_s=rates,
    current_width=counts,
    max_width=counts,
    max_payload_bytes=counts,
    max_payload_supported_bytes=counts,
)
devices = st.builds(
    PciDevice,
    address=words,
    kind=st.sampled_from(PciKind),
    vendor=counts,
    device=counts,
    names=some(words),
    numa_node=counts,
    path=st.lists(hops, max_size=4).map(tuple),
    virtual_function=st.booleans(),
)
ports = st.builds(
    Port,
    number=st.integers(1, 2),
    family=st.sampled_from([*PortFamily, Unknown(word="?")]),
    state=st.sampled_from([None, *PortState, Unknown(word="?")]),
    physical_state=st.sampled_from(["", "LinkUp", "Polling"]),
    data_bits_per_s=rates,
    subnet_manager_lid=counts,
    counters=numbers,
)
adapters = st.builds(
    Hca,
    name=words,
    driver=words,
    firmware=words,
    board_id=words,
    pci_address=words,
    numa_node=counts,
    ports=some(ports),
)
interfaces = st.builds(
    NetworkInterface,
    name=words,
    link_type=st.sampled_from([None, 1, 32]),
    state=words,
    speed_bits_per_s=rates,
    mtu_bytes=counts,
    duplex=words,
    pci_address=words,
    errors=numbers,
)
processors = st.builds(
    ProcessorFacts,
    microcode=words,
    frequency_driver=words,
    governors=numbers,
    energy_preferences=numbers,
    maximum_hz=some(st.sampled_from([0.0, 1e9])),
    hardware_maximum_hz=some(st.sampled_from([0.0, 2e9])),
    base_hz=rates,
    turbo=st.none() | st.booleans(),
    smt_active=st.none() | st.booleans(),
    idle_states=some(st.builds(IdleState, name=words, latency_s=rates, disabled=st.booleans())),
    mitigations=mappings,
    throttle_events=counts,
    allowed=some(st.integers(0, 3)),
)
dimms = st.builds(
    Dimm,
    locator=words,
    channel=words,
    size_bytes=counts,
    rated_transfers_per_s=rates,
    configured_transfers_per_s=rates,
    package=counts,
)
mounts = st.builds(
    Mount,
    path=st.sampled_from(["", "/", "/home", "/run/x", "home"]),
    source=words,
    kind=st.sampled_from(["", "nfs4", "autofs"]),
    options=some(words),
    reachable=st.none() | st.booleans(),
)
nodes = st.builds(
    NodeFacts,
    hostname=words,
    complete=st.booleans(),
    kernel=words,
    boot_id=words,
    processors=counts,
    cores=counts,
    memory_bytes=counts,
    interfaces=some(interfaces),
    hcas=some(adapters),
    pci=some(devices),
    topology=st.builds(
        Topology,
        cores=some(st.builds(Core, processors=some(st.integers(0, 3)), package=counts, numa_node=counts)),
    ),
    processor=processors,
    memory=st.builds(MemoryFacts, dimms=some(dimms), corrected_errors=counts, uncorrected_errors=counts),
    settings=st.builds(
        KernelFacts,
        command_line=words,
        scheduler=mappings,
        sysctls=mappings,
        transparent_huge_pages=words,
        modules=mappings,
    ),
    system=st.builds(
        SystemFacts,
        limits=st.builds(Limits, locked_memory_bytes=counts),
        clock=st.builds(ClockState, source=words, synchronised=st.none() | st.booleans(), offset_s=rates),
        mounts=some(mounts),
        paths=st.dictionaries(words, st.booleans(), max_size=2),
        power_limits_w=st.dictionaries(words, st.sampled_from([0.0, 100.0]), max_size=2),
    ),
    software=st.builds(SoftwareFacts, slurm_client=words, slurm_daemon=words),
    mpi_versions=some(words),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(nodes, max_size=4), st.lists(nodes, max_size=4), st.lists(words, max_size=3))
def test_no_rule_is_upset_by_what_it_does_not_know(
    before: list[NodeFacts], after: list[NodeFacts], features: list[str]
) -> None:
    facts = {f"n{number}": known for number, known in enumerate(before)}
    later = {f"n{number}": known for number, known in enumerate(after)}
    readings = Readings(facts=facts, after=later, features={"n0": tuple(features)})
    for finding in fact_findings(readings):
        assert finding.subject == CLUSTER or finding.subject.name in facts
        assert finding.statement.endswith(".")
        assert finding.remedy


@settings(max_examples=60, deadline=None)
@given(nodes, st.integers(2, 5))
def test_nodes_that_are_alike_never_differ(one: NodeFacts, count: int) -> None:
    facts = {f"n{number}": msgspec.structs.replace(one, hostname=f"n{number}") for number in range(count)}
    for finding in fact_findings(Readings(facts=facts, after=facts)):
        assert finding.subject == CLUSTER
        assert "differ:" not in finding.statement
        assert "peers" not in finding.statement
