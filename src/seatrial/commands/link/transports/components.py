"""What an MPI has compiled in and declares, what nodes offer it, and the transport to expect from both."""

import enum
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortFamily
from seatrial.model.subject import node
from seatrial.model.system import Library
from seatrial.model.transport import Carrier, Declared, Role, Variant
from seatrial.model.verdict import Finding, FindingKind, Verdict

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


OVER_SOCKETS = (Carrier.TCP, Carrier.OFI, Carrier.UCX)
"""What can carry messages if there is only Ethernet."""
BEST: dict[PortFamily, tuple[Carrier, ...]] = {
    PortFamily.INFINIBAND: (Carrier.UCX, Carrier.VERBS),
    PortFamily.ROCE: (Carrier.UCX, Carrier.VERBS),
    PortFamily.OMNI_PATH: (Carrier.PSM2, Carrier.OFI),
    PortFamily.TRUE_SCALE: (Carrier.PSM, Carrier.OFI),
    PortFamily.IWARP: (Carrier.OFI, Carrier.VERBS),
    PortFamily.EFA: (Carrier.OFI,),
}
COMPONENT = {
    Carrier.UCX: ("pml", "ucx"),
    Carrier.PSM2: ("mtl", "psm2"),
    Carrier.PSM: ("mtl", "psm"),
    Carrier.OFI: ("mtl", "ofi"),
}
WITHOUT_UCX = {**COMPONENT, Carrier.VERBS: ("btl", "openib")}
"""Components for devices that UCX does not drive, if Open MPI's own driver does."""
CRAY = 0x17DB
"""PCI vendor of Slingshot's Cassini, which the kernel shows as Ethernet and libfabric drives by its provider cxi."""
MAKERS = {"mlx4_core": "Mellanox", "mlx5_core": "Mellanox", "mlx4_ib": "Mellanox", "mlx5_ib": "Mellanox"}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One node: its devices, its libraries with their components, and the carriers to expect from both."""

    node: str
    devices: tuple[str, ...]
    libraries: tuple[Library, ...]
    expected: tuple[Carrier, ...]


def offers(facts: Mapping[str, NodeFacts], *, within: bool) -> tuple[Offer, ...]:
    """The offers of each node; a mixed cluster has several answers."""
    return tuple(
        Offer(node=name, devices=devices(one), libraries=libraries_of(one), expected=expected(one, within=within))
        for name, one in facts.items()
    )


def devices(facts: NodeFacts) -> tuple[str, ...]:
    """mlx5_0 (InfiniBand), eth0 (Ethernet): what is up."""
    hcas = [
        f"{hca.name} ({', '.join(dict.fromkeys(str(port.family) for port in hca.ports if port.active)) or 'no port'})"
        for hca in facts.active_hcas
    ]
    return (*hcas, *(f"{one.name} (Ethernet)" for one in facts.ethernet_interfaces))


def expected(facts: NodeFacts, *, within: bool) -> tuple[Carrier, ...]:
    """What should carry messages, the best first, by the node's fastest kind of device."""
    if within:
        return (Carrier.SHARED_MEMORY,)
    have = families(facts)
    best = [carrier for family, carriers in BEST.items() if family in have for carrier in carriers]
    if not best and any(device.vendor == CRAY for device in facts.pci):
        return (Carrier.OFI,)
    return tuple(dict.fromkeys(best)) or OVER_SOCKETS


def missing_drivers(facts: Mapping[str, NodeFacts], stock: Stock) -> list[Finding]:
    """Devices for which this Open MPI has no driver at all; nothing is reported if the components are unknown."""
    found = []
    for name, one in facts.items():
        for family in sorted(families(one), key=str):
            wanted = BEST.get(family, ())
            drivers = COMPONENT if Carrier.UCX in wanted else WITHOUT_UCX
            parts = [drivers[carrier] for carrier in wanted if carrier in drivers]
            if parts and all(part[0] in stock.compiled and not stock.has(*part) for part in parts):
                found.append(_missing(name, one, family, wanted[0]))
    return found


def _missing(name: str, facts: NodeFacts, family: PortFamily, carrier: Carrier) -> Finding:
    maker = next((MAKERS[hca.driver] for hca in facts.active_hcas if hca.driver in MAKERS), "")
    kind = f"{maker} node" if maker else f"node with {family} ports"
    return Finding(
        kind=FindingKind.DRIVER_MISSING,
        subject=node(name),
        verdict=Verdict.MISCONFIGURED,
        statement=f"Node {name}: {carrier} was not compiled into this Open MPI on a {kind}.",
        remedy=f"Use an MPI that is built with it (./configure --with-{carrier.lower()}), or the vendor's own.",
    )


