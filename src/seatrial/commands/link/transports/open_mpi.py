"""Open MPI's transports and how to exclude, slow down and force each: MCA parameters of 4.x and 5.x.

Parameters of components that a version lacks (vader in 5, sm in 4) are ignored by it.
"""

import msgspec

from seatrial.commands.link.transports.components import Stock, carrier_variant, leave_out
from seatrial.model.hca import PortFamily
from seatrial.model.measurement import Kernel
from seatrial.model.transport import Carrier, Role, Variant

MCA = "OMPI_MCA_"
FRAGMENT = "512"
"""Bytes that a hobbled transport sends at a time: a message of 4 MiB takes 8192 of them."""

VERBOSE = {
    "OMPI_MCA_pml_base_verbose": "10",
    "OMPI_MCA_mtl_base_verbose": "10",
    "OMPI_MCA_btl_base_verbose": "10",
    "OMPI_MCA_bml_base_verbose": "10",
    "UCX_LOG_LEVEL": "info",
    "UCX_LOG_FILE": "stderr",
}
"""Makes it report what it chooses; UCX writes to standard error, since standard output is the probe's."""

HOBBLES: dict[Carrier, dict[str, str]] = {
    Carrier.TCP: {
        "btl_tcp_flags": "1",
        "btl_tcp_eager_limit": FRAGMENT,
        "btl_tcp_rndv_eager_limit": FRAGMENT,
        "btl_tcp_max_send_size": FRAGMENT,
    },
    Carrier.SHARED_MEMORY: {
        f"btl_{name}_{key}": value
        for name in ("vader", "sm")
        for key, value in {
            "single_copy_mechanism": "none",
            "flags": "1",
            "eager_limit": FRAGMENT,
            "rndv_eager_limit": FRAGMENT,
            "max_send_size": FRAGMENT,
        }.items()
    },
}
"""Flags 1: send only, no get or put that would pass a message by the fragments."""

OFI_HOBBLE = {"mtl_ofi_provider_include": "sockets"}
"""libfabric's slowest provider: a thread of its own hands every message over, which latency shows."""
UCX_HOBBLE = {"UCX_TLS": "tcp,sm,self", "UCX_RNDV_THRESH": "inf", "UCX_TCP_TX_SEG_SIZE": FRAGMENT}


def mca(settings: dict[str, str]) -> dict[str, str]:
    """Parameters as environment variables."""
    return {MCA + name: value for name, value in settings.items()}


def variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """Default, reference, control, each presumed carrier excluded, every available one hobbled and forced."""
    there = carriers(stock)
    return (
        Variant(name="default", role=Role.DEFAULT),
        Variant(name="reference", role=Role.REFERENCE),
        Variant(name="control", role=Role.CONTROL, environment=control(stock)),
        *(carrier_variant(Role.WITHOUT, one, away) for one in presumed if (away := _without(one, stock))),
        *(hobbled(one) for one in there),
        *(carrier_variant(Role.FORCED, one, mca(forced(one, stock))) for one in _candidates(stock)),
    )


def carriers(stock: Stock) -> tuple[Carrier, ...]:
    """The carriers that are compiled in and can connect these ranks, between or within nodes."""
    known = {
        Carrier.OFI: stock.has("mtl", "ofi"),
        Carrier.UCX: stock.has("pml", "ucx"),
        Carrier.TCP: stock.has("btl", "tcp"),
        Carrier.SHARED_MEMORY: stock.within and any(stock.has("btl", name) for name in ("vader", "sm")),
    }
    return tuple(one for one, there in known.items() if there)


def _candidates(stock: Stock) -> tuple[Carrier, ...]:
    extra = {Carrier.PSM2: stock.has("mtl", "psm2"), Carrier.VERBS: stock.has("btl", "openib")}
    return (*carriers(stock), *(one for one, there in extra.items() if there))


def control(stock: Stock) -> dict[str, str]:
    """Excludes True Scale's driver if there is no True Scale; else CUDA's shared memory, used for device memory only.

    Where the site's own setting has left it out already, that setting once more.
    """
    framework, name = ("btl", "smcuda") if PortFamily.TRUE_SCALE in stock.devices else ("mtl", "psm")
    own = stock.own.get(MCA + framework, "")
    return mca({framework: leave_out((name,), own) or own})


def _without(one: Carrier, stock: Stock) -> dict[str, str]:
    """Empty where no setting is known, or where the site's own leaves it out."""
    framework, names = {
        Carrier.OFI: ("mtl", ("ofi",)),
        Carrier.UCX: ("pml", ("ucx",)),
        Carrier.TCP: ("btl", ("tcp",)),
        Carrier.SHARED_MEMORY: ("btl", ("vader", "sm")),
        Carrier.VERBS: ("btl", ("openib",)),
        Carrier.PSM2: ("mtl", ("psm2",)),
        Carrier.PSM: ("mtl", ("psm",)),
    }[one]
    value = leave_out(names, stock.own.get(MCA + framework, ""))
    return mca({framework: value}) if value else {}


def hobbled(one: Carrier) -> Variant:
    """Settings that slow only this one, to half at most, and stop none."""
    if one is Carrier.OFI:
        return msgspec.structs.replace(carrier_variant(Role.HOBBLED, one, mca(OFI_HOBBLE)), slows=Kernel.PINGPONG)
    return carrier_variant(Role.HOBBLED, one, UCX_HOBBLE if one is Carrier.UCX else mca(HOBBLES[one]))


def forced(one: Carrier, stock: Stock) -> dict[str, str]:
    """The settings for a carrier alone, apart from a rank's messages to itself."""
    shared = "vader" if "vader" in stock.compiled.get("btl", ("vader",)) else "sm"
    return {
        Carrier.OFI: {"pml": "cm", "mtl": "ofi"},
        Carrier.UCX: {"pml": "ucx"},
        Carrier.TCP: {"pml": "ob1", "btl": "tcp,self"},
        Carrier.SHARED_MEMORY: {"pml": "ob1", "btl": f"{shared},self"},
        Carrier.VERBS: {"pml": "ob1", "btl": "openib,self"},
        Carrier.PSM2: {"pml": "cm", "mtl": "psm2"},
        Carrier.PSM: {"pml": "cm", "mtl": "psm"},
    }[one]
