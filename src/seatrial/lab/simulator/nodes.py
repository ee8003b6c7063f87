"""Nodes of a simulated fabric: their names, their leaves, and the facts that each would report."""

from collections import Counter
from urllib.parse import quote

from seatrial.fabric.routes import Routes
from seatrial.model.fabric_map import FabricDevice
from seatrial.model.hca import LANES, data_bits_per_s

HCA = "mlx5_0"
MTU_BYTES = 4096
UNKNOWN_CABLE = (4, "SDR")
"""What an adapter reports for a cable whose rate is not in the map: 1e9 bytes per second, as `network.UNKNOWN_RATE`."""


class SimulatedNodes:
    """One node an adapter, since that is what is measured; nodes are in the order of leaf and port."""

    def __init__(self, routes: Routes) -> None:
        """Adapters of one host, and switches of one name, are distinguished by what else is known of them."""
        devices = routes.fabric.by_key
        self.adapter_of = _named([devices[key] for key in routes.adapters], host=True)
        """Node -> key of its adapter in the map."""
        self.leaf_name = {key: leaf for leaf, key in _named([devices[key] for key in _leaves(routes)]).items()}
        """Key of a leaf switch in the map -> its name."""
        self.names = tuple(self.adapter_of)
        self.leaf_of = {node: self.leaf_name[routes.leaf_of[key]] for node, key in self.adapter_of.items()}
        self._cable = dict.fromkeys(routes.adapters, UNKNOWN_CABLE)
        for link in routes.fabric.links:
            for key in (link.one.device, link.other.device):
                if key in self._cable:
                    ends = ((link.width, link.speed), (link.other_width, link.other_speed))
                    rates = [(rate, width, speed) for width, speed in ends if (rate := data_bits_per_s(width, speed))]
                    if rates:
                        _, width, speed = min(rates, key=lambda end: end[0])
                        self._cable[key] = (width or 1, speed)
        self._texts: dict[tuple[int, str], str] = {}

    def facts_text(self, node: str) -> str:
        """What collect/facts.sh would print there: a name, a kernel of its own, and one InfiniBand port."""
        cable = self._cable[self.adapter_of[node]]
        if cable not in self._texts:
            self._texts[cable] = _port_text(*cable)
        host = quote(node)
        return (
            f"#seatrial-facts 1 {host}\n@value /proc/sys/kernel/random/boot_id|boot-of-{host}\n"
            f"{self._texts[cable]}#end {host}\n"
        )


def _port_text(width: int, speed: str) -> str:
    """The lines of one active port. Its rate is printed before the encoding up to QDR, after it from FDR10 on."""
    lane = LANES[speed]
    printed = lane.signalled_bits_per_s * (1 if speed in ("SDR", "DDR", "QDR") else lane.encoding) * width
    folder = f"/sys/class/infiniband/{HCA}"
    values = {
        f"{folder}/node_type": "1: CA",
        f"{folder}/hca_type": "MT4129",
        f"{folder}/fw_ver": "28.39.1002",
        f"{folder}/ports/1/state": "4: ACTIVE",
        f"{folder}/ports/1/phys_state": "5: LinkUp",
        f"{folder}/ports/1/link_layer": "InfiniBand",
        f"{folder}/ports/1/rate": f"{float(printed) / 1e9:g} Gb/sec ({width}X {speed})",
        f"{folder}/ports/1/lid": "0x1",
        f"{folder}/ports/1/sm_lid": "0x1",
    }
    lines = [
        "@list /sys/class/infiniband/*|mlx5_0",
        f"@list {folder}/ports/*|1",
        *(f"@value {path}|{value}" for path, value in values.items()),
        "@command ibv_devinfo",
        f"|hca_id:\t{HCA}",
        "|\tport:\t1",
        f"|\t\tactive_mtu:\t\t{MTU_BYTES} (5)",
        "@end 0",
    ]
    return "\n".join(lines) + "\n"


def _leaves(routes: Routes) -> list[str]:
    return list(dict.fromkeys(routes.leaf_of[key] for key in routes.adapters))


def _named(devices: list[FabricDevice], *, host: bool = False) -> dict[str, str]:
    """A name without blanks -> key; where several share the short one, the whole description, at last the key."""
    names = {device.key: "-".join((device.host if host else device.name).split()) for device in devices}
    longer = {device.key: "-".join(device.name.split()) for device in devices}
    for better in (longer, {key: key for key in names}):
        times = Counter(names.values())
        names = {key: better[key] if times[name] > 1 or not name else name for key, name in names.items()}
    return {name: key for key, name in names.items()}
