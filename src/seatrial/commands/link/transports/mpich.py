"""Transports of MPICH and Intel MPI: ch4 over UCX by UCX_TLS, over OFI by FI_PROVIDER, shared memory by leaving it out.

Intel MPI (2019 and later) has I_MPI_FABRICS for shared memory. Its shared memory, TCP and missing devices were tried
with 2021.18 on one machine; the rest is from its documentation.
"""

from collections.abc import Mapping
from functools import partial

from seatrial.commands.link.transports.components import MpiFamily, Stock, carrier_variant, leave_out
from seatrial.model.transport import Carrier, Role, Variant

VERBOSE = {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr", "FI_LOG_LEVEL": "info", "FI_LOG_SUBSYS": "core"}
UCX_NAMES = {Carrier.SHARED_MEMORY: "sm", Carrier.TCP: "tcp", Carrier.VERBS: "ib"}
"""UCX's names of whole kinds of transports."""
PROVIDERS = {Carrier.TCP: "tcp", Carrier.VERBS: "verbs", Carrier.PSM2: "psm2"}
INTEL_VERBOSE = {"I_MPI_DEBUG": "10", "FI_LOG_LEVEL": "info", "FI_LOG_SUBSYS": "core"}
INTEL_PROVIDERS = {**PROVIDERS, Carrier.UCX: "mlx"}
NO_LOCAL = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH3_NOLOCAL": "1"}
"""The second is ch3's name for it."""
UCX_WORDS = {
    Carrier.SHARED_MEMORY: ("sm", "shm", "mm", "sysv", "posix", "xpmem", "cma", "knem"),
    Carrier.TCP: ("tcp",),
    Carrier.VERBS: ("ib", "rc", "ud", "dc"),
}
"""Prefixes of words in UCX_TLS that belong to such a kind: rc_x, sysv."""


def variants(stock: Stock, _presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """Every carrier is excluded and forced, whatever is presumed: no setting is known that slows down just one of them.

    A carrier that the site's own setting excludes is not excluded again.
    """
    if stock.family is MpiFamily.MPICH_CH3:
        return (
            Variant(name="default", role=Role.DEFAULT),
            Variant(name="control", role=Role.CONTROL, environment={"UCX_TLS": "self", "FI_PROVIDER": "^usnic"}),
            carrier_variant(Role.WITHOUT, Carrier.SHARED_MEMORY, NO_LOCAL),
        )
    if stock.family is MpiFamily.MPICH_OFI:
        return (
            Variant(name="default", role=Role.DEFAULT),
            Variant(name="control", role=Role.CONTROL, environment={"UCX_TLS": "self"}),
            carrier_variant(Role.WITHOUT, Carrier.SHARED_MEMORY, NO_LOCAL),
            *without_providers(stock, PROVIDERS),
            *(carrier_variant(Role.FORCED, one, {"FI_PROVIDER": name}) for one, name in PROVIDERS.items()),
        )
    own = stock.own.get("UCX_TLS", "")
    away = {one: leave_out((name,), own, partial(_is_part, one)) for one, name in UCX_NAMES.items()}
    return (
        Variant(name="default", role=Role.DEFAULT),
        Variant(name="control", role=Role.CONTROL, environment={"FI_PROVIDER": "^usnic"}),
        *(carrier_variant(Role.WITHOUT, one, {"UCX_TLS": value}) for one, value in away.items() if value),
        *(carrier_variant(Role.FORCED, one, {"UCX_TLS": f"{name},self"}) for one, name in UCX_NAMES.items()),
    )


def intel_variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """Shared memory excluded by I_MPI_FABRICS, providers excluded and forced by FI_PROVIDER."""
    forced = {one: {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": name} for one, name in INTEL_PROVIDERS.items()}
    excluded = {one: name for one, name in INTEL_PROVIDERS.items() if one in presumed or not presumed}
    return (
        Variant(name="default", role=Role.DEFAULT),
        Variant(name="control", role=Role.CONTROL, environment={"UCX_IB_REG_METHODS": "rcache"}),
        *([carrier_variant(Role.WITHOUT, Carrier.SHARED_MEMORY, {"I_MPI_FABRICS": "ofi"})] if stock.within else []),
        *without_providers(stock, excluded),
        *(carrier_variant(Role.FORCED, one, settings) for one, settings in forced.items()),
    )


def without_providers(stock: Stock, providers: Mapping[Carrier, str]) -> tuple[Variant, ...]:
    """Each of libfabric's providers that the site's own setting allows, excluded; `tcp;ofi_rxm` is tcp."""
    own = stock.own.get("FI_PROVIDER", "")
    away = {one: leave_out((name,), own, partial(_is_provider, name)) for one, name in providers.items()}
    return tuple(carrier_variant(Role.WITHOUT, one, {"FI_PROVIDER": value}) for one, value in away.items() if value)


def _is_part(one: Carrier, word: str) -> bool:
    return word.partition("_")[0] in UCX_WORDS[one]


def _is_provider(name: str, word: str) -> bool:
    return name in word.split(";")
