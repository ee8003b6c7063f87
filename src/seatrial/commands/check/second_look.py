"""The retest: suspects are measured again alone, alternating with good pairs, and these runs decide.

`SecondLook` compares the runs of a part with those of the good pairs beside it.
"""

import enum
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean

import msgspec

from seatrial.experiment.controls import RETEST_RUNS, Runs, usual_of_rounds
from seatrial.judgement.processor_waits import Ends, LongWaits, RankWaits, explained
from seatrial.locate.evidence import Pair
from seatrial.locate.thresholds import CLEAR, GROSS_LOSS, LIMIT_FLOOR, SCATTERS, SURE
from seatrial.model.measurement import Estimate
from seatrial.statistics.estimates import CONFIDENCE, median, median_estimate, robust_scale

ONE_LEVEL = 0.15
"""Log: runs of one part that lie further apart than this, and than noise puts them, are on several levels."""
SHARED_RUNS = 2 * RETEST_RUNS
"""Runs that decide on cables and processors that others use, too: their traffic or program may last for one retest."""
LEAST_SWING, SWING_SHARE = 2, 0.25
"""Runs that must be grossly bad, and as many that must be good, where a part comes and goes. With a smaller share of
bad ones the part is not decided: on a loaded machine one run in twenty is this slow."""


EndsByRun = Mapping[int, Ends]


class RetestOutcome(enum.StrEnum):
    """How a second look at a suspect ended."""

    UNSEEN = "unseen"
    """Nothing of it was measured again."""
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    MIXED = "mixed"
    """Some of its pairs are bad and others are good: the part itself is not at fault, single pairs may be."""
    UNSTABLE = "unstable"
    OPEN = "open"


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """`of_peers`: what it delivers as a share of its peers' in the same minutes; None where it is not known."""

    outcome: RetestOutcome
    of_peers: Estimate | None = None
    runs: int = 0
    steady: bool = True
    """All runs lie on one level, as a fault makes them, or the better ones of many do; traffic comes and goes."""
    one_level: bool = True
    """All runs do: no traffic was met on the way."""
    never_good: bool = False
    """Not one run of several retests was good."""
    waited: int = 0
    """Further runs, which say nothing since ranks waited for a processor for as much of the time as is lost."""


UNSEEN = Verified(outcome=RetestOutcome.UNSEEN)


