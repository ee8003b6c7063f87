"""The picture of a node's GPUs and adapters: switches that they share, limits of their ways, and what binds."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from seatrial.model.facts import NodeFacts, PciKind
from seatrial.render.device_map import DeviceMap, DevicePart
from seatrial.render.gpu_node import device_map
from seatrial.render.html import as_html
from seatrial.render.plot_file import as_plot
from seatrial.render.report import Report
from tests.support.facts_examples import CARD, device, hop, server
from tests.support.gpu_machines import gpu

ABOVE = (hop("0000:40:01.0", width=8, max_width=16), hop("0000:41:00.0", width=8, max_width=16))
ADAPTER = device(CARD, *ABOVE, hop("0000:42:00.0"), own=hop(CARD), numa_node=1)
NEAR = device(gpu(0).address, *ABOVE, hop("0000:42:01.0"), kind=PciKind.GPU, numa_node=1)
FAR = device(gpu(1).address, hop("0000:60:01.0", 2.5e9, max_transfers_per_s=16e9), kind=PciKind.GPU, numa_node=0)
NODE = server(pci=(ADAPTER, NEAR, FAR), gpus=(gpu(0), gpu(1, link_generation_max=4, nvlinks=()), gpu(2)))


def drawn(facts: NodeFacts = NODE) -> DeviceMap:
    made = device_map(facts, "The best pair carried 11.0 GB/s.", {"GPU 0": "24.1 GB/s"})
    assert made is not None
    return made


def part_of(parts: Sequence[DevicePart], title: str) -> DevicePart:
    """The part with a title that begins so."""
    every = [*parts]
    for part in every:
        every += part.below
    return next(part for part in every if part.title.startswith(title))


def test_each_device_is_below_its_switch_with_its_limit_and_what_binds() -> None:
    parts = drawn().parts
    assert [part.title for part in parts] == ["processor, NUMA node 0", "processor, NUMA node 1", "processor"]
    switch, adapter, near, far = (part_of(parts, name) for name in ("switch", "mlx5_0", "GPU 0", "GPU 1"))
    assert (switch.title, switch.link) == ("switch 0000:41:00.0", ("16.0 GT/s x8", "of 16.0 GT/s x16"))
    assert switch.link_binds
    assert [part.title for part in switch.below] == [adapter.title, near.title]
    assert (adapter.path, near.path) == (switch.carries, switch.carries)
    assert near.binds == "PCIe link below 0000:40:01.0"
    assert not near.link_binds
    assert (near.measured, near.bus) == ("24.1 GB/s", ("4 × 25.0 GB/s", "100.0 GB/s"))
    assert (far.binds, far.link_binds, far.carries, far.path, far.bus) == (
        "its own link", True, "31.5 GB/s", "31.5 GB/s", (),
    )  # fmt: skip
    assert part_of(parts, "GPU 2") in parts[2].below


def test_an_adapter_that_is_slower_than_its_links_binds_itself() -> None:
    adapter = part_of(drawn(server(pci=(device(CARD, hop("0000:40:01.0"), own=hop(CARD)), FAR))).parts, "mlx5_0")
    assert (adapter.itself_binds, adapter.link_binds) == (True, False)
    assert adapter.path < adapter.carries


def test_the_places_of_the_picture_do_not_overlap_and_links_end_at_their_parts() -> None:
    svg = drawn().svg
    for one in svg.boxes:
        assert 0 <= one.x <= one.x + one.width <= svg.width
        assert 0 <= one.y <= one.y + one.height <= svg.height
        for other in svg.boxes:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            below = one.y + one.height <= other.y or other.y + other.height <= one.y
            assert one is other or beside or below
    for link in svg.links:
        (above,) = [box for box in svg.boxes if box.y + box.height == link.top and box.x <= link.x <= box.x + box.width]
        (under,) = [box for box in svg.boxes if box.y == link.bottom and box.x <= link.x <= box.x + box.width]
        assert above is not under
    assert [link.style for link in svg.links].count("binds") == 2
    assert [box.title for box in svg.boxes if box.style == "bus"] == ["NVLink", "NVLink"]


def test_page_and_file_draw_it_and_the_table_has_its_numbers() -> None:
    block = drawn()
    report = Report(word="PASS", sentence="n1", payload=lambda: block, page=lambda: (block, block.table))
    page = as_html(report)
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    words = "".join(ET.fromstring(page[start:end]).itertext())  # noqa: S314 - our own page
    assert "16.0 GT/s x8" in words
    assert "measured 24.1 GB/s" in words
    assert "The best pair carried 11.0 GB/s." in page
    rows = [tuple(cell.replace("\u00a0", " ") for cell in row) for row in block.table.rows]
    (near,) = [row for row in rows if "GPU 0" in row[0]]
    assert near[4:] == ("24.1 GB/s", "PCIe link below 0000:40:01.0")
    assert [row[2] for row in rows if "4 × 25.0 GB/s" in row[0]] == ["100.0 GB/s"] * 2
    assert b"GPU 0 NVIDIA H100" in as_plot(report, "svg")


def test_a_node_without_gpus_has_no_picture() -> None:
    assert device_map(server(pci=(ADAPTER,))) is None
