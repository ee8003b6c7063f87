"""Ports of which only the nominal rate is known: Omni-Path, True Scale, EFA. No packet overhead is taken off."""

from seatrial.model.hca import Port, PortFamily
from seatrial.model.limit import LimitTerm, Terms

NOMINAL_BITS_PER_S = {PortFamily.OMNI_PATH: 100e9, PortFamily.TRUE_SCALE: 32e9}
"""Where the port tells no rate. Omni-Path 100: four lanes of 25.78125 Gb/s, of whose link transfer packets of 1056 bits
1024 are flits' data; True Scale: 4X QDR, four lanes of 10 Gb/s in 8b/10b. EFA differs from instance to instance."""


def nominal_terms(port: Port, node: str, label: str, where: str = "") -> Terms:
    """The data rate of the port in bytes per second, one direction; nominal, since packets' headers are not known."""
    family = port.family
    told = port.data_bits_per_s
    bits_per_s = told or (NOMINAL_BITS_PER_S.get(family) if isinstance(family, PortFamily) else None)
    if bits_per_s is None:
        return Terms(unknown=(f"{node} {label}: active, and its data rate is not known",))
    term = LimitTerm(
        name=f"{node} {label}: {family} at {bits_per_s / 1e9:g} Gb/s, nominal",
        bytes_per_s=bits_per_s / 8,
        inputs={"data_bits_per_s": bits_per_s},
        source=f"{where or label}/rate on {node}" if told else f"the name {family}",
        formula="data_bits_per_s / 8",
        nominal=True,
    )
    return Terms(terms=(term,), unknown=(f"{node} {label}: packet overhead of {family} is not counted",))
