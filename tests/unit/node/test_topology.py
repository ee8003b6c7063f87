"""Cores, NUMA nodes and caches, from sysfs and from hwloc's XML; sets of processors in all their spellings."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.facts import Cache, Core, NumaNode, Topology
from seatrial.node.frame import FactsFormatError, parse_frame
from seatrial.node.node import parse_facts
from seatrial.node.processor_sets import MOST, listed, masked
from seatrial.node.topology import HWLOC, read_topology, xml_topology
from seatrial.node.topology_sysfs import sysfs_topology
from tests.support.collecting import collected_text, facts_text
from tests.support.paths import DATA
from tests.support.processor_time import within

RECORDED = DATA / "processors" / "virtual-machine.facts"
CPU = "/sys/devices/system/cpu/cpu[0-9]*"
NODE = "/sys/devices/system/node/node"


def topology_of(*lines: str) -> tuple[Topology, dict[str, str]]:
    return read_topology(parse_frame(facts_text(*lines)))


def rows(*cells: str) -> list[str]:
    columns = "core_id physical_package_id thread_siblings_list"
    return [f"@table {CPU}/topology {columns}", *(f"|{cell}" for cell in cells), "@end"]


def xml(*objects: str, version: str = "2.0", after: str = "") -> str:
    machine = f'<object type="Machine" os_index="0">{"".join(objects)}</object>'
    return f'<topology version="{version}">{machine}{after}</topology>'


def core(*processors: int) -> str:
    inside = "".join(f'<object type="PU" os_index="{each}"/>' for each in processors)
    return f'<object type="Core" os_index="0">{inside}</object>'


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", ()), ("0", (0,)), ("0-2,8\n", (0, 1, 2, 8)), ("8,0-1", (0, 1, 8)), ("3-1", None), ("a", None), ("0-", None),
     ("0,,1", None), ("0-999999999", None), ("-1", None), ("٣", None)],
)  # fmt: skip
def test_lists(text: str, numbers: tuple[int, ...] | None) -> None:
    assert listed(text) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("00000000,00000003", (0, 1)), ("3", (0, 1)), ("1,00000000", (32,)), ("0x0000010f", (0, 1, 2, 3, 8)),
     ("0x1,,0x80000000", (31, 64)), ("00000000", ()), ("", None), ("0xf...f,0x0", None), ("xyz", None),
     ("123456789", None), ("1_0", None), (",".join(["00000001"] * (MOST // 32 + 1)), None)],
)  # fmt: skip
def test_masks(text: str, numbers: tuple[int, ...] | None) -> None:
    assert masked(text) == numbers


@given(st.sets(st.integers(0, 300)))
def test_a_list_and_a_mask_of_one_set_agree(numbers: set[int]) -> None:
    value = sum(1 << each for each in numbers)
    words = [f"{value >> 32 * place & 0xFFFFFFFF:08x}" for place in reversed(range(10))]
    assert masked(",".join(words)) == listed(",".join(map(str, numbers))) == tuple(sorted(numbers))


def test_siblings_as_a_list_and_as_a_mask() -> None:
    as_list, _ = topology_of(*rows("0 0 0 0,2", "1 1 0 1,3", "2 0 0 0,2", "3 1 0 1,3"))
    masks = [f"@list {CPU}/topology|0 1 2 3", f"@column {CPU}/topology thread_siblings|5\t0000000a\t5\t0000000a"]
    as_mask, _ = topology_of(*rows("0 0 0 ?", "1 1 0 ?", "2 0 0 ?", "3 1 0 ?"), *masks)
    assert as_list.cores == as_mask.cores == (Core(processors=(0, 2), package=0), Core(processors=(1, 3), package=0))


def test_without_siblings_package_and_core_number_tell() -> None:
    found, _ = topology_of(*rows("0 0 0 ?", "1 0 1 ?", "2 0 0 ?"))
    assert [each.processors for each in found.cores] == [(0, 2), (1,)]
    untold, absent = topology_of(*rows("0 0 0 ?", "1 ? 0 ?"))
    assert untold.cores == () and "topology.cores" in absent


def test_offline_processors_are_left_out_everywhere() -> None:
    index = f"{CPU}/cache/index0"
    cells = {"level": "1\t1\t1\t1", "type": "Data\tData\tData\tData", "size": "48K\t48K\t48K\t48K"}
    found, _ = topology_of(
        "@value /sys/devices/system/cpu/online|0,2-3", *rows("0 0 0 0-1", "1 0 0 ?", "2 1 0 2-3", "3 1 0 2-3"),
        f"@list {NODE}[0-9]*|0", f"@value {NODE}0/cpulist|0-3", f"@list {index}|0 1 2 3",
        *(f"@column {index} {file}|{line}" for file, line in cells.items()),
        f"@column {index} shared_cpu_list|0-1\t0-1\t2-3\t2-3",
    )  # fmt: skip
    assert [each.processors for each in found.cores] == [(0,), (2, 3)]
    assert found.numa_nodes[0].processors == (0, 2, 3)
    assert [(each.shared_by, each.count, each.size_bytes) for each in found.caches] == [(1, 1, 49152), (2, 1, 49152)]


def test_numbers_of_firmware_and_its_silence() -> None:
    found, _ = topology_of(*rows("0 0 8442 0", "1 0 -1 1"))
    assert [each.package for each in found.cores] == [8442, None]
    assert found.packages == (8442,)


def test_memory_alone_distances_and_memory() -> None:
    found, absent = topology_of(
        *rows("0 0 0 0", "1 1 0 1"), f"@list {NODE}[0-9]*|10 0 2", f"@value {NODE}0/cpulist|0-1",
        f"@value {NODE}10/cpulist|", f"@value {NODE}0/meminfo|Node 0 MemTotal:       8387892 kB",
        f"@column {NODE}[0-9]* distance|30 20 10\t10 20 30\t20 10 20",
    )  # fmt: skip
    assert found.numa_nodes == (
        NumaNode(index=0, processors=(0, 1), memory_bytes=8387892 * 1024, distances=(10, 20, 30)),
        NumaNode(index=2, distances=(20, 10, 20)),
        NumaNode(index=10, distances=(30, 20, 10)),
    )
    assert [each.numa_node for each in found.cores] == [0, 0]
    assert set(absent) == {"topology.caches"}


def test_a_row_of_distances_that_does_not_fit_is_none() -> None:
    found, _ = topology_of(f"@list {NODE}[0-9]*|0 1", f"@column {NODE}[0-9]* distance|10 20\t20")
    assert [each.distances for each in found.numa_nodes] == [(10, 20), ()]


def test_caches_without_sharers_are_not_counted_and_their_own_are() -> None:
    index = f"{CPU}/cache/index0"
    lines = [f"@list {index}|0 1", f"@column {index} level|3\t3", f"@column {index} type|Unified\tUnified"]
    assert topology_of(*lines)[0].caches == ()
    own = topology_of(*lines, f"@column {index} shared_cpu_map|00000000\t00000000")[0].caches
    assert own == (Cache(level=3, kind="unified", size_bytes=None, shared_by=1, count=2),)


def test_live_machine_agrees_with_hwloc() -> None:
    """The fixture was recorded with hwloc 2.9 installed: XML for the topology, and sysfs but for the caches."""
    frame = parse_frame(RECORDED.read_text())
    found, absent = read_topology(frame)
    assert found.source == "hwloc XML" and absent == {}
    assert len(found.cores) == 2 and len(found.caches) == 4
    sysfs = sysfs_topology(frame)
    assert (found.cores, found.numa_nodes) == (sysfs.cores, sysfs.numa_nodes)


@pytest.mark.skipif(not shutil.which("lstopo-no-graphics"), reason="hwloc is not installed")
def test_this_machine_says_the_same_through_hwloc_and_through_sysfs(tmp_path: Path) -> None:
    by_hwloc, by_sysfs = (parse_facts(collected_text(sysroot)).topology for sysroot in ("/", f"{tmp_path}:/"))
    assert (by_hwloc.source, by_sysfs.source) == ("hwloc XML", "sysfs")
    assert by_hwloc.cores == by_sysfs.cores and by_hwloc.caches == by_sysfs.caches
    assert [each.distances for each in by_hwloc.numa_nodes] == [each.distances for each in by_sysfs.numa_nodes]


def test_what_is_laid_over_the_machine_wins_over_hwloc(tmp_path: Path) -> None:
    file = tmp_path / "sys/devices/system/cpu/cpu0/topology/physical_package_id"
    file.parent.mkdir(parents=True)
    file.write_text("7\n")
    facts = parse_facts(collected_text(f"{tmp_path}:/"))
    assert facts.topology.cores[0].package == 7 and facts.topology.source == "sysfs"


def test_serial_numbers_stay_where_they_are(tmp_path: Path) -> None:
    program = tmp_path / "lstopo-no-graphics"
    export = xml('<info name="DMIProductSerial" value="S3CR3T"/>\n', core(0), "\n")
    program.write_text(f"#!/bin/sh\necho '{export}' | sed 's/<info/\\n<info/'\n")
    modules = tmp_path / "dmidecode"
    modules.write_text(
        "#!/bin/sh\nprintf 'Memory Device\\n\\tSize: 16 GB\\n\\tSerial Number: S3CR3T\\n\\tAsset Tag: S3CR3T\\n'\n"
    )
    for each in (program, modules):
        each.chmod(0o755)
    text = collected_text("/", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert "S3CR3T" not in text and "|Size: 16 GB\n" in text
    assert parse_facts(text).topology.source == "hwloc XML"


def test_256_processors_without_hwloc_are_read_in_time(tmp_path: Path) -> None:
    for number in range(256):
        here = tmp_path / f"sys/devices/system/cpu/cpu{number}"
        files: dict[str, object] = {
            "topology/core_id": number,
            "topology/physical_package_id": number // 128,
            "topology/thread_siblings_list": number,
            "cpufreq/scaling_max_freq": 1,
            "thermal_throttle/core_throttle_count": 0,
        }
        for index, size in enumerate(("48K", "32K", "2048K", "65536K")):
            caches: dict[str, object] = {
                "level": index or 1,
                "type": "Unified",
                "size": size,
                "shared_cpu_list": number,
            }
            files |= {f"cache/index{index}/{name}": value for name, value in caches.items()}
        for name, value in files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(f"{value}\n")
    with within(1.0):  # 0.3 s on the machine it was written on
        text = collected_text(str(tmp_path))
    facts = parse_facts(text)
    assert [each.count for each in facts.topology.caches] == [256] * 4 and len(facts.processor.maximum_hz) == 256


@pytest.mark.parametrize("version", ["1.0", "2.0", "3.0"])
def test_xml_of_two_packages(version: str) -> None:
    node = '<object type="NUMANode" os_index="{0}" cpuset="{1}" local_memory="{2}"/>'
    l2 = '<object type="L2Cache" cache_size="1048576" depth="2" cache_type="0">'
    packages = [
        f'<object type="Package" os_index="{each}">{node.format(each, mask, 1 << 30)}{l2}{core(*held)}'
        "</object></object>"
        for each, mask, held in ((0, "0x5", (2, 0)), (3, "0xa", (1, 3)))
    ]
    rows_of_words = "<u64values>10 21 </u64values><u64values>22 11</u64values>"
    matrix = f'<distances2 name="NUMALatency" indexing="os"><indexes>3 0</indexes>{rows_of_words}</distances2>'
    found = xml_topology(xml(*packages, version=version, after=matrix))
    assert found.numa_nodes == (
        NumaNode(index=0, processors=(0, 2), memory_bytes=1 << 30, distances=(11, 22)),
        NumaNode(index=3, processors=(1, 3), memory_bytes=1 << 30, distances=(21, 10)),
    )
    first, second = Core(processors=(0, 2), package=0, numa_node=0), Core(processors=(1, 3), package=3, numa_node=3)
    assert found.cores == (first, second)
    assert found.caches == (Cache(level=2, kind="unified", size_bytes=1 << 20, shared_by=2, count=2),)


def test_memory_differs_between_nodes_whose_xml_is_else_the_same() -> None:
    node = '<object type="NUMANode" os_index="0" cpuset="0x1" local_memory="{}"/>'
    found = [xml_topology(xml(node.format(amount), core(0))) for amount in (5, 7, 10**30, "x")]
    assert [each.numa_nodes[0].memory_bytes for each in found] == [5, 7, None, None]


def test_hbm_beside_plain_memory_is_memory_alone() -> None:
    nodes = (f'<object type="NUMANode" os_index="{each}" cpuset="0x3" local_memory="1"/>' for each in (1, 0))
    found = xml_topology(xml(*nodes, core(0), core(1)))
    assert [each.processors for each in found.numa_nodes] == [(0, 1), ()]


@pytest.mark.parametrize(
    "text",
    ["", "not XML", "<topology", "<other><object/></other>", "<topology/>", "<topology>\udcff<object/></topology>",
     '<!DOCTYPE topology [<!ENTITY a "b">]><topology><object name="&a;"/></topology>',
     '<!DOCTYPE topology SYSTEM "a" [ ]><topology><object/></topology>',
     '<!DOCTYPE topology SYSTEM "http://example.org/x.dtd"><topology><object/></topology>'],
)  # fmt: skip
def test_xml_that_is_refused(text: str) -> None:
    with pytest.raises(FactsFormatError):
        xml_topology(text)


def test_a_billion_laughs_are_refused_at_once() -> None:
    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    bomb = f'<!DOCTYPE topology [<!ENTITY l0 "ha">{laughs}]><topology><object name="&l9;"/></topology>'
    with within(0.1), pytest.raises(FactsFormatError, match="declares more"):
        xml_topology(bomb)


def test_objects_nested_without_end_break_nothing() -> None:
    depth = 50_000
    found = xml_topology(xml('<object type="Group">' * depth, core(0), "</object>" * depth))
    assert found.cores == (Core(processors=(0,)),)


def test_broken_xml_of_a_node_gives_sysfs_and_the_reason() -> None:
    found, absent = topology_of(*rows("0 0 0 0"), f"@command {HWLOC[0]}", "|<topology>", "@end 0")
    assert (found.source, len(found.cores)) == ("sysfs", 1)
    assert absent["topology.source"].startswith(f"{HWLOC[0]}: This is not well-formed XML")
