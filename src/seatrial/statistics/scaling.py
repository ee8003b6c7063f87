"""Laws of scaling fitted to a curve: Amdahl's law and the universal scalability law, with intervals, or why not.

Amdahl (AFIPS 1967): C(N) = N / (1 + σ(N-1)). Gunther (Guerrilla Capacity Planning, 2007): C(N) = N / (1 + σ(N-1) +
κN(N-1)), with its maximum at N* = √((1-σ)/κ). N is relative to the smallest size, whose rate is a parameter as well.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.model.pair_table import Reals
from seatrial.model.words import count
from seatrial.statistics.estimates import CONFIDENCE, SETTLED, STEPS, student_quantile
from seatrial.statistics.segments import Interval

FEWEST_SIZES = 6
"""Different sizes that a fit needs."""


class ScalingFit(msgspec.Struct, frozen=True, kw_only=True):
    """One law. `refused`: why it is not fitted; its parameters are then absent."""

    law: str
    refused: str = ""
    contention: Interval | None = None
    """σ: the share of work that is serial or waits for others."""
    coherence: Interval | None = None
    """κ: the cost of agreement between each two; of the universal law only."""
    peak: float | None = None
    """N*, beyond which more are slower; as a multiple of the smallest size. None: there is none."""
    scatter: float | None = None
    """Standard deviation of the relative errors."""


def fit_amdahl(sizes: Sequence[float], rates: Sequence[float]) -> ScalingFit:
    """Amdahl's law over sizes relative to the smallest, and their rates of work."""
    return _fit("Amdahl", sizes, rates, 1)


def fit_universal(sizes: Sequence[float], rates: Sequence[float]) -> ScalingFit:
    """The universal scalability law."""
    return _fit("universal scalability", sizes, rates, 2)


def _fit(law: str, sizes: Sequence[float], rates: Sequence[float], terms: int) -> ScalingFit:
    if len(set(sizes)) < FEWEST_SIZES:
        return ScalingFit(law=law, refused=f"{count(len(set(sizes)), 'size')}; {FEWEST_SIZES} are needed")
    if not all(math.isfinite(rate) and rate > 0 for rate in rates):
        return ScalingFit(law=law, refused="a rate is not positive")
    relative = np.array(sizes, dtype=np.float64) / min(sizes)
    logs = np.log(np.array(rates, dtype=np.float64))
    parameters = _start(relative, np.exp(logs), terms)
    settled = _least_squares(relative, logs, parameters)
    if settled is None:
        return ScalingFit(law=law, refused="the fit does not settle")
    parameters, errors, scatter = settled
    names = ("contention σ", "coherence κ")
    for name, value, error in zip(names, parameters[1:], errors[1:], strict=False):
        if value + error < 0:
            return ScalingFit(
                law=law,
                scatter=scatter,
                refused=f"{name} is negative ({value:.3g}): the curve is faster than linear. Check its data first",
            )
    intervals = [
        Interval(value=max(float(value), 0.0), low=max(float(value - error), 0.0), high=max(float(value + error), 0.0))
        for value, error in zip(parameters[1:], errors[1:], strict=True)
    ]
    sigma, kappa = float(parameters[1]), float(parameters[2]) if terms > 1 else 0.0
    return ScalingFit(
        law=law,
        contention=intervals[0],
        coherence=intervals[1] if terms > 1 else None,
        peak=math.sqrt((1 - sigma) / kappa) if kappa > 0 and sigma < 1 else None,
        scatter=scatter,
    )


def _start(sizes: Reals, rates: Reals, terms: int) -> Reals:
    """N over rate is linear in the parameters: least squares of relative errors."""
    columns = [np.ones_like(sizes), sizes - 1, sizes * (sizes - 1)][: terms + 1]
    inverse = sizes / rates
    table = np.stack(columns, axis=1) / inverse[:, None]
    solution, *_ = np.linalg.lstsq(table, np.ones_like(sizes), rcond=None)
    base = max(float(solution[0]), 1e-300)
    return np.array([-math.log(base), *(float(value) / base for value in solution[1:])])


def _logs(sizes: Reals, parameters: Reals) -> Reals:
    logs: Reals = parameters[0] + np.log(sizes) - np.log(np.maximum(_denominator(sizes, parameters), 1e-12))
    return logs


def _denominator(sizes: Reals, parameters: Reals) -> Reals:
    total: Reals = 1 + parameters[1] * (sizes - 1)
    return total + parameters[2] * sizes * (sizes - 1) if len(parameters) > 2 else total


def _least_squares(sizes: Reals, logs: Reals, start: Reals) -> tuple[Reals, Reals, float] | None:
    """Gauss-Newton on logarithms: parameters, half widths of their intervals, scatter. None: it does not settle."""
    parameters = start
    count, degrees = len(start), len(sizes) - len(start)
    for _ in range(STEPS):
        residuals = logs - _logs(sizes, parameters)
        denominator = np.maximum(_denominator(sizes, parameters), 1e-12)
        columns = [np.ones_like(sizes), -(sizes - 1) / denominator, -sizes * (sizes - 1) / denominator][:count]
        jacobian = np.stack(columns, axis=1)
        step, *_ = np.linalg.lstsq(jacobian, residuals, rcond=None)
        length = 1.0
        while length > 1e-6 and np.sum((logs - _logs(sizes, parameters + length * step)) ** 2) > residuals @ residuals:
            length /= 2
        parameters = parameters + length * step
        if float(np.abs(step).max()) < SETTLED or length <= 1e-6:
            variance = float(residuals @ residuals) / degrees
            covariance = np.linalg.pinv(jacobian.T @ jacobian) * variance
            quantile = student_quantile(0.5 + CONFIDENCE / 2, degrees)
            errors = quantile * np.sqrt(np.maximum(np.diag(covariance), 0.0))
            return parameters, errors, math.sqrt(variance)
    return None
