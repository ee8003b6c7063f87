"""Folders of files of one node each, and texts of lscpu, dmidecode and lstopo, read as a cluster."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.driver.facts_reading import read_recording
from seatrial.frame import command_line
from seatrial.limits.node import node_limits
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts, PciKind
from seatrial.model.limit import Limit
from seatrial.model.verdict import FindingKind
from seatrial.recordings.command_text import commands_in, facts_from_text
from seatrial.recordings.machine_files import machine_files, node_of
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.json_objects import parsed
from tests.support.machine_forms import hwloc_xml
from tests.support.machines import machine
from tests.support.paths import DATA, data

LSCPU = data("recordings/lscpu.txt")
DMIDECODE = data("recordings/dmidecode.txt")
LSTOPO = data("recordings/lstopo.txt")
OLD_LSTOPO = """Machine (64GB)
  NUMANode L#0 (P#0 32GB) + Socket L#0 + L3 L#0 (10MB)
    L2 L#0 (256KB) + L1 L#0 (32KB) + Core L#0 + PU L#0 (P#0)
    L2 L#1 (256KB) + L1 L#1 (32KB) + Core L#1 + PU L#1 (P#1)
  NUMANode L#1 (P#1 32GB) + Socket L#1 + L3 L#1 (10MB)
    L2 L#2 (256KB) + L1 L#2 (32KB) + Core L#2 + PU L#2 (P#2)
    L2 L#3 (256KB) + L1 L#3 (32KB) + Core L#3 + PU L#3 (P#3)
"""


def places(facts: NodeFacts) -> list[tuple[tuple[int, ...], int | None, int | None]]:
    return [(core.processors, core.package, core.numa_node) for core in facts.topology.cores]


def test_lscpu() -> None:
    facts = facts_from_text(LSCPU, "n1")
    assert (facts.hostname, facts.cpu_model) == ("n1", "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz")
    assert (facts.processors, facts.cores, facts.sockets, facts.numa_nodes) == (8, 4, 2, 2)
    seen = facts.processor
    assert (seen.vendor, seen.family, seen.model_number, seen.stepping) == ("GenuineIntel", 6, 85, 4)
    assert max(seen.hardware_maximum_hz) == 3.7e9 and seen.smt_active and "avx512f" in seen.instruction_sets
    assert [node.processors for node in facts.topology.numa_nodes] == [(0, 1, 4, 5), (2, 3, 6, 7)]
    assert facts.absent["memory.dimms"] == "no output of dmidecode describes memory modules"
    assert {"pci", "kernel", "system.firmware.vendor"} <= facts.absent.keys()


def test_dmidecode() -> None:
    facts = facts_from_text(DMIDECODE, "n1")
    assert [(dimm.locator, dimm.package, dimm.configured_transfers_per_s) for dimm in facts.memory.dimms] == [
        ("P0_DIMM_A1", 0, 2666e6), ("P1_DIMM_A1", 1, 2400e6),
    ]  # fmt: skip
    firmware = facts.system.firmware
    assert (firmware.vendor, firmware.product) == ("Dell Inc.", "PowerEdge C6420")
    assert (firmware.bios_version, firmware.bios_date) == ("2.4.8", "11/27/2019")
    assert facts.memory_bytes == 32 << 30
    assert "XXXXXXX" not in str(facts)


def test_lstopo() -> None:
    facts = facts_from_text(LSTOPO, "n1")
    assert (facts.processors, facts.cores, facts.sockets, facts.numa_nodes) == (8, 4, 2, 2)
    assert places(facts) == [((0, 4), 0, 0), ((1, 5), 0, 0), ((2, 6), 1, 1), ((3, 7), 1, 1)]
    assert [node.memory_bytes for node in facts.topology.numa_nodes] == [15 << 30, 16 << 30]
    assert [(device.address, device.kind, device.names) for device in facts.pci] == [
        ("0000:00:11.5", PciKind.OTHER, ()),
        ("0000:03:00.0", PciKind.OTHER, ()),
        ("0000:5e:00.0", PciKind.NETWORK, ("ib0", "mlx5_0")),
        ("0001:af:00.0", PciKind.GPU, ("cuda0",)),
    ]
    assert [(hca.name, hca.pci_address) for hca in facts.hcas] == [("mlx5_0", "0000:5e:00.0")]
    assert [interface.name for interface in facts.interfaces] == ["ib0"]


def test_lstopo_of_hwloc_1_has_numa_nodes_above_the_cores() -> None:
    facts = facts_from_text(OLD_LSTOPO, "n1")
    assert places(facts) == [((0,), 0, 0), ((1,), 0, 0), ((2,), 1, 1), ((3,), 1, 1)]


def test_lstopo_with_physical_numbers() -> None:
    """`lstopo -p`: P# in place of L#, and no logical numbers."""
    physical = re.sub(r"(NUMANode|PU) L#[0-9]+ \((P#[0-9]+) ?", r"\1 \2 (", LSTOPO).replace(" ()", "")
    physical = re.sub(r"\bL#", "P#", physical)
    assert "L#" not in physical and "NUMANode P#1 (16GB)" in physical and "PU P#6" in physical
    facts, usual = facts_from_text(physical, "n1"), facts_from_text(LSTOPO, "n1")
    assert places(facts) == places(usual) and facts.topology == usual.topology
    assert facts.pci == usual.pci


