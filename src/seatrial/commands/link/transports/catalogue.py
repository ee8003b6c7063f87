"""Which variants are worth a start, by family of MPIs."""

from collections.abc import Callable, Mapping

from seatrial.commands.link.transports import mpich, open_mpi
from seatrial.commands.link.transports.components import MpiFamily, Stock
from seatrial.model.transport import Carrier, Variant
from seatrial.node.mpi import is_variable

Choose = Callable[[Stock, tuple[Carrier, ...]], tuple[Variant, ...]]
FAMILIES: dict[MpiFamily, Choose] = {
    MpiFamily.OPEN_MPI: open_mpi.variants,
    MpiFamily.MPICH_UCX: mpich.variants,
    MpiFamily.MPICH_OFI: mpich.variants,
    MpiFamily.MPICH_CH3: mpich.variants,
    MpiFamily.INTEL_MPI: mpich.intel_variants,
}
VERBOSE = {**open_mpi.VERBOSE, **mpich.VERBOSE, **mpich.INTEL_VERBOSE}
"""Each MPI reads its own variables and ignores the others'."""
CHOOSING = (*(f"{open_mpi.MCA}{name}" for name in ("pml", "mtl", "btl")), "UCX_TLS", "FI_PROVIDER")
"""Variables that name the transports to choose from; variants set them."""


def own_settings(environment: Mapping[str, str], files: Mapping[str, str]) -> dict[str, str]:
    """What the site has set of `CHOOSING`, parameter by parameter.

    `files`: the settings in a node's files and in a job's environment there; they override our own `environment`.
    """
    of_node = {name if is_variable(name) else open_mpi.MCA + name: value for name, value in files.items()}
    known = {**environment, **of_node}
    return {name: known[name] for name in CHOOSING if known.get(name)}


def variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """The variants for an MPI, the default first; none for an MPI that is not known."""
    choose = FAMILIES.get(stock.family)
    return choose(stock, presumed) if choose else ()
