"""Devices of /sys/class/infiniband, from a frame."""

import msgspec

from seatrial.model.hca import Hca
from seatrial.node.frame import Frame
from seatrial.node.pci_path import pci_address
from seatrial.node.ports import INFINIBAND, read_ports

FILES = {
    "driver": "device/driver", "firmware": "fw_ver", "board_id": "board_id", "hca_type": "hca_type",
    "node_type": "node_type", "pci_address": "device", "numa_node": "device/numa_node",
}  # fmt: skip


def read_hcas(frame: Frame) -> tuple[tuple[Hca, ...], dict[str, str]]:
    """All devices, sorted by name. Second: name of a fact -> why it is not known."""
    listed = frame.lists.get(f"{INFINIBAND}*")
    if listed is None:
        return (), {"hcas": frame.reason(f"{INFINIBAND}*")}
    found = []
    absent: dict[str, str] = {}
    for name in sorted(set(listed)):
        hca = _hca(frame, name)
        ports, without = read_ports(frame, hca)
        found.append(msgspec.structs.replace(hca, ports=ports))
        for field, file in FILES.items():
            if getattr(hca, field) in (None, ""):
                absent[f"hcas.{name}.{field}"] = frame.reason(f"{INFINIBAND}{name}/{file}")
        absent.update(without)
    return tuple(found), absent


def _hca(frame: Frame, name: str) -> Hca:
    here = f"{INFINIBAND}{name}"
    numa_node = frame.integer(f"{here}/device/numa_node")
    return Hca(
        name=name,
        driver=frame.values.get(f"{here}/device/driver", ""),
        firmware=frame.values.get(f"{here}/fw_ver", "").strip(),
        board_id=frame.values.get(f"{here}/board_id", "").strip(),
        hca_type=frame.values.get(f"{here}/hca_type", "").strip(),
        node_type=frame.values.get(f"{here}/node_type", "").strip(),
        pci_address=pci_address(frame.real.get(f"{here}/device", "")),
        numa_node=numa_node if numa_node is not None and numa_node >= 0 else None,
    )
