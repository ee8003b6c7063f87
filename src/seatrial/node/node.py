"""A node's stream of facts into the record that the rest of seatrial works with; settings of the kernel and versions of
software are read in this file, everything else by the readers in GROUPS.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.system import KernelFacts, SoftwareFacts
from seatrial.node.frame import CLOSING, OPENING, Frame, Reader, answer, parse_frame, whole_number, why_no_answer
from seatrial.node.gpus import attached_gpus, read_gpus
from seatrial.node.hcas import read_hcas, read_interfaces
from seatrial.node.memory import read_memory
from seatrial.node.mpi import (
    ASKED,
    FABRIC_PROVIDERS,
    FABRIC_VERSION,
    MPI_COMMANDS,
    OMPI_COMPONENTS,
    UCX_DEVICES,
    UCX_VERSION,
    mpi_versions,
    read_libraries,
    read_mpi_files,
    read_mpi_settings,
    why_no_settings,
)
from seatrial.node.pci import read_pci
from seatrial.node.processor import read_processor, read_processors
from seatrial.node.system import read_system
from seatrial.node.topology import read_topology

SLURM_CLIENTS = ("sinfo --version", "srun --version")
SLURM_DAEMON = "slurmd -V"
SLURM = re.compile(r"slurm\S* +(\S+)")
OLD = "/proc/sys/kernel/sched_"
NEW = "/sys/kernel/debug/sched"
AUTOGROUP = "autogroup_enabled"
CHOSEN = re.compile(r"\((\w+)\)")


def slurm_version(frame: Frame, commands: tuple[str, ...]) -> str:
    """The version number ("22.05.8"), or "" where no command prints it; Debian calls the program slurm-wlm."""
    for command in commands:
        for line in answer(frame, command):
            if match := SLURM.fullmatch(line.strip()):
                return match[1]
    return ""


LMOD = "LMOD_VERSION"
MODULES = re.compile(r".*\bModules Release (\S+).*")
TELL_MORE = (OMPI_COMPONENTS, UCX_VERSION, UCX_DEVICES, FABRIC_VERSION, FABRIC_PROVIDERS)


def read_software(frame: Frame) -> tuple[SoftwareFacts, dict[str, str]]:
    """The software of a frame.

    Second: name of a fact ("software.slurm_client") -> why it is not known; "software.libraries" also names the
    commands that did not list what is compiled in.
    """
    facts = SoftwareFacts(
        slurm_client=slurm_version(frame, SLURM_CLIENTS),
        slurm_daemon=slurm_version(frame, (SLURM_DAEMON,)),
        libraries=read_libraries(frame),
        mpi_settings=read_mpi_settings(frame),
        mpi_files=read_mpi_files(frame),
        modules_system=_modules_system(frame),
    )
    silent = why_no_answer(frame, *(command for command in TELL_MORE if not answer(frame, command)))
    reasons = {
        "slurm_client": why_no_answer(frame, *SLURM_CLIENTS) if not facts.slurm_client else "",
        "slurm_daemon": why_no_answer(frame, SLURM_DAEMON) if not facts.slurm_daemon else "",
        "libraries": silent if facts.libraries else f"{why_no_answer(frame, *MPI_COMMANDS)}; {silent}",
        "mpi_settings": why_no_settings(frame) if not facts.mpi_settings else "",
        "mpi_files": frame.reason(ASKED) if not facts.mpi_files else "",
        "modules_system": frame.reason(LMOD) if not facts.modules_system else "",
    }
    return facts, {f"software.{name}": why for name, why in reasons.items() if why}


def _modules_system(frame: Frame) -> str:
    """Lmod has its version in $LMOD_VERSION, Environment Modules through $MODULES_CMD --version."""
    if lmod := frame.values.get(LMOD, "").strip():
        return f"Lmod {lmod}"
    for command in frame.commands:
        for line in answer(frame, command) if "modulecmd" in command else ():
            if match := MODULES.fullmatch(line):
                return f"Environment Modules {match[1]}"
    return ""


def read_scheduler(frame: Frame) -> tuple[dict[str, str], dict[str, str]]:
    """Knob, without "sched_" so that generations compare -> its value: latency_ns, base_slice_ns, ..., in ns.

    Of choices ("none (logarithmic) linear") the chosen word. Second: "settings.scheduler" -> why nothing is known.
    """
    old = _under(frame, OLD)
    old.pop(AUTOGROUP, None)
    granularities = {**old, **_under(frame, f"{NEW}/")}
    if granularities:
        return dict(sorted(granularities.items())), {}
    return {}, {"settings.scheduler": f"no {OLD}*_ns (up to Linux 5.12); {frame.reason(NEW)}"}


def _under(frame: Frame, before: str) -> dict[str, str]:
    values = {}
    for path, text in frame.values.items():
        if path.startswith(before):
            chosen = CHOSEN.search(text)
            values[path.removeprefix(before)] = chosen[1] if chosen else " ".join(text.split())
    return values


# Scheduler granularity: up to Linux 5.12 in /proc/sys/kernel/sched_*_ns; from 5.13 in /sys/kernel/debug/sched, for
# root only; from 6.6 (EEVDF) also there, with the base slice alone.


COMMAND_LINE = "/proc/cmdline"
KERNEL_MODULES = "/proc/modules"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
SYSCTLS = "/proc/sys/"
SETTINGS = re.compile(
    r"kernel/(?:numa_balancing|sched_autogroup_enabled|nmi_watchdog|watchdog|perf_event_paranoid)|vm/\w+|net/.+"
)
BRACKETED = re.compile(r"\[(\w+)\]")


def read_kernel(frame: Frame) -> tuple[KernelFacts, dict[str, str]]:
    """The settings of a frame, in the kernel's words and units.

    Second: name of a fact ("settings.scheduler") -> why it is not known. Network settings are those of the collector's
    own network namespace.
    """
    scheduler, without_scheduler = read_scheduler(frame)
    chosen = BRACKETED.search(frame.values.get(HUGE_PAGES, ""))
    facts = KernelFacts(
        command_line=" ".join(" ".join(frame.files.get(COMMAND_LINE, ())).split()),
        scheduler=scheduler,
        sysctls=_sysctls(frame),
        transparent_huge_pages=chosen[1] if chosen else "",
        modules=_modules(frame),
    )
    sources = {
        "command_line": COMMAND_LINE,
        "sysctls": f"{SYSCTLS}vm/swappiness",
        "transparent_huge_pages": HUGE_PAGES,
        "modules": KERNEL_MODULES,
    }
    absent = {f"settings.{name}": frame.reason(path) for name, path in sources.items() if not getattr(facts, name)}
    return facts, {**absent, **without_scheduler}


def _sysctls(frame: Frame) -> dict[str, str]:
    """Dotted name -> content, tabs and runs of blanks made one blank: "4096 131072 6291456"."""
    return {
        path.removeprefix(SYSCTLS).replace("/", "."): " ".join(text.split())
        for path, text in sorted(each for each in frame.values.items() if each[0].startswith(SYSCTLS))
        if SETTINGS.fullmatch(path.removeprefix(SYSCTLS))
    }


def _modules(frame: Frame) -> dict[str, str]:
    names = sorted({name.strip() for name in frame.files.get(KERNEL_MODULES, ())} - {""})
    return {name: frame.values.get(f"/sys/module/{name}/version", "").strip() for name in names}


MEMINFO = "/proc/meminfo"
SNMP = "/proc/net/snmp"
VMSTAT = "/proc/vmstat"
KERNEL = "/proc/sys/kernel/osrelease"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
BOOT_LINE = f"\n@value {BOOT_ID}|"
GROUPS: Mapping[str, Reader] = {
    "interfaces": read_interfaces,
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
    fields, absent = read_processors(frame)
    for name, read in GROUPS.items():
        fields[name], missing = read(frame)
        absent.update(missing)
    plain_facts = _plain(frame)
    absent.update({name: why() for name, (value, why) in plain_facts.items() if value is None or value in ("", ())})
    plain: dict[str, Any] = {name: value for name, (value, _) in plain_facts.items() if value is not None}
    return NodeFacts(
        hostname=frame.hostname,
        complete=frame.complete,
        attached_gpus=attached_gpus(frame),
        absent=absent,
        **fields,
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
