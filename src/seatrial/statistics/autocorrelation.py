"""How much neighbours in a series resemble each other, and how much less the series then shows than independent values.

Noise of machines is correlated (temperature, other users, time of day). A mean of n values of an AR(1) process with
autocorrelation r varies as a mean of n (1 - r) / (1 + r) independent ones (Bartlett, JRSS 98, 1935).
"""

import math

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MOST = 0.8
"""Beyond it a series drifts rather than scatters: its levels are changes and not noise."""
UPPER = 1.645
"""The upper 95 % limit of the autocorrelation is used, since too small a value makes false alarms."""
LEAST_DIVISOR = 0.3
BIASES = {1: (1.0, 3.0), 2: (2.0, 4.0)}
"""By parameters fitted to each piece, mean or line: r is underestimated by (a + b r) / n for each piece
(Kendall, Biometrika 41, 1954, for the mean)."""


def upper_autocorrelation(squares: float, lagged: float, count: int, pieces: int, parameters: int) -> float:
    """Upper 95 % limit of the lag-1 autocorrelation behind `count` residuals, between 0 and `MOST`.

    `squares`, `lagged`: sums of products of the residuals with themselves and with their successors. `pieces`: fitted
    pieces with `parameters` each, which make residuals less alike than the noise is.
    """
    if squares <= 0:
        return MOST
    offset, slope = BIASES[parameters]
    plain = lagged / squares
    corrected = (plain + offset * pieces / count) / max(1 - slope * pieces / count, LEAST_DIVISOR)
    bounded = min(max(corrected, 0.0), 0.999)
    return min(bounded + UPPER * math.sqrt((1 - bounded**2) / count), MOST)


def independent_share(autocorrelation: float) -> float:
    """How many independent values one value of the series is worth: 1 for none, 1/9 for an autocorrelation of 0.8."""
    return (1 - autocorrelation) / (1 + autocorrelation)


def residual_products(residuals: Numbers) -> tuple[float, float]:
    """Sums of the residuals' squares, and of the products with their successors."""
    return float(residuals @ residuals), float(residuals[1:] @ residuals[:-1])
