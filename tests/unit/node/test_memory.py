"""Memory modules from dmidecode and EDAC; what the firmware's words for a slot tell of its channel."""

from pathlib import Path

import pytest

from seatrial.model.facts import Dimm, MemoryFacts
from seatrial.node.frame import parse_frame
from seatrial.node.memory import SlotPlace, places, read_memory, size_bytes, transfers_per_s
from tests.support.collecting import collect, facts_text, write

EDAC = "/sys/devices/system/edac/mc/mc"


def memory_of(*lines: str) -> tuple[MemoryFacts, dict[str, str]]:
    return read_memory(parse_frame(facts_text(*lines)))


def dmidecode(*devices: dict[str, str], status: int = 0) -> list[str]:
    lines = [line for device in devices for line in ("|Memory Device", *(f"|{k}: {v}" for k, v in device.items()))]
    return ["@command dmidecode -t 17", *lines, f"@end {status}"]


def test_dmidecode_new_and_old() -> None:
    new = {"Size": "32 GB", "Locator": "P0_DIMM_A1", "Bank Locator": "P0 CHANNEL A", "Type": "DDR5",
           "Speed": "4800 MT/s", "Configured Memory Speed": "4400 MT/s"}  # fmt: skip
    empty = {"Size": "No Module Installed", "Locator": "P0_DIMM_B1", "Bank Locator": "P0 CHANNEL B", "Type": "Unknown",
             "Speed": "Unknown", "Configured Memory Speed": "Unknown"}  # fmt: skip
    old = {"Size": "16384 MB", "Locator": "P1_DIMM_A1", "Bank Locator": "P1 CHANNEL A", "Type": "DDR4",
           "Speed": "2400 MHz", "Configured Clock Speed": "2133 MHz"}  # fmt: skip
    facts, absent = memory_of(*dmidecode(new, empty, old))
    assert facts.source == "dmidecode" and "memory.dimms" not in absent
    assert facts.dimms == (
        Dimm(locator="P0_DIMM_A1", channel="P0 A", size_bytes=32 << 30, kind="DDR5", rated_transfers_per_s=4.8e9,
             configured_transfers_per_s=4.4e9, package=0),
        Dimm(locator="P0_DIMM_B1", channel="P0 B", size_bytes=0, package=0),
        Dimm(locator="P1_DIMM_A1", channel="P1 A", size_bytes=16 << 30, kind="DDR4", rated_transfers_per_s=2.4e9,
             configured_transfers_per_s=2.133e9, package=1),
    )  # fmt: skip


def test_a_virtual_machines_words_are_kept() -> None:
    facts, _ = memory_of(
        *dmidecode({"Size": "16 GB", "Locator": "DIMM 0", "Bank Locator": "Not Specified", "Type": "RAM"})
    )
    assert facts.dimms == (Dimm(locator="DIMM 0", size_bytes=16 << 30, kind="RAM"),)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [(dmidecode(status=1), "exit status 1 and no memory device: it needs root"), (dmidecode(status=124), "no answer"),
     (["@absent dmidecode -t 17|not installed"], "not installed"), (dmidecode(status=0), "no memory device"),
     (["@absent dmidecode -t 17|recorded machine"], "recorded machine")],
)  # fmt: skip
def test_why_there_are_no_modules(lines: list[str], reason: str) -> None:
    facts, absent = memory_of(*lines)
    assert (facts.dimms, facts.source, facts.corrected_errors) == ((), "", None)
    assert reason in absent["memory.dimms"] and "EDAC" in absent["memory.dimms"]


def edac(controller: int, ce: str, ue: str, kind: str = "dimm", **files: str) -> list[str]:
    here = f"{EDAC}{controller}"
    return [f"@value {here}/ce_count|{ce}", f"@value {here}/ue_count|{ue}", f"@list {here}/{kind}[0-9]*|3",
            *(f"@value {here}/{kind}3/{name}|{value}" for name, value in files.items())]  # fmt: skip


def test_edac_where_dmidecode_needs_root() -> None:
    label = "CPU_SrcID#1_MC#0_Chan#2_DIMM#0"
    words = {"dimm_label": label, "dimm_mem_type": "Registered-DDR4", "dimm_location": "channel 2 slot 0 "}
    first = edac(0, "7", "0", size="16384", **words)
    second = edac(10, "1", "0", kind="rank", size="8192", dimm_label="", dimm_location="csrow 0 channel 1 ")
    facts, absent = memory_of(*dmidecode(status=1), f"@list {EDAC}[0-9]*|10 0", *first, *second)
    assert facts == MemoryFacts(
        dimms=(
            Dimm(locator=label, channel="mc0 channel2", size_bytes=16 << 30, kind="DDR4", package=1),
            Dimm(locator="mc10/rank3", channel="mc10 channel1", size_bytes=8 << 30),
        ),
        source="EDAC",
        corrected_errors=8,
        uncorrected_errors=0,
    )  # fmt: skip
    assert absent == {}


