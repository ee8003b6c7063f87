"""Which variants are worth a start: one file for each family of MPIs, listed here."""

from collections.abc import Callable

from seatrial.diagnosis.transports import intel_mpi, mpich, open_mpi
from seatrial.diagnosis.transports.stock import MpiFamily, Stock
from seatrial.model.transport import Carrier, Variant

Choose = Callable[[Stock, tuple[Carrier, ...]], tuple[Variant, ...]]
FAMILIES: dict[MpiFamily, Choose] = {
    MpiFamily.OPEN_MPI: open_mpi.variants,
    MpiFamily.MPICH_UCX: mpich.variants,
    MpiFamily.MPICH_OFI: mpich.variants,
    MpiFamily.INTEL_MPI: intel_mpi.variants,
}
VERBOSE = {**open_mpi.VERBOSE, **mpich.VERBOSE, **intel_mpi.VERBOSE}
"""Each MPI heeds its own and ignores the others'."""


def variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """The variants for an MPI, the default first; none for an MPI that is not known."""
    choose = FAMILIES.get(stock.family)
    return choose(stock, presumed) if choose else ()
