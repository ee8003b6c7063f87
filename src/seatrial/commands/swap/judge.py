"""What a history of exchanges shows: which part is at fault, how surely, and what to exchange next."""

from collections.abc import Sequence

import msgspec

from seatrial.commands.swap.exchanges import Exchange, carried_out, ranked, separable, subjects
from seatrial.commands.swap.hypotheses import Cause, Hypothesis, Weighed, arrangements, weigh
from seatrial.model.part_swap import SwapHistory, SwapStep
from seatrial.model.verdict import Verdict

CONFIDENCE = 0.95
"""A fault is named if it, or faults that no exchange can distinguish, have at least this probability."""
LEAST_BITS = 0.02
"""An exchange that is expected to reveal less is not recommended."""


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """A possible result of the next measurement, how probable it is, and what would then be most probable."""

    results: dict[str, bool]
    probability: float
    then: Weighed


class SwapJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """The history with all hypotheses, what is named, and which exchanges would reveal most; docs/swap.md."""

    history: SwapHistory
    weighed: tuple[Weighed, ...]
    named: tuple[Weighed, ...]
    """The fewest hypotheses that together reach the confidence."""
    exchanges: tuple[Exchange, ...]
    """The most informative first; one without kinds: measure again."""
    prospects: tuple[Prospect, ...]
    """What the first exchange can show, the most probable first; empty where none is worth the work."""

    @property
    def verdict(self) -> Verdict:
        """The cause that all named hypotheses have in common, as a verdict."""
        return _verdict(self.history, self.named)

    @property
    def measured(self) -> bool:
        """Whether the last arrangement was measured."""
        return bool(self.history.steps[-1].results)


def judge(history: SwapHistory) -> SwapJudgement:
    """The judgement of one history."""
    weighed = weigh(history)
    named = _fewest(weighed)
    exchanges = ranked(history, weighed)
    verdict = _verdict(history, named)
    worth = verdict is Verdict.INCONCLUSIVE and exchanges[0].information_bits >= LEAST_BITS
    return SwapJudgement(
        history=history,
        weighed=tuple(weighed),
        named=named,
        exchanges=tuple(exchanges),
        prospects=_prospects(history, exchanges[0], weighed) if worth else (),
    )


def _fewest(weighed: Sequence[Weighed]) -> tuple[Weighed, ...]:
    total, taken = 0.0, []
    for suspect in weighed:
        taken.append(suspect)
        total += suspect.probability
        if total >= CONFIDENCE:
            break
    return tuple(taken)


def _verdict(history: SwapHistory, named: Sequence[Weighed]) -> Verdict:
    if not any(step.results for step in history.steps):
        return Verdict.NOT_RUN
    causes = {one.hypothesis.cause for one in named}
    if all(good for step in history.steps for good in step.results.values()):
        return Verdict.PASS if causes == {Cause.NOTHING} else Verdict.INCONCLUSIVE
    if len(named) > 1 and separable(history, [one.hypothesis for one in named]):
        return Verdict.INCONCLUSIVE
    return Verdict.NOTE if causes <= {Cause.SEAT, Cause.NOTHING} else Verdict.SLOW


def _prospects(history: SwapHistory, exchange: Exchange, weighed: Sequence[Weighed]) -> tuple[Prospect, ...]:
    """The results that each probable hypothesis predicts."""
    last = history.steps[-1]
    after = carried_out(history, last, exchange) if exchange.kinds else SwapStep(places=last.places, results={})
    measured = subjects(history, after)
    expected: dict[tuple[bool, ...], list[Weighed]] = {}
    for suspect in weighed:
        if suspect.probability >= 1 - CONFIDENCE:
            expected.setdefault(_expected(history, after, suspect.hypothesis, measured), []).append(suspect)
    return tuple(
        Prospect(
            results=dict(zip(measured, results, strict=True)),
            probability=sum(one.probability for one in found),
            then=_then(history, after, dict(zip(measured, results, strict=True))),
        )
        for results, found in sorted(expected.items(), key=lambda item: -sum(one.probability for one in item[1]))
    )


def _expected(
    history: SwapHistory, after: SwapStep, hypothesis: Hypothesis, measured: Sequence[str]
) -> tuple[bool, ...]:
    arrangement = arrangements(_longer(history, after))[-1]
    return tuple(not arrangement.affected(hypothesis, subject) for subject in measured)


def _then(history: SwapHistory, after: SwapStep, results: dict[str, bool]) -> Weighed:
    return weigh(_longer(history, msgspec.structs.replace(after, results=results)))[0]


def _longer(history: SwapHistory, step: SwapStep) -> SwapHistory:
    return msgspec.structs.replace(history, steps=(*history.steps, step))
