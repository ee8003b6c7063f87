"""A node's stream of facts into the record that the rest of seatrial works with."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.node.frame import CLOSING, OPENING, Frame, parse_frame, whole_number, why_no_answer
from seatrial.node.gpus import read_gpus
from seatrial.node.hcas import read_hcas
from seatrial.node.interfaces import read_interfaces
from seatrial.node.memory import read_memory
from seatrial.node.mpi import MPI_COMMANDS, mpi_versions
from seatrial.node.pci import read_pci
from seatrial.node.processor import read_processor, read_processors
from seatrial.node.software import read_kernel, read_software
from seatrial.node.system import read_system
from seatrial.node.topology import read_topology

MEMINFO = "/proc/meminfo"
SNMP = "/proc/net/snmp"
VMSTAT = "/proc/vmstat"
KERNEL = "/proc/sys/kernel/osrelease"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
BOOT_LINE = f"\n@value {BOOT_ID}|"
Reader = Callable[[Frame], tuple[Any, dict[str, str]]]
GROUPS: Mapping[str, Reader] = {
    "hcas": read_hcas,
    "pci": read_pci,
    "gpus": read_gpus,
    "topology": read_topology,
    "processor": read_processor,
    "memory": read_memory,
    "settings": read_kernel,
    "system": read_system,
    "software": read_software,
}
"""Field of NodeFacts -> what reads it and why some of it is not known."""


def parse_facts(text: str) -> NodeFacts:
    """What collect/facts.sh printed on one node -> its facts. Raises FactsFormatError where it printed no facts."""
    return node_facts(parse_frame(text))


class AlikeParser:
    """`parse_facts` for the nodes of a cluster: streams that differ only in name and boot are parsed once.

    Nodes with the same image and model often are, where counters are not read; what they have in common is then
    one and the same object.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], NodeFacts] = {}

    def parse(self, text: str) -> NodeFacts:
        """Parse like `parse_facts`, errors included."""
        begin = text.find("\n") + 1
        host = text[len(OPENING) : begin - 1].partition(" ")[2]
        end = len(text) - len(f"{CLOSING}{host}\n")
        boot = text.find(BOOT_LINE, begin - 1) + len(BOOT_LINE)
        stop = text.find("\n", boot)
        alone = boot >= len(BOOT_LINE) and begin <= boot < stop <= end and text.find(BOOT_LINE, boot) < 0
        if host.split() != [host] or not alone or not text.endswith(f"\n{CLOSING}{host}\n"):
            return parse_facts(text)
        common = text[: begin - 1 - len(host)] + text[begin:boot], text[stop:end]
        parsed = self._known.get(common)
        if parsed is None:
            parsed = self._known[common] = parse_facts(text)
        return msgspec.structs.replace(parsed, hostname=host, boot_id=text[boot:stop])


def node_facts(frame: Frame) -> NodeFacts:
    """The facts of a frame, in bytes and bits per second; what cannot be read is None or "", and named in `absent`."""
    processors = read_processors(frame)
    interfaces = read_interfaces(frame)
    groups: dict[str, Any] = {}
    absent = {**processors.absent, **interfaces.absent}
    for name, read in GROUPS.items():
        groups[name], missing = read(frame)
        absent.update(missing)
    plain_facts = _plain(frame)
    absent.update({name: why() for name, (value, why) in plain_facts.items() if value is None or value in ("", ())})
    plain: dict[str, Any] = {name: value for name, (value, _) in plain_facts.items() if value is not None}
    return NodeFacts(
        hostname=frame.hostname,
        complete=frame.complete,
        cpu_model=processors.model,
        processors=processors.processors,
        cores=processors.cores,
        sockets=processors.sockets,
        numa_nodes=processors.numa_nodes,
        interfaces=interfaces.interfaces,
        absent=absent,
        **groups,
        **plain,
    )


def _plain(frame: Frame) -> dict[str, tuple[object, Callable[[], str]]]:
    """Facts of one value each: the value, and how to find out why there is none."""
    tcp = tcp_counters(frame)
    return {
        "kernel": (frame.values.get(KERNEL), lambda: frame.reason(KERNEL)),
        "boot_id": (frame.values.get(BOOT_ID), lambda: frame.reason(BOOT_ID)),
        "memory_bytes": (memory_bytes(frame), lambda: frame.reason(MEMINFO)),
        "tcp_segments_sent": (tcp.get("OutSegs"), lambda: frame.reason(SNMP)),
        "tcp_segments_resent": (tcp.get("RetransSegs"), lambda: frame.reason(SNMP)),
        "oom_kills": (oom_kills(frame), lambda: frame.reason(VMSTAT)),
        "mpi_versions": (mpi_versions(frame), lambda: why_no_answer(frame, *MPI_COMMANDS)),
    }


def memory_bytes(frame: Frame) -> int | None:
    """MemTotal: what the kernel manages, a little less than what is plugged in. Its "kB" are 1024 bytes."""
    for line in frame.files.get(MEMINFO, ()):
        name, _, amount = line.partition(":")
        digits, _, unit = amount.strip().partition(" ")
        kibibytes = whole_number(digits)
        if name == "MemTotal" and unit == "kB" and kibibytes is not None:
            return kibibytes * 1024
    return None


def oom_kills(frame: Frame) -> int | None:
    """The counter of /proc/vmstat, of the whole kernel; kernels before 4.13 have none."""
    words = next((line.split() for line in frame.files.get(VMSTAT, ()) if line.startswith("oom_kill ")), [])
    return whole_number(words[1]) if len(words) == 2 else None


def tcp_counters(frame: Frame) -> dict[str, int]:
    """The Tcp counters of /proc/net/snmp by name. Of this network namespace, since it was made.

    OutSegs does not count what is sent again, RetransSegs does (RFC 4022, tcpOutSegs and tcpRetransSegs).
    """
    lines = [line.split()[1:] for line in frame.files.get(SNMP, ()) if line.startswith("Tcp:")]
    if len(lines) != 2 or len(lines[0]) != len(lines[1]):
        return {}
    names, numbers = lines
    counters = zip(names, map(whole_number, numbers), strict=True)
    return {name: number for name, number in counters if number is not None}
