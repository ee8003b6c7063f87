"""Label and text for one node's kernel, clock, mounts and software, line by line. Nothing is judged."""

from collections import defaultdict
from collections.abc import Iterator

from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.system import Library
from seatrial.model.words import count, natural_sorted
from seatrial.node.mounts import KERNELS_OWN
from seatrial.node.mpi import told as told_file

Row = tuple[str, str]

PSEUDO = KERNELS_OWN | {"ramfs"}
"""File systems that hold no user files."""


def kernel(facts: NodeFacts) -> Iterator[Row]:
    """Version, command line, and how it is set."""
    settings = facts.settings
    if facts.kernel:
        yield "kernel", facts.kernel
    if settings.command_line:
        yield "started with", settings.command_line
    if settings.scheduler:
        yield "scheduler", ", ".join(f"{name} {value}" for name, value in sorted(settings.scheduler.items()))
    if settings.transparent_huge_pages:
        yield "huge pages", f"transparent: {settings.transparent_huge_pages}"
    if settings.sysctls:
        yield "sysctls", ", ".join(f"{name} = {value}" for name, value in sorted(settings.sysctls.items()))
    if facts.processor.mitigations:
        yield "mitigations", "; ".join(f"{name}: {does}" for name, does in sorted(facts.processor.mitigations.items()))
    if settings.modules:
        versions = ", ".join(f"{name} {version}" for name, version in sorted(settings.modules.items()) if version)
        yield "modules", f"{len(settings.modules)} loaded" + (f"; {versions}" if versions else "")
    limits = [
        f"{what} {_limit(value, in_bytes=in_bytes)}"
        for what, value, in_bytes in (
            ("locked memory", facts.system.limits.locked_memory_bytes, True),
            ("stack", facts.system.limits.stack_bytes, True),
            ("open files", facts.system.limits.open_files, False),
            ("processes", facts.system.limits.processes, False),
        )
        if value is not None
    ]
    if limits:
        yield "limits", ", ".join(limits)


def clock(facts: NodeFacts) -> Iterator[Row]:
    """Whether the clock is synchronised, by what, and its offset."""
    state = facts.system.clock
    parts = [
        {None: "", True: "synchronised", False: "not synchronised"}[state.synchronised],
        f"{units.duration(abs(state.offset_s))} {'ahead' if state.offset_s > 0 else 'behind'}"
        if state.offset_s
        else "",
        f"stratum {state.stratum}" if state.stratum is not None else "",
        f"says {state.source}" if state.source else "",
        f"clock source {state.kernel_clock}" if state.kernel_clock else "",
    ]
    if any(parts):
        yield "clock", ", ".join(filter(None, parts))


def mounts(facts: NodeFacts) -> Iterator[Row]:
    """File systems that hold files, and the paths that were asked for by name."""
    label = "mounts"
    for mount in facts.system.mounts:
        if mount.kind not in PSEUDO:
            dead = {None: "", True: "", False: "; does not answer"}[mount.reachable]
            yield label, f"{mount.path}: {mount.kind} from {mount.source} ({','.join(mount.options)}){dead}"
            label = ""
    if facts.system.paths:
        yield (
            "paths",
            ", ".join(
                f"{path} {'answers' if answers else 'does not answer'}"
                for path, answers in sorted(facts.system.paths.items())
            ),
        )


def sensors(facts: NodeFacts) -> Iterator[Row]:
    """Readings, each with the value at which it becomes critical, and power limits."""
    parts = [
        f"{each.name} {each.value:g} {each.unit.replace('degC', '°C')}"
        + (f" of {each.critical:g}" if each.critical is not None else "")
        for each in facts.system.sensors
    ]
    if parts:
        yield "sensors", ", ".join(parts)
    if facts.system.alarms:
        yield "alarms", ", ".join(f"{name}: {why}" for name, why in facts.system.alarms.items())
    label = "kernel log"
    for kind, lines in facts.system.kernel_log.items():
        last = facts.system.kernel_log_last.get(kind, "")
        yield label, f"{kind}: {count(lines, 'line')}, the last: {last}"
        label = ""
    if facts.system.power_limits_w:
        yield "power limits", ", ".join(f"{name} {watts:g} W" for name, watts in facts.system.power_limits_w.items())


def software(facts: NodeFacts) -> Iterator[Row]:
    """Slurm, MPI and the libraries with what is compiled into them."""
    known = facts.software
    listed = {f"{each.name} {each.version}" for each in known.libraries if isinstance(each, Library)}
    slurm = [
        f"client {known.slurm_client}" if known.slurm_client else "",
        f"daemon {known.slurm_daemon}" if known.slurm_daemon else "",
    ]
    if any(slurm):
        yield "Slurm", ", ".join(filter(None, slurm))
    if others := [version for version in facts.mpi_versions if version not in listed]:
        yield "MPI", ", ".join(others)
    for library in known.libraries:
        yield "library", _library(library) if isinstance(library, Library) else str(library)
    for file in known.mpi_files:
        yield "file of MPI", f"{file.name}: {told_file(file)}"
    if known.modules_system:
        yield "modules by", known.modules_system


def not_read(facts: NodeFacts) -> Iterator[Row]:
    """What could not be read, by the reason."""
    facts_of: defaultdict[str, list[str]] = defaultdict(list)
    for fact, reason in facts.absent.items():
        facts_of[reason].append(fact)
    label = "not read"
    for reason, names in sorted(facts_of.items(), key=lambda each: (-len(each[1]), each[0])):
        yield label, f"{', '.join(natural_sorted(names))}: {reason}"
        label = ""


def _library(library: Library) -> str:
    parts = [f"{framework}: {' '.join(components)}" for framework, components in sorted(library.components.items())]
    lacks = [f"LACKS {' '.join(library.lacks)}, which its configure line asks for"] if library.lacks else []
    line = [f"configured with {library.configure}"] if library.configure else []
    return "; ".join((f"{library.name} {library.version}".strip(), *lacks, *parts, *line))


def _limit(value: int, *, in_bytes: bool) -> str:
    if value < 0:
        return "unlimited"
    return units.size(value) if in_bytes else str(value)
