"""Whether the clock is kept right, from a frame."""

import re

import msgspec

from seatrial.model.system import ClockState
from seatrial.node.frame import Frame, answer, whole_number, why_no_answer

KERNEL_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
CHRONY = "chronyc -n tracking"
NTP = "ntpq -c rv 0 leap,stratum,offset"
SYSTEMD = "timedatectl show -p NTPSynchronized"
SYNCHRONISED = {"Normal": True, "Insert second": True, "Delete second": True, "Not synchronised": False}
"""chronyc(1), tracking, Leap status."""
LEAP_ALARM = {"00": True, "01": True, "10": True, "11": False}
"""RFC 5905, figure 9: the leap indicator; 11 is "unknown (clock unsynchronized)"."""
SYSTEM_TIME = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?) seconds (fast|slow) of NTP time")
ASSIGNMENT = re.compile(r"(leap|stratum|offset)=(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)")
KERNEL_UNREADABLE = "the kernel's own state (adjtimex) is not readable from a shell"


def read_clock(frame: Frame) -> tuple[ClockState, dict[str, str]]:
    """What the first of chronyc, ntpq and timedatectl that answers says; offset in s, positive: this clock is ahead.

    Second: name of a fact ("system.clock.synchronised") -> why it is not known.
    """
    readers = {CHRONY: _chrony, NTP: _ntp, SYSTEMD: _systemd}
    state = ClockState()
    why = "; ".join((*(why_no_answer(frame, command) for command in readers), KERNEL_UNREADABLE))
    for command, read in readers.items():
        if lines := answer(frame, command):
            state = read(lines)
            why = f"{command} says {'; '.join(lines)[:160]!r}"
            break
    state = msgspec.structs.replace(state, kernel_clock=frame.values.get(KERNEL_CLOCK, "").strip())
    absent = {
        f"system.clock.{name}": why for name in ("synchronised", "offset_s", "stratum") if getattr(state, name) is None
    }
    if not state.kernel_clock:
        absent["system.clock.kernel_clock"] = frame.reason(KERNEL_CLOCK)
    return state, absent


def _chrony(lines: tuple[str, ...]) -> ClockState:
    pairs = (line.partition(":") for line in lines)
    says = {key.strip(): value.strip() for key, _, value in pairs}
    shift = SYSTEM_TIME.fullmatch(says.get("System time", ""))
    return ClockState(
        source="chrony",
        synchronised=SYNCHRONISED.get(says.get("Leap status", "")),
        offset_s=float(shift[1]) * (1 if shift[2] == "fast" else -1) if shift else None,
        stratum=whole_number(says.get("Stratum", "")),
    )


def _ntp(lines: tuple[str, ...]) -> ClockState:
    """ntpq's offset is the server's time less ours, in ms (RFC 5905, section 8: theta), so its sign is turned."""
    says = dict(ASSIGNMENT.findall(" ".join(lines)))
    return ClockState(
        source="ntp",
        synchronised=LEAP_ALARM.get(says.get("leap", "")),
        offset_s=-float(says["offset"]) / 1e3 if "offset" in says else None,
        stratum=whole_number(says.get("stratum", "")),
    )


def _systemd(lines: tuple[str, ...]) -> ClockState:
    """It passes on the kernel's own flag, whoever set it (timedatectl(1))."""
    says = dict(line.strip().partition("=")[::2] for line in lines)
    return ClockState(
        source="timedatectl", synchronised={"yes": True, "no": False}.get(says.get("NTPSynchronized", ""))
    )
