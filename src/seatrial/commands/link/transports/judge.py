"""Which transport carried the data: what became slower when a transport was slowed down or excluded."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.link.transports.carriers import (
    NEVER,
    Answer,
    CarrierVerdict,
    carrier_verdicts,
    default_of,
    moved,
    strayed,
)
from seatrial.commands.link.transports.components import Offer, missing_drivers, offers, stock_of
from seatrial.commands.link.transports.effects import (
    BANDWIDTH_MATTERS,
    LATENCY_MATTERS,
    Effect,
    effects_of,
    factor_text,
    settings_text,
)
from seatrial.commands.link.transports.open_mpi import MCA
from seatrial.experiment.controls import above, below
from seatrial.judgement.corrupt_data import corrupted_pair, corruption_reason, sound
from seatrial.judgement.outcome import RecordOutcome, failure_of, pair_of
from seatrial.judgement.pair_limit import limit_between
from seatrial.judgement.rank_deaths import judge_deaths, run_notes
from seatrial.locate.references import above_gate_text, against_gate
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import node_of
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.subject import pair as pair_subject
from seatrial.model.transport import Carrier, Declared, Role, VariantNote
from seatrial.model.units import BANDWIDTH, LATENCY, bandwidth, duration
from seatrial.model.verdict import Finding, FindingKind, Verdict, worst


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
    by_latency = below(one.latency_times, 1 / LATENCY_MATTERS)
    by_bandwidth = below(one.bandwidth_times, 1 / BANDWIDTH_MATTERS)
    if one.latency_times and by_latency:
        gains.append(f"{latency} ({factor_text(one.latency_times)} of the default's time)")
    if one.bandwidth_times and by_bandwidth:
        gains.append(f"{bandwidths} ({factor_text(one.bandwidth_times)} of the default's time)")
    if above(one.latency_times, LATENCY_MATTERS):
        losses.append(latency)
    if above(one.bandwidth_times, BANDWIDTH_MATTERS):
        losses.append(bandwidths)
    where = f"over {one.variant.rail}" if one.variant.rail else "here"
    words = settings_text({name.removeprefix(MCA): value for name, value in one.variant.environment.items()})
    but = f" But it is slower by another metric: {', '.join(losses)}." if losses else ""
    return Finding(
        kind=FindingKind.SLOWER_THAN_ALTERNATIVE,
        subject=pair_subject(*pair),
        verdict=Verdict.SLOW,
        statement=f"{one.variant.carrier} ({words}) beats the default {where}: {'; '.join(gains)}.{but}",
        remedy=setting(one.variant.environment),
        metric=BANDWIDTH if by_bandwidth else LATENCY,
        measured=default.bandwidth_bytes_per_s if by_bandwidth else default.latency_s,
    )


def setting(environment: Mapping[str, str]) -> str:
    """The lines that set it: for one job, and permanently if Open MPI's own file can."""
    line = f"For a job: export {settings_text(environment)}."
    lasting = [f"{name.removeprefix(MCA)} = {value}" for name, value in environment.items() if name.startswith(MCA)]
    if len(lasting) < len(environment):
        return line
    return f"{line} For all, in openmpi-mca-params.conf: {'; '.join(lasting)} (one on each line)."


LEAST_STARTS = 3


class Ablated(RecordOutcome, frozen=True, kw_only=True):
    """The result of an ablation over one rail or several; a transport that is not proved is not a finding."""

    verdict: Verdict
    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> ExitCode:
        """The exit code; INCOMPLETE for numbers that prove nothing, which are not a fault of any part."""
        unproved = self.verdict is Verdict.INVALID and not self.findings
        return ExitCode.INCOMPLETE if unproved else super().exit_code


