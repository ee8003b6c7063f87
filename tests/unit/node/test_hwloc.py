"""Recorded machines of hwloc's own tests, as XML and as trees of /proc and /sys; and what mangling does to them."""

import math
import os
import random
import re
import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seatrial.limits.node import MEASURED, device_limit
from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciKind
from seatrial.model.hca import PortFamily, PortState
from seatrial.model.limit import Limit
from seatrial.model.pcie import links_text
from seatrial.model.words import Unknown
from seatrial.node.frame import FactsFormatError
from seatrial.node.hwloc_devices import link_rate
from seatrial.node.hwloc_machine import facts_from_xml
from seatrial.node.node import parse_facts
from seatrial.node.topology import xml_topology
from tests.support.collecting import collected_text
from tests.support.paths import DATA, SHARED, needs_shared

MACHINES = SHARED / "nodes" / "hwloc"
needs_data = needs_shared(MACHINES)

Counts = tuple[int | None, int | None, int | None, int | None]
"""Processors, cores, packages, NUMA nodes."""
XML_COUNTS: dict[str, Counts] = {
    "16-2gr2gr2n2c+misc": (16, 16, None, 8),
    "16amd64-8n2c-cpusets": (10, 10, 6, 5),  # what its cpuset allows
    "16em64t-4s2c2t": (16, 8, 4, 1),
    "16em64t-4s2c2t-offlines-xml": (12, 7, 4, 1),
    "16em64t-4s2c2t-xml": (16, 8, 4, 1),
    "24em64t-2n6c2t-pci": (24, 12, 2, 2),
    "2i386-2c-nohugepage": (2, 2, 1, 1),
    "2i386-2t-hugepagesizecount": (2, 1, 1, 1),
    "32amd64-4s2n4c-cgroup2": (6, 6, 3, 6),  # what its cgroup allows
    "32em64t-2n8c2t-pci-normalio": (32, 16, 2, 2),
    "64intel64-heteromem": (64, 16, 1, 8),  # SNC4, each quarter with HBM beside its DRAM
    "cxlmem+dax.v2": (4, 4, 1, 1),
    "fakecpukinds": (4, 2, 1, 1),
    "irregulargroups-disallowed": (64, 64, 8, 8),
    "nvidiaDGX2": (4, 4, 2, 2),  # what its cgroup allows
    "test1": (10, 7, None, 2),
}
NODES_MISSING = ("16amd64-8n2c-cpusets", "test1")
"""Some of their processors are on a NUMA node that the export lacks."""
TREE_COUNTS: dict[str, Counts] = {
    "128arm-2pa2n8cluster4co": (128, 128, 2, 4),
    "16amd64-4n4c-cgroup-distance-merge": (16, 16, 4, 4),
    "16amd64-8n2c-cpusets": (15, 15, 8, 8),  # processor 4 is offline
    "16em64t-4s2ca2c-cpusetreorder": (16, 16, 4, 1),
    "20em64t-hybrid-1p6c2t+2ca4co1t": (20, 14, 1, 1),
    "256ia64-64n2s2c": (256, 256, 128, 64),
    "2arm-2c": (2, 2, 1, None),
    "2ps3-2t": (2, 1, None, None),
    "40intel64-4n10c+pci-conflicts": (40, 40, 4, 4),
    "4fake-4gr1nu1pu": (4, None, 1, 4),
    "64fake-4n2s2ca2c2t": (64, 32, 8, 4),
    "8em64t-2s2ca2c": (8, 8, 2, 1),
    "8ia64-2n2s2c": (8, 8, 4, 2),
    "96em64t-4no4pa3ca2co": (96, 96, 16, 4),
    "fakeheterocpunuma": (24, 12, 2, 6),
    "fakeheteromemtiers": (6, 6, 1, 7),
    "fakepcilocalities": (40, 40, 4, 4),
    "memorysidecaches": (80, 40, 2, 4),
    "nvidia-dgx-gb10": (20, 20, 1, 1),
    "nvidiagpunumanodes": (32, 8, 2, 8),
}
"""Names: the processors, then of each level how many there are in each of the level above (n: NUMA nodes, s, pa:
packages, ca: caches, c, co: cores, t: threads)."""
UNNEEDED = re.compile(
    r"/node[0-9]+/memory[0-9]+$|/uevent$|/(?:write|allocation)_policy$|/(?:coherency_line_size|number_of_sets)$"
    r"|/(?:ways_of_associativity|physical_line_partition)$|/power(?:/|$)"
    r"|/cpu[1-9][0-9]*/(?:cpuidle|acpi_cppc)/|/(?:regs|host[0-9]+|microcode)/|^[^/]+/dev/cpuset/.*/"
)
HWLOC_DIFFERS = {
    "2arm-2c": ("cores", "numa_nodes"),  # no NUMA in the kernel: hwloc invents a node 0
    "2ps3-2t": ("cores", "numa_nodes"),
    "40intel64-4n10c+pci-conflicts": ("cores", "caches"),  # a PCI locality crosses a package: hwloc drops the package
    "64fake-4n2s2ca2c2t": ("caches", "order"),  # made by hand: its lists contradict its masks
    "fakeheterocpunuma": ("cores", "numa_nodes", "order"),  # hwloc drops made-up nodes
}


