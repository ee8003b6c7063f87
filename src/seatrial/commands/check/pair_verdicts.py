"""The survey's verdict on each pair's numbers, renewed where the numbers or their references changed."""

import math
from array import array
from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from seatrial.judgement.processor_waits import explained
from seatrial.locate.evidence import SHORTEST_S, MeasuredPair, Pair, RunSeries, first_series
from seatrial.locate.references import PeerLine, References, above_gate_text, against_gate
from seatrial.locate.thresholds import CLEAR, LIMIT_FLOOR
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate
from seatrial.model.units import bandwidth, duration, share
from seatrial.model.verdict import Verdict


class JudgedPair(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One metric of one pair: the verdict and what it follows from. `bandwidth_reason` and `latency_reason` word it."""

    verdict: Verdict
    remark: str = ""
    """What the retest adds to the reason."""
    estimate: Estimate | None = None
    clear: bool = False
    """Clearly good, so it clears the parts that it crosses."""
    below_limit_only: bool = False
    """Slow against the limit, though its peers are not better."""
    starved: bool = False
    """Slow against the limit only, by no more than its ranks waited for a processor: no part of the fabric explains it,
    and it shows as well as others which parts are slower than their peers."""
    above_gate: bool = False
    """Faster than physics permits, for certain (INVALID) or not yet (INCONCLUSIVE)."""
    unproved: bool = False
    """Bad in the survey, and nothing of its part was measured again."""
    refuted: bool = False
    """Bad in the survey and not measured again, for a reason that clears the parts on its way."""

    @property
    def is_open(self) -> bool:
        """Whether it was measured again as far as the plan went, and is not decided."""
        return self.verdict is Verdict.INCONCLUSIVE and not self.unproved

    def decided(
        self, verdict: Verdict, why: str = "", *, unproved: bool = False, refuted: bool = False
    ) -> "JudgedPair":
        """A copy with another verdict, and why."""
        return msgspec.structs.replace(
            self,
            verdict=verdict,
            remark="; ".join(part for part in (self.remark, why) if part),
            clear=verdict is Verdict.PASS or (self.clear and self.starved),
            below_limit_only=self.below_limit_only and verdict is Verdict.SLOW,
            unproved=unproved,
            refuted=refuted,
        )

    def opened(self, why: str, *, unproved: bool = False, refuted: bool = False) -> "JudgedPair":
        """A copy that is not decided: INCONCLUSIVE, and why."""
        return self.decided(Verdict.INCONCLUSIVE, why, unproved=unproved, refuted=refuted)


class MetricVerdicts:
    """Verdicts on one metric of all pairs of a growing run.

    Their numbers beside a line are arrays: 60,000 comparisons take less than a millisecond.
    """

    def __init__(self) -> None:
        self.judged: dict[Pair, JudgedPair] = {}
        """Sorted by pair."""
        self.slow: set[Pair] = set()
        self.above_gate: set[Pair] = set()
        self._row: dict[Pair, int] = {}
        self._logs, self._kinds = array("d"), array("b")
        self._sides = array("b")
        """Below the line 1, clearly above 2; -1 before a comparison."""

    def update(
        self,
        numbers: Mapping[Pair, tuple[float | None, bool]],
        lines: Mapping[bool, PeerLine | None],
        judge: Callable[[Pair, bool, bool], JudgedPair],
    ) -> tuple[set[Pair], set[Pair]]:
        """Judge the pairs again whose numbers changed, and those for which the new lines make a difference.

        `numbers`: of the pairs that changed, what is compared with the line of its kind (larger is better; None:
        nothing is) and that kind. `judge`: makes the verdict of a pair from whether it is below the line and whether
        it is clearly above. Returns pairs that have become clearly good, and pairs that no longer are.
        """
        for pair, (number, kind) in numbers.items():
            self._put(pair, math.nan if number is None else math.log(max(number, SHORTEST_S)), kind)
        before = len(self.judged)
        joined: set[Pair] = set()
        left: set[Pair] = set()
        for pair, below, clear in self._moved(lines):
            self._replace(pair, judge(pair, below, clear), joined, left)
        if len(self.judged) > before:
            self.judged = dict(sorted(self.judged.items()))
        return joined, left

    def _replace(self, pair: Pair, judged: JudgedPair, joined: set[Pair], left: set[Pair]) -> None:
        old = self.judged.get(pair)
        self.judged[pair] = judged
        for holds, pairs in ((judged.verdict is Verdict.SLOW, self.slow), (judged.above_gate, self.above_gate)):
            if holds:
                pairs.add(pair)
            else:
                pairs.discard(pair)
        was_clear = old is not None and old.clear
        if judged.clear != was_clear:
            (joined if judged.clear else left).add(pair)

    def _put(self, pair: Pair, log: float, kind: bool) -> None:
        row = self._row.setdefault(pair, len(self._row))
        if row == len(self._logs):
            self._logs.append(log)
            self._kinds.append(kind)
            self._sides.append(-1)
        self._logs[row], self._kinds[row], self._sides[row] = log, kind, -1

    def _moved(self, lines: Mapping[bool, PeerLine | None]) -> list[tuple[Pair, bool, bool]]:
        """Pairs that are new or on another side than before, with whether they are below and clearly above."""
        logs, kinds, before = np.array(self._logs), np.array(self._kinds), np.array(self._sides)
        sides = np.zeros(len(logs), dtype=np.int8)
        for kind, line in lines.items():
            own = kinds == kind
            if line is None:
                sides[own] = 2
                continue
            over = logs[own] - line.usual
            sides[own] = (over < -line.lack) + 2 * (over >= -CLEAR * line.lack)
        self._sides = array("b", sides.tobytes())
        pairs = list(self._row)
        rows = np.flatnonzero(sides != before).tolist()
        return [(pairs[row], self._sides[row] & 1 > 0, self._sides[row] & 2 > 0) for row in rows]


def judge_bandwidth(pair: Pair, known: MeasuredPair, references: References, below: bool, clear: bool) -> JudgedPair:
    """Compared with the gate first, then with the peers, then with the limit.

    `below`: worse than its peers by more than the line allows. `clear`: not worse than them by half of that.
    """
    estimate, first = known.bandwidth_estimate, known.first_bandwidth
    if estimate is None or first is None:
        return JudgedPair(verdict=Verdict.NOT_RUN)
    limit = references.limits.get(pair)
    above = against_gate(estimate, limit, known.slowest_window_bytes_per_s)
    if above:
        return JudgedPair(verdict=above, estimate=estimate, above_gate=True)
    below_limit = limit is not None and first < limit_floor(limit)
    limit_only = below_limit and not below
    starved = limit_only and limit is not None and waits_explain(first_series(known.bandwidth), limit.limit_bytes_per_s)
    return JudgedPair(
        verdict=Verdict.SLOW if below or below_limit else Verdict.PASS,
        estimate=estimate,
        clear=clear and (starved or not below_limit),
        below_limit_only=limit_only,
        starved=starved,
    )


def waits_explain(series: RunSeries, reference_bytes_per_s: float) -> bool:
    """Whether ranks waited for a processor in most of these runs, for as much of the time as is lost."""
    runs = list(zip(series.runs, series.waited, strict=False))
    return 2 * sum(explained(run / reference_bytes_per_s, max(waited)) for run, waited in runs) > len(runs)


def judge_latency(known: MeasuredPair, below: bool, clear: bool) -> JudgedPair:
    """Compared with pairs of the same distance; there is no limit for latency yet."""
    if known.latency_estimate is None:
        return JudgedPair(verdict=Verdict.NOT_RUN)
    return JudgedPair(verdict=Verdict.SLOW if below else Verdict.PASS, estimate=known.latency_estimate, clear=clear)


def limit_floor(limit: Limit | None) -> float:
    """Bytes per second below which a pair is slow whatever its peers do; 0 where no limit is known."""
    return LIMIT_FLOOR * limit.limit_bytes_per_s if limit else 0.0


def bandwidth_reason(pair: Pair, judged: JudgedPair, known: MeasuredPair, references: References) -> str:
    """The verdict on a pair's bandwidth in words."""
    return _with_remark(_bandwidth_words(pair, known, references), judged)


def latency_reason(pair: Pair, judged: JudgedPair, references: References) -> str:
    """The verdict on a pair's latency in words."""
    if judged.estimate is None:
        return _with_remark("latency not measured", judged)
    peers = references.latency_s[references.crosses(pair)]
    times = f"{judged.estimate.value / peers:.1f} times its peers'"
    return _with_remark(f"latency {duration(judged.estimate.value)}, {times}", judged)


def _with_remark(words: str, judged: JudgedPair) -> str:
    return f"{words}; {judged.remark}" if judged.remark else words


def _bandwidth_words(pair: Pair, known: MeasuredPair, references: References) -> str:
    estimate, limit, peers = known.bandwidth_estimate, references.limits.get(pair), references.peers_of(pair)
    if estimate is None:
        return "bandwidth not measured"
    above = against_gate(estimate, limit, known.slowest_window_bytes_per_s)
    if limit and above:
        return above_gate_text(estimate, limit, above)
    shares = [f"{share(estimate.value / peers)} of its peers"] if peers else []
    shares += [f"{share(estimate.value / limit.limit_bytes_per_s)} of its limit"] if limit else []
    return f"{bandwidth(estimate.value)}, {' and '.join(shares) or 'compared with nothing'}"
