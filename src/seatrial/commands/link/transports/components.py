"""What an MPI has compiled in and what a pair of nodes offers it: the input for the choice of variants."""

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortFamily
from seatrial.model.system import Library
from seatrial.model.transport import Carrier, Declared, Role, Variant

NOT = "^"
EVERYTHING = "all"
ITSELF = "self"
"""Carries a rank's messages to itself, and nothing to another rank."""
DEVICE = re.compile(r"ch[34](?::\w+)*")


class MpiFamily(enum.StrEnum):
    """Families of MPIs, each with its own settings for transports."""

    OPEN_MPI = "Open MPI"
    MPICH_UCX = "MPICH (UCX)"
    MPICH_OFI = "MPICH (OFI)"
    MPICH_CH3 = "MPICH (ch3)"
    """MPICH 3 and before, with TCP and shared memory of its own."""
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
    """Variables that choose transports, as the site has set them itself; `leave_out` respects them."""

    def has(self, framework: str, component: str) -> bool:
        """Whether it is compiled in; if the framework is unknown, it is worth a try."""
        known = self.compiled.get(framework)
        return known is None or component in known


MPICH_DEVICES = {"ch4:ofi": MpiFamily.MPICH_OFI, "ch4": MpiFamily.MPICH_UCX, "ch3": MpiFamily.MPICH_CH3}


def family_of(mpi_library: str, libraries: Iterable[Library]) -> MpiFamily:
    """The family by MPI_Get_library_version; whether an MPICH sits on UCX or OFI is in this text or the facts."""
    if "Open MPI" in mpi_library:
        return MpiFamily.OPEN_MPI
    if "Intel" in mpi_library:
        return MpiFamily.INTEL_MPI
    if "CRAY MPICH" in mpi_library:  # it does not report its device: OFI, unless the user chooses another module
        return MpiFamily.MPICH_OFI
    if "MPICH" in mpi_library or "ch4:" in mpi_library:  # MVAPICH 3 and later is built on ch4, too
        device = DEVICE.search(mpi_library)
        devices = [word for one in libraries if one.name == "MPICH" for word in one.components.get("device", ())]
        known = device[0] if device else " ".join(devices)
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


def carrier_variant(role: Role, carrier: Carrier, environment: dict[str, str]) -> Variant:
    """A variant about one carrier, named after its role and carrier."""
    return Variant(name=f"{role} {carrier}", role=role, carrier=carrier, environment=environment)


def leave_out(names: Sequence[str], own: str, belongs: Callable[[str], bool] | None = None) -> str | None:
    """The value of a variable such as `OMPI_MCA_btl`, `UCX_TLS`, `FI_PROVIDER` that excludes `names`.

    A site's own setting stays in force: what it excludes is not allowed again. `own`: the site's value, a list of what
    is allowed or, after `^`, of what is excluded; empty: everything is allowed. `belongs` decides which words of a list
    to exclude, if these are more than `names`. None: the site's value excludes them already. If nothing would be left,
    everything else is allowed, as if the site had set nothing.
    """
    excluded = belongs or names.__contains__
    words = [word for word in (part.strip() for part in own.split(",")) if word]
    fresh = NOT + ",".join(names)
    if not words or EVERYTHING in words:
        return fresh
    if words[0].startswith(NOT):
        out = [words[0].removeprefix(NOT), *words[1:]]
        more = [name for name in names if name not in out]
        return NOT + ",".join((*out, *more)) if more else None
    kept = [word for word in words if not excluded(word)]
    if len(kept) == len(words):
        return None
    return ",".join(kept) if set(kept) - {ITSELF} else fresh
