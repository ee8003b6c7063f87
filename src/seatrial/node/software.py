"""The kernel's settings, and the versions of Slurm, modules system, MPI and transport libraries, from a frame."""

import re

from seatrial.model.system import KernelFacts, SoftwareFacts
from seatrial.node.frame import Frame, answer, why_no_answer
from seatrial.node.mpi import (
    FABRIC_PROVIDERS,
    FABRIC_VERSION,
    MPI_COMMANDS,
    OMPI_COMPONENTS,
    UCX_DEVICES,
    UCX_VERSION,
    read_libraries,
    read_mpi_files,
    read_mpi_settings,
    why_no_files,
    why_no_settings,
)

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
        "mpi_files": why_no_files(frame) if not facts.mpi_files else "",
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
