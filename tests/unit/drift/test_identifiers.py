"""Identifiers of single machines are not differences between them."""

import msgspec
import pytest

from seatrial.drift.comparison import FactDifference, drift, identifiers_only, without_identifiers
from seatrial.drift.expected_differences import own_to_each
from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice, PciHop, PciKind
from seatrial.model.hca import Hca, Port, PortFamily
from seatrial.model.system import Firmware
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.facts_examples import cluster, dimm, memory, system


def virtual_machine(name: str, ethernet: str, infiniband: str, *, width: int = 8, device: int = 0x101B) -> NodeFacts:
    """A node on Hyper-V, with an Ethernet and an InfiniBand function, each in a random PCI domain (hexadecimal)."""
    places = (
        (ethernet, 0x1016, f"enP{int(ethernet, 16)}s1", 16),
        (infiniband, device, f"ibP{int(infiniband, 16)}s2", width),
    )
    devices = [
        PciDevice(
            address=f"{domain}:00:02.0",
            kind=PciKind.NETWORK,
            vendor=0x15B3,
            device=number,
            names=(interface,),
            path=(PciHop(address=f"{domain}:00:02.0", current_width=lanes),),
        )
        for domain, number, interface, lanes in places
    ]
    interface = f"ibP{int(infiniband, 16)}s2"
    return NodeFacts(
        hostname=name,
        complete=True,
        cpu_model="AMD EPYC 7V73X 64-Core Processor",
        pci=tuple(sorted(devices, key=lambda each: each.address)),
        interfaces=tuple(NetworkInterface(name=each, pci_address=f"{domain}:00:02.0") for domain, _, each, _ in places),
        hcas=(
            Hca(
                name="mlx5_ib0",
                pci_address=f"{infiniband}:00:02.0",
                ports=(Port(number=1, family=PortFamily.INFINIBAND, interfaces=(interface,)),),
            ),
        ),
    )


DOMAINS = (("a1b2", "0101"), ("ffff", "35d4"), ("0100", "9999"), ("7c31", "8a2e"))


def fleet(width: int = 8, device: int = 0x101B) -> dict[str, NodeFacts]:
    """Four equal machines; or the second with another width of its link, or another adapter."""
    nodes = {f"n{at}": virtual_machine(f"n{at}", *domains) for at, domains in enumerate(DOMAINS, start=1)}
    return {**nodes, "n2": virtual_machine("n2", *DOMAINS[1], width=width, device=device)}


def differing(found: tuple[FactDifference, ...]) -> dict[str, tuple[str, ...]]:
    return {each.fact: each.odd for each in found}


def test_random_domains_are_not_differences() -> None:
    assert drift(fleet()) == ()


def test_a_real_difference_in_a_random_domain_is_one() -> None:
    (narrow,) = drift(fleet(width=4))
    assert narrow.fact.endswith(".current_width") and narrow.odd == ("n2",)
    assert {each.odd for each in drift(fleet(device=0x101E))} == {("n2",)}


def test_domains_of_firmware_stay_as_they_are() -> None:
    """POWER9, Arm servers and multi-segment machines number from 0; Intel's volume management from 0x10000."""
    device = PciDevice(address="0035:03:00.0", kind=PciKind.NETWORK)
    nvme = PciDevice(address="10000:01:00.0", kind=PciKind.NVME)
    facts = NodeFacts(hostname="n1", complete=True, pci=(device, nvme))
    assert without_identifiers(facts) is facts
    moved = {
        name: NodeFacts(hostname=name, complete=True, pci=(msgspec.structs.replace(device, address=address),))
        for name, address in (("n1", "0035:03:00.0"), ("n2", "0035:03:00.0"), ("n3", "0033:03:00.0"))
    }
    assert {each.odd for each in drift(moved)} == {("n3",)}


def test_interfaces_named_after_their_mac_address() -> None:
    nodes = {
        name: NodeFacts(hostname=name, complete=True, interfaces=(NetworkInterface(name=f"enx{mac}", mtu_bytes=mtu),))
        for name, mac, mtu in (("n1", "001122334455", 1500), ("n2", "001122334466", 1500), ("n3", "0011223344aa", 9000))
    }
    assert differing(drift(nodes)) == {"interfaces.enx.mtu_bytes": ("n3",)}