def test_a_controller_that_does_not_tell_leaves_the_sum_unknown() -> None:
    facts, absent = memory_of(f"@list {EDAC}[0-9]*|0 1", f"@value {EDAC}0/ce_count|7", f"@value {EDAC}1/ce_count|?")
    assert facts.corrected_errors is None and "memory.corrected_errors" in absent


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ([("DIMM_P0_A0", "P0 CHANNEL A"), ("DIMM_P1_H0", "P1 CHANNEL H")], [(0, "P0 A"), (1, "P1 H")]),
        ([("CPU1_DIMM_A1", "NODE 1"), ("CPU2_DIMM_A1", "NODE 2")], [(0, "P0 A"), (1, "P1 A")]),
        ([("P1-DIMMA1", "P0_Node0_Channel0_Dimm0"), ("P2-DIMME1", "P1_Node1_Channel0_Dimm0")],
         [(0, "P0 N0 0"), (1, "P1 N1 0")]),
        ([("P1-DIMMA1", "BANK 0"), ("P2-DIMMA1", "BANK 1")], [(0, "P0 A"), (1, "P1 A")]),
        ([("DIMM_P0_A0", "BANK 0"), ("DIMM_P1_B1", "BANK 1")], [(0, "P0 A"), (1, "P1 B")]),
        ([("DIMM_A1", "NODE 0 CHANNEL 3 DIMM 0")], [(None, "N0 3")]),
        ([("DIMM_A1", ""), ("DIMM_B2", "")], [(None, "A"), (None, "B")]),
        ([("DIMM_A1", ""), ("DIMM_B6", "")], [(0, ""), (1, "")]),
        ([("A1", "Not Specified"), ("B12", "")], [(0, ""), (1, "")]),
        ([("PROC 1 DIMM 3", ""), ("PROC 2 DIMM 12", "")], [(0, ""), (1, "")]),
        ([("PROC 1 DIMM 3", "")], [(0, "")]),
        ([("Controller1-ChannelA-DIMM0", "BANK 0")], [(None, "MC1 A")]),
        ([("CPU0_IMC0_CH1_DIMM0", "")], [(0, "P0 MC0 1")]),
        ([("DIMM 0", "Not Specified"), ("Node0_Dimm2", "Node0_Bank0"), ("", "")], [(None, ""), (None, ""), (None, "")]),
    ],
)  # fmt: skip
def test_places(slots: list[tuple[str, str]], expected: list[tuple[int | None, str]]) -> None:
    assert places(slots) == tuple(SlotPlace(*each) for each in expected)


@pytest.mark.parametrize(
    ("text", "size"),
    [("32 GiB", 1 << 35), ("16384 MiB", 1 << 34), ("16 Gbit", None),
     ("16 GB", 1 << 34), ("512 MB", 1 << 29), ("1 TB", 1 << 40), ("No Module Installed", 0), ("Unknown", None),
     ("", None), ("GB", None), ("-1 GB", None), ("16 XB", None), ("9" * 20 + " GB", None)],
)  # fmt: skip
def test_sizes(text: str, size: int | None) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "rate"), [("3200 MT/s", 3.2e9), ("1600 MHz", 1.6e9), ("Unknown", None), ("0 MT/s", None), ("", None)]
)
def test_speeds(text: str, rate: float | None) -> None:
    assert transfers_per_s(text) == rate


def test_edac_as_the_collector_reads_it(tmp_path: Path) -> None:
    controller = f"{EDAC}1"
    for channel in range(2):
        for name, content in {"size": "32768", "dimm_label": "", "dimm_mem_type": "Unbuffered-DDR5",
                              "dimm_location": f"channel {channel} "}.items():  # fmt: skip
            write(tmp_path, f"{controller}/dimm{channel}/{name}", f"{content}\n")
    write(tmp_path, f"{controller}/ce_count", "2\n")
    write(tmp_path, f"{controller}/ue_count", "0\n")
    memory, _ = read_memory(collect(str(tmp_path), SEATRIAL_FACTS="full"))
    assert [(each.locator, each.channel, each.size_bytes, each.kind) for each in memory.dimms] == [
        ("mc1/dimm0", "mc1 channel0", 32 << 30, "DDR5"), ("mc1/dimm1", "mc1 channel1", 32 << 30, "DDR5"),
    ]  # fmt: skip
    assert (memory.source, memory.corrected_errors, memory.uncorrected_errors) == ("EDAC", 2, 0)