VERBOSE = data("recordings/lstopo-verbose.txt")


def test_verbose_lstopo() -> None:
    """`lstopo -v`, with devices as hwloc 2 and as hwloc 1 print them."""
    facts = facts_from_text(VERBOSE, "n1")
    assert (facts.cpu_model, facts.cores, facts.sockets) == ("AMD EPYC 7763 64-Core Processor", 2, 1)
    assert facts.memory_bytes == 24684092 << 10
    assert [(device.address, device.kind, device.names) for device in facts.pci] == [
        ("0000:00:02.0", PciKind.OTHER, ("vda",)),
        ("0000:5e:00.0", PciKind.NETWORK, ("ib0", "mlx5_0")),
    ]
    assert [(hca.name, hca.pci_address) for hca in facts.hcas] == [("mlx5_0", "0000:5e:00.0")]


def test_lstopo_without_processors_is_refused_with_its_reason() -> None:
    with pytest.raises(SeatrialError, match="no logical processors"):
        facts_from_text("".join(line for line in LSTOPO.splitlines(True) if "PU L#" not in line), "n1")


def test_dmidecode_without_handles(tmp_path: Path) -> None:
    """`dmidecode -q` prints titles alone."""
    quiet = "\n".join(line for line in DMIDECODE.splitlines()[4:] if not line.startswith("Handle"))
    assert commands_in(quiet) == {"dmidecode"}
    assert facts_from_text(quiet, "n1") == facts_from_text(DMIDECODE, "n1")


@pytest.mark.parametrize("blanks", [4, 8])
def test_dmidecode_copied_out_of_a_terminal_has_blanks_for_tabs(blanks: int) -> None:
    copied = DMIDECODE.expandtabs(blanks)
    assert "\t" not in copied
    assert facts_from_text(copied, "n1") == facts_from_text(DMIDECODE, "n1")


@pytest.mark.parametrize("indent", ["  ", "        "])
def test_dmidecode_within_an_indented_text(indent: str) -> None:
    indented = "".join(f"{indent}{line}" for line in DMIDECODE.expandtabs(8).splitlines(keepends=True)[4:])
    assert commands_in(indented) == {"dmidecode"}
    assert facts_from_text(indented, "n1") == facts_from_text(DMIDECODE, "n1")


def test_what_follows_dmidecode_is_not_part_of_its_last_module() -> None:
    text = DMIDECODE.rpartition("Handle")[0].rstrip() + "\nNUMA:\n  Size: 8 GB\n  Speed: 800 MT/s\n"
    before = facts_from_text(DMIDECODE.rpartition("Handle")[0], "n1")
    assert facts_from_text(text, "n1").memory == before.memory


def test_memory_beside_memory_near_the_same_cores() -> None:
    text = LSTOPO.replace("    L3 L#0", "    NUMANode(HBM) L#2 (P#2 16GB)\n    L3 L#0")
    facts = facts_from_text(text, "n1")
    assert [node for _, _, node in places(facts)] == [0, 0, 1, 1]
    assert [(node.index, node.processors) for node in facts.topology.numa_nodes][2] == (2, ())


@pytest.mark.parametrize("order", [(LSCPU, DMIDECODE, LSTOPO), (LSTOPO, LSCPU, DMIDECODE), (DMIDECODE, LSTOPO, LSCPU)])
def test_one_text_in_any_order_gives_limits(order: tuple[str, ...]) -> None:
    facts = facts_from_text("\n".join(("$ hostname", "n1", *order)), "n1")
    assert facts == facts_from_text(LSCPU + DMIDECODE + LSTOPO, "n1")
    limits = {limit.path: limit for limit in node_limits(facts) if isinstance(limit, Limit)}
    memory = limits["n1 package 1 > memory"]
    assert memory.limit_bytes_per_s == 2400e6 * 8 and not memory.nominal
    assert facts.topology.packages == (0, 1)


