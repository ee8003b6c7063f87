"""How many ranks of a node it takes to drive its port."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.experiment.controls import RETEST_RUNS, below, mean_ratio
from seatrial.judgement.corrupt_data import sound
from seatrial.judgement.outcome import RecordOutcome, pair_of
from seatrial.judgement.pair_limit import judge_rate, limit_of_flow
from seatrial.judgement.rank_deaths import run_notes
from seatrial.locate.evidence import Pair, run_value
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase
from seatrial.model.run import RecordedRun
from seatrial.model.settings import PAIR_BUDGET_S
from seatrial.model.subject import Direction, node
from seatrial.model.units import BANDWIDTH, bandwidth, share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.pairs.rank_pairs import LATENCY_BYTES
from seatrial.statistics.concurrent_flows import together_s
from seatrial.statistics.estimates import CONFIDENCE, median, median_estimate
from seatrial.statistics.max_rate import MaxRate, Point, fit_max_rate

ENOUGH = 0.95
"""The port counts as driven once this share of the highest rate of any number of ranks is reached."""
ONE_RANK_FLOOR = 0.90
"""One rank cannot drive the port where even the upper end of its share lies below this."""


class AtOnce(msgspec.Struct, frozen=True, kw_only=True):
    """A number of ranks of each node at once: what all carry at the largest size, and a small message's latency."""

    ranks: int
    bandwidth_bytes_per_s: Estimate
    latency_s: Estimate | None = None
    message_rate_per_s: Estimate | None = None
    """Small messages of all ranks together, many in flight; None: an earlier run did not measure it."""


class AtSize(msgspec.Struct, frozen=True, kw_only=True):
    """What this number of ranks of each node carries at once in messages of one size."""

    message_bytes: int
    ranks: int
    bandwidth_bytes_per_s: Estimate


class Saturation(RecordOutcome, frozen=True, kw_only=True):
    """All that is derived from the samples of one pair of nodes."""

    message_bytes: int
    by_ranks: tuple[AtOnce, ...]
    by_size: tuple[AtSize, ...] = ()
    """All sizes, rising, and numbers of ranks, rising."""
    model: MaxRate | None
    ranks_needed: int | None
    """The least number measured that drives the port (`ENOUGH`)."""
    one_rank_share: Estimate | None
    """Share of the most that any number of ranks carried."""
    limit: Limit | NoLimit


def judge_saturation(recorded: RecordedRun) -> Saturation:
    """The judgement, computed from the samples alone."""
    pair, delivered = pair_of(recorded), recorded
    recorded = sound(recorded)
    rounds = _rounds(recorded.measurements)
    times, small = _times(rounds), _times(rounds, small=True)
    largest = max((size for _, size in times), default=0)
    by_ranks = tuple(
        _at_once(ranks, size, values, rounds, small.get((ranks, LATENCY_BYTES), ()))
        for (ranks, size), values in times.items()
        if size == largest
    )
    best = max(by_ranks, key=lambda one: one.bandwidth_bytes_per_s.value, default=None)
    needed = next(
        (
            one.ranks
            for one in by_ranks
            if best and one.bandwidth_bytes_per_s.value >= ENOUGH * best.bandwidth_bytes_per_s.value
        ),
        None,
    )
    part = _one_rank_share(times, best.ranks, largest) if best else None
    measured = best.bandwidth_bytes_per_s if best else None
    limit = limit_of_flow(recorded.facts, pair, measured)
    judged = judge_rate(delivered, pair, measured, limit)
    if judged.verdict is Verdict.PASS and (why := _open_share(part, recorded.info.seconds)):
        judged = msgspec.structs.replace(judged, verdict=Verdict.INCONCLUSIVE, reason=f"{judged.reason}; {why}")
    findings = (*judged.findings, *_one_rank_findings(pair, by_ranks, needed, part))
    return Saturation(
        pair=pair,
        message_bytes=largest,
        by_ranks=by_ranks,
        by_size=_by_size(times, _window(rounds)),
        model=_model(times, _window(rounds), recorded.info.seed),
        ranks_needed=needed,
        one_rank_share=part,
        findings=findings,
        limit=limit,
        verdict=judged.verdict,
        reason=judged.reason,
        notes=run_notes(recorded, judged.reason, findings),
        complete=recorded.info.whole and bool(by_ranks),
    )


Rounds = Mapping[tuple[Kernel, int, int, int], list[Measurement]]
"""(Kernel, message size, ranks a node, repetition) -> measurements; only rounds of which every pair delivered."""


def _rounds(measurements: Iterable[Measurement]) -> Rounds:
    found: dict[tuple[Kernel, int, int, int], list[Measurement]] = defaultdict(list)
    for one in measurements:
        if one.phase is Phase.SATURATION and one.times_s:
            found[one.shape.kernel, one.shape.message_bytes, one.pairs_at_once, one.repetition].append(one)
    return {key: pairs for key, pairs in sorted(found.items()) if len(pairs) == key[2]}