class SecondLook:
    """All runs of the retest of one metric, as logarithms over the peers; larger is better."""

    def __init__(
        self,
        runs: Mapping[Pair, Runs],
        over_peers: Callable[[Pair, float], float],
        suspected: Collection[Pair],
        effect: float,
        scatter: float,
        floor: Callable[[Pair], float] | None = None,
        waited: Mapping[Pair, EndsByRun] | None = None,
        since: Mapping[Pair, int] | None = None,
        round_trips: bool = False,
    ) -> None:
        """`runs`: of the pairs that were measured again, whose controls are those not `suspected`.

        Controls that lack much themselves, while others do not, say how far runs scatter and not what is usual.

        `over_peers`: the logarithm of a run over what its peers give. `floor`: the same of the least that is good
        whatever the peers do; None: there is none. `scatter`: of a healthy pair in the survey.
        `waited`: of each run the shares of its time for which the ranks had no processor; None: not known.
        `since`: the first run that a pair is judged by; the earlier ones serve as controls only. `round_trips`:
        waits are not compared with those of the controls, whose median hides a few long ones.
        """
        self._waited = waited or {}
        self._since = since or {}
        self._round_trips = round_trips
        self._over = {pair: {run: over_peers(pair, value) for run, value in own.items()} for pair, own in runs.items()}
        self.pairs = self._over.keys()
        self._floor = floor
        self._effect = effect
        self._gross = max(-math.log1p(-GROSS_LOSS), 2 * effect)
        beside = {pair: own for pair, own in self._over.items() if pair not in suspected}
        controls = {pair: own for pair, own in beside.items() if not self.lacks(pair)} or beside
        self._ranks = RankWaits(self._waited, controls)
        waits = [{run: max(ends) for run, ends in self._waited.get(pair, {}).items()} for pair in controls]
        self._waits_beside = usual_of_rounds(waits)
        """Median waits of the controls, by run."""
        self._beside = usual_of_rounds(controls.values())
        apart = []
        for run, level in self._beside.items():
            together = [own[run] for own in beside.values() if run in own]
            if len(together) > 1:  # values lie nearer to a median of which they are part than a suspect's runs do
                wider = math.sqrt((len(together) + 1) / (len(together) - 1))
                apart += [wider * abs(value - level) for value in together]
        self._noise = robust_scale(apart, 0.0) if apart else scatter
        usual = sorted(self._beside.values())
        self._undisturbed = median(usual[len(usual) // 2 :]) if usual else 0.0
        """What the controls usually give; less in a run means that something took from them in it."""

    def of(self, pairs: Collection[Pair]) -> Verified:
        """The outcome for a part that is on all these pairs."""
        seen = {pair: runs for pair in pairs if (runs := self._relative(pair))}
        own = {pair: runs for pair, every in seen.items() if (runs := self._unwaited(pair, every))}
        waited = len(set().union(*seen.values())) - len(set().union(*own.values()))
        if not own:
            measured = any(self._counting(pair) for pair in pairs)
            of_peers = _share(_by_run(seen.values())) if seen else None
            return Verified(outcome=RetestOutcome.OPEN, of_peers=of_peers, waited=waited) if measured else UNSEEN
        margins = {pair: self._margins(pair, runs) for pair, runs in own.items()}
        pooled, least = _by_run(own.values()), _by_run(margins.values())
        outcome = self._outcome(pooled, least)
        # Where the ranks of all wait, the limit says nothing, and the controls still say which pairs are good.
        beside = {
            pair: {run: value for run, value in runs.items() if value >= -self._effect or run in own.get(pair, {})}
            for pair, runs in seen.items()
        }
        if outcome in (RetestOutcome.CONFIRMED, RetestOutcome.OPEN) and self._mixed(beside, pooled):
            outcome = RetestOutcome.MIXED
        if outcome is RetestOutcome.UNSTABLE and self._mostly_calm(beside):
            outcome = RetestOutcome.MIXED
        if outcome is RetestOutcome.UNSTABLE:
            unwaited = _by_run([self._whatever_beside(pair, own[pair]) for pair in own])
            bad = sum(run < -self._swing for run in unwaited)
            if bad < max(LEAST_SWING, SWING_SHARE * (len(pooled) + waited)):
                outcome = RetestOutcome.OPEN
                waited += sum(run < -self._swing for run in pooled) - bad
        level = self._one_level(pooled)
        many = len(pooled) >= SHARED_RUNS
        never_good = many and all(margin < 0 for runs in margins.values() for margin in runs.values())
        return Verified(
            outcome=outcome,
            of_peers=_share(pooled),
            runs=len(pooled),
            steady=level or (never_good and self._one_level_below_traffic(own)),
            one_level=level,
            never_good=never_good,
            waited=waited,
        )

    def lacks(self, pair: Pair) -> bool:
        """Whether the runs of a pair lie far below its peers in the survey, whatever the controls gave beside it."""
        return median(list(self._counting(pair).values())) < -self._gross

    def long_waits(self, nodes: Collection[str], pairs: Collection[Pair]) -> LongWaits | None:
        """The node of these whose rank waited longer for a processor than those of the controls; None: none did."""
        return self._ranks.longest(nodes, [pair for pair in pairs if pair in self._over])

    def _one_level(self, pooled: Sequence[float]) -> bool:
        return max(pooled) - min(pooled) <= self._apart

    @property
    def _apart(self) -> float:
        """Runs that lie further apart are on several levels."""
        return max(ONE_LEVEL, SCATTERS * math.sqrt(2) * self._noise)

    def _one_level_below_traffic(self, own: Mapping[Pair, Runs]) -> bool:
        """Whether the better half of many runs, none of which is good, lies on one level.

        Traffic of others only takes from a part, and it pauses. Over several looks the better runs show the part
        alone: a healthy one would have been good at least once. Of several pairs the best in each run counts: what
        the others meet elsewhere on their ways says nothing of the part.
        """
        best = sorted(max(runs[run] for runs in own.values() if run in runs) for run in set().union(*own.values()))
        return self._one_level(best[len(best) // 2 :])

    def _counting(self, pair: Pair) -> Runs:
        """The pair's runs that count, over the peers of the survey."""
        first = self._since.get(pair, 0)
        return {run: value for run, value in self._over.get(pair, {}).items() if run >= first}

    def _relative(self, pair: Pair) -> Runs:
        """The pair's runs less what the controls of the same run show.

        Where the controls gave much less than usual, what took from them may have taken from this pair or not. Such a
        run is good only if it is as good as the controls usually are, and bad only if it is worse than they were in it;
        any other says nothing and is left out. Beside no control only the limit shows that a run is bad: what is less
        than the peers gave in other minutes may have been taken from all.
        """
        telling, floor = {}, self._floor_of(pair)
        for run, value in self._counting(pair).items():
            controls = self._beside.get(run)
            if controls is None:
                if value >= -self._effect or value < floor:
                    telling[run] = value
                continue
            beside, usual = value - controls, value - self._undisturbed
            if self._undisturbed - controls <= self._apart or beside < -self._effect:
                telling[run] = beside
            elif usual >= -self._effect:
                telling[run] = usual
        return telling

    def _floor_of(self, pair: Pair) -> float:
        return self._floor(pair) if self._floor else -math.inf

    def _unwaited(self, pair: Pair, relative: Runs) -> Runs:
        """The runs that are good, or bad for another reason than ranks that waited for a processor."""
        waited, floor = self._waited.get(pair, {}), self._floor_of(pair)
        kept = {}
        for run, value in relative.items():
            wait = max(waited.get(run, (0.0, 0.0)))
            beside = 0.0 if self._round_trips else self._waits_beside.get(run, 0.0)
            above_floor = self._over[pair][run] - floor
            controlled = run in self._beside
            if value < -self._effect and controlled:
                idle = explained(math.exp(value), wait, beside) or self._all_waited(run, value, wait, beside)
            else:
                everywhere = min(wait, beside) if controlled else wait
                idle = above_floor < 0 and explained(LIMIT_FLOOR * math.exp(above_floor), everywhere)
            if not idle:
                kept[run] = value
        return kept

    def _whatever_beside(self, pair: Pair, relative: Runs) -> Runs:
        """The runs that waits do not explain, however long the ranks of the controls waited.

        That these waited as long and lost nothing clears no single run: where all ranks wait for most of the time, it
        matters when they do. Only what is bad in all runs cannot be chance.
        """
        waited = self._waited.get(pair, {})
        return {
            run: value
            for run, value in relative.items()
            if value >= -self._effect or not explained(math.exp(value), max(waited.get(run, (0.0, 0.0))))
        }

    def _all_waited(self, run: int, value: float, wait: float, beside: float) -> bool:
        """Whether the wait explains all that is lost of what the controls usually give, where their own waits cost them
        something, too: ranks may also wait for long while others' data are on their way."""
        level = self._beside.get(run, self._undisturbed) - self._undisturbed
        return 2 * (1 - math.exp(level)) >= beside and explained(math.exp(level + value), wait)

    def _margins(self, pair: Pair, relative: Runs) -> Runs:
        """Distance of each run above the line: that of the peers, or that of the limit if it is nearer."""
        floor = self._floor_of(pair)
        return {run: min(value + self._effect, self._over[pair][run] - floor) for run, value in relative.items()}

    def _outcome(self, pooled: Sequence[float], margins: Sequence[float]) -> RetestOutcome:
        below = sum(margin < 0 for margin in margins)
        middle = median(margins)
        good = middle > (1 - CLEAR) * self._effect
        if len(margins) < RETEST_RUNS:
            return RetestOutcome.REFUTED if good and below <= min(1, len(margins) - 1) else RetestOutcome.OPEN
        interval = median_estimate(margins)
        chance = SCATTERS * self._noise / math.sqrt(len(margins))
        if (interval.high < 0 or len(margins) - below <= 1) and middle < self._effect - chance:
            return RetestOutcome.CONFIRMED
        bad, fair = (sum(run < -self._swing for run in pooled), len(margins) - below)
        if bad >= LEAST_SWING and fair >= LEAST_SWING:
            return RetestOutcome.UNSTABLE
        if interval.low > (1 - SURE) * self._effect or (good and bad < LEAST_SWING):
            return RetestOutcome.REFUTED
        return RetestOutcome.OPEN

    @property
    def _swing(self) -> float:
        """A run that lacks this much is bad for another reason than noise."""
        return max(self._gross, SCATTERS * self._noise)

    def _mixed(self, beside: Mapping[Pair, Runs], pooled: Sequence[float]) -> bool:
        """Whether a pair is good that the part would have made bad, in half of its runs or more: others say nothing."""
        middle = median(pooled)
        for runs in beside.values():
            level = _middle(list(runs.values()))
            apart = SCATTERS * self._noise / math.sqrt(max(len(runs), 1))
            if 2 * len(runs) >= RETEST_RUNS and level > -CLEAR * self._effect and level - middle > apart:
                return True
        return False

    def _mostly_calm(self, beside: Mapping[Pair, Runs]) -> bool:
        """Whether half of several pairs were never bad, or one that would have been: a part that comes and goes takes
        all its pairs with it, while other jobs' traffic takes those on its way."""
        seen = [runs.values() for runs in beside.values() if len(runs) >= RETEST_RUNS]
        calm = [len(runs) for runs in seen if min(runs) > -self._swing]
        restless = [run < -self._swing for runs in seen if min(runs) <= -self._swing for run in runs]
        good = 1 - fmean(restless) if restless else 1.0
        return len(seen) > 1 and (2 * len(calm) >= len(seen) or good ** max(calm, default=0) < 1 - CONFIDENCE)


def _by_run(runs: Collection[Runs]) -> list[float]:
    return [*usual_of_rounds(runs).values()]


def _middle(values: Sequence[float]) -> float:
    return median(values) if values else 0.0


def _share(logs: Sequence[float]) -> Estimate:
    """The share with the interval of the median: order statistics, which survive the exponential."""
    found = median_estimate(logs)
    return msgspec.structs.replace(
        found, value=math.exp(found.value), low=math.exp(found.low), high=math.exp(found.high)
    )
