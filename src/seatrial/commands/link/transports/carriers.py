"""The effect of excluding or slowing down each carrier, and what that proves."""

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from seatrial.commands.link.transports.effects import (
    BANDWIDTH_MATTERS,
    LATENCY_MATTERS,
    PASSED,
    TRACER_SHOWS,
    WIRE_SHOWS,
    Effect,
)
from seatrial.experiment.controls import above, below
from seatrial.model.measurement import Estimate, Kernel
from seatrial.model.transport import Carrier, Declared, Role, Variant, VariantNote
from seatrial.model.units import bandwidth, duration, share
from seatrial.model.verdict import Verdict

NEVER = Effect(variant=Variant(name="default", role=Role.DEFAULT), failure="it was not tried")


class CarrierVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One carrier. `carried` None: undecided."""

    carrier: Carrier
    declared: bool
    carried: bool | None
    statement: str


def default_of(effects: Sequence[Effect]) -> Effect:
    """The default's own numbers."""
    return next((one for one in effects if one.variant.role is Role.DEFAULT), NEVER)


def carrier_verdicts(effects: Sequence[Effect], declared: Declared | None) -> tuple[CarrierVerdict, ...]:
    """All that were declared or tried, the declared ones first."""
    said = declared.carriers if declared else ()
    default = default_of(effects)
    reference = next((one for one in effects if one.variant.role is Role.REFERENCE), default)
    tried = [one.variant.carrier for one in effects if one.variant.carrier]
    found = []
    for carrier in dict.fromkeys((*said, *tried)):
        mine = [one for one in effects if one.variant.carrier is carrier]
        carried, statement = _one(mine, default, reference, strange=bool(said) and carrier not in said)
        found.append(CarrierVerdict(carrier=carrier, declared=carrier in said, carried=carried, statement=statement))
    proved = sum(one.carried is True for one in found) == 1
    return tuple(_settled(one, effects) if proved and one.carried is None else one for one in found)


def _one(mine: Sequence[Effect], default: Effect, reference: Effect, *, strange: bool) -> tuple[bool | None, str]:
    """A tracer that shows an effect proves the carrier; one that would have shown it and does not clears it.

    `strange`: the MPI declares others. Then OFI with another provider may be what it takes only for that provider, as
    Open MPI 5 does.
    """
    tracers = [one for one in mine if one.variant.role in (Role.WITHOUT, Role.HOBBLED)]
    bases = {Role.HOBBLED: reference}
    proof = next((one for one in tracers if shows(one, bases.get(one.variant.role, default))), None)
    if proof is not None and strange and proof.variant.slows is Kernel.PINGPONG:
        return None, "slowing it makes the MPI select it, which proves nothing"
    if proof is not None:
        return True, f"{_doing(proof)} {change(proof, bases.get(proof.variant.role, default))}"
    clear = next((one for one in tracers if _clears(one)), None)
    if clear is not None:
        return False, f"{_doing(clear)} changed nothing"
    ran = next((one for one in tracers if not one.failure), None)
    if ran is not None:
        return None, f"{_doing(ran)} shows neither an effect nor its absence"
    broken = next((one for one in (*tracers, *mine) if one.failure), None)
    if broken is not None:
        return None, f"{_doing(broken)} prevents the start, which proves nothing: {broken.failure}"
    return None, "no known setting slows or excludes it"


def shows(one: Effect, default: Effect) -> bool:
    """Whether excluding it or slowing it down had an effect: other devices counted the bytes, or the timing changed."""
    if one.failure:
        return False
    if moved(one, default):
        return True
    if one.variant.role is Role.WITHOUT:
        return one.changed
    return above(one.hobble_times, TRACER_SHOWS) or swollen(one, default)


def swollen(one: Effect, default: Effect) -> bool:
    """Whether the same devices counted more bytes for the same messages."""
    if not one.wire_share or not default.wire_share:
        return False
    return one.wire_share > WIRE_SHOWS * default.wire_share


def moved(one: Effect, default: Effect) -> bool:
    """Whether the bytes went through other devices than the default's."""
    if one.devices is None or default.devices is None:
        return False
    return set(one.devices) != set(default.devices)


def _clears(one: Effect) -> bool:
    """Only slowing down clears a carrier: if it is excluded, another one may be as fast."""
    return one.variant.role is Role.HOBBLED and not one.failure and below(one.hobble_times, TRACER_SHOWS)