REGISTERING = re.compile(r"\[(\S{1,300}?)\] mca: base: components_register: registering framework (\w+) components")
FOUND = re.compile(r"\[(\S{1,300}?)\] mca: base: components_register: found loaded component (\w+)")
CHOSEN = re.compile(r"selected (\w+) best priority")
MTL = re.compile(r"mca:base:select:\(\s*mtl\) Selected component \[(\w+)\]")
PROVIDER = re.compile(r"mtl:ofi:provider: (\S+)")
BTL = re.compile(r"mca: bml: Using (\w+) btl for send to")
UCX_WAY = re.compile(r"ep_cfg\[\d+\]: (?:tag|am)\(([^)]{0,400})\)")
INTEL_PROVIDER = re.compile(r"libfabric provider: (\S+)")
INTEL_LOCAL = re.compile(r"MPI startup\(\): shm segment size .{0,200}\* \((\d{1,9}) local ranks\)")
INTEL_PROVIDERS = {
    "tcp": Carrier.TCP,
    "sockets": Carrier.TCP,
    "verbs": Carrier.VERBS,
    "psm2": Carrier.PSM2,
    "mlx": Carrier.UCX,
}
"""Part of the provider's name before ";ofi_rxm" -> carrier; other providers are OFI's own."""
BTLS = {
    "tcp": Carrier.TCP,
    "vader": Carrier.SHARED_MEMORY,
    "sm": Carrier.SHARED_MEMORY,
    "openib": Carrier.VERBS,
    "uct": Carrier.UCX,
}
MTLS = {"ofi": Carrier.OFI, "psm2": Carrier.PSM2, "psm": Carrier.PSM}
UCX_TRANSPORTS = (
    (("sysv", "posix", "xpmem", "cma", "knem"), Carrier.SHARED_MEMORY),
    (("tcp",), Carrier.TCP),
    (("rc", "dc", "ud"), Carrier.VERBS),
)


def read_declared(text: str) -> Declared | None:
    """The choice that all ranks together declare; None where the text holds none that is known."""
    compiled = _compiled(text)
    carriers, words = _open_mpi(text)
    if not words:
        carriers, words = _ucx(text)
    if not words:
        carriers, words = _intel(text)
    if not words and not compiled:
        return None
    return Declared(carriers=tuple(dict.fromkeys(carriers)), words=tuple(dict.fromkeys(words)), compiled=compiled)


def _compiled(text: str) -> dict[str, tuple[str, ...]]:
    """Framework -> components; ranks write in between each other, so each process's lines are read apart."""
    framework: dict[str, str] = {}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in text.splitlines():
        if begun := REGISTERING.search(line):
            framework[begun[1]] = begun[2]
        elif (one := FOUND.search(line)) and one[1] in framework:
            found[framework[one[1]]].add(one[2])
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def _open_mpi(text: str) -> tuple[list[Carrier], list[str]]:
    carriers: list[Carrier] = []
    words: list[str] = []
    for pml in dict.fromkeys(CHOSEN.findall(text)):
        words.append(f"pml {pml}")
        if pml == "cm":
            mtls = list(dict.fromkeys(MTL.findall(text)))
            words += [f"mtl {mtl}" for mtl in mtls]
            words += [f"OFI domain {domain}" for domain in dict.fromkeys(PROVIDER.findall(text))]
            carriers += [MTLS[mtl] for mtl in mtls if mtl in MTLS]
        elif pml == "ob1":
            btls = [btl for btl in dict.fromkeys(BTL.findall(text)) if btl != "self"]
            words += [f"btl {btl}" for btl in btls]
            carriers += [BTLS[btl] for btl in btls if btl in BTLS]
        elif pml == "ucx":
            carriers.append(Carrier.UCX)
            words += _ucx(text)[1]
    return carriers, words


def _ucx(text: str) -> tuple[list[Carrier], list[str]]:
    """UCX lists its lanes for each kind of peer; the list that contains `self` is the rank's own."""
    carriers: list[Carrier] = []
    words: list[str] = []
    for lanes in dict.fromkeys(UCX_WAY.findall(text)):
        names = [lane.partition("/")[0] for lane in lanes.split()]
        if not names or "self" in names:
            continue
        words.append(f"UCX {lanes}")
        carriers += _ucx_carriers(names)
    return carriers, words


def _ucx_carriers(names: Iterable[str]) -> list[Carrier]:
    found = []
    for name in names:
        for prefixes, carrier in UCX_TRANSPORTS:
            if any(name.startswith(prefix) for prefix in prefixes):
                found.append(carrier)
    return found


def _intel(text: str) -> tuple[list[Carrier], list[str]]:
    """Two ranks of one node use shared memory where it is there, whatever the provider for others is."""
    names = list(dict.fromkeys(INTEL_PROVIDER.findall(text)))
    words = [f"libfabric provider {name}" for name in names]
    if any(int(count) > 1 for count in INTEL_LOCAL.findall(text)):
        return [Carrier.SHARED_MEMORY], [*words, "shm"]
    return [INTEL_PROVIDERS.get(name.partition(";")[0], Carrier.OFI) for name in names], words
