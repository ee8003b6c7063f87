"""Slow pairs measured again with fewer beside them: what contention or passing traffic made slow is good then."""

import math
import random

from seatrial.commands.check.next_experiments import crowded, still_crowded
from seatrial.commands.check.retests import Growing
from seatrial.model.measurement import Kernel, Phase, Round
from seatrial.pairs.next_pairs import MOST_PAIRS
from seatrial.pairs.separate_rounds import apart, cables_known
from seatrial.pairs.survey import PILOT, SurveyPlan

FEWER = 8
"""One of this many pairs at once remains in the next attempt to measure slow ones without contention."""
HELPS = 0.8
"""The next attempt is made while at most this share of the slow pairs stays slow: what stays is not contention."""
MOST_PASSING = 2000
"""If all cables are known, none of our pairs shares one with what stays slow; traffic of other jobs may, and it passes.
The attempts go on while any of them recovers, in at most this many rounds each: a retest takes far longer."""
MOST_ATTEMPTS = 8
"""Attempts in all. The last ones are of one pair at a time, while traffic passes."""
PASSING_ROUNDS = 2000
"""If no two pairs shared a cable in the survey either, the first attempt takes this many rounds, or as many as there
are pairs: at once, or within a second, it would meet the same traffic again."""


def measure_without_contention(check: Growing, plan: SurveyPlan, deadline: float) -> None:
    """Slow pairs again in rounds of which no two pairs share a known cable, or leave or enter the same leaf.

    Many pairs at once share cables: what is slow may be no fault. Repeat with fewer at once while that helps.
    """
    shape = next((one.shape for one in plan.rounds if one.shape.kernel is Kernel.ONEWAY), PILOT)
    draw = random.Random(check.seed)
    at_once, before, step = FEWER * plan.design.pairs_at_once, math.inf, 0
    while at_once > 1 or (plan.separate and step < MOST_ATTEMPTS):
        evidence, references, suspicion = check.assessor.assess(check.recorded())
        accused = step > 0 or plan.separate
        pairs = still_crowded(evidence, suspicion, references.fabric) if accused else crowded(evidence, suspicion)
        passing = plan.separate or cables_known(pairs, references.fabric)
        recovered = len(pairs) < before if passing else len(pairs) <= HELPS * before
        if len(pairs) <= MOST_PAIRS or not recovered:
            return
        before, step = len(pairs), step + 1
        draw.shuffle(pairs)
        at_once = max(at_once // FEWER, 1)
        if plan.separate:
            rounds_wanted = PASSING_ROUNDS if step == 1 else MOST_PASSING // 2
            at_once = max(at_once if step > 1 else 1, math.ceil(len(pairs) / rounds_wanted))
        found = apart(pairs, references.fabric, at_once)
        if step > 1 and len(found) > MOST_PASSING:
            return
        at_once = min(at_once, max(map(len, found)))
        check.progress.stage(f"Measuring {len(pairs)} slow pairs again, up to {at_once} at once")
        check.progress.rounds(len(found))
        rounds = [Round(phase=Phase.NEXT, repetition=step, shape=shape, pairs=tuple(one)) for one in found]
        if not check.measurer.run(rounds, deadline):
            return
