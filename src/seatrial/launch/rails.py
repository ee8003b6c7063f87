"""The settings that hold an MPI to one rail, or spread it over several: environment variables; pure.

Where each is documented:

- `btl_tcp_if_include`, `btl_openib_if_include`: Open MPI, "Tuning the run-time characteristics of MPI TCP
  communications" and "... of MPI InfiniBand, RoCE, and iWARP communications" (its FAQ), and `ompi_info --all`. A comma
  between names; messages are striped over all that are named.
- `UCX_NET_DEVICES`, `UCX_MAX_RNDV_RAILS`: UCX, "Frequently Asked Questions" (openucx.readthedocs.io) and
  `ucx_info -f`: devices as `mlx5_0:1` or `eth0`, and over how many of them one large message is split, 2 by
  default. Open MPI 5's "InfiniBand / RoCE support" and Intel's guide (its provider mlx is UCX) point there.
- `FI_TCP_IFACE`: fi_tcp(7), and Intel MPI's "OFI Providers Support". One name. libfabric's other providers over sockets
  take the same word with their own name, and each heeds its own alone: `net`, which Open MPI 4.1 takes of libfabric
  1.17, `sockets`, and `udp` (their logs, FI_LOG_LEVEL=info).
- `FI_VERBS_DEVICE_NAME`: fi_verbs(7), libfabric. One name.
- `HFI_UNIT`, `PSM2_MULTIRAIL`, `PSM2_MULTIRAIL_MAP`: Open MPI, "Omni-Path Architecture (OPA)", after Intel's PSM2
  Programmer's Guide: the unit is a number, the map a list of unit:port.
- `FI_OPX_HFI_SELECT`: fi_opx(7): a unit's number alone forces that unit.
- `MPIR_CVAR_CH4_OFI_MAX_NICS`, `MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING`: MPICH 4, README.envvar.
- `I_MPI_MULTIRAIL`: Intel MPI, Developer Reference, "NIC Pinning": ranks are spread over the NICs, so that one rank
  still uses one.

Variables of a library that an MPI does not use are without effect, so that all that may apply are given.
"""

import enum
import re
from collections.abc import Sequence

from seatrial.launch.contract import StartManner
from seatrial.launch.mpi import Family

ETHERNET = "Ethernet"
VERBS_KINDS = ("InfiniBand", "RoCE", "iWARP")
OMNI_PATH = "Omni-Path"
SOCKETS_PROVIDERS = ("TCP", "NET", "SOCKETS", "UDP")
"""libfabric's providers that need nothing but the kernel's sockets."""


class Transport(enum.StrEnum):
    """The libraries beneath an MPI that take rails by name, each in its own way."""

    OPEN_MPI_TCP = "Open MPI's btl tcp"
    OPEN_MPI_VERBS = "Open MPI's btl openib"
    UCX = "UCX"
    OFI_TCP = "OFI tcp"
    OFI_VERBS = "OFI verbs"
    PSM2 = "PSM2"
    OPX = "OFI opx"


def transports_for(family: Family, kind: str) -> tuple[Transport, ...]:
    """What an MPI of that family may use over rails of that kind, as far as a setting for it is documented."""
    if family is Family.UNKNOWN:
        return ()
    own = family is Family.OPEN_MPI
    if kind == ETHERNET:
        return (*((Transport.OPEN_MPI_TCP,) if own else ()), Transport.UCX, Transport.OFI_TCP)
    if kind in VERBS_KINDS:
        return (*((Transport.OPEN_MPI_VERBS,) if own else ()), Transport.UCX, Transport.OFI_VERBS)
    return (Transport.PSM2, Transport.OPX) if kind == OMNI_PATH else ()


def rail_environment(transport: Transport, rails: Sequence[str]) -> dict[str, str]:
    """The variables that hold one library to these rails; none where it has no setting for several."""
    first, every, alone = rails[0], ",".join(rails), len(rails) == 1
    device, unit = first.partition(":")[0], _unit(first)
    return {
        Transport.OPEN_MPI_TCP: {"OMPI_MCA_btl_tcp_if_include": every},
        Transport.OPEN_MPI_VERBS: {"OMPI_MCA_btl_openib_if_include": every},
        Transport.UCX: {"UCX_NET_DEVICES": every, "UCX_MAX_RNDV_RAILS": str(len(rails))},
        Transport.OFI_TCP: {f"FI_{name}_IFACE": first for name in SOCKETS_PROVIDERS} if alone else {},
        Transport.OFI_VERBS: {"FI_VERBS_DEVICE_NAME": device} if alone else {},
        Transport.PSM2: _psm2(rails),
        Transport.OPX: {"FI_OPX_HFI_SELECT": unit} if alone and unit else {},
    }[transport]


def rail_manner(family: Family, kind: str, rails: Sequence[str]) -> StartManner | None:
    """How to start a probe that uses these rails of one kind alone; None where no setting is documented for it."""
    environment: dict[str, str] = {}
    for transport in transports_for(family, kind):
        environment |= rail_environment(transport, rails)
    if not environment:
        return None
    if family is Family.MPICH:
        environment |= _nics(len(rails))
    return StartManner(environment=environment)


def _psm2(rails: Sequence[str]) -> dict[str, str]:
    units = [_unit(rail) for rail in rails]
    if not all(units):
        return {}
    if len(rails) == 1:
        return {"PSM2_MULTIRAIL": "0", "HFI_UNIT": units[0]}
    ports = (rail.partition(":")[2] or "1" for rail in rails)
    places = ",".join(f"{unit}:{port}" for unit, port in zip(units, ports, strict=True))
    return {"PSM2_MULTIRAIL": "1", "PSM2_MULTIRAIL_MAP": places}


def _unit(rail: str) -> str:
    """`1` of `hfi1_1:1`, empty where the name ends in no number."""
    match = re.search(r"_(\d{1,18})$", rail.partition(":")[0])
    return match[1] if match else ""


def _nics(count: int) -> dict[str, str]:
    """MPICH over OFI, and Intel's: this many NICs, messages striped over them where there are several."""
    if count == 1:
        return {"MPIR_CVAR_CH4_OFI_MAX_NICS": "1", "I_MPI_MULTIRAIL": "0"}
    return {
        "MPIR_CVAR_CH4_OFI_MAX_NICS": str(count),
        "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING": "1",
        "I_MPI_MULTIRAIL": "1",
    }
