"""What an MPI has compiled in and what a pair of nodes offers it: what a catalogue of variants is chosen by."""

import enum
import re
from collections.abc import Iterable, Mapping

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortFamily
from seatrial.model.system import Library
from seatrial.model.transport import Declared


class MpiFamily(enum.StrEnum):
    """MPIs that are told their transports by different words."""

    OPEN_MPI = "Open MPI"
    MPICH_UCX = "MPICH (UCX)"
    MPICH_OFI = "MPICH (OFI)"
    MPICH_CH3 = "MPICH (ch3)"
    """Its own TCP and shared memory, of MPICH 3 and before."""
    INTEL_MPI = "Intel MPI"
    UNKNOWN = "unknown"


class Stock(msgspec.Struct, frozen=True, kw_only=True):
    """`within`: both ranks on one node. `compiled`: framework -> components of the MPI itself."""

    family: MpiFamily
    within: bool = False
    compiled: dict[str, tuple[str, ...]] = {}
    devices: frozenset[PortFamily] = frozenset()
    """Kinds of active ports that every one of the nodes has."""
    own: dict[str, str] = {}
    """Variables that choose transports, as the site has set them itself; `leaving_out` says why they count."""

    def has(self, framework: str, component: str) -> bool:
        """Whether it is compiled in; where nothing is known of the framework it is worth a try."""
        known = self.compiled.get(framework)
        return known is None or component in known


DEVICE = re.compile(r"ch[34](?::\w+)*")
MPICH_DEVICES = {"ch4:ofi": MpiFamily.MPICH_OFI, "ch4": MpiFamily.MPICH_UCX, "ch3": MpiFamily.MPICH_CH3}


def family_of(mpi_library: str, libraries: Iterable[Library]) -> MpiFamily:
    """From what MPI_Get_library_version says; whether an MPICH sits on UCX or OFI is in the same text or the facts."""
    if "Open MPI" in mpi_library:
        return MpiFamily.OPEN_MPI
    if "Intel" in mpi_library:
        return MpiFamily.INTEL_MPI
    if "CRAY MPICH" in mpi_library:  # which does not tell its device: OFI, but for those who choose another module
        return MpiFamily.MPICH_OFI
    if "MPICH" in mpi_library or "ch4:" in mpi_library:  # MVAPICH 3 and later is built on ch4, too
        told = DEVICE.search(mpi_library)
        devices = [word for one in libraries if one.name == "MPICH" for word in one.components.get("device", ())]
        known = told[0] if told else " ".join(devices)
        return next((family for word, family in MPICH_DEVICES.items() if word in known), MpiFamily.MPICH_UCX)
    return MpiFamily.UNKNOWN


def stock_of(mpi_library: str, facts: Mapping[str, NodeFacts], declared: Declared | None, *, within: bool) -> Stock:
    """What is there on all of the nodes.

    Components are those that the MPI listed when it started, which is only what its settings let it look for, and those
    that the tool of the same version lists on a node.
    """
    libraries = [one for node in facts.values() for one in libraries_of(node)]
    tables = [one.components for one in libraries if one.name == "Open MPI" and _is_of(one.version, mpi_library)]
    listed = declared.compiled if declared else {}
    frameworks = sorted({*listed, *(name for table in tables for name in table)}) if tables else sorted(listed)
    compiled = {
        name: tuple(sorted({*listed.get(name, ()), *(one for table in tables for one in table.get(name, ()))}))
        for name in frameworks
    }
    if not tables:
        compiled.pop("pml", None)  # settings may have kept it from looking at all of them
    each = [families(node) for node in facts.values()]
    return Stock(
        family=family_of(mpi_library, libraries),
        within=within,
        compiled=compiled,
        devices=frozenset.intersection(*each) if each else frozenset(),
    )


def _is_of(version: str, mpi_library: str) -> bool:
    """4.1.1 is not that of Open MPI v4.1.10."""
    return re.search(rf"(?<![\w.]){re.escape(version)}(?![\w]|\.\d)", mpi_library.replace("Open MPI v", "")) is not None


def libraries_of(facts: NodeFacts) -> tuple[Library, ...]:
    """The MPI and transport libraries of a node whose names are known."""
    return tuple(one for one in facts.software.libraries if isinstance(one, Library))


def families(facts: NodeFacts) -> frozenset[PortFamily]:
    """The kinds of ports of a node that can carry traffic."""
    ports = [port for hca in facts.active_hcas for port in hca.ports if port.active]
    return frozenset(port.family for port in ports if isinstance(port.family, PortFamily))
