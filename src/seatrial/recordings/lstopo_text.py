"""The topology and the devices in what lstopo prints as text: one object a line, or several joined by "+", indented."""

import re
from typing import NamedTuple

from seatrial.model.facts import NetworkInterface
from seatrial.model.hardware import Core, NumaNode, PciDevice, PciHop, PciKind, Topology
from seatrial.model.hca import Hca
from seatrial.node.pci import ADDRESS

OBJECT = re.compile(r"(Package|Socket|NUMANode|Core|PU)(?:\([^)]{0,200}\))? [LP]#([0-9]{1,6})(?: \(([^)]{0,400})\))?")
"""`lstopo -p` prints physical numbers (P#) alone; otherwise they are in the parentheses."""
PHYSICAL = re.compile(r"P#([0-9]{1,6})")
SIZE = re.compile(r"(?<![\w#])([0-9]{1,9})(KB|MB|GB|TB|KiB|MiB|GiB|TiB)\b")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
"""hwloc prints KB for 1024 bytes."""
PCI = re.compile(r"PCI ((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?: \(([^)]{0,400})\))?")
VERBOSE_PCI = re.compile(
    r"PCI [^=]{0,40}\bbusid=((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) .{0,40}?class=[0-9a-f]{4}\(([^)]*)\)"
)
"""`lstopo -v`: PCI L#1 (busid=0000:00:03.0 id=1af4:1041 class=0200(Ethernet) ...)."""
VERBOSE_MODEL = re.compile(r'\bCPUModel="([^"]{1,200})"')
DEVICE = re.compile(
    r"(Net|OpenFabrics|Network|Block|GPU|CoProc)(?:\([^)]{0,200}\))? (?:L#[0-9]{1,9} )?"
    r'(?:\([^()]{0,400}\) )?"([^"\s]{1,64})"'
)
KINDS = {
    "InfiniBand": PciKind.NETWORK, "Ethernet": PciKind.NETWORK, "Network": PciKind.NETWORK, "Fabric": PciKind.NETWORK,
    "3D": PciKind.GPU, "Co-Processor": PciKind.GPU, "ProcessingAccelerator": PciKind.GPU, "NVMExp": PciKind.NVME,
}  # fmt: skip
"""hwloc's short names of PCI classes (hwloc_pci_class_string). VGA is left out: most are consoles."""


class PciText(NamedTuple):
    """A device under construction: its address, what hwloc calls its class, and the names of its software devices."""

    address: str
    class_name: str
    names: list[str]


class MachineText(NamedTuple):
    """What the text shows of a machine."""

    topology: Topology
    pci: tuple[PciDevice, ...]
    hcas: tuple[Hca, ...]
    interfaces: tuple[NetworkInterface, ...]
    cpu_model: str = ""
    """Only `lstopo -v` prints it."""


class _TreePlace:
    """The package and the NUMA node that the present line is in, by its indentation."""

    def __init__(self) -> None:
        self.package: tuple[int, int] | None = None
        self.node: tuple[int, int] | None = None
        self._cores = 0

    def enter_node(self, indent: int, number: int, cores: int) -> None:
        """Several nodes without cores between them are near the same cores, and the first is their main memory."""
        if self.node is None or self.node[0] != indent or cores > self._cores:
            self.node = (indent, number)
            self._cores = cores

    def leave(self, indent: int) -> None:
        """Forget what is not above a line with this indentation. A NUMA node is a child beside the cores it is near."""
        if self.package and indent <= self.package[0]:
            self.package = None
        if self.node and indent < self.node[0]:
            self.node = None


def lstopo_topology(lines: list[str]) -> MachineText | None:
    """None where the text shows no core or processor. Sizes are rounded as lstopo prints them."""
    place = _TreePlace()
    cores: list[Core] = []
    members: list[int] = []
    nodes: dict[int, NumaNode] = {}
    devices: list[PciText] = []
    interfaces: list[NetworkInterface] = []
    hcas: list[Hca] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        place.leave(indent)
        for kind, logical, said in OBJECT.findall(line):
            physical = PHYSICAL.search(said)
            number = int(physical[1]) if physical else int(logical)
            if kind in ("Package", "Socket"):
                place.package = (indent, number)
            elif kind == "NUMANode":
                place.enter_node(indent, number, len(cores))
                nodes[number] = NumaNode(index=number, memory_bytes=_bytes(said))
            elif kind == "Core":
                members = []
                cores.append(Core(processors=(), package=_number(place.package), numa_node=_number(place.node)))
            elif cores:
                members.append(number)
                cores[-1] = Core(
                    processors=tuple(sorted(members)), package=cores[-1].package, numa_node=cores[-1].numa_node
                )
        if match := PCI.search(line) or VERBOSE_PCI.search(line):
            devices.append(PciText(match[1] if match[1].count(":") > 1 else f"0000:{match[1]}", match[2] or "", []))
        for kind, name in DEVICE.findall(line):
            if devices:
                devices[-1].names.append(name)
            address = devices[-1].address if devices else ""
            if kind in ("Net", "Network"):
                interfaces.append(NetworkInterface(name=name, pci_address=address))
            elif kind == "OpenFabrics":
                hcas.append(Hca(name=name, pci_address=address))
    whole = tuple(core for core in cores if core.processors)
    if not whole:
        return None
    return MachineText(
        topology=Topology(cores=whole, numa_nodes=_with_processors(nodes, whole), source="lstopo"),
        pci=tuple(sorted(map(_device, devices), key=lambda device: device.address)),
        hcas=tuple(hcas),
        interfaces=tuple(interfaces),
        cpu_model=next((match[1] for match in map(VERBOSE_MODEL.search, lines) if match), ""),
    )


def _number(place: tuple[int, int] | None) -> int | None:
    return place[1] if place else None


def _bytes(said: str) -> int | None:
    match = SIZE.search(said)
    return int(match[1]) * UNITS[match[2][0]] if match else None


def _with_processors(nodes: dict[int, NumaNode], cores: tuple[Core, ...]) -> tuple[NumaNode, ...]:
    return tuple(
        NumaNode(
            index=number,
            processors=tuple(sorted(each for core in cores if core.numa_node == number for each in core.processors)),
            memory_bytes=nodes[number].memory_bytes,
        )
        for number in sorted(nodes)
    )


def _device(text: PciText) -> PciDevice:
    address = text.address if ADDRESS.fullmatch(text.address) else ""
    return PciDevice(
        address=address,
        kind=KINDS.get(text.class_name, PciKind.OTHER),
        names=tuple(sorted(text.names)),
        path=(PciHop(address=address),),
    )
