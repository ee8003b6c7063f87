"""Findings of a soak: a figure that became worse under load, throttling, and a node that died in the middle of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatrial.commands.soak.courses import Decline
from seatrial.model.measurement import node_of
from seatrial.model.run import NodeState, RecordedRun
from seatrial.model.subject import node
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count

if TYPE_CHECKING:
    from seatrial.commands.soak.judge import NodeSoak

MOST_DECLINES = 3
UNDER_LOAD = (
    "Look at temperature, fans, power limit and throttling of the node while it is loaded (sensors, ipmitool sel list, "
    "turbostat), for a CPU quota or another job that began at that time, and repeat the soak."
)
COOLING = "Check fans, inlet temperature, dust and heat sinks, and compare its temperature with that of its neighbours."
CONSOLE = (
    "Read its console, its system event log (ipmitool sel list) and its kernel's last messages for that time: heat, "
    "power, memory errors, a panic. Soak it alone before it returns to service."
)


def declined(name: str, worse: Sequence[Decline], alike: Sequence[str]) -> Finding:
    """One node's figures that became worse, the largest change first. `alike`: nodes of which the same was seen."""
    ordered = sorted(worse, key=lambda decline: -decline.change)
    first, rest = ordered[0], ordered[1:MOST_DECLINES]
    others = f" Likewise: {'; '.join(map(change_text, rest))}." if rest else ""
    return Finding(
        kind=FindingKind.WORSE_UNDER_LOAD,
        subject=node(name),
        verdict=FindingKind.WORSE_UNDER_LOAD.verdict,
        statement=f"On {name} the {change_text(first)}.{others}",
        remedy=UNDER_LOAD,
        brief=change_text(first),
        ambiguous_with=tuple(map(node, alike)),
    )


def change_text(decline: Decline) -> str:
    """`memory latency became 12 % (10 % to 14 %) worse 132 s after the start, and stayed so`."""
    size = f"{share(decline.change)} ({share(decline.low)} to {share(decline.high)}) worse"
    if decline.drift:
        return f"{decline.label} drifted, {size} at the end of {count(decline.cycles, 'cycle')} than at their beginning"
    end = "and stayed so" if decline.until_s is None else f"until {decline.until_s:.0f} s"
    return f"{decline.label} became {size} {decline.since_s:.0f} s after the start, {end}"


def throttled(soak: NodeSoak) -> Finding:
    """A node whose throttle counters grew."""
    heat = f", at up to {soak.celsius:.0f} °C" if soak.celsius is not None else ""
    return Finding(
        kind=FindingKind.THROTTLED,
        subject=node(soak.node),
        verdict=Verdict.UNSTABLE,
        statement=f"The cores of {soak.node} were throttled for heat {count(soak.throttles or 0, 'time')} while it was "
        f"loaded{heat}.",
        remedy=COOLING,
        brief=f"throttled for heat {count(soak.throttles or 0, 'time')}",
    )


def died(state: NodeState, recorded: RecordedRun, soak: NodeSoak | None) -> Finding:
    """A node that stopped answering: what was running, since when, and its last readings."""
    running = _running(state.node, recorded)
    last = ""
    if soak is not None:
        heat = f", at {soak.last_celsius:.0f} °C" if soak.last_celsius is not None else "; its temperature is unknown"
        last = f" Its last results are from {soak.last_s:.0f} s after the start, cycle {soak.cycles}{heat}."
    return Finding(
        kind=FindingKind.NODE_DOWN,
        subject=node(state.node),
        verdict=Verdict.DOWN,
        statement=f"Node {state.node} died during the soak: {state.reason}.{running}{last}",
        remedy=CONSOLE,
        brief="died during the soak",
    )


def _running(name: str, recorded: RecordedRun) -> str:
    """A sentence on the round in which its session was lost; empty where that is not known."""
    losses = [loss for loss in recorded.losses if name in map(node_of, loss.loss.suspects) and loss.kernel is not None]
    if not losses:
        return ""
    loss = losses[-1]
    where = f" ({loss.variant})" if loss.variant else ""
    since = f", which began {loss.began_s:.0f} s after the start" if loss.began_s is not None else ""
    return f" {loss.kernel}{where} was running{since}; the loss was seen after {loss.at_s:.0f} s."
