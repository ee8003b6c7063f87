"""Facts from a sysinfo file: one JSON object of nodes, each with the words of lscpu, DMI and the network interfaces."""

import json
import re
from collections.abc import Mapping
from typing import Any

from seatrial.importers.other_outputs import JSON_TEXT, other_output
from seatrial.model.facts import (
    ETHERNET,
    INFINIBAND,
    NetworkInterface,
    NodeFacts,
    NumaNode,
    PciDevice,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca, Port
from seatrial.model.system import Firmware, SystemFacts
from seatrial.node.frame import FactsFormatError
from seatrial.node.port_rate import port_family, port_rate
from seatrial.node.processor_sets import MOST, listed

MEGABITS = re.compile(r"([0-9]{1,9}) ?Mbits?/s")
DESCRIPTION = re.compile(
    r"((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) .{0,100}?\[([0-9a-f]{4})\]"
    r".{0,400}\[([0-9a-f]{4}):([0-9a-f]{4})\]"
)
"""lspci -nn: address, class, vendor and device."""
INFINIBAND_DRIVERS = {"8086": "hfi1", "1077": "qib", "1fc1": "qib"}
"""PCI vendor -> driver of what is not really InfiniBand (the kernel's drivers/infiniband/hw/{hfi1,qib})."""
VECTOR_SETS = ("sse", "avx", "fma", "amx", "neon", "asimd", "sve", "altivec", "vsx")
UNTOLD = "the sysinfo file does not contain it"


def facts_from_sysinfo(text: str) -> dict[str, NodeFacts]:
    """Facts by node. Raises FactsFormatError for JSON of another kind."""
    try:
        nodes = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FactsFormatError(f"This is not JSON: {error}.") from error
    if isinstance(nodes, dict) and isinstance(nodes.get("hostname"), str):
        nodes = {nodes["hostname"]: nodes}
    found = {
        str(name): _node(str(name), node)
        for name, node in (nodes.items() if isinstance(nodes, dict) else ())
        if isinstance(node, dict) and isinstance(node.get("cpu"), dict)
    }
    other = other_output(text)
    if not found and other and other.name != JSON_TEXT:
        raise FactsFormatError(f"This is not a recording: it looks like {other.name}.", other.remedy)
    if not found:
        raise FactsFormatError(
            "This JSON describes no nodes.", "A sysinfo file maps each node's name to its cpu, net, memory and chassis."
        )
    return found


def _node(name: str, node: Mapping[str, Any]) -> NodeFacts:
    cpu, net, chassis = _part(node, "cpu"), _part(node, "net"), _part(node, "chassis")
    processors, sockets = whole(cpu, "CPU(s)"), whole(cpu, "Socket(s)")
    per_socket = whole(cpu, "Core(s) per socket")
    kernel, model = _text(_part(node, "os"), "kernel"), _text(cpu, "Model name")
    total = _text(_part(node, "memory"), "total")
    told_fields = {
        "kernel": kernel,
        "cpu_model": model,
        "processors": processors,
        "sockets": sockets,
        "cores": per_socket,
    }
    absent = {field: UNTOLD for field, value in told_fields.items() if not value}
    absent["memory_bytes"] = f"the sysinfo file contains {total!r}, which may be GB or GiB" if total else UNTOLD
    absent["boot_id"] = absent["system.limits"] = absent["system.mounts"] = absent["settings"] = UNTOLD
    return NodeFacts(
        hostname=_text(node, "hostname") or name,
        complete=True,
        kernel=kernel,
        cpu_model=model,
        processors=processors,
        cores=per_socket * sockets if per_socket and sockets else None,
        sockets=sockets,
        numa_nodes=whole(cpu, "NUMA node(s)"),
        interfaces=tuple(_interface(each, _part(net, each)) for each in sorted(net)),
        hcas=tuple(_hca(each, _part(net, each)) for each in sorted(net) if _text(_part(net, each), "rate")),
        pci=_pci(net),
        topology=Topology(numa_nodes=lscpu_numa_nodes(cpu), source="sysinfo"),
        processor=lscpu_processor(cpu, processors),
        system=SystemFacts(
            firmware=Firmware(vendor=_text(chassis, "sys_vendor"), product=_text(chassis, "product_name"))
        ),
        absent=absent,
    )


def _interface(name: str, part: Mapping[str, Any]) -> NetworkInterface:
    match = MEGABITS.fullmatch(_text(part, "speed"))
    infiniband = _text(part, "link_layer") == "InfiniBand"
    return NetworkInterface(
        name=name,
        link_type=INFINIBAND if infiniband else ETHERNET,
        speed_bits_per_s=int(match[1]) * 1e6 if match and int(match[1]) else None,
        pci_address=_address(part),
    )


def _hca(name: str, part: Mapping[str, Any]) -> Hca:
    """A device and its one port; the file knows both by the interface on it alone."""
    match = DESCRIPTION.match(_text(part, "descr"))
    link_layer = _text(part, "link_layer")
    driver = INFINIBAND_DRIVERS.get(match[3], "") if match and link_layer == "InfiniBand" else ""
    family = port_family(link_layer, driver=driver)
    rate = port_rate(family, _text(part, "rate"), _interface(name, part).speed_bits_per_s)
    port = Port(
        number=1,
        family=family,
        link_layer=link_layer,
        rate_text=_text(part, "rate"),
        speed_name=rate.speed_name,
        width=rate.width,
        data_bits_per_s=rate.data_bits_per_s,
        interfaces=(name,),
    )
    return Hca(name=name, pci_address=_address(part), ports=(port,))


def _pci(net: Mapping[str, Any]) -> tuple[PciDevice, ...]:
    devices: dict[str, PciDevice] = {}
    for name in sorted(net):
        match = DESCRIPTION.match(_text(_part(net, name), "descr"))
        if match:
            address = _full(match[1])
            names = (*devices[address].names, name) if address in devices else (name,)
            devices[address] = PciDevice(
                address=address,
                kind=PciKind.NETWORK,
                class_code=int(match[2], 16) << 8,
                vendor=int(match[3], 16),
                device=int(match[4], 16),
                names=names,
            )
    return tuple(devices[address] for address in sorted(devices))


def _address(part: Mapping[str, Any]) -> str:
    match = DESCRIPTION.match(_text(part, "descr"))
    return _full(match[1]) if match else ""


def _full(address: str) -> str:
    """lspci leaves out domain 0."""
    return address if address.count(":") == 2 else f"0000:{address}"


def lscpu_numa_nodes(cpu: Mapping[str, Any]) -> tuple[NumaNode, ...]:
    """The NUMA nodes in the words of lscpu, with their processors."""
    keys = ((re.fullmatch(r"NUMA node([0-9]{1,5}) CPU\(s\)", str(key)), key) for key in cpu)
    nodes = [NumaNode(index=int(match[1]), processors=listed(_text(cpu, key)) or ()) for match, key in keys if match]
    return tuple(sorted(nodes, key=lambda node: node.index))


def lscpu_processor(cpu: Mapping[str, Any], processors: int | None) -> ProcessorFacts:
    """What lscpu prints of the processors of a node that has `processors` of them."""
    highest = _megahertz(_text(cpu, "CPU max MHz"))
    count = processors if processors and processors <= MOST else 1
    threads = whole(cpu, "Thread(s) per core")
    flags = _text(cpu, "Flags").split()
    return ProcessorFacts(
        vendor=_text(cpu, "Vendor ID"),
        family=whole(cpu, "CPU family"),
        model_number=whole(cpu, "Model"),
        stepping=whole(cpu, "Stepping"),
        instruction_sets=tuple(flag for flag in flags if flag.startswith(VECTOR_SETS)),
        hardware_maximum_hz=(highest,) * count if highest else (),
        smt_active=None if threads is None else threads > 1,
    )


def _megahertz(text: str) -> float | None:
    return float(text) * 1e6 if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", text) else None


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _text(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value.strip() if isinstance(value, str) else ""


def whole(part: Mapping[str, Any], name: str) -> int | None:
    """A field that is a whole number; None where it is missing or something else."""
    text = _text(part, name)
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