def xml_text(name: str) -> str:
    return (MACHINES / f"{name}.xml").read_text()


def counts(facts: NodeFacts) -> Counts:
    return facts.processors, facts.cores, facts.sockets, facts.numa_nodes


def unpack(name: str, folder: Path) -> Path:
    """The recorded tree, without the thousands of files that neither we nor hwloc need."""
    with tarfile.open(MACHINES / f"{name}.tar.bz2") as archive:
        archive.extractall(folder, [each for each in archive if not UNNEEDED.search(each.name)], filter="tar")
    return next(each for each in folder.iterdir() if (each / "sys").is_dir())


def collected(root: Path) -> NodeFacts:
    return parse_facts(collected_text(str(root)))


@needs_data
def test_every_recorded_machine_has_its_counts_here() -> None:
    assert {path.name.removesuffix(".xml") for path in MACHINES.glob("*.xml")} == set(XML_COUNTS)
    assert {path.name.removesuffix(".tar.bz2") for path in MACHINES.glob("*.tar.bz2")} == set(TREE_COUNTS)


@needs_data
@pytest.mark.parametrize("name", XML_COUNTS)
def test_xml(name: str) -> None:
    facts = facts_from_xml(xml_text(name), name)
    assert counts(facts) == XML_COUNTS[name]
    assert facts.complete and facts.topology.source == "hwloc XML"
    nodes = facts.topology.numa_nodes
    assert all(len(node.distances) in (0, len(nodes)) for node in nodes)
    homeless = [core for core in facts.topology.cores if core.numa_node not in {node.index for node in nodes}]
    assert {core.numa_node for core in homeless} <= {None} and bool(homeless) == (name in NODES_MISSING)
    told = {"cpu_model", "kernel", "sockets", "memory_bytes"}
    assert all(bool(getattr(facts, field)) != (field in facts.absent) for field in told)


@needs_data
@pytest.mark.parametrize("name", TREE_COUNTS)
def test_tree(name: str, tmp_path: Path) -> None:
    """The collector's reading, and where hwloc is installed, hwloc's of the same tree."""
    root = unpack(name, tmp_path)
    facts = collected(root)
    assert counts(facts) == TREE_COUNTS[name]
    assert facts.topology.source == "sysfs"
    assert (len(facts.topology.cores) or None) == facts.cores
    assert (len(facts.topology.packages) or None) in (facts.sockets, None)
    if name == "4fake-4gr1nu1pu" or not shutil.which("lstopo-no-graphics"):
        return
    argv = ["lstopo-no-graphics", "--if", "fsroot", "-i", str(root), "--of", "xml", "--no-io", "--disallowed"]
    environment = {**os.environ, "HWLOC_COMPONENTS": "-x86", "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES": "1"}
    for version in ([], ["--export-xml-flags", "1"]):  # the newest format of this hwloc, and that of hwloc 1
        if version and name == "nvidiagpunumanodes":  # which has no memory alone
            continue
        text = subprocess.run([*argv, *version], capture_output=True, check=True, text=True, env=environment).stdout
        theirs = xml_topology(text)
        for part in {"cores", "numa_nodes", "caches", "order"} - set(HWLOC_DIFFERS.get(name, ())):
            assert getattr(facts.topology, part) == getattr(theirs, part), part


