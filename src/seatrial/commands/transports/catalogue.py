"""Which variants are worth a start: one file for each family of MPIs, listed here."""

from collections.abc import Callable, Mapping

from seatrial.commands.transports import intel_mpi, mpich, open_mpi
from seatrial.commands.transports.components import MpiFamily, Stock
from seatrial.model.transport import Carrier, Variant
from seatrial.node.mpi import is_variable

Choose = Callable[[Stock, tuple[Carrier, ...]], tuple[Variant, ...]]
FAMILIES: dict[MpiFamily, Choose] = {
    MpiFamily.OPEN_MPI: open_mpi.variants,
    MpiFamily.MPICH_UCX: mpich.variants,
    MpiFamily.MPICH_OFI: mpich.variants,
    MpiFamily.MPICH_CH3: mpich.variants,
    MpiFamily.INTEL_MPI: intel_mpi.variants,
}
VERBOSE = {**open_mpi.VERBOSE, **mpich.VERBOSE, **intel_mpi.VERBOSE}
"""Each MPI heeds its own and ignores the others'."""
CHOOSING = (*(f"{open_mpi.MCA}{name}" for name in ("pml", "mtl", "btl")), "UCX_TLS", "FI_PROVIDER")
"""Variables that name the transports to choose from, which variants set anew."""


def own_settings(environment: Mapping[str, str], files: Mapping[str, str]) -> dict[str, str]:
    """What the site has set of `CHOOSING`, parameter by parameter.

    `files`: what a node tells of its files and a job's environment there, which wins over our own `environment`.
    """
    told = {name if is_variable(name) else open_mpi.MCA + name: value for name, value in files.items()}
    known = {**environment, **told}
    return {name: known[name] for name in CHOOSING if known.get(name)}


def variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """The variants for an MPI, the default first; none for an MPI that is not known."""
    choose = FAMILIES.get(stock.family)
    return choose(stock, presumed) if choose else ()
