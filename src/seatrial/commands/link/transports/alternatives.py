"""slower-than-alternative: a forced transport beats the default by a relevant amount."""

from collections.abc import Sequence

from seatrial.commands.link.transports.carriers import moved
from seatrial.commands.link.transports.effects import (
    BANDWIDTH_MATTERS,
    LATENCY_MATTERS,
    Effect,
    beyond,
    times_text,
    within,
)
from seatrial.model.measurement import Estimate
from seatrial.model.subject import pair as pair_subject
from seatrial.model.transport import Role
from seatrial.model.units import BANDWIDTH, LATENCY, bandwidth, duration
from seatrial.model.verdict import Finding, FindingKind, Verdict

MCA = "OMPI_MCA_"


def slower_than_alternatives(effects: Sequence[Effect], pair: tuple[str, str]) -> list[Finding]:
    """One finding for each forced variant whose paired interval excludes the practical threshold.

    Over one rail alone, a variant whose bytes left that rail is not an alternative on it.
    """
    default = next((one for one in effects if one.variant.role is Role.DEFAULT), None)
    if default is None or default.latency_s is None or default.bandwidth_bytes_per_s is None:
        return []
    return [
        _finding(one, default, pair)
        for one in effects
        if one.variant.role is Role.FORCED and not one.failure and one.faster
        if not (one.variant.rail and moved(one, default))
    ]


def _finding(one: Effect, default: Effect, pair: tuple[str, str]) -> Finding:
    assert one.latency_s and one.bandwidth_bytes_per_s and one.variant.carrier  # noqa: S101 - it ran
    assert default.latency_s and default.bandwidth_bytes_per_s  # noqa: S101 - the caller looked
    gains, losses = [], []
    latency = f"latency {duration(one.latency_s.value)} against {duration(default.latency_s.value)}"
    carried = bandwidth(one.bandwidth_bytes_per_s.value)
    bandwidths = f"4 MiB bandwidth {carried} against {bandwidth(default.bandwidth_bytes_per_s.value)}"
    by_latency = within(one.latency_times, 1 / LATENCY_MATTERS)
    by_bandwidth = within(one.bandwidth_times, 1 / BANDWIDTH_MATTERS)
    if by_latency:
        gains.append(f"{latency} ({interval(one.latency_times)})")
    if by_bandwidth:
        gains.append(f"{bandwidths} ({interval(one.bandwidth_times)})")
    if beyond(one.latency_times, LATENCY_MATTERS):
        losses.append(latency)
    if beyond(one.bandwidth_times, BANDWIDTH_MATTERS):
        losses.append(bandwidths)
    where = f"over {one.variant.rail}" if one.variant.rail else "here"
    but = f" But it is slower by another metric: {', '.join(losses)}." if losses else ""
    return Finding(
        kind=FindingKind.SLOWER_THAN_ALTERNATIVE,
        subject=pair_subject(*pair),
        verdict=Verdict.SLOW,
        statement=f"{one.variant.carrier} ({words(one)}) beats the default {where}: {'; '.join(gains)}.{but}",
        remedy=setting(one.variant.environment),
        metric=BANDWIDTH if by_bandwidth else LATENCY,
        measured=default.bandwidth_bytes_per_s if by_bandwidth else default.latency_s,
    )


def interval(times: Estimate | None) -> str:
    """0.81 times the default's time [0.79-0.84]."""
    if times is None:
        return ""
    between = f"{times_text(times.low)}–{times_text(times.high)}"
    return f"{times_text(times.value)} of the default's time [{between}]"


def words(one: Effect) -> str:
    """pml=ob1 btl=tcp,self."""
    return " ".join(f"{name.removeprefix(MCA)}={value}" for name, value in one.variant.environment.items())


def setting(environment: dict[str, str]) -> str:
    """The lines that set it: for one job, and permanently if Open MPI's own file can."""
    line = "For a job: export " + " ".join(f"{name}={value}" for name, value in environment.items()) + "."
    lasting = [f"{name.removeprefix(MCA)} = {value}" for name, value in environment.items() if name.startswith(MCA)]
    if len(lasting) < len(environment):
        return line
    return f"{line} For all, in openmpi-mca-params.conf: {'; '.join(lasting)} (one on each line)."
