"""Topology files of NCCL: recorded ones of two clouds, a dump with names of adapters, and damaged ones."""

import random

import pytest

from seatrial.model.facts import PciKind
from seatrial.node.frame import FactsFormatError
from seatrial.node.hwloc_machine import facts_from_nccl, facts_from_xml
from seatrial.rules.pcie import switched_adapters
from tests.support.command_line import Seatrial
from tests.support.paths import DATA

FOLDER = DATA / "gpu"
DUMP = """\
<system version="1">
  <cpu numaid="1" affinity="ff" arch="x86_64">
    <pci busid="0000:40:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:41:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:05:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:42:00.0" class="0x020000" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:81:00.0" class="0x020000" link_speed="" link_width="0">
      <nic><net name="mlx5_1" dev="1" speed="400000" port="1"/></nic>
    </pci>
  </cpu>
</system>
"""  # noqa: E501 - lines as NCCL writes them


@pytest.mark.parametrize(("name", "adapters"), [("azure-ndv4.xml", 8), ("aws-p4d-24xl.xml", 4)])
def test_recorded_files_have_eight_gpus_and_their_adapters_below_switches(name: str, adapters: int) -> None:
    facts = facts_from_xml((FOLDER / name).read_text(encoding="utf-8"), "n1")
    assert len(facts.gpus) == 8
    assert len(facts.hcas) == adapters
    near = switched_adapters(facts)
    assert len(near) == 8
    assert all(near.values())
    assert {device.kind for device in facts.pci} == {PciKind.GPU, PciKind.NETWORK}


def test_a_dump_names_adapters_and_which_of_them_is_below_the_switch_of_the_gpu() -> None:
    facts = facts_from_nccl(DUMP, "n1")
    assert switched_adapters(facts) == {"GPU 0": ("mlx5_0",)}
    assert [hca.name for hca in facts.hcas] == ["mlx5_0", "mlx5_1"]
    gpu = next(device for device in facts.pci if device.kind is PciKind.GPU)
    assert (gpu.numa_node, gpu.vendor, gpu.path[-1].current_width) == (1, 0x10DE, 16)
    assert gpu.path[-1].current_transfers_per_s == 32e9


def test_damaged_files_are_refused_and_crash_nothing() -> None:
    chosen = random.Random(1)
    for text in ("", DUMP[:300], '<system version="1"></system>', DUMP.replace("<system", "<!DOCTYPE a><system"),
                 DUMP.replace("<system", "<other").replace("</system", "</other")):  # fmt: skip
        with pytest.raises(FactsFormatError):
            facts_from_nccl(text, "n1")
    for _ in range(200):
        place = chosen.randrange(len(DUMP))
        try:
            facts_from_nccl(DUMP[:place] + chosen.choice(("", "9" * 30, '"', "<pci/>", "x")) + DUMP[place + 1 :], "n1")
        except FactsFormatError:
            continue


def test_facts_reads_a_recorded_file(seatrial: Seatrial) -> None:
    report = seatrial("facts", "--from", str(FOLDER / "azure-ndv4.xml"), "--full")
    assert "GPU 7" in report.out


def test_gpus_have_the_numbers_that_nccl_gives_them() -> None:
    switch = '<pci busid="0000:40:00.0"'
    second = switch.replace("40", "90") + ' class="0x030200" vendor="0x10de"><gpu dev="3"/></pci>'
    text = DUMP.replace('gpu dev="0"', 'gpu dev="7"').replace("  </cpu>", f"{second}\n  </cpu>")
    assert [(gpu.index, gpu.address) for gpu in facts_from_nccl(text, "n1").gpus] == [
        (7, "0000:41:00.0"), (3, "0000:90:00.0")
    ]  # fmt: skip
