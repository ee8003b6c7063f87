"""What a node is, as text and as JSON."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.facts.view import facts_report
from seatrial.drift.fact_words import value_text
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts, NumaNode, PciKind, ProcessorFacts, Topology
from seatrial.model.system import ClockState, KernelFacts, Library, SoftwareFacts
from seatrial.model.words import Unknown, few, folded
from seatrial.node.hwloc_machine import facts_from_nccl
from seatrial.node.node import parse_facts
from seatrial.render.device_map import DeviceMap
from seatrial.render.text import as_text
from tests.support.fact_places import values
from tests.support.facts_examples import (
    CARD,
    device,
    dimm,
    hca,
    hop,
    interface,
    memory,
    mount,
    port,
    processor,
    server,
    system,
)
from tests.support.facts_examples import settings as kernel_settings
from tests.support.golden import check_page
from tests.support.gpu_machines import gpus
from tests.support.json_objects import parsed
from tests.support.paths import DATA
from tests.support.properties import examples
from tests.support.reports import facts_json, facts_text

RECORDED = DATA / "facts"


def big_node() -> NodeFacts:
    """One of everything that is shown."""
    slot = hop("0000:40:01.0", 8e9, 8, max_transfers_per_s=16e9, max_width=16)
    nodes = (
        NumaNode(index=0, processors=tuple(range(0, 128, 2)), memory_bytes=256 << 30, distances=(10, 32)),
        NumaNode(index=1, processors=(*range(8), *range(64, 72))),
    )
    return server(
        interfaces=(
            interface("ib0", link_type=32, speed_bits_per_s=200e9, pci_address=CARD),
            interface("eno1", speed_bits_per_s=None, carrier=False),
        ),
        hcas=(hca("mlx5_0", port(rate_text="200 Gb/sec (4X HDR)", subnet_manager_lid=0, interfaces=("ib0",))),),
        pci=(
            device(CARD, slot, names=("ib0", "mlx5_0"), numa_node=1),
            device("0000:61:00.0", kind=PciKind.NVME, names=("nvme0",), numa_node=0),
        ),
        topology=Topology(numa_nodes=nodes),
        processor=processor(governors={"powersave": 1, "performance": 15}, minimum_hz=(1.5e9,)),
        memory=memory(dimms=(dimm("A", 0, configured=2933e6), dimm("B", 0), dimm("C", 0, 0))),
        settings=kernel_settings(sysctls={"vm.swappiness": "10"}),
        system=system(
            clock=ClockState(synchronised=False, offset_s=-0.25),
            mounts=(mount("/proc", "proc"), mount("/scratch", "lustre", "rw", "flock", reachable=False)),
            paths={"/apps": True},
        ),
        software=SoftwareFacts(
            slurm_daemon="23.02", libraries=(Library(name="UCX", version="1.15"), Unknown(word="newlib 3"))
        ),
        absent={"boot_id": "no such file"}
        | dict.fromkeys(("software.slurm_client", "software.modules_system"), "not installed"),
    )


def test_one_of_everything() -> None:
    check_page("facts", facts_text({"n1": big_node()}))
    check_page("facts-summary", summary_text({"n1": big_node()}))


def test_the_first_lines_of_everything_have_clocks_and_what_carries_messages() -> None:
    mpi = Library(
        name="Open MPI", version="4.1.4", components={"btl": ("self", "tcp"), "mtl": ("ofi",), "coll": ("x",)}
    )
    node = server(processor=processor(present_hz=(2.4e9, 3.0e9)), software=SoftwareFacts(libraries=(mpi,)))
    first = facts_report({"n1": node}, full=True).sentence
    assert "; clocks now 2.4 GHz to 3 GHz; Open MPI 4.1.4: mtl ofi, btl self tcp; " in first
    assert "clocks now" not in facts_report({"n1": node}).sentence


def test_nodes_stand_in_natural_order_and_a_broken_stream_is_said() -> None:
    facts = {name: NodeFacts(hostname=name, complete=name != "n10") for name in ("n10", "n9")}
    first, second, *lines = facts_text(facts, width=200).splitlines()
    assert first == "MEASURED  facts of 2 nodes, alike in this summary"
    assert second.startswith("those of n10 broke off before")
    assert "n[9-10]  2 nodes" in lines
    nothing = as_text(facts_report({}, exit_code=ExitCode.INCOMPLETE))
    assert nothing == "INCOMPLETE  no node's facts were read\n"


def test_gpus_have_a_line_of_their_own() -> None:
    text = summary_text({"n1": server(gpus=gpus(number=8))})
    assert "GPUs        8 × NVIDIA H100, driver 550.54.15" in text


def summary_text(facts: dict[str, NodeFacts]) -> str:
    return as_text(facts_report(facts), width=120)


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
    check_page("facts-of-three", facts_text(facts, width=120))


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


@settings(max_examples=examples(15), deadline=None)
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


def test_the_page_draws_the_devices_of_a_node_with_gpus() -> None:
    facts = {"n1": facts_from_nccl((DATA / "gpu" / "azure-ndv4.xml").read_text(encoding="utf-8"), "n1")}
    (drawn,) = [block for block in facts_report(facts).page() if isinstance(block, DeviceMap)]
    assert drawn.title == "n1: GPUs, adapters and their ways to the processor"
    assert [part.title for part in drawn.parts] == [f"processor, NUMA node {place}" for place in range(4)]
    assert {box.title for box in drawn.svg.boxes if box.style == "gpu"} == {f"GPU {place}" for place in range(8)}
