"""A search for a faulty part: the report of `seatrial swap`."""

import shlex
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from seatrial.commands.swap.exchanges import Exchange
from seatrial.commands.swap.hypotheses import Cause, Hypothesis, Weighed
from seatrial.commands.swap.judge import LEAST_BITS, Prospect, SwapJudgement
from seatrial.model.part_swap import SwapHistory, SwapStep
from seatrial.model.units import share
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.plots import plain_bars
from seatrial.render.report import Block, Cells, Copy, Paragraph, Report, judged_report, record_table, rows_table

SUSPECTS: Cells[Weighed] = {
    "~possible fault": lambda weighed: fault_text(weighed.hypothesis),
    "#probability": lambda weighed: _sure(weighed.probability),
}
EXCHANGES = ("~next", "#information, bits", "#parts moved")
STEPS = ("#step", "run", "place", "~parts", "result")
MOST_EXCHANGES = 3
LEAST_SHOWN = 0.01
MOST_DRAWN = 20
MOST_SURE = 0.999
"""No probability that rests on assumed rates is printed as 100 %."""


def swap_report(judged: SwapJudgement) -> Report:
    """The whole report."""
    return judged_report(
        judged.verdict, _sentence(judged), lambda: judged, partial(_blocks, judged), (), partial(_bars, judged)
    )


def fault_text(hypothesis: Hypothesis) -> str:
    """`card c1`; `card c1 together with slot s1`."""
    parts = [f"{kind} {name}" for kind, name in hypothesis.parts]
    match hypothesis.cause:
        case Cause.OUTSIDE:
            return "something outside of these parts"
        case Cause.NOTHING:
            return "no fault"
        case Cause.SEAT:
            return f"contact of {parts[0]} in {hypothesis.place}"
        case _:
            return " together with ".join(parts)


def _sentence(judged: SwapJudgement) -> str:
    total = sum(one.probability for one in judged.named)
    names = " or ".join(fault_text(one.hypothesis) for one in judged.named[:3])
    exchanged = sum(before.places != after.places for before, after in pairwise(judged.history.steps))
    after = f"after {count(exchanged, 'exchange')}"
    match judged.verdict:
        case Verdict.NOT_RUN:
            return "nothing was measured yet"
        case Verdict.PASS:
            return f"no measurement was bad ({_sure(total)} that there is no fault)"
        case Verdict.NOTE:
            return f"the fault is gone {after}: {names}, {_sure(total)}"
        case Verdict.SLOW if len(judged.named) > 1:
            return f"{names}, {_sure(total)} {after}; no exchange of these parts distinguishes them"
        case Verdict.SLOW:
            return f"{names} is at fault, {_sure(total)} {after}"
    best = judged.weighed[0]
    return f"not decided {after}; most probable: {fault_text(best.hypothesis)}, {_sure(best.probability)}"


def _sure(probability: float) -> str:
    return share(min(probability, MOST_SURE))


def _bars(judged: SwapJudgement) -> Iterator[Block]:
    """The probability of each possible fault."""
    shown = [one for one in judged.weighed if one.probability >= LEAST_SHOWN][:MOST_DRAWN]
    if shown:
        rows = [(fault_text(one.hypothesis), one.probability, _sure(one.probability)) for one in shown]
        yield plain_bars(f"Probability of each fault, n = {count(len(judged.history.steps), 'arrangement')}", rows)


def _blocks(judged: SwapJudgement) -> Iterator[Block]:
    yield from _next(judged)
    yield record_table(SUSPECTS, (one for one in judged.weighed if one.probability >= LEAST_SHOWN))
    shown = judged.exchanges[:MOST_EXCHANGES] if judged.prospects else ()
    exchanges = (
        (_exchange_text(judged.history, one), f"{one.information_bits:.2f}", str(2 * len(one.kinds))) for one in shown
    )
    yield rows_table(EXCHANGES, exchanges)
    steps = enumerate(judged.history.steps, 1)
    yield rows_table(STEPS, (row for place, step in steps for row in _rows(judged, place, step)))
    yield Paragraph(
        text=f"A measurement misses a fault in {share(judged.history.miss_rate)} of cases and is bad without one in "
        f"{share(judged.history.false_alarm_rate)}. Probabilities assume one fault, and the same risk for each part.",
        aside=True,
    )


def _next(judged: SwapJudgement) -> Iterator[Block]:
    """What to do now, with the line to type afterwards."""
    name = shlex.quote(judged.history.name)
    if not judged.measured:
        yield Paragraph(text="Measure each place as it is, and record the results.")
        places = list(judged.history.named(judged.history.steps[-1]))
        results = " ".join(f"{shlex.quote(each)}=good|bad" for each in places)
        yield Copy(lines=(f"seatrial swap record {name} {results}",))
    elif judged.prospects:
        best = judged.exchanges[0]
        yield Paragraph(
            text=f"Next: {_exchange_text(judged.history, best)}{', and measure' if best.kinds else ''}.", strong=True
        )
        yield Paragraph(text=" ".join(_prospect_text(each) for each in judged.prospects))
        option = f" --exchange {shlex.quote(best.words)}" if best.kinds else ""
        results = " ".join(f"{shlex.quote(subject)}=good|bad" for subject in judged.prospects[0].results)
        yield Copy(lines=(f"seatrial swap record {name}{option} {results}",))
    elif judged.verdict is Verdict.INCONCLUSIVE:
        yield Paragraph(text=f"No exchange is expected to reveal more than {LEAST_BITS} bits: add places or parts.")


def _exchange_text(history: SwapHistory, exchange: Exchange) -> str:
    if not exchange.kinds:
        return "measure again without an exchange"
    if exchange.second not in history.shelves:
        return f"exchange the {' and the '.join(exchange.kinds)} of {exchange.first} and {exchange.second}"
    named = history.named(history.steps[-1])
    used, spare = named[exchange.first], named[exchange.second]
    parts = (f"{kind} {used.get(kind, 'none')} by {spare.get(kind, 'none')}" for kind in exchange.kinds)
    return f"in {exchange.first}, replace {' and '.join(parts)}"


def _prospect_text(prospect: Prospect) -> str:
    bad = [subject for subject, good in prospect.results.items() if not good]
    then = f"{fault_text(prospect.then.hypothesis)} ({_sure(prospect.then.probability)})"
    return f"If {' and '.join(bad) + ' is' if bad else 'nothing is'} bad ({share(prospect.probability)}): {then}."


def _rows(judged: SwapJudgement, number: int, step: SwapStep) -> Iterator[tuple[str, ...]]:
    history = judged.history
    for name, place in history.named(step).items():
        if name in history.shelves or not (place.keys() - {*history.fixed} or name in step.results):
            continue
        parts = ", ".join(f"{kind} {place[kind]}" for kind in history.movable if kind in place)
        yield str(number), step.run, name, parts, _result_text(step, name)
    for subject in step.results:
        if subject not in history.named(step):
            yield str(number), step.run, subject, "", _result_text(step, subject)


def _result_text(step: SwapStep, subject: str) -> str:
    if subject not in step.results:
        return "—"
    return "good" if step.results[subject] else "bad"