def test_what_is_none_of_them() -> None:
    assert commands_in("Architecture of the cluster\nMachine room 7\n") == frozenset()
    with pytest.raises(SeatrialError, match="no output of lscpu"):
        facts_from_text("CPU(s): 8\n", "n1")


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("n1.xml", "n1"), ("n1.xml.gz", "n1"), ("n1.lscpu.txt", "n1"), ("lstopo-n1.xml", "n1"), ("lscpu_n1", "n1"),
        ("n1.dmidecode", "n1"), ("n1", "n1"), ("n1.cluster.org.txt", "n1.cluster.org"), ("rack-1-n3.out", "rack-1-n3"),
        ("lscpu.txt", ""), ("topology.xml", ""), ("lstopo", ""),
    ],
)  # fmt: skip
def test_names(name: str, node: str) -> None:
    assert node_of(Path(name)) == node


MACHINE = machine("2 sockets x 2 cores x 2 threads, 2 NUMA nodes")


def own_stream(name: str) -> str:
    text = (DATA / "processors" / "virtual-machine.facts").read_text()
    host = re.findall(r"#end (\S+)", text)[0]
    opened = text.replace(f"#seatrial-facts 1 {host}", f"#seatrial-facts 1 {name}")
    return opened.replace(f"#end {host}", f"#end {name}")


def test_a_folder_of_hwlocs_xml_is_a_cluster(tmp_path: Path) -> None:
    for number in range(1, 5):
        (tmp_path / f"export{number}.xml").write_text(hwloc_xml(MACHINE, f"n{number}"))
    (tmp_path / "README.txt").write_text("exports of lstopo\n")
    (tmp_path / "pom.xml").write_text('<?xml version="1.0"?><project/>')
    read = read_recording(tmp_path)
    assert list(read.facts) == ["n1", "n2", "n3", "n4"] and not read.silent
    assert {facts.cores for facts in read.facts.values()} == {4}


def test_exports_with_one_host_name_have_the_names_of_their_files(tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / f"{name}.xml").write_text(hwloc_xml(MACHINE, "localhost" if name == "b1" else "image"))
    read = read_recording(tmp_path)
    assert {name: facts.hostname for name, facts in read.facts.items()} == {"a1": "a1", "a2": "a2", "b1": "b1"}


def test_two_exports_are_two_nodes_whatever_their_names(tmp_path: Path) -> None:
    for name in ("n1.xml", "n1.hwloc.xml"):
        (tmp_path / name).write_text(hwloc_xml(MACHINE, "image"))
    assert set(read_recording(tmp_path).facts) == {"n1.xml", "n1.hwloc.xml"}


def test_a_folder_of_texts_is_a_cluster(tmp_path: Path) -> None:
    for number in range(1, 5):
        (tmp_path / f"n{number}.txt").write_text(LSCPU + DMIDECODE + LSTOPO)
    (tmp_path / "n3.txt").write_bytes(gzip.compress((LSCPU + DMIDECODE).encode()))
    read = read_recording(tmp_path)
    assert list(read.facts) == ["n1", "n2", "n3", "n4"]
    assert {facts.cores for facts in read.facts.values()} == {4}
    assert len(read.facts["n3"].memory.dimms) == 2 and read.facts["n3"].pci == ()


def test_several_files_of_a_node_are_one_node(tmp_path: Path) -> None:
    for name in ("n1", "n2"):
        (tmp_path / f"{name}.lscpu").write_text(LSCPU)
        (tmp_path / f"dmidecode-{name}.txt").write_text(DMIDECODE)
        (tmp_path / f"{name}.lstopo.txt").write_text(LSTOPO)
    read = read_recording(tmp_path)
    assert read.facts["n1"] == facts_from_text("\n".join((DMIDECODE, LSCPU, LSTOPO)), "n1")
    assert set(read.facts) == {"n1", "n2"}
    (tmp_path / "n1.lstopo.txt").unlink()
    (tmp_path / "n1.xml").write_text(hwloc_xml(MACHINE, "n1"))
    facts = read_recording(tmp_path).facts["n1"]
    assert facts.topology.source == "hwloc XML" and len(facts.memory.dimms) == 2
    assert "memory.dimms" not in facts.absent


def test_a_folder_for_each_node(tmp_path: Path) -> None:
    for name in ("n1", "n2", "n3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lscpu.txt").write_text(LSCPU)
        (tmp_path / name / "dmidecode.txt").write_text(DMIDECODE)
    read = read_recording(tmp_path)
    assert set(read.facts) == {"n1", "n2", "n3"}
    assert all(len(facts.memory.dimms) == 2 for facts in read.facts.values())


def test_streams_of_any_name_are_a_cluster(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"node{number}.log").write_text(own_stream(f"n{number}"))
    assert list(read_recording(tmp_path).facts) == ["n1", "n2"]


