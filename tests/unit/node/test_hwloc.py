"""Recorded machines of hwloc's own tests, as XML and as trees of /proc and /sys; and what mangling does to them."""

import math
from xml.etree import ElementTree as ET

import pytest

from seatrial.limits.node import MEASURED
from seatrial.model.hca import PortFamily
from seatrial.model.limit import Limit
from seatrial.model.pcie import links_text
from seatrial.model.words import Unknown
from seatrial.node.hwloc_devices import link_rate
from seatrial.node.hwloc_machine import facts_from_xml
from tests.support.limits_examples import device_limit

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


def test_the_name_of_an_arm_processor() -> None:
    infos = {"CPUModel": "ARMv8 Processor rev 0 (v8l)", "CPUImplementer": "0x46", "CPUPart": "0x001"}
    texts = "".join(f'<info name="{name}" value="{value}"/>' for name, value in infos.items())
    text = f'<topology version="2.0"><object type="Machine"><object type="Package">{texts}</object></object></topology>'
    assert facts_from_xml(text, "n1").cpu_model == "implementer 0x46 part 0x001"
