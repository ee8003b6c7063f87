"""The transport that an MPI declares, read from its verbose standard error."""

import re
from collections import defaultdict
from collections.abc import Iterable

from seatrial.model.transport import Carrier, Declared

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