@needs_data
def test_one_machine_recorded_both_ways(tmp_path: Path) -> None:
    """The XML holds what its cpuset allowed; of that both say the same."""
    tree = collected(unpack("16amd64-8n2c-cpusets", tmp_path)).topology
    export = facts_from_xml(xml_text("16amd64-8n2c-cpusets"), "n1").topology
    places = {core.processors: core.package for core in tree.cores}
    assert {core.processors: core.package for core in export.cores}.items() <= places.items()
    nodes = {node.index: node for node in tree.numa_nodes}
    for node in export.numa_nodes:
        assert set(node.processors) <= set(nodes[node.index].processors)
        assert node.distances == tuple(nodes[node.index].distances[each.index] for each in export.numa_nodes)
    sizes = {(cache.level, cache.size_bytes) for cache in tree.caches}
    assert {(cache.level, cache.size_bytes) for cache in export.caches} <= sizes


@needs_data
def test_an_infiniband_card_and_what_names_it() -> None:
    facts = facts_from_xml(xml_text("32em64t-2n8c2t-pci-normalio"), "n1")
    (hca,) = facts.hcas
    assert (hca.name, hca.pci_address, hca.numa_node) == ("mlx5_0", "0000:04:00.0", 1)
    (port,) = hca.ports
    assert (port.family, port.state, port.lid) == (PortFamily.INFINIBAND, PortState.ACTIVE, 1)
    assert port.subnet_prefix == "fe80:0000:0000:0000"
    card = next(device for device in facts.pci if device.address == hca.pci_address)
    assert (card.kind, card.names, card.numa_node) == (PciKind.NETWORK, ("ib0", "mlx5_0"), 1)
    assert [hop.address for hop in card.path] == ["0000:80:03.0", "0000:04:00.0"]
    assert (facts.hostname, facts.kernel, facts.processor.base_hz) == ("conan", "3.2.0-4-amd64", 2e9)
    assert facts.system.firmware.product == "X9DRG-HF"
    assert facts.absent["pci.0000:04:00.0.path.0000:80:03.0.current_width"] == "hwloc could not read the link's speed"


@needs_data
def test_a_product_of_rate_and_width_is_not_taken_apart() -> None:
    facts = facts_from_xml(xml_text("nvidiaDGX2"), "n1")
    gpus = [device for device in facts.pci if device.kind is PciKind.GPU and device.vendor == 0x10DE]
    assert len(gpus) == 16 and {len(gpu.path) for gpu in gpus} == {6}
    assert {(hop.current_transfers_per_s, hop.current_width) for gpu in gpus for hop in gpu.path} == {(None, None)}
    why = facts.absent["pci.0000:34:00.0.path.0000:34:00.0.current_transfers_per_s"]
    assert why == "hwloc reports only 15.7538 GB/s for the whole link: 3.0 x16 or 4.0 x8 or 5.0 x4"


NO_LINK = (0.0, 0.1, 0.2, 0.4)
"""What hwloc writes where it could not read a link, and what hwloc 1 wrote for plain PCI."""


def products(text: str) -> dict[str, float]:
    """Address -> the smallest speed that hwloc could read from the device up to the root port, bytes per second.

    By an own walk of the document, without the parser that is tested.
    """
    least: dict[str, float] = {}

    def walk(element: ET.Element, above: float) -> None:
        if element.get("pci_busid"):
            speed = float(element.get("pci_link_speed", "0"))
            above = above if speed in NO_LINK else min(above, speed * 1e9)
            least[element.get("pci_busid", "")] = above
        for inside in element.findall("object"):
            walk(inside, above)

    walk(ET.fromstring(text), math.inf)  # noqa: S314 - our own recordings
    return least


