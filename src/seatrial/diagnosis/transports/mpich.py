"""MPICH's transports: ch4 over UCX by UCX_TLS, ch4 over OFI by FI_PROVIDER and by leaving shared memory out."""

from seatrial.diagnosis.transports.stock import MpiFamily, Stock
from seatrial.model.transport import Carrier, Role, Variant

VERBOSE = {
    "UCX_LOG_LEVEL": "info",
    "UCX_LOG_FILE": "stderr",
    "FI_LOG_LEVEL": "info",
    "FI_LOG_SUBSYS": "core",
}
UCX_NAMES = {Carrier.SHARED_MEMORY: "sm", Carrier.TCP: "tcp", Carrier.VERBS: "ib"}
"""UCX's words for whole kinds of transports."""
PROVIDERS = {Carrier.TCP: "tcp", Carrier.VERBS: "verbs", Carrier.PSM2: "psm2"}


def variants(stock: Stock, _presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """Every carrier is taken away and forced, whatever is presumed: no setting is known that slows just one of them."""
    if stock.family is MpiFamily.MPICH_OFI:
        return (
            Variant(name="default", role=Role.DEFAULT),
            Variant(name="control", role=Role.CONTROL, environment={"UCX_TLS": "self"}),
            _variant(Role.WITHOUT, Carrier.SHARED_MEMORY, {"MPIR_CVAR_NOLOCAL": "1"}),
            *(_variant(Role.WITHOUT, one, {"FI_PROVIDER": f"^{name}"}) for one, name in PROVIDERS.items()),
            *(_variant(Role.FORCED, one, {"FI_PROVIDER": name}) for one, name in PROVIDERS.items()),
        )
    return (
        Variant(name="default", role=Role.DEFAULT),
        Variant(name="control", role=Role.CONTROL, environment={"FI_PROVIDER": "^usnic"}),
        *(_variant(Role.WITHOUT, one, {"UCX_TLS": f"^{name}"}) for one, name in UCX_NAMES.items()),
        *(_variant(Role.FORCED, one, {"UCX_TLS": f"{name},self"}) for one, name in UCX_NAMES.items()),
    )


def _variant(role: Role, one: Carrier, environment: dict[str, str]) -> Variant:
    return Variant(name=f"{role} {one}", role=role, carrier=one, environment=environment)
