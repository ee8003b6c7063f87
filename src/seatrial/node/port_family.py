"""What is spoken on a port: InfiniBand, Omni-Path, True Scale, RoCE, iWARP or EFA."""

from functools import lru_cache

from seatrial.model.hca import PortFamily
from seatrial.model.unknown import Unknown

MAKERS = {
    "hfi1": PortFamily.OMNI_PATH,
    **dict.fromkeys(("qib", "ib_qib", "ipath", "ib_ipath", "infinipath"), PortFamily.TRUE_SCALE),
    "efa": PortFamily.EFA,
}
"""Drivers that speak one thing only, whatever sysfs says beside."""
IWARP = frozenset({"i40iw", "iw_cxgb3", "iw_cxgb4", "cxgb3", "cxgb4", "siw", "iw_nes", "nes"})
"""irdma and qedr are not here: they speak RoCE too, and their node type tells which."""


@lru_cache(maxsize=1024)
def port_family(
    link_layer: str, node_type: str = "", driver: str = "", board_id: str = "", hca_type: str = "", name: str = ""
) -> PortFamily | Unknown:
    """The family, from who drives the device; its rate is not asked, for most print InfiniBand's.

    `link_layer`, `node_type` ("1: CA", "4: RNIC"), `board_id`, `hca_type`: as sysfs has them; `driver`: of the PCI
    device; `name`: the device's, which begins with its driver's unless someone gave it another. "": not known. The
    kernel's include/rdma/ib_verbs.h has the node types and says which transport each speaks: rdma_node_get_transport.
    """
    words = _words(driver, name, hca_type, board_id)
    made = [family for word, family in MAKERS.items() if word in words]
    if made or "omni-path" in board_id.lower():
        return made[0] if made else PortFamily.OMNI_PATH
    kind = node_type.partition(":")[2].strip().lower()
    if kind == "rnic" or (not kind and words & IWARP):
        return PortFamily.IWARP
    if kind not in ("", "ca", "switch", "router"):
        return Unknown(word=node_type)
    if link_layer == "Ethernet":
        return PortFamily.ROCE
    return PortFamily.INFINIBAND if link_layer in ("InfiniBand", "") else Unknown(word=link_layer)


def _words(*names: str) -> frozenset[str]:
    """Each name, each without a number at its end, and what each has before a "_": hfi1_0, qib0, InfiniPath_QLE7340."""
    small = [name.lower() for name in names]
    return frozenset(part for name in small for part in (name, name.rstrip("0123456789"), name.partition("_")[0]))