def device_products(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """Address -> the limit of each measured device; and what hwloc could read for it."""
    facts, least = facts_from_xml(text, "n1"), products(text)
    measured = [device for device in facts.pci if device.kind in MEASURED]
    limits = {device.address: device_limit(device, facts) for device in measured}
    return (
        {address: limit.limit_bytes_per_s for address, limit in limits.items() if isinstance(limit, Limit)},
        {device.address: least[device.address] for device in measured if least[device.address] < math.inf},
    )


@needs_data
@pytest.mark.parametrize("name", XML_COUNTS)
def test_every_link_that_hwloc_could_read_is_the_limit_of_its_device(name: str) -> None:
    limits, least = device_products(xml_text(name))
    assert limits == pytest.approx(least, rel=1e-6)
    assert len(limits) == {"nvidiaDGX2": 16, "24em64t-2n6c2t-pci": 4, "cxlmem+dax.v2": 1}.get(name, 0)


PATH = """<topology version="2.0"><object type="Machine" os_index="0"><object type="Bridge" bridge_type="0-1">
<object type="Bridge" bridge_type="1-1" pci_busid="0000:00:01.0" pci_type="0604 [8086:2030] [0000:0000] 00 00"
 pci_link_speed="{root}"><object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0207 [15b3:101b] [0000:0000] 00 00"
 pci_link_speed="{card}"/></object></object></object></topology>"""


@pytest.mark.parametrize(
    ("root", "card", "limit", "binding"),
    [
        ("15.753846", "15.753846", 15.753846, "at PCIe 3.0 x16 or 4.0 x8 or 5.0 x4"),
        ("4.000000", "4.000000", 4.0, "at PCIe 1.0 x16 or 2.0 x8"),
        ("63.015385", "63.015385", 63.015385, "at 32.0 GT/s x16"),
        ("63.015385", "3.938462", 3.938462, "at PCIe 3.0 x4 or 4.0 x2 or 5.0 x1"),  # the root alone would be too high
        ("0.000000", "7.876923", 7.876923, "at PCIe 3.0 x8 or 4.0 x4 or 5.0 x2"),
        ("15.753846", "0.200000", 15.753846, "at PCIe 3.0 x16 or 4.0 x8 or 5.0 x4"),  # what no link has does not count
    ],
)
def test_the_product_is_the_limit(root: str, card: str, limit: float, binding: str) -> None:
    text = PATH.format(root=root, card=card)
    limits, least = device_products(text)
    assert limits == pytest.approx({"0000:01:00.0": limit * 1e9}) == least
    facts = facts_from_xml(text, "n1")
    told = device_limit(facts.pci[0], facts)
    assert isinstance(told, Limit) and told.binding.endswith(binding)
    term = told.binding_term
    assert eval(term.formula, {}, dict(term.inputs)) == pytest.approx(term.bytes_per_s)  # noqa: S307 - our own formula
    assert any("disagree" in why for why in told.unknown) == (
        root != card and not {float(root), float(card)} & set(NO_LINK)
    )


def test_a_link_that_hwloc_could_not_read_has_no_limit() -> None:
    assert device_products(PATH.format(root="0.000000", card="0.000000")) == ({}, {})


@pytest.mark.parametrize(
    ("speed", "links"),
    [("0.250000", "1.0 x1"), ("63.015385", "5.0 x16"), ("121.000000", "6.0 x16"),
     ("7.876923", "3.0 x8 or 4.0 x4 or 5.0 x2"), ("4.000000", "1.0 x16 or 2.0 x8")],
)  # fmt: skip
def test_links_of_a_speed(speed: str, links: str) -> None:
    rate = link_rate(speed)
    assert rate == pytest.approx(float(speed) * 1e9, rel=1e-6)
    assert rate is not None and links_text(rate) == links


@pytest.mark.parametrize(
    "speed", ["0.000000", "nan", "1e3", "", "-1.000000", "inf", "0.200000", "0.400000", "126.030769"]
)
def test_a_speed_that_no_link_has_is_not_known(speed: str) -> None:
    assert link_rate(speed) is None


def test_a_port_without_a_lid_may_speak_roce() -> None:
    port = '<info name="Port1State" value="4"/><info name="Port1LID" value="0x0"/>'
    device = '<object type="OSDev" name="{}" osdev_type="3">{}</object>'
    inside = device.format("mlx5_0", port) + device.format("hfi1_0", port) + device.format("qib0", port)
    text = f'<topology version="2.0"><object type="Machine">{inside}</object></topology>'
    families = {hca.name: hca.ports[0].family for hca in facts_from_xml(text, "n1").hcas}
    assert families == {
        "mlx5_0": Unknown(word="no link layer reported"), "hfi1_0": PortFamily.OMNI_PATH, "qib0": PortFamily.TRUE_SCALE,
    }  # fmt: skip


def test_the_name_of_the_node() -> None:
    text = '<topology><object type="Machine"/><info name="HostName" value="{}"/></topology>'
    assert facts_from_xml(text.format("n7.cluster"), "n1").hostname == "n7.cluster"
    assert facts_from_xml(text.format("a b|c"), "n1").hostname == "n1"


@cache
def sound(name: str) -> str:
    return (DATA / f"{name}.facts").read_text()


def own_xml() -> str:
    """The XML inside our own recording."""
    lines = sound("processors/virtual-machine").split("\n")
    return "\n".join(line[1:] for line in lines[lines.index('|<topology version="2.0">') :] if line.startswith("|<"))


def mangled(text: str, seed: int, end: str) -> str:
    """Some lines gone, some twice, some cut, some with characters changed."""
    chance = random.Random(seed)
    lines = text.split("\n")
    for _ in range(chance.randrange(1, 12)):
        place = chance.randrange(len(lines))
        line = lines[place]
        cut = chance.randrange(len(line) + 1)
        odd = chance.choice(
            ["", "-1", "999999999999999999999", "\x00", "|", "\t", "<", '"', "&", "0-65535", "ffffffff", "٣"]
        )
        lines[place : place + 1] = chance.choice([[], [line, line], [line[:cut]], [line[:cut] + odd + line[cut + 1 :]]])
        if not lines:
            return end
    return "\n".join(lines)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["processors/virtual-machine", "facts/virtual-machine", "facts/bridged-namespace"]),
    st.integers(0, 1 << 32),
)
@example(name="facts/virtual-machine", seed=80500)  # a processor that is there twice
def test_a_mangled_stream_gives_facts_or_our_own_error(name: str, seed: int) -> None:
    try:
        facts = parse_facts(mangled(sound(name), seed, ""))
    except FactsFormatError:
        return
    assert isinstance(facts, NodeFacts)
    assert len(facts.topology.processors) == len(set(facts.topology.processors))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_mangled_xml_gives_facts_or_our_own_error(seed: int) -> None:
    try:
        facts = facts_from_xml(mangled(own_xml(), seed, ""), "n1")
    except FactsFormatError:
        return
    assert len(facts.topology.processors) == len(set(facts.topology.processors))


@needs_data
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(XML_COUNTS)), st.integers(0, 1 << 32))
def test_a_mangled_xml_of_others_too(name: str, seed: int) -> None:
    try:
        facts = facts_from_xml(mangled(xml_text(name), seed, ""), "n1")
    except FactsFormatError:
        return
    assert facts.hostname


@given(st.text())
def test_any_text_is_refused_or_understood(text: str) -> None:
    for candidate in (text, f"<topology>{text}</topology>", f'<topology><object type="{text}"/></topology>'):
        try:
            facts_from_xml(candidate, "n1")
        except FactsFormatError:
            continue


def test_the_name_of_an_arm_processor() -> None:
    infos = {"CPUModel": "ARMv8 Processor rev 0 (v8l)", "CPUImplementer": "0x46", "CPUPart": "0x001"}
    texts = "".join(f'<info name="{name}" value="{value}"/>' for name, value in infos.items())
    text = f'<topology version="2.0"><object type="Machine"><object type="Package">{texts}</object></object></topology>'
    assert facts_from_xml(text, "n1").cpu_model == "implementer 0x46 part 0x001"
