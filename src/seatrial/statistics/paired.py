"""Two settings compared block by block: what disturbs a block disturbs both, and cancels."""

import math
from collections.abc import Sequence

from seatrial.model.estimate import Estimate
from seatrial.statistics.median import WANTED_CONFIDENCE, median_estimate

FEWEST = 2
STEPS = 200


def student_cdf(t: float, degrees: int) -> float:
    """P(T <= t) of Student's distribution. Exact finite series for whole degrees of freedom.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 (odd) and 26.7.4 (even).
    """
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    even = degrees % 2 == 0
    term = 1.0 if even else cosine
    total = term if degrees > 1 else 0.0
    for step in range(2 if even else 3, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    between = math.sin(angle) * total if even else 2 / math.pi * (angle + math.sin(angle) * total)
    return (1 + between) / 2


def student_quantile(probability: float, degrees: int) -> float:
    """The t below which Student's T stays with this probability, for a probability from 0.5 to below 1."""
    low, high = 0.0, 1.0
    while student_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        if student_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return high


def paired_ratio(pairs: Sequence[tuple[float, float]], confidence: float) -> Estimate:
    """How many times the second of each pair the first is: geometric mean of the ratios, with an interval.

    Student's interval on the logarithms of the ratios, one ratio a block (Student, The probable error of a mean,
    Biometrika 6, 1908; ratios rather than differences as Fleming and Wallace, How not to lie with statistics, CACM 29,
    1986). One block gives no interval: it is then without bounds. Raises ValueError for none, and for numbers that
    are not positive.
    """
    if not pairs or min(min(pair) for pair in pairs) <= 0:
        raise ValueError(f"no ratios of {pairs}")
    logs = [math.log(first / second) for first, second in pairs]
    count = len(logs)
    mean = math.fsum(logs) / count
    half = math.inf
    if count >= FEWEST:
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (count - 1))
        half = student_quantile((1 + confidence) / 2, count - 1) * spread / math.sqrt(count)
    return Estimate(
        value=math.exp(mean),
        low=math.exp(mean - half),
        high=math.inf if mean + half > 700 else math.exp(mean + half),
        confidence=confidence,
        runs=count,
        method=f"geometric mean of {count} paired ratios, Student's interval on their logarithms",
    )


def too_few(measured: Estimate) -> bool:
    """Whether its interval cannot hold with 95 %: fewer than six runs."""
    return measured.confidence < WANTED_CONFIDENCE


def paired(runs: Sequence[float], beside: Sequence[float]) -> Estimate | None:
    """The ratio in each repetition that has both; None where none has."""
    both = [(one, other) for one, other in zip(runs, beside, strict=False) if not math.isnan(one + other) and other > 0]
    return median_estimate([one / other for one, other in both]) if both else None