class Transports(Ablated, frozen=True, kw_only=True):
    """All that is derived from one run. `verdict` PASS: `carried_by` is proved; `reason` says by what."""

    within: bool
    mpi_library: str
    declared: Declared | None
    offers: tuple[Offer, ...]
    carriers: tuple[CarrierVerdict, ...]
    effects: tuple[Effect, ...]
    carried_by: Carrier | None
    limit: Limit | NoLimit
    rail: str = ""
    """The one rail that the MPI was restricted to; empty: it could choose."""
    held: dict[str, str] = msgspec.field(default_factory=dict)
    """The settings by which the MPI was restricted to `rail`."""


def is_within(pair: tuple[str, str]) -> bool:
    """Whether both are places of one node: n1:0 and n1:1."""
    return node_of(pair[0]) == node_of(pair[1])


def judge_transports(recorded: RecordedRun, notes: Sequence[VariantNote], rail: str = "") -> Transports:
    """The judgement, computed from samples and start notes alone; of those over `rail`, where one is named."""
    pair = pair_of(recorded)
    inside = is_within(pair)
    notes = [note for note in notes if note.variant.rail == rail]
    declared = next((note.declared for note in notes if note.declared), None)
    stock = stock_of(recorded.info.mpi_library, recorded.facts, declared, within=inside)
    effects = effects_of(sound(recorded).measurements, notes)
    carriers = carrier_verdicts(effects, declared)
    limit = _limit(recorded.facts, pair, default_of(effects), rail)
    stray = strayed(rail, notes) if rail else None
    answer = _answer(carriers, effects, limit, stray)
    corrupted = corruption_reason(recorded)
    failure = "" if notes else failure_of(recorded)
    if failure:
        answer = Answer(verdict=Verdict.NOT_RUN, reason=failure)
    elif corrupted:
        answer = Answer(verdict=Verdict.INVALID, reason=corrupted)
    elif answer.verdict is not Verdict.PASS and default_of(effects).starts < LEAST_STARTS and recorded.info.reason:
        answer = msgspec.structs.replace(answer, reason=f"{answer.reason}. {recorded.info.reason}")
    found = [
        *corrupted_pair(pair, recorded),
        *judge_deaths(recorded).findings,
        *missing_drivers(recorded.facts, stock),
    ]
    if answer.verdict is not Verdict.INVALID and stray is None:
        found += slower_than_alternatives(effects, pair)
    return Transports(
        pair=pair,
        within=inside,
        mpi_library=recorded.info.mpi_library,
        declared=declared,
        offers=offers(recorded.facts, within=inside),
        carriers=carriers,
        effects=effects,
        carried_by=answer.carried_by,
        verdict=answer.verdict,
        reason=answer.reason,
        findings=tuple(found),
        limit=limit,
        notes=run_notes(recorded, answer.reason, found),
        complete=recorded.info.ending is Ending.COMPLETE and default_of(effects).starts >= LEAST_STARTS,
        rail=rail,
        held=next((note.variant.held for note in notes), {}),
    )


def _limit(facts: Mapping[str, NodeFacts], pair: tuple[str, str], default: Effect, rail: str) -> Limit | NoLimit:
    """The limit of the rail, if one is named, else of the path. NoLimit within a node or a kernel's memory."""
    path = f"{pair[0]}>{pair[1]}"
    if is_within(pair):
        return NoLimit(path=path, reason="both ranks are on one node")
    boots = {facts[name].boot_id for name in pair if name in facts}
    if default.devices == () and len(boots) == 1:
        return NoLimit(path=path, reason="both nodes run on one kernel, and no device counted the bytes")
    return limit_between(facts, pair, [rail] if rail else ())


def _answer(
    carriers: Sequence[CarrierVerdict], effects: Sequence[Effect], limit: Limit | NoLimit, stray: Answer | None
) -> Answer:
    """Gates first: a default that ran, is possible and kept to its rail, and a control that shows nothing."""
    default = default_of(effects)
    barred = _barred(default, limit, stray)
    if barred:
        return barred
    if default.starts < LEAST_STARTS:
        times = "once" if default.starts == 1 else f"{default.starts} times"
        few = f"the default was measured {times}, and {LEAST_STARTS} are needed"
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=few)
    if disturbed := _disturbed(effects):
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=disturbed)
    return _proved(carriers, default)


