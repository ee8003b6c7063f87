"""One pair compared with the limit of its path."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.judgement.corrupt_data import after_corruption, corrupted_pair, sound
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.rank_deaths import after_deaths, judge_deaths
from seatrial.limits.path import path_limit
from seatrial.limits.rail_paths import rail_limit, shared_rails
from seatrial.locate.evidence import Pair
from seatrial.locate.references import above_gate_text, against_gate
from seatrial.locate.thresholds import GROSS_LOSS, LIMIT_FLOOR
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction
from seatrial.model.subject import pair as pair_subject
from seatrial.model.units import BANDWIDTH, bandwidth, share
from seatrial.model.verdict import Finding, FindingKind, Verdict

SLOW_REMEDY = "Measure both nodes with a third to see which is slow (seatrial check), then look at its port and cable."
INVALID_REMEDY = "Do not trust this number: the data took another path, was never sent, or a fact is wrong."


def limit_between(facts: Mapping[str, NodeFacts], pair: Pair, rails: Sequence[str] = ()) -> Limit | NoLimit:
    """The limit of the way from the pair's first node to its second, or why there is none.

    `rails`: over these alone; none: over whatever the nodes have.
    """
    unread = [node for node in pair if node not in facts]
    if unread:
        return NoLimit(path=">".join(pair), reason=f"the facts of {unread[0]} could not be read")
    source, target = facts[pair[0]], facts[pair[1]]
    return rail_limit(source, target, rails) if rails else path_limit(source, target)


def has_path_limits(recorded: RecordedRun) -> bool:
    """Whether the limits of the paths between nodes are limits of what the run measured.

    They are not if a program measured something else, or may have used NVLinks between nodes, whose paths are unknown.
    """
    figure = recorded.info.figure
    return figure is None or (
        figure.of_path and not any(gpu.node_fabric for facts in recorded.facts.values() for gpu in facts.gpus)
    )


def limit_of_flow(facts: Mapping[str, NodeFacts], pair: Pair, measured: Estimate | None) -> Limit | NoLimit:
    """The limit of what carried the data: that of the best path, unless more came through than it lets through.

    Then the data took several rails, and all that both nodes have up are the way.
    """
    limit = limit_between(facts, pair)
    if measured is None or not isinstance(limit, Limit) or measured.low <= (1 + GROSS_LOSS) * limit.limit_bytes_per_s:
        return limit
    rails = [rail.name for rail in shared_rails(facts[pair[0]], facts[pair[1]]).rails]
    together = limit_between(facts, pair, rails) if len(rails) > 1 else limit
    return together if isinstance(together, Limit) else limit


def limit_findings(
    pair: Pair, verdict: Verdict, reason: str, measured: Estimate | None, limit: Limit | NoLimit
) -> tuple[Finding, ...]:
    """The finding on a pair that the limit alone shows to be slow or impossibly fast; none for another verdict."""
    if verdict not in (Verdict.SLOW, Verdict.INVALID) or measured is None or not isinstance(limit, Limit):
        return ()
    slow = verdict is Verdict.SLOW
    return (
        Finding(
            kind=FindingKind.SLOW_PAIR if slow else FindingKind.FASTER_THAN_PHYSICS,
            subject=pair_subject(*pair),
            direction=Direction.OUT,
            verdict=verdict,
            statement=f"From {pair[0]} to {pair[1]}: {bandwidth(measured.value)}, {reason}.",
            remedy=SLOW_REMEDY if slow else INVALID_REMEDY,
            metric=BANDWIDTH,
            measured=measured,
            limit=limit.limit_bytes_per_s,
            limit_name=limit.binding,
            pairs=(">".join(pair),),
        ),
    )


def against_limit(measured: Estimate | None, limit: Limit | NoLimit) -> tuple[Verdict, str]:
    """The verdict on a bandwidth and its reason: gate first, then the floor.

    MEASURED where there is no limit, and for a single run that is not above the gate: one number has no interval.
    """
    if measured is None:
        return Verdict.NOT_RUN, "no bandwidth was measured"
    if isinstance(limit, NoLimit):
        return Verdict.MEASURED, f"not judged: {limit.reason}"
    above = against_gate(measured, limit)
    return (above, above_gate_text(measured, limit, above)) if above else _against_floor(measured, limit)


def _against_floor(measured: Estimate, limit: Limit) -> tuple[Verdict, str]:
    """The verdict on a bandwidth that physics permits, and its reason."""
    part = f"{share(measured.value / limit.limit_bytes_per_s)} of its limit"
    floor = LIMIT_FLOOR * limit.limit_bytes_per_s
    if measured.runs == 1:
        return Verdict.MEASURED, f"{part}; not judged: one run has no interval"
    if measured.low >= floor:
        return Verdict.PASS, part
    if measured.high < floor:
        return Verdict.SLOW, f"{part}, below {share(LIMIT_FLOOR)}"
    return Verdict.INCONCLUSIVE, f"{part}; the runs lie on both sides of {share(LIMIT_FLOOR)}"


class PairRate(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a pair; MEASURED: not judged, for the reason given."""

    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...]


def judge_rate(delivered: RecordedRun, pair: Pair, measured: Estimate | None, limit: Limit | NoLimit) -> PairRate:
    """Compare the pair's bandwidth in B/s with its limit.

    `delivered`: the run with all that arrived, also what arrived wrong and `measured` therefore leaves out.
    """
    against = against_limit(measured, limit)
    verdict, reason = after_run(delivered, *against)
    findings = (
        *corrupted_pair(pair, delivered),
        *judge_deaths(sound(delivered)).findings,
        *limit_findings(pair, *against, measured, limit),
    )
    return PairRate(verdict=verdict, reason=reason, findings=findings)


def after_run(delivered: RecordedRun, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """The verdict and its reason, unless corrupted data, deaths of ranks or the end of the run decide."""
    verdict, reason = after_corruption(delivered, *after_deaths(sound(delivered), verdict, reason))
    return verdict, failure_of(delivered) or reason
