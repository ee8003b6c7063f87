"""The ports of a node that can carry a job's messages, each with the term of its family."""

import msgspec

from seatrial.limits.ethernet import tcp_payload_term
from seatrial.limits.infiniband import infiniband_terms
from seatrial.limits.nominal_port import nominal_terms
from seatrial.limits.roce import port_mtu, roce_terms, side_of
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.hca import Hca, Port, PortFamily
from seatrial.model.limit import Terms
from seatrial.model.pci import PciDevice

ON_ETHERNET = (PortFamily.ROCE, PortFamily.IWARP)


class NodePort(msgspec.Struct, frozen=True, kw_only=True):
    """One active port, with what belongs to it."""

    node: str
    hca: Hca
    port: Port
    interface: NetworkInterface | None = None
    """The Ethernet side of a RoCE or iWARP port."""
    device: PciDevice | None = None

    @property
    def label(self) -> str:
        """mlx5_0, or mlx5_0 port 2 where the device has more than one."""
        return self.hca.name if len(self.hca.ports) == 1 else f"{self.hca.name} port {self.port.number}"

    @property
    def mtu_bytes(self) -> int | None:
        """The InfiniBand MTU, read or derived from the interface's."""
        return port_mtu(self.port, self.interface)[0]

    def terms(self, mtu_bytes: int | None = None) -> Terms:
        """The term of the port itself, at the lesser of its own and the path's InfiniBand MTU."""
        family = self.port.family
        where = f"/sys/class/infiniband/{self.hca.name}/ports/{self.port.number}"
        if family is PortFamily.INFINIBAND:
            return infiniband_terms(self.port, self.node, self.label, mtu_bytes, where)
        if family is PortFamily.ROCE:
            return roce_terms(
                self.port, self.node, self.label, interface=self.interface, mtu_bytes=mtu_bytes, where=where
            )
        if family is PortFamily.IWARP and self.interface is not None:
            term = tcp_payload_term(self.interface, self.node)
            return Terms(terms=(term,)) if term else Terms(unknown=(f"{self.node} {self.label}: rate is not known",))
        return nominal_terms(self.port, self.node, self.label, where)


def node_ports(facts: NodeFacts) -> tuple[NodePort, ...]:
    """All ports that are active, or whose state could not be read, in the order of their devices."""
    devices = {device.address: device for device in facts.pci}
    return tuple(
        NodePort(
            node=facts.hostname,
            hca=hca,
            port=port,
            interface=side_of(port, facts.interfaces) if port.family in ON_ETHERNET else None,
            device=devices.get(hca.pci_address),
        )
        for hca in facts.hcas
        for port in hca.ports
        if port.active
    )


def unreadable(facts: NodeFacts) -> str:
    """The first device that MPI may use and of which nothing can be said: no ports, or a family not known; or ""."""
    for hca in facts.active_hcas:
        if not hca.ports:
            return f"{hca.name}, whose ports could not be read"
        for port in hca.ports:
            if port.active and not isinstance(port.family, PortFamily):
                return f"{hca.name}, which speaks {port.family}"
    return ""