def _settled(verdict: CarrierVerdict, effects: Sequence[Effect]) -> CarrierVerdict:
    """If another carrier is proved, one whose absence changes nothing carried nothing."""
    mine = [one for one in effects if one.variant.carrier is verdict.carrier and one.variant.role is Role.WITHOUT]
    if not any(not one.failure and not one.changed for one in mine):
        return verdict
    return msgspec.structs.replace(verdict, carried=False, statement="excluding it changed nothing")


def _doing(one: Effect) -> str:
    return {Role.WITHOUT: "excluding it", Role.HOBBLED: "slowing it"}.get(one.variant.role, "forcing it")


def change(one: Effect, default: Effect) -> str:
    """What it did for certain: to the metric that shows it best, and to the way or the number of the bytes."""
    said = [timing for timing in (_timing(one, default),) if timing]
    if moved(one, default):
        said.append(f"moves the bytes from {over(default.devices or ())} to {over(one.devices or ())}")
    elif not said and swollen(one, default) and one.wire_share and default.wire_share:
        more = one.wire_share / default.wire_share
        said.append(f"makes {over(one.devices or ())} count {more:.2f} times the bytes")
    return " and ".join(said) or "changes the timing"


def _timing(one: Effect, default: Effect) -> str:
    """The metric whose whole interval lies beyond what matters; if two do, the one that it changed more."""
    changes: list[tuple[float, str]] = []
    for times, before, after, line, slower, faster, text in (
        (one.bandwidth_times, default.bandwidth_bytes_per_s, one.bandwidth_bytes_per_s, BANDWIDTH_MATTERS,
         "drops 4 MiB bandwidth", "raises 4 MiB bandwidth", bandwidth),
        (one.latency_times, default.latency_s, one.latency_s, LATENCY_MATTERS,
         "raises latency", "lowers latency", duration),
    ):  # fmt: skip
        if times and before and after and apart(times, line):
            said = f"{slower if times.value > 1 else faster} from {text(before.value)} to {text(after.value)}"
            changes.append((abs(math.log(times.value)), said))
    return max(changes, default=(0.0, ""))[1]


def apart(times: Estimate, line: float) -> bool:
    """Whether all of the interval lies beyond the threshold, on either side of 1."""
    return above(times, line) or below(times, 1 / line)


def over(names: Sequence[str]) -> str:
    """eth0; no device that counts."""
    return ", ".join(names) if names else "no device that counts"


WHOLE = 0.9
"""A rail that counted this share of the bytes sent carried them; other devices counted other traffic."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What carried the data, if that is proved, and why."""

    verdict: Verdict
    reason: str
    carried_by: Carrier | None = None


def strayed(rail: str, notes: Sequence[VariantNote]) -> Answer | None:
    """INVALID where another device counted what the rail should have, INCONCLUSIVE where none did; None: it did.

    A rail's counter is that of its interface, or of its HCA's port: mlx5_0:1 counts as mlx5_0/1.
    """
    note = next((one for one in notes if one.variant.role is Role.DEFAULT and one.counted and one.sent_bytes), None)
    if note is None:
        return _open(rail, "the byte counters could not be read")
    device = rail.replace(":", "/")
    shares = {name: _shares(name, note) for name in dict.fromkeys(one.device for one in note.counted)}
    if device not in shares:
        return _open(rail, "it has no byte counter")
    own = min(shares.pop(device))
    if own >= WHOLE:
        return None
    others = {name: max(parts) for name, parts in shares.items() if max(parts) >= PASSED}
    if others:
        said = ", ".join(f"{name} counted {share(part)} of the bytes" for name, part in others.items())
        what = f"the setting did not restrict the MPI to {rail}: {said}, {rail} {share(own)}"
        return Answer(verdict=Verdict.INVALID, reason=what)
    return _open(rail, f"it counted {share(own)} of them, and no other device the rest")


def _open(rail: str, why: str) -> Answer:
    return Answer(verdict=Verdict.INCONCLUSIVE, reason=f"nothing shows that the bytes went over {rail}: {why}")


def _shares(name: str, note: VariantNote) -> tuple[float, ...]:
    """Shares of the bytes sent, node by node; 0 for a node without such a device."""
    by_node: defaultdict[str, int] = defaultdict(int)
    for one in note.counted:
        by_node[one.node] += one.counted_bytes if one.device == name else 0
    return tuple(counted / note.sent_bytes for counted in by_node.values())