def _barred(default: Effect, limit: Limit | NoLimit, stray: Answer | None) -> Answer | None:
    """If the default has no numbers, or numbers that cannot be right."""
    if default is NEVER or default.unmeasured:
        return Answer(verdict=Verdict.INCONCLUSIVE, reason="nothing was measured")
    if default.failure:
        return Answer(verdict=Verdict.INVALID, reason=f"the default did not run: {default.failure}")
    measured = default.bandwidth_bytes_per_s
    if measured and isinstance(limit, Limit) and (above := against_gate(measured, limit)):
        why = above_gate_text(measured, limit, above)
        return Answer(verdict=above, reason=f"{why}; {stray.reason}" if stray else why)
    return stray


def _disturbed(effects: Sequence[Effect]) -> str:
    """Why no effect is meaningful in this run; empty: the control ran and showed none."""
    control = next((one for one in effects if one.variant.role is Role.CONTROL), None)
    if control is None or control.failure:
        return "no control ran, so an effect cannot be distinguished from disturbance"
    return (
        "the control, which should have no effect, changed the timing: the run was disturbed" if control.changed else ""
    )


def _proved(carriers: Sequence[CarrierVerdict], default: Effect) -> Answer:
    proved = [one for one in carriers if one.carried]
    declared = [one for one in carriers if one.declared]
    said = f"declared {', '.join(one.carrier for one in declared)}" if declared else "nothing declared"
    if len(proved) > 1:
        several = "; ".join(f"{one.carrier}: {one.statement}" for one in proved)
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=f"{said}; more than one shows an effect: {several}")
    if not proved:
        why = next((f"; {one.carrier}: {one.statement}" for one in declared), "")
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=f"{said}, not proved{why}")
    one = proved[0]
    if against := _against(one.carrier, default.devices):
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=f"{said}; {one.carrier}: {one.statement}, yet {against}")
    reason = f"{one.carrier} carried the data{_witness(default.devices)}; {said}; {one.statement}"
    return Answer(verdict=Verdict.PASS, reason=reason, carried_by=one.carrier)


def _witness(names: Sequence[str] | None) -> str:
    if names is None:
        return ""
    return f", and {', '.join(names)} counted its bytes" if names else ", and no device counted its bytes"


def _against(carrier: Carrier, names: Sequence[str] | None) -> str:
    """What the counters show against it; empty: nothing."""
    if carrier is Carrier.SHARED_MEMORY and names:
        return f"{', '.join(names)} counted the bytes"
    if carrier is Carrier.TCP and names is not None and not names:
        return "no interface counted the bytes"
    return ""


class TransportsByRail(Ablated, frozen=True, kw_only=True):
    """All that is derived from one run over several rails, each alone; its verdict is the worst of theirs."""

    rails: tuple[Transports, ...]


def judge_run(recorded: RecordedRun, notes: Sequence[VariantNote]) -> Transports | TransportsByRail:
    """The judgement of a run over one rail, or over each rail by itself."""
    rails = tuple(dict.fromkeys(note.variant.rail for note in notes if note.variant.rail))
    if not rails:
        return judge_transports(recorded, notes)
    why = recorded.info.reason
    silent = msgspec.structs.replace(recorded, info=msgspec.structs.replace(recorded.info, reason=""), losses=())
    found = tuple(judge_transports(silent, notes, rail) for rail in rails)
    findings = tuple(dict.fromkeys(finding for one in found for finding in one.findings))
    summary = "; ".join(
        f"{one.rail}: {f'{one.carried_by} carried the data' if one.carried_by else one.reason}" for one in found
    )
    reason = f"{summary}. {why}" if why and any(not one.complete for one in found) else summary
    return TransportsByRail(
        pair=pair_of(recorded),
        rails=found,
        verdict=worst([one.verdict for one in found]),
        reason=reason,
        findings=findings,
        notes=run_notes(recorded, reason, findings),
        complete=all(one.complete for one in found),
    )
