"""The tree of a node's GPUs and adapters: switches that they share, the limit of each way, and the link that binds."""

from seatrial.commands.site.device_tree import device_tree
from seatrial.model.facts import PciKind
from tests.support.facts_examples import CARD, device, hop, server
from tests.support.gpu_machines import gpu

ABOVE = (hop("0000:40:01.0", width=8, max_width=16), hop("0000:41:00.0", width=8, max_width=16))
ADAPTER = device(CARD, *ABOVE, hop("0000:42:00.0"), own=hop(CARD))
NEAR = device(gpu(0).address, *ABOVE, hop("0000:42:01.0"), kind=PciKind.GPU)
FAR = device(gpu(1).address, hop("0000:60:01.0", 2.5e9, max_transfers_per_s=16e9), kind=PciKind.GPU)


def test_each_device_is_below_its_switch_with_its_limit_and_what_binds() -> None:
    node = server(pci=(ADAPTER, NEAR, FAR), gpus=(gpu(0), gpu(1, link_generation_max=4, nvlinks=()), gpu(2)))
    table = device_tree(node, 11e9)
    assert table is not None
    rows = [tuple(cell.replace("\u00a0", " ") for cell in row) for row in table.rows]
    switch, adapter, near, nvlinks, far, unlisted, _ = rows
    assert switch[:2] == ("├─ switch 0000:41:00.0", "16.0 GT/s x8 of 16.0 GT/s x16")
    assert (adapter[0], adapter[3]) == ("│  ├─ mlx5_0", switch[2])
    assert "0000:40:01.0" in adapter[4]
    assert (near[0], near[3], near[4]) == ("│  └─ GPU 0 NVIDIA H100", switch[2], "PCIe link below 0000:40:01.0")
    assert nvlinks[0] == "│     └─ 4 NVLinks at 25 GB/s"
    assert nvlinks[2] == "100.0 GB/s"
    assert (far[0], far[4]) == ("├─ GPU 1 NVIDIA H100", "its own link")
    assert far[2] == far[3] == "31.5 GB/s"
    assert unlisted[0] == "└─ GPU 2"
    assert "The best pair of the node carried 11.0 GB/s." in table.aside


def test_a_node_without_gpus_has_no_tree() -> None:
    assert device_tree(server(pci=(ADAPTER,))) is None
