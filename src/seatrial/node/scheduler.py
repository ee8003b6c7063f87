"""The scheduler's granularity, wherever this kernel keeps it.

Up to Linux 5.12 /proc/sys/kernel/sched_*_ns; from 5.13 /sys/kernel/debug/sched, for root alone; from 6.6 (EEVDF) there,
and of latency, minimum and wakeup granularity only the base slice is left.
"""

import re

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
    found = {**old, **_under(frame, f"{NEW}/")}
    if found:
        return dict(sorted(found.items())), {}
    return {}, {"settings.scheduler": f"no {OLD}*_ns (up to Linux 5.12); {frame.reason(NEW)}"}


def _under(frame: Frame, before: str) -> dict[str, str]:
    found = {}
    for path, text in frame.values.items():
        if path.startswith(before):
            chosen = CHOSEN.search(text)
            found[path.removeprefix(before)] = chosen[1] if chosen else " ".join(text.split())
    return found
