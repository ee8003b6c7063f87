"""What nodes offer an MPI, which transport to expect from that, and which driver is missing for it."""

from collections.abc import Mapping

import msgspec

from seatrial.commands.link.transports.components import Stock, families, libraries_of
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortFamily
from seatrial.model.subject import node
from seatrial.model.system import Library
from seatrial.model.transport import Carrier
from seatrial.model.verdict import Finding, FindingKind, Verdict

OVER_SOCKETS = (Carrier.TCP, Carrier.OFI, Carrier.UCX)
"""What can carry messages if there is only Ethernet."""
BEST: dict[PortFamily, tuple[Carrier, ...]] = {
    PortFamily.INFINIBAND: (Carrier.UCX, Carrier.VERBS),
    PortFamily.ROCE: (Carrier.UCX, Carrier.VERBS),
    PortFamily.OMNI_PATH: (Carrier.PSM2, Carrier.OFI),
    PortFamily.TRUE_SCALE: (Carrier.PSM, Carrier.OFI),
    PortFamily.IWARP: (Carrier.OFI, Carrier.VERBS),
    PortFamily.EFA: (Carrier.OFI,),
}
COMPONENT = {
    Carrier.UCX: ("pml", "ucx"),
    Carrier.PSM2: ("mtl", "psm2"),
    Carrier.PSM: ("mtl", "psm"),
    Carrier.OFI: ("mtl", "ofi"),
}
WITHOUT_UCX = {**COMPONENT, Carrier.VERBS: ("btl", "openib")}
"""Components for devices that UCX does not drive, if Open MPI's own driver does."""
CRAY = 0x17DB
"""PCI vendor of Slingshot's Cassini, which the kernel shows as Ethernet and libfabric drives by its provider cxi."""
MAKERS = {"mlx4_core": "Mellanox", "mlx5_core": "Mellanox", "mlx4_ib": "Mellanox", "mlx5_ib": "Mellanox"}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One node: its devices, its libraries with their components, and the carriers to expect from both."""

    node: str
    devices: tuple[str, ...]
    libraries: tuple[Library, ...]
    expected: tuple[Carrier, ...]


def offers(facts: Mapping[str, NodeFacts], *, within: bool) -> tuple[Offer, ...]:
    """The offers of each node; a mixed cluster has several answers."""
    return tuple(
        Offer(node=name, devices=devices(one), libraries=libraries_of(one), expected=expected(one, within=within))
        for name, one in facts.items()
    )


def devices(facts: NodeFacts) -> tuple[str, ...]:
    """mlx5_0 (InfiniBand), eth0 (Ethernet): what is up."""
    hcas = [
        f"{hca.name} ({', '.join(dict.fromkeys(str(port.family) for port in hca.ports if port.active)) or 'no port'})"
        for hca in facts.active_hcas
    ]
    return (*hcas, *(f"{one.name} (Ethernet)" for one in facts.ethernet_interfaces))


def expected(facts: NodeFacts, *, within: bool) -> tuple[Carrier, ...]:
    """What should carry messages, the best first, by the node's fastest kind of device."""
    if within:
        return (Carrier.SHARED_MEMORY,)
    have = families(facts)
    best = [carrier for family, carriers in BEST.items() if family in have for carrier in carriers]
    if not best and any(device.vendor == CRAY for device in facts.pci):
        return (Carrier.OFI,)
    return tuple(dict.fromkeys(best)) or OVER_SOCKETS


def missing_drivers(facts: Mapping[str, NodeFacts], stock: Stock) -> list[Finding]:
    """Devices for which this Open MPI has no driver at all; nothing is reported if the components are unknown."""
    found = []
    for name, one in facts.items():
        for family in sorted(families(one), key=str):
            wanted = BEST.get(family, ())
            drivers = COMPONENT if Carrier.UCX in wanted else WITHOUT_UCX
            parts = [drivers[carrier] for carrier in wanted if carrier in drivers]
            if parts and all(part[0] in stock.compiled and not stock.has(*part) for part in parts):
                found.append(_missing(name, one, family, wanted[0]))
    return found


def _missing(name: str, facts: NodeFacts, family: PortFamily, carrier: Carrier) -> Finding:
    maker = next((MAKERS[hca.driver] for hca in facts.active_hcas if hca.driver in MAKERS), "")
    kind = f"{maker} node" if maker else f"node with {family} ports"
    return Finding(
        kind=FindingKind.DRIVER_MISSING,
        subject=node(name),
        verdict=Verdict.MISCONFIGURED,
        statement=f"Node {name}: {carrier} was not compiled into this Open MPI on a {kind}.",
        remedy=f"Use an MPI that is built with it (./configure --with-{carrier.lower()}), or the vendor's own.",
    )
