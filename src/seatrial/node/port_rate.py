"""The protocol of a port (InfiniBand, Omni-Path, True Scale, RoCE, iWARP, EFA) and its data rate.

The kernel (drivers/infiniband/core/sysfs.c, rate_show) multiplies a nominal rate per lane by the width: before the
encoding for SDR, DDR and QDR, rounded for FDR, the data rate from EDR on. It prints SDR for every speed that it does
not know.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from seatrial.model.hca import PortFamily, data_bits_per_s
from seatrial.model.words import Unknown

MAKERS = {
    "hfi1": PortFamily.OMNI_PATH,
    **dict.fromkeys(("qib", "ib_qib", "ipath", "ib_ipath", "infinipath"), PortFamily.TRUE_SCALE),
    "efa": PortFamily.EFA,
}
"""Drivers with only one protocol, whatever else sysfs reports."""
IWARP = frozenset({"i40iw", "iw_cxgb3", "iw_cxgb4", "cxgb3", "cxgb4", "siw", "iw_nes", "nes"})
"""irdma and qedr are missing: they support RoCE too, and their node type shows which is in use."""


@lru_cache(maxsize=1024)
def port_family(
    link_layer: str, node_type: str = "", driver: str = "", board_id: str = "", hca_type: str = "", name: str = ""
) -> PortFamily | Unknown:
    """The family, from who drives the device; its rate is not asked, for most print InfiniBand's.

    `link_layer`, `node_type` ("1: CA", "4: RNIC"), `board_id`, `hca_type`: as sysfs has them; `driver`: of the PCI
    device; `name`: the device's, which begins with its driver's unless someone gave it another. "": not known. The
    kernel's include/rdma/ib_verbs.h has the node types and the transport of each: rdma_node_get_transport.
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


RATE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) Gb/sec \(([0-9]{1,2})X(?: ([A-Z0-9]{1,8}))?\)")
WIDTHS = (1, 2, 4, 8, 12)
NOMINAL_GIGABITS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""The kernel's rate of one lane; `model.hca.LANES` has the true one."""
ETHERNET_GIGABITS = (10, 25, 40, 50, 56, 100, 200, 400, 800)
"""Real rates of Ethernet ports; drivers report 2.5 ("1X SDR") and 20 ("4X DDR") where they know no better value."""


class PortRate(NamedTuple):
    """`data_bits_per_s` and `nominal_bits_per_s`: all lanes, one direction; nominal is the number that was printed.

    `why`: why the data rate is None.
    """

    speed_name: str = ""
    width: int | None = None
    data_bits_per_s: float | None = None
    nominal_bits_per_s: float | None = None
    why: str = ""


@lru_cache(maxsize=1024)
def port_rate(family: PortFamily | Unknown, text: str, interface_bits_per_s: float | None = None) -> PortRate:
    """What the words of `rate` mean on a port of this family.

    `interface_bits_per_s`: the speed of the Ethernet interface on it, which RoCE and iWARP have for sure and word as
    the nearest of InfiniBand's; speed name and width of those are made up and left out.
    """
    printed = _printed(text)
    ethernet = family in (PortFamily.ROCE, PortFamily.IWARP)
    if ethernet and interface_bits_per_s:
        return PortRate(data_bits_per_s=interface_bits_per_s, nominal_bits_per_s=printed.nominal_bits_per_s)
    if printed.nominal_bits_per_s is None:
        return printed
    if ethernet or family is PortFamily.EFA:
        return _as_printed(printed.nominal_bits_per_s, text, ethernet=ethernet)
    if family is PortFamily.OMNI_PATH:
        return _omni_path(printed, text)
    if isinstance(family, Unknown):
        return printed._replace(why=f"rate contains {text!r}, which may mean something else on this port")
    return _infiniband(printed, text)


def _printed(text: str) -> PortRate:
    """The parsed words. A width without a name is SDR, as older kernels print it, if the number fits."""
    match = RATE.fullmatch(text.strip())
    if not match or int(match[2]) not in WIDTHS or not float(match[1]):
        return PortRate(why=f"rate contains {text!r}")
    width, nominal = int(match[2]), float(match[1]) * 1e9
    name = match[3] or ("SDR" if nominal == width * 2.5e9 else "")
    return PortRate(speed_name=name, width=width, nominal_bits_per_s=nominal)


def _as_printed(nominal_bits_per_s: float, text: str, *, ethernet: bool) -> PortRate:
    """The number is the data rate, since drivers choose the words to come near it; unless no Ethernet has it."""
    if ethernet and nominal_bits_per_s / 1e9 not in ETHERNET_GIGABITS:
        return PortRate(
            nominal_bits_per_s=nominal_bits_per_s, why=f"rate contains {text!r}, which is not an Ethernet speed"
        )
    return PortRate(data_bits_per_s=nominal_bits_per_s, nominal_bits_per_s=nominal_bits_per_s)


def _infiniband(printed: PortRate, text: str) -> PortRate:
    """The data rate of a name and width whose number is theirs (56 or 56.25 for 4X FDR), else none."""
    nominal = NOMINAL_GIGABITS.get(printed.speed_name)
    if nominal is None or printed.width is None or printed.nominal_bits_per_s is None:
        return printed._replace(why=f"rate contains {text!r}, a speed that is not known")
    expected = printed.width * nominal * 1e9
    if abs(printed.nominal_bits_per_s - expected) > 0.01 * expected:
        return printed._replace(why=f"rate contains {text!r}, whose number contradicts its name")
    return printed._replace(data_bits_per_s=data_bits_per_s(printed.width, printed.speed_name))


def _omni_path(printed: PortRate, text: str) -> PortRate:
    """hfi1 words 25 Gb/s lanes as EDR and links of 1, 2 and 3 lanes all as 1X (its verbs.h, opa_width_to_ib)."""
    if printed.speed_name != "EDR":
        return printed._replace(speed_name="", why=f"rate contains {text!r}, a speed of Omni-Path that is not known")
    if printed.width != 4:
        return printed._replace(speed_name="OPA100", why=f"rate contains {text!r}, which may be 1, 2 or 3 lanes")
    return printed._replace(speed_name="OPA100", data_bits_per_s=100e9)
