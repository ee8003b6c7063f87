"""How many runs a comparison needs: to show a change of a given size, or that there is none.

Two-sided tests at 5 % with Student's quantiles: t(1 - a/2) + t(power) standard errors must fit into the distance
between what is estimated and what is to be excluded (Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd
ed., 2.4). The answer is only as good as the deviation that it is computed from.
"""

import math

import numpy as np

from seatrial.statistics.student import quantile

POWER = 0.90
"""Probability that the runs decide, if the deviations are as estimated."""
MOST_RUNS = 1000
"""More runs than that of each set are not worth planning."""
CONFIDENCE = 0.95
SAMENESS_CONFIDENCE = 0.90


def runs_to_detect(effect: float, deviation: float, *, before: int = 0, confidence: float = CONFIDENCE) -> int | None:
    """Runs of each set that show a change by `effect`, a share, with `POWER`.

    `deviation`: of the logarithm of one run. `before`: runs that the first set has already; then the runs of the second
    set. `confidence`: above 95 % where many subjects are tested. None: more than `MOST_RUNS`.
    """
    return _least(abs(math.log1p(-min(effect, 0.99))), deviation, confidence, before, POWER)


def runs_to_decide(change: float, threshold: float, deviation: float, *, held: int = 1) -> int | None:
    """Runs that each set needs in all until the estimated change is shown, or shown to be within the threshold.

    `change`: logarithm of the ratio as estimated now; `held`: runs of each set that exist. None: more than `MOST_RUNS`.
    """
    bound = -math.log1p(-threshold)
    needed = [_least(abs(change), deviation, CONFIDENCE, 0, POWER)]
    if abs(change) < bound:
        needed.append(_least(bound - abs(change), deviation, SAMENESS_CONFIDENCE, 0, POWER))
    possible = [count for count in needed if count is not None]
    return max(min(possible), held + 1) if possible else None


def _least(distance: float, deviation: float, confidence: float, before: int, power: float) -> int | None:
    if not distance > 0 or not math.isfinite(deviation):
        return None
    counts = np.arange(1, MOST_RUNS + 1, dtype=float)
    first = np.full_like(counts, before) if before else counts
    degrees = np.maximum(first + counts - 2, 0.0)
    error = deviation * np.sqrt(1 / first + 1 / counts)
    enough = (quantile(confidence, degrees) + quantile(2 * power - 1, degrees)) * error <= distance
    return int(counts[np.argmax(enough)]) if bool(enough.any()) else None
