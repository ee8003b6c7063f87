"""Nodes made up of a few records, for the tests of limits."""

import msgspec

import seatrial.limits.node as limits_of_nodes
from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice, PciHop, PciKind, ProcessorFacts
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.limit import ComputePeak, Limit, LimitTerm, NoLimit

CARD = "0000:03:00.0"
ROOT_PORT = "0000:00:02.0"


def hop(address: str = CARD, speed: float | None = 8e9, width: int | None = 8, **more: object) -> PciHop:
    """A hop at its greatest state, MaxPayload unknown."""
    plain = PciHop(
        address=address, current_transfers_per_s=speed, max_transfers_per_s=speed, current_width=width, max_width=width
    )
    return msgspec.structs.replace(plain, **more)


def device(speed: float = 8e9, width: int = 8, payload: int | None = None, **more: object) -> PciDevice:
    """A network device below a root port."""
    ends = tuple(hop(address, speed, width, max_payload_bytes=payload) for address in (ROOT_PORT, CARD))
    return msgspec.structs.replace(PciDevice(address=CARD, kind=PciKind.NETWORK, names=("mlx5_0",), path=ends), **more)


def ethernet(name: str = "eth0", speed: float | None = 1e9, mtu: int | None = 1500, **more: object) -> NetworkInterface:
    """An interface that is up."""
    plain = NetworkInterface(name=name, link_type=1, state="up", speed_bits_per_s=speed, mtu_bytes=mtu)
    return msgspec.structs.replace(plain, **more)


def port(speed_name: str = "EDR", width: int = 4, mtu: int | None = 4096, **more: object) -> Port:
    """An active InfiniBand port."""
    plain = Port(
        number=1,
        family=PortFamily.INFINIBAND,
        state=PortState.ACTIVE,
        speed_name=speed_name,
        width=width,
        mtu_bytes=mtu,
    )
    return msgspec.structs.replace(plain, **more)


def hca(*ports: Port, name: str = "mlx5_0", address: str = CARD) -> Hca:
    """A device with these ports, one EDR port if none."""
    return Hca(name=name, pci_address=address, ports=ports or (port(),))


def node(name: str, *interfaces: NetworkInterface, **more: object) -> NodeFacts:
    """A node with one Gigabit interface, if none is given."""
    plain = NodeFacts(hostname=name, complete=True, interfaces=interfaces or (ethernet(),))
    return msgspec.structs.replace(plain, **more)


def intel(name: str, model_name: str, model: int, stepping: int = 0, **more: object) -> NodeFacts:
    """A node whose processors are of Intel's family 6."""
    numbers = ProcessorFacts(vendor="GenuineIntel", family=6, model_number=model, stepping=stepping)
    return node(name, cpu_model=model_name, processor=numbers, **more)


def amd(name: str, model_name: str, family: int, model: int, **more: object) -> NodeFacts:
    """A node whose processors are AMD's."""
    numbers = ProcessorFacts(vendor="AuthenticAMD", family=family, model_number=model)
    return node(name, cpu_model=model_name, processor=numbers, **more)


def check_formula(item: LimitTerm | ComputePeak, value: float) -> None:
    """The printed formula, evaluated with the printed inputs, gives the printed number."""
    assert abs(eval(item.formula, {}, dict(item.inputs)) / value - 1) < 1e-12  # noqa: S307


def is_limit(found: Limit | NoLimit | ComputePeak) -> Limit:
    """The limit that it must be, all its formulas checked."""
    assert isinstance(found, Limit), found
    for term in found.terms:
        check_formula(term, term.bytes_per_s)
    assert found.binding == found.binding_term.name
    assert found.limit_bytes_per_s == found.binding_term.bytes_per_s
    assert found.limit_bytes_per_s <= found.gate_bytes_per_s
    return found


def device_limit(device: PciDevice, facts: NodeFacts) -> Limit | NoLimit:
    """The limit of a device of this node."""
    return limits_of_nodes.device_limit(device, limits_of_nodes.Carriers(facts))
