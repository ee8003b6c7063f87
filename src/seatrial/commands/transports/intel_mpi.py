"""Intel MPI's transports: I_MPI_FABRICS for shared memory, FI_PROVIDER for what libfabric does (2019 and later).

Shared memory, TCP and what is not there were tried with 2021.18 on one machine; the rest is from its documentation.
"""

from seatrial.commands.transports.components import Stock
from seatrial.commands.transports.mpich import without_providers
from seatrial.model.transport import Carrier, Role, Variant

VERBOSE = {"I_MPI_DEBUG": "10", "FI_LOG_LEVEL": "info", "FI_LOG_SUBSYS": "core"}
PROVIDERS = {Carrier.TCP: "tcp", Carrier.VERBS: "verbs", Carrier.PSM2: "psm2", Carrier.UCX: "mlx"}


def variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """Shared memory away by I_MPI_FABRICS, providers away and forced by FI_PROVIDER."""
    forced = {one: {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": name} for one, name in PROVIDERS.items()}
    return (
        Variant(name="default", role=Role.DEFAULT),
        Variant(name="control", role=Role.CONTROL, environment={"UCX_IB_REG_METHODS": "rcache"}),
        *([_variant(Role.WITHOUT, Carrier.SHARED_MEMORY, {"I_MPI_FABRICS": "ofi"})] if stock.within else []),
        *without_providers(stock, {one: name for one, name in PROVIDERS.items() if one in presumed or not presumed}),
        *(_variant(Role.FORCED, one, settings) for one, settings in forced.items()),
    )


def _variant(role: Role, one: Carrier, environment: dict[str, str]) -> Variant:
    return Variant(name=f"{role} {one}", role=role, carrier=one, environment=environment)
