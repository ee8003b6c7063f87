"""The kernel's settings, from a frame."""

import re

from seatrial.model.system import KernelFacts
from seatrial.node.frame import Frame
from seatrial.node.scheduler import read_scheduler

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