@pytest.mark.parametrize(
    ("texts", "same"),
    [
        (("a1b2c3d4-0000-1111-2222-334455667788", "00000000-0000-1111-2222-334455667788"), True),
        (("UUID=a1b2c3d4-0000-1111-2222-334455667788", "UUID=00000000-0000-1111-2222-334455667788"), True),
        (("00:11:22:33:44:55", "00:11:22:33:44:66"), True),
        (("0011:2233:4455:6677", "0011:2233:4455:6688"), True),
        (("0x0011223344556677", "0x0011223344556688"), True),
        (("a1b2c3d4-0000-1111-2222-334455667788", "ro"), False),
        (("ro a1b2c3d4-0000-1111-2222-334455667788", "rw a1b2c3d4-0000-1111-2222-334455667789"), False),
        (("6.1.0", "6.8.0"), False),
        (("fe80:0000:0000:0000", "fe80:0000:0000:0000"), True),
        ((1500, 9000), False),
        (("a1b2c3d4-0000-1111-2222-334455667788", None), False),
    ],
)
def test_values_that_differ_in_identifiers_only(texts: tuple[object, ...], same: bool) -> None:
    assert identifiers_only(texts) == same


def test_the_kernels_command_line() -> None:
    nodes = {}
    for at in range(1, 4):
        line = f"ro crashkernel=auto boot=UUID=a1b2c3d4-0000-1111-2222-33445566778{at} quiet{'' if at < 3 else '=1'}"
        settings = msgspec.structs.replace(NodeFacts(hostname="", complete=True).settings, command_line=line)
        nodes[f"n{at}"] = NodeFacts(hostname=f"n{at}", complete=True, settings=settings)
    assert differing(drift(nodes)) == {"settings.command_line.quiet": ("n3",)}


SETTING, PARAMETER = "system.firmware.settings.Any", "settings.command_line.any"


@pytest.mark.parametrize(
    ("fact", "values", "own"),
    [
        (SETTING, ("A7", "B1", "C4", "D9"), True),
        (PARAMETER, ("1", "2", "3", "4", "5"), True),
        (SETTING, ("A7", "B1", "C4"), False),  # three may differ by chance
        (SETTING, ("A7", "B1", "C4", "C4"), False),
        (SETTING, ("A7", "B1", "C4", None), False),
        ("kernel", ("5.1", "5.2", "5.3", "5.4"), False),
        ("software.any", ("iqn.2020-01.org:n1", "iqn.2020-01.org:n2"), True),
        ("software.any", ("iqn.2020-01.org:n1", "iqn.2020-01.org:n1"), False),
        ("software.any", ("of n1", "of n22"), False),
    ],
)
def test_a_value_that_each_node_has_for_itself_is_no_difference(
    fact: str, values: tuple[str | None, ...], *, own: bool
) -> None:
    assert own_to_each(fact, {f"n{at}": value for at, value in enumerate(values, start=1)}) is own


@pytest.mark.parametrize(("count", "verdict"), [(3, ["all"]), (4, []), (16, [])])
def test_a_setting_of_the_bios_that_numbers_nodes_is_no_fault(count: int, verdict: list[str]) -> None:
    facts = {
        name: msgspec.structs.replace(
            node, system=system(firmware=Firmware(vendor="Maker", settings={"NodeId": f"id {name[1:]}", "SMT": "on"}))
        )
        for name, node in cluster(count).items()
    }
    assert [finding.subject.name for finding in fact_findings(Readings(facts=facts))] == verdict
    assert differing(drift(facts)).keys() == ({"system.firmware.settings.NodeId"} if verdict else set())
    off = Firmware(vendor="Maker", settings={"NodeId": "id 1", "SMT": "off"})
    facts["n1"] = msgspec.structs.replace(facts["n1"], system=system(firmware=off))
    assert "n1" in [finding.subject.name for finding in fact_findings(Readings(facts=facts))]


@pytest.mark.parametrize(("speed", "differs"), [(2934e6, False), (2950e6, False), (2966e6, True)])
def test_speeds_of_modules_are_rounded(speed: float, *, differs: bool) -> None:
    facts = cluster(
        4,
        {"memory": memory(dimms=(dimm("A", 0, configured=speed),))},
        {"memory": memory(dimms=(dimm("A", 0, configured=2933e6),))},
    )
    assert bool(drift(facts)) is differs
