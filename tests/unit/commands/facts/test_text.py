"""What a node is, as text and as JSON."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.facts.view import facts_report
from seatrial.drift.fact_words import value_text
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.hardware import (
    Dimm,
    IdleState,
    MemoryFacts,
    NumaNode,
    PciDevice,
    PciHop,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.system import ClockState, Firmware, KernelFacts, Library, Mount, SoftwareFacts, SystemFacts
from seatrial.model.words import Unknown
from seatrial.node.node import parse_facts
from seatrial.render.node_names import few, folded
from seatrial.render.text import as_text
from tests.support.fact_places import EXAMPLE, values
from tests.support.json_objects import parsed
from tests.support.paths import DATA
from tests.support.reports import facts_json, facts_text

RECORDED = DATA / "facts"


def big_node() -> NodeFacts:
    """One of everything that is shown."""
    port = Port(
        number=1,
        family=PortFamily.INFINIBAND,
        state=PortState.ACTIVE,
        rate_text="200 Gb/sec (4X HDR)",
        subnet_manager_lid=0,
        interfaces=("ib0",),
    )
    hop = PciHop(
        address="0000:40:01.0",
        current_transfers_per_s=8e9,
        max_transfers_per_s=16e9,
        current_width=8,
        max_width=16,
        max_payload_bytes=256,
        max_payload_supported_bytes=512,
    )
    dimm = Dimm(
        locator="A1",
        channel="P0 A",
        size_bytes=32 * 2**30,
        kind="DDR4",
        rated_transfers_per_s=3200e6,
        configured_transfers_per_s=2933e6,
    )
    return NodeFacts(
        hostname="n1",
        complete=True,
        kernel="5.14.0",
        cpu_model="EPYC 7763",
        processors=128,
        cores=64,
        sockets=2,
        memory_bytes=512 * 2**30,
        interfaces=(
            NetworkInterface(
                name="ib0",
                link_type=32,
                state="up",
                speed_bits_per_s=200e9,
                mtu_bytes=4092,
                pci_address="0000:41:00.0",
            ),
            NetworkInterface(name="eno1", link_type=1, state="up", carrier=False),
        ),
        hcas=(Hca(name="mlx5_0", driver="mlx5_core", numa_node=1, pci_address="0000:41:00.0", ports=(port,)),),
        pci=(
            PciDevice(address="0000:41:00.0", kind=PciKind.NETWORK, names=("ib0", "mlx5_0"), numa_node=1, path=(hop,)),
            PciDevice(address="0000:61:00.0", kind=PciKind.NVME, names=("nvme0",), numa_node=0),
        ),
        topology=Topology(
            numa_nodes=(
                NumaNode(index=0, processors=tuple(range(0, 128, 2)), memory_bytes=256 * 2**30, distances=(10, 32)),
                NumaNode(index=1, processors=(*range(8), *range(64, 72))),
            )
        ),
        processor=ProcessorFacts(
            governors={"powersave": 1, "performance": 127},
            minimum_hz=(1.5e9, 1.5e9),
            maximum_hz=(2.45e9, 2.45e9),
            turbo=True,
            idle_states=(
                IdleState(name="C1", latency_s=1e-6, disabled=False),
                IdleState(name="C6", latency_s=None, disabled=True),
            ),
        ),
        memory=MemoryFacts(
            dimms=(
                dimm,
                msgspec.structs.replace(dimm, locator="B1", channel="P0 B", configured_transfers_per_s=3200e6),
                Dimm(locator="C1", size_bytes=0),
            ),
            corrected_errors=3,
        ),
        settings=KernelFacts(modules={"nfs": "", "mlx5_core": "5.8"}, sysctls={"vm.swappiness": "10"}),
        system=SystemFacts(
            firmware=Firmware(vendor="Made Up", product="MU-1", bios_version="2.1", bios_date="01/02/2023"),
            clock=ClockState(synchronised=False, offset_s=-0.25),
            mounts=(
                Mount(path="/proc", source="proc", kind="proc"),
                Mount(path="/scratch", source="mds:/s", kind="lustre", options=("rw", "flock"), reachable=False),
            ),
            paths={"/apps": True},
        ),
        software=SoftwareFacts(
            slurm_daemon="23.02", libraries=(Library(name="UCX", version="1.15"), Unknown(word="newlib 3"))
        ),
        absent={
            "boot_id": "no such file",
            "software.slurm_client": "not installed",
            "software.modules_system": "not installed",
        },
    )


def test_the_text_says_what_the_node_is() -> None:
    text = facts_text({"n1": big_node()}, width=400)
    for said in (
        "Made Up MU-1; BIOS 2.1 of 01/02/2023",
        "2 × EPYC 7763, 64 cores, 128 logical",
        "performance × 127, powersave × 1; allowed 1.5 GHz to 2.45 GHz; turbo on",
        "C1, C6 (off)",
        "512 GiB; 1 × 32 GiB DDR4 at 2933 MT/s (rated 3200 MT/s), 1 × 32 GiB DDR4 at 3200 MT/s, 1 slot empty; "
        "2 channels in use; 3 corrected errors since boot",
        "processors 0 to 126 by 2; 256 GiB; distances 10 32; nvme0",
        "processors 0-7,64-71; mlx5_0, ib0",
        "port 1: InfiniBand, ACTIVE, 200 Gb/sec (4X HDR), no subnet manager has been here, as ib0",
        "PCIe 0000:40:01.0 8 GT/s x8 of 16 GT/s x16, packets 256 of 512 B",
        "up, 200 Gb/s, MTU 4092",
        "up, no carrier, speed not reported",
        "2 loaded; mlx5_core 5.8",
        "vm.swappiness = 10",
        "not synchronised, 250.0 ms behind",
        "/scratch: lustre from mds:/s (rw,flock); does not answer",
        "/apps answers",
        "daemon 23.02",
        "unknown 'newlib 3'",
        "software.modules_system, software.slurm_client: not installed",
        "boot_id: no such file",
    ):
        assert said in text, said
    assert text.count("PCIe 0000:40:01.0") == 1
    assert "/proc: proc" not in text


def test_nodes_stand_in_natural_order_and_a_broken_stream_is_said() -> None:
    facts = {name: NodeFacts(hostname=name, complete=name != "n10") for name in ("n10", "n9")}
    first, *lines = facts_text(facts, width=200).splitlines()
    assert first.startswith("MEASURED  facts of 2 nodes, all alike in this summary; those of n10 broke off before")
    assert "n[9-10]  2 nodes" in lines
    nothing = as_text(facts_report({}, exit_code=ExitCode.INCOMPLETE))
    assert nothing == "INCOMPLETE  no node's facts were read\n"


def summary_text(facts: dict[str, NodeFacts]) -> str:
    return as_text(facts_report(facts), width=120)


def test_a_summary_has_about_a_dozen_lines() -> None:
    text = summary_text({"n1": big_node()})
    for said in (
        "MEASURED  facts of n1; not judged (--drift compares and judges)",
        "machine     Made Up MU-1; BIOS 2.1 of 01/02/2023",
        "processors  2 × EPYC 7763, 64 cores, 128 logical",
        "adapters    mlx5_0 200 Gb/sec (4X HDR)",
        "interfaces  ib0 200 Gb/s MTU 4092, eno1",
        "NVMe        1: nvme0",
        "clock       not synchronised",
        "mounts      /scratch (lustre)",
        "not read    3 facts",
        "more  --full prints everything",
    ):
        assert said in text
    assert len(text.splitlines()) <= 20


def test_nodes_that_are_alike_are_one_and_others_show_what_differs() -> None:
    facts = {f"n{i}": msgspec.structs.replace(big_node(), hostname=f"n{i}") for i in range(1, 65)}
    facts["n9"] = msgspec.structs.replace(facts["n9"], kernel="5.13.0", hcas=())
    assert summary_text(facts).split("\n\n")[2] == (
        "n9\n   kernel   5.13.0\n   without  adapters\n   else     as n[1-8,10-64]"
    )
    assert "n[1-8,10-64]  63 nodes\n   machine " in summary_text(facts)
    assert "facts of 64 nodes of 2 kinds" in summary_text(facts)


def test_the_full_list_has_common_rows_once_and_the_others_by_value() -> None:
    facts = {name: msgspec.structs.replace(big_node(), hostname=name) for name in ("n1", "n2", "n3")}
    facts["n3"] = msgspec.structs.replace(facts["n3"], settings=KernelFacts(sysctls={"vm.swappiness": "60"}))
    text = facts_text(facts, width=120)
    assert text.count("C1, C6 (off)") == 1
    assert "Where n[1-3] differ" in text
    assert "sysctls  n[1-2]: vm.swappiness = 10\n           n3: vm.swappiness = 60" in text
    assert "modules  n[1-2]: 2 loaded; mlx5_core 5.8\n           n3: none" in text


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_no_line_is_wider_than_it_may_be(width: int) -> None:
    text = facts_text({"n1": big_node(), "n2": EXAMPLE}, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())


def test_text_from_outside_is_harmless() -> None:
    evil = NodeFacts(hostname="n1", complete=True, kernel="\x1b[31mred\x1b[0m\n[bold]", absent={"\x07": "\x9b2J"})
    text = facts_text({"n\x1b[2J1": evil}, colour=False)
    assert not any(character in text for character in "\x1b\x07\x9b")
    assert "red [bold]" in text
    assert "\x1b[1m" in facts_text({"n1": evil}, colour=True)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.facts")), ids=lambda path: path.stem)
def test_recorded_nodes_are_shown(path: Path) -> None:
    facts = parse_facts(path.read_text())
    assert facts.kernel in facts_text({facts.hostname: facts})
    assert parsed(facts_json({facts.hostname: facts}))["nodes"][facts.hostname]["kernel"] == facts.kernel


def test_the_json_has_every_field_in_base_units() -> None:
    built = parsed(facts_json({"n1": big_node()}))
    assert built["nodes"]["n1"].keys() == set(NodeFacts.__struct_fields__)
    assert built["nodes"]["n1"]["interfaces"][0]["speed_bits_per_s"] == 200e9
    assert built["nodes"]["n1"]["software"]["libraries"][1] == {"word": "newlib 3"}
    odd = msgspec.structs.replace(big_node(), processor=ProcessorFacts(base_hz=float("nan")))
    assert parsed(facts_json({"n1": odd}))["nodes"]["n1"]["processor"]["base_hz"] is None


@settings(max_examples=40, deadline=None)
@given(values(NodeFacts))
def test_any_facts_are_shown(facts: NodeFacts) -> None:
    assert facts_text({"n1": facts}, width=80)
    assert facts_json({"n1": facts}).isascii()


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ""),
        (("n1",), "n1"),
        (("n1", "n2", "n3", "n7", "login"), "login,n[1-3,7]"),
        (("n09", "n10", "n11"), "n[09-11]"),
        (("n9", "n10"), "n[9-10]"),
        (("n1-ib", "n2-ib", "n1"), "n1,n[1-2]-ib"),
        (("r1n1", "r1n2", "r2n1"), "r1n[1-2],r2n1"),
        (("n001", "n1"), "n001,n1"),
    ],
)
def test_names_are_folded(names: tuple[str, ...], text: str) -> None:
    assert folded(names) == text


@given(st.sets(st.from_regex(r"\A[a-z]{1,2}[0-9]{1,3}(-ib)?\Z"), min_size=1))
def test_folded_names_unfold_to_the_same(names: set[str]) -> None:
    from ClusterShell.NodeSet import NodeSet

    assert set(NodeSet(folded(names))) == names


def test_names_that_do_not_fold_are_counted() -> None:
    assert few(("a", "bb", "c"), 40) == "a,bb,c"
    assert few((f"{letter}x" for letter in "abcdefgh"), 10) == "8 nodes, ax to hx"


@pytest.mark.parametrize(
    ("fact", "value", "text"),
    [
        ("memory_bytes", 512 * 2**30, "512 GiB"),
        ("system.limits.locked_memory_bytes", -1, "unlimited"),
        ("interfaces.eth0.speed_bits_per_s", 25e9, "25 Gb/s"),
        ("processor.maximum_hz.least", 2.45e9, "2.45 GHz"),
        ("pci.0000:01:00.0.path.0000:01:00.0.max_transfers_per_s", 16e9, "16 GT/s"),
        ("memory.dimms.A1.rated_transfers_per_s", 3200e6, "3200 MT/s"),
        ("processor.idle_states.C6.latency_s", 133e-6, "133.0 µs"),
        ("system.power_limits_w.package-0 long_term", 280.0, "280 W"),
        ("interfaces.eth0.enslaved", False, "no"),
        ("settings.modules.nfs", "", "without a value"),
        ("kernel", None, "not reported"),
        ("cores", 64, "64"),
    ],
)
def test_values_are_told_in_their_units(fact: str, value: str | float | bool | None, text: str) -> None:
    assert value_text(fact, value) == text
