"""The kernel's settings, from a frame."""

import re

from seatrial.model.system import KernelFacts
from seatrial.node.frame import Frame

OLD = "/proc/sys/kernel/sched_"
NEW = "/sys/kernel/debug/sched"
AUTOGROUP = "autogroup_enabled"
CHOSEN = re.compile(r"\((\w+)\)")


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
MODULES = "/proc/modules"
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
        "modules": MODULES,
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
    names = sorted({name.strip() for name in frame.files.get(MODULES, ())} - {""})
    return {name: frame.values.get(f"/sys/module/{name}/version", "").strip() for name in names}