def test_a_bad_file_of_several_is_silent_and_a_bad_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n1.xml").write_text(hwloc_xml(MACHINE, "n1"))
    (tmp_path / "n2.xml").write_text(hwloc_xml(MACHINE, "n2")[:900])
    read = read_recording(tmp_path)
    assert list(read.facts) == ["n1"] and "not well-formed" in read.silent["n2"]
    (tmp_path / "n1.xml").unlink()
    with pytest.raises(SeatrialError, match=r"The machine in .* cannot be read"):
        read_recording(tmp_path)
    (tmp_path / "n2.xml").write_text("something else")
    with pytest.raises(UsageError, match="contains no recording"):
        read_recording(tmp_path)


def test_a_single_text(tmp_path: Path) -> None:
    path = tmp_path / "n7.lscpu.txt"
    path.write_text(LSCPU)
    assert list(read_recording(path).facts) == ["n7"]
    assert machine_files(tmp_path, tmp_path) == {"n7": (path,)}


def test_the_numa_mode_of_one_node_of_a_fleet_of_texts() -> None:
    one = "NUMA node(s):        2\nNUMA node0 CPU(s):   0-63\nNUMA node1 CPU(s):   64-127\n"
    four = "NUMA node(s):        8\n" + "".join(
        f"NUMA node{at} CPU(s):   {at * 16}-{at * 16 + 15}\n" for at in range(8)
    )
    head = "Architecture:        x86_64\nCPU(s):              128\nSocket(s):           2\nVendor ID:           {}\n"
    for vendor in ("AuthenticAMD", "GenuineIntel"):
        texts = {f"n{at}": head.format(vendor) + (four if at == 4 else one) for at in range(1, 6)}
        facts = {name: facts_from_text(text, name) for name, text in texts.items()}
        (finding,) = fact_findings(Readings(facts=facts))
        assert (finding.kind, finding.subject.name) == (FindingKind.FIRMWARE_MODE, "n4")
        cut = four.rpartition("NUMA")[0]  # a list that is not whole shows no mode
        facts["n4"] = facts_from_text(head.format(vendor) + cut, "n4")
        assert fact_findings(Readings(facts=facts)) == []


@pytest.mark.parametrize(
    "form",
    [
        lambda node, text: "".join(f"{node}: {line}" for line in text.splitlines(keepends=True)),
        lambda node, text: f"{node} | CHANGED | rc=0 >>\n{text}",
        lambda node, text: f"---------------\n{node}\n---------------\n{text}",
    ],
)
def test_what_pdsh_clush_and_ansible_print_of_several_nodes(tmp_path: Path, form: Callable[[str, str], str]) -> None:
    (tmp_path / "all.txt").write_text("".join(form(f"n{at}", LSCPU) for at in range(1, 4)))
    facts = read_recording(tmp_path / "all.txt").facts
    assert list(facts) == ["n1", "n2", "n3"]
    assert facts["n2"] == facts_from_text(LSCPU, "n2")


def test_a_node_that_printed_something_else_is_silent_and_one_node_alone_has_the_name_of_the_file(
    tmp_path: Path,
) -> None:
    lines = [f"n{at}: {line}\n" for at in (1, 2) for line in LSCPU.splitlines()]
    (tmp_path / "all.txt").write_text("".join([*lines, "n3: bash: lscpu: command not found\n"]))
    read = read_recording(tmp_path / "all.txt")
    assert (list(read.facts), list(read.silent)) == (["n1", "n2"], ["n3"])
    for before in ("n7: ", "> ", "      "):
        (tmp_path / "n9.txt").write_text("".join(f"{before}{line}\n" for line in LSCPU.splitlines()))
        assert read_recording(tmp_path / "n9.txt").facts["n9"] == facts_from_text(LSCPU, "n9")


def test_drift_and_limits_of_a_fleet_of_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of 56 is another machine; the others share their limits."""
    for number in range(1, 57):
        (tmp_path / f"n{number}.txt").write_text(LSCPU)
    changes = (
        ("Gold 6148 CPU @ 2.40GHz", "CPU E5-2640 v4 @ 2.40GHz"),
        ("    Model:               85", "    Model:               79"),
        ("Core(s) per socket:  2", "Core(s) per socket:  1"),
    )
    other = LSCPU
    for before, after in changes:
        other = other.replace(before, after)
    (tmp_path / "n7.txt").write_text(other)
    assert command_line.run(["facts", "--from", str(tmp_path), "--drift", "--json"]) == 1
    (finding,) = parsed(capsys.readouterr().out)["findings"]
    assert finding["kind"] == "machine-differs"
    assert "Node n7: 1 of 56 is a different machine" in finding["statement"]
    assert command_line.run(["limits", "--from", str(tmp_path), "--json"]) == 0
    limits = parsed(capsys.readouterr().out)["limits"]
    memory = {limit.get("limit_bytes_per_s") for limit in limits if "memory" in limit["path"]}
    assert memory == {6 * 2666e6 * 8, 4 * 2400e6 * 8}