def _times(rounds: Rounds, *, small: bool = False) -> dict[Point, list[float]]:
    """Seconds of a window by (ranks, message size), one a repetition, NaN where one is missing.

    `small`: of the messages whose rate counts, else of those whose bandwidth does.
    """
    repetitions = 1 + max((repetition for *_, repetition in rounds), default=-1)
    found: dict[Point, list[float]] = {}
    for (kernel, size, ranks, repetition), pairs in rounds.items():
        if kernel is Kernel.ONEWAY and (size == LATENCY_BYTES) == small:
            found.setdefault((ranks, size), [math.nan] * repetitions)[repetition] = together_s(pairs)
    return dict(sorted(found.items()))


def _window(rounds: Rounds, *, small: bool = False) -> int:
    """Messages in flight of one rank."""
    return next(
        (
            pairs[0].shape.window
            for (kernel, size, *_), pairs in rounds.items()
            if kernel is Kernel.ONEWAY and (size == LATENCY_BYTES) == small
        ),
        1,
    )


def _at_once(ranks: int, size: int, times: Sequence[float], rounds: Rounds, rated: Sequence[float]) -> AtOnce:
    """`rated`: seconds of a window of small messages, by repetition."""
    messages = ranks * _window(rounds, small=True)
    rates = [messages / time_s for time_s in rated if not math.isnan(time_s)]
    small = [
        median([run_value(one) for one in pairs])
        for (kernel, _, count, _), pairs in rounds.items()
        if kernel is Kernel.PINGPONG and count == ranks
    ]
    return AtOnce(
        ranks=ranks,
        bandwidth_bytes_per_s=_carried(ranks, size, times, _window(rounds)),
        latency_s=median_estimate(small) if small else None,
        message_rate_per_s=median_estimate(rates) if rates else None,
    )


def _carried(ranks: int, size: int, times: Sequence[float], window: int) -> Estimate:
    return median_estimate([ranks * window * size / time_s for time_s in times if not math.isnan(time_s)])


def _by_size(times: Mapping[Point, Sequence[float]], window: int) -> tuple[AtSize, ...]:
    return tuple(
        AtSize(message_bytes=size, ranks=ranks, bandwidth_bytes_per_s=_carried(ranks, size, times[ranks, size], window))
        for ranks, size in sorted(times, key=lambda point: (point[1], point[0]))
    )


def _model(times: Mapping[Point, Sequence[float]], window: int, seed: int) -> MaxRate | None:
    whole = {(ranks, size * window): values for (ranks, size), values in times.items()}
    return fit_max_rate(whole, seed=seed) if len({ranks for ranks, _ in times}) > 1 else None


def _one_rank_share(times: Mapping[Point, Sequence[float]], best: int, size: int) -> Estimate | None:
    """Repetition by repetition, so that what slowed both cancels; three show it, and all are seldom disturbed."""
    alone, most = times.get((1, size), ()), times.get((best, size), ())
    whole = [(many, best * single) for single, many in zip(alone, most, strict=False) if single > 0 and many > 0]
    return mean_ratio(whole, CONFIDENCE) if whole else None  # NaN is not greater than 0


def _open_share(part: Estimate | None, seconds: float | None) -> str:
    """Why it is not decided whether one rank can drive the port, and what would decide; empty where it is.

    `seconds`: the time of the run; the width of an interval falls with the root of the number of runs.
    """
    if part is None or part.low >= ONE_RANK_FLOOR or below(part, ONE_RANK_FLOOR):
        return ""
    why = (
        f"1 rank carries {share(part.low)} to {share(part.high)} of what the port does, {share(ONE_RANK_FLOOR)} is open"
    )
    apart = abs(part.value - ONE_RANK_FLOOR)
    if seconds is None or not apart:
        return why
    runs = max(part.runs * ((part.high - part.low) / 2 / apart) ** 2, RETEST_RUNS)
    minutes = math.ceil(max(seconds * runs / part.runs, PAIR_BUDGET_S + 1) / 60)
    return f"{why}; --budget {minutes}m would decide"


def _one_rank_findings(
    pair: Pair, by_ranks: Sequence[AtOnce], needed: int | None, part: Estimate | None
) -> tuple[Finding, ...]:
    """Whether one rank cannot drive the port; the estimate of its share says so in its whole interval."""
    if part is None or needed is None or not below(part, ONE_RANK_FLOOR):
        return ()
    single = next(each for each in by_ranks if each.ranks == 1).bandwidth_bytes_per_s
    most = max(each.bandwidth_bytes_per_s.value for each in by_ranks)
    return (
        Finding(
            kind=FindingKind.PORT_NEEDS_RANKS,
            subject=node(pair[0]),
            direction=Direction.OUT,
            verdict=Verdict.SLOW,
            statement=f"One rank of {pair[0]} cannot drive its port: it carries {bandwidth(single.value)}, "
            f"{share(part.value)} of the {bandwidth(most)} that more ranks carry; {needed} are needed.",
            remedy="Let several ranks communicate at once.",
            brief=f"one rank carries {share(part.value)} of what its port does; {needed} are needed",
            metric=BANDWIDTH,
            measured=single,
            peers=most,
            peers_name=f"{needed} ranks or more at once",
            of_peers=part,
            pairs=(">".join(pair),),
        ),
    )
