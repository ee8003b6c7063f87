"""Searches for a faulty part, played to their end: as recommended, and by trying every sequence of exchanges."""

import random
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from seatrial.commands.swap import exchanges, hypotheses
from seatrial.commands.swap.exchanges import Exchange
from seatrial.commands.swap.hypotheses import Cause, Hypothesis
from seatrial.commands.swap.judge import judge
from seatrial.model.part_swap import SwapHistory, SwapStep
from seatrial.model.verdict import Verdict

MOST_EXCHANGES = 4
ENDLESS = 99


def search(places: int, movable: int, *, miss: float, false_alarm: float) -> SwapHistory:
    """Equal places, each with a node and this number of movable parts; not measured yet."""
    kinds = ("node", *(f"kind{number}" for number in range(movable)))
    parts = tuple({kind: f"{kind}-{place}" for kind in kinds} for place in range(places))
    return SwapHistory(
        format=1, name="x", fixed=("node",), kinds=kinds, miss_rate=miss, false_alarm_rate=false_alarm,
        steps=(SwapStep(places=parts, results={}),),
    )  # fmt: skip


def with_step(history: SwapHistory, step: SwapStep) -> SwapHistory:
    """One more step; it replaces the first where that was not measured."""
    kept = history.steps if history.steps[-1].results else history.steps[:-1]
    return msgspec.structs.replace(history, steps=(*kept, step))


def outcomes(
    history: SwapHistory, step: SwapStep, left: Sequence[Hypothesis]
) -> dict[tuple[bool, ...], list[Hypothesis]]:
    """Hypotheses by the results that they predict for a step; measurements never err."""
    arrangement = hypotheses.arrangements(with_step(history, step))[-1]
    measured = exchanges.subjects(history, step)
    groups: dict[tuple[bool, ...], list[Hypothesis]] = {}
    for each in left:
        results = tuple(not arrangement.affected(each, subject) for subject in measured)
        groups.setdefault(results, []).append(each)
    return groups


def suspects(history: SwapHistory) -> list[Hypothesis]:
    """The single parts that explain all results, where measurements never err."""
    made = hypotheses.arrangements(history)
    return [
        each
        for each in hypotheses.hypotheses(history)
        if each.cause is Cause.PART
        and all(
            arrangement.affected(each, subject) is not good
            for step, arrangement in zip(history.steps, made, strict=True)
            for subject, good in step.results.items()
        )
    ]


def recommended(history: SwapHistory) -> int:
    """Exchanges that recommendations take in the worst case, until one part is left."""
    if len(suspects(history)) <= 1:
        return 0
    weighed = [one for one in hypotheses.weigh(history) if one.hypothesis.cause is Cause.PART]
    best = next(one for one in exchanges.ranked(history, weighed) if one.kinds)
    return worst(history, best, recommended)


def fewest(history: SwapHistory, most: int = MOST_EXCHANGES) -> int:
    """Exchanges that the best sequence takes in the worst case, found by trying all; ENDLESS beyond `most`."""
    if len(suspects(history)) <= 1:
        return 0
    best = ENDLESS
    for each in exchanges.possible(history) if most > 0 else ():
        after = exchanges.carried_out(history, history.steps[-1], each)
        if len(outcomes(history, after, suspects(history))) > 1:
            limit = min(most, best) - 1
            best = min(best, worst(history, each, partial(fewest, most=limit)))
    return best


def worst(history: SwapHistory, exchange: Exchange, further: Callable[[SwapHistory], int]) -> int:
    """One exchange and, after its least lucky result, as many as `further` says."""
    after = exchanges.carried_out(history, history.steps[-1], exchange)
    measured = exchanges.subjects(history, after)
    counts = []
    for results in outcomes(history, after, suspects(history)):
        step = msgspec.structs.replace(after, results=dict(zip(measured, results, strict=True)))
        counts.append(further(with_step(history, step)))
    return 1 + max(counts)


def play(history: SwapHistory, fault: Hypothesis, random_: random.Random, most: int = 40) -> tuple[bool, int, int]:
    """Whether the fault is named, after as many exchanges and measurements, where each measurement can err."""
    exchanged = 0
    step = history.steps[-1]
    for measured in range(1, most + 1):
        arrangement = hypotheses.arrangements(with_step(history, step))[-1]
        results = {
            subject: random_.random() >= hypotheses.bad_probability(history, arrangement.affected(fault, subject))
            for subject in exchanges.subjects(history, step)
        }
        history = with_step(history, msgspec.structs.replace(step, results=results))
        judged = judge(history)
        if judged.verdict is Verdict.SLOW:
            return [one.hypothesis for one in judged.named] == [fault], exchanged, measured
        best = judged.exchanges[0]
        exchanged += bool(best.kinds)
        step = exchanges.carried_out(history, history.steps[-1], best)
    return False, exchanged, most
