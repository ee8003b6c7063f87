"""Coverage of the intervals of a comparison, and how often sameness is claimed where a 2 % change was planted.

.venv/bin/python bench/comparisons.py [draws]
"""

import math
import sys

import numpy as np

from seatrial.statistics.run_comparison import compare_runs

PLANTED = 0.98
DESIGNS = ((5, 5, 50, 0.005, 0.005), (5, 5, 50, 0.001, 0.01), (2, 2, 50, 0.005, 0.005),
           (3, 3, 2, 0.005, 0.005),
           (5, 5, 1, 0.01, 0.0), (2, 5, 100, 0.003, 0.003), (1, 3, 64, 0.003, 0.01),
           (3, 3, 8, 0.002, 0.01))  # fmt: skip
"""Runs before, runs after, subjects, deviation of whole runs, deviation of a subject from run to run."""
UNEQUAL = ((2, 5, 30, 0.004, 0.006, 1.5, 0.25), (5, 2, 30, 0.004, 0.006, 0.0, 4.0),
           (5, 5, 50, 0.004, 0.006, 1.0, 1.0), (3, 3, 8, 0.004, 0.006, 1.0, 1.0), (5, 5, 50, 0.001, 0.012, 1.0, 1.0),
           (3, 5, 20, 0.008, 0.002, 0.0, 0.25))  # fmt: skip
"""The same, then by how much subjects differ in their deviations (standard deviation of their logarithms), and the
factor on all deviations afterwards. Intervals assume that both sets scatter alike; sameness does not."""
MOST_SAME = 0.05
"""Of cases with a planted change of the practical threshold, the share in which sameness may be claimed."""


def main() -> int:
    """One line for each design; 1 where sameness is claimed more often than chance of the draws explains."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    chance = np.random.default_rng(5)
    most = MOST_SAME + 2 * math.sqrt(MOST_SAME * (1 - MOST_SAME) / draws)
    failed = 0
    for design in (*((*each, 0.0, 1.0) for each in DESIGNS), *UNEQUAL):
        before, after, subjects, *_, unequal, factor = design
        shares = np.mean([_draw(chance, *design) for _ in range(draws)], axis=0)
        failed += max(shares[2:]) > most
        numbers = ", ".join(f"{value:.3f}" for value in shares)
        unlike = f" (unequal by {unequal:g}, {factor:g} times afterwards)" if (unequal, factor) != (0.0, 1.0) else ""
        what = "covered (subjects, together), called the same"
        print(f"{before}+{after} runs, {subjects} subjects{unlike}: {what}: {numbers}", flush=True)
    return 1 if failed else 0


def _draw(
    chance: np.random.Generator, before: int, after: int, subjects: int, of_run: float, of_subject: float,
    unequal: float, factor: float,
) -> tuple[float, ...]:  # fmt: skip
    """Of one comparison with a planted change: shares of intervals that hold it, and of subjects called the same."""
    planted = math.log(PLANTED)
    usual = chance.normal(0, 0.05, subjects)
    own = of_subject * np.exp(chance.normal(0, unequal, subjects) - unequal**2 / 2)
    first, second = (
        np.exp(usual + times * (chance.normal(0, of_run, (runs, 1)) + own * chance.normal(0, 1, (runs, subjects))))
        for runs, times in ((before, 1.0), (after, factor))
    )
    found = compare_runs(first, second * PLANTED)
    cover = [
        float(np.mean((each.low <= planted) & (planted <= each.high))) for each in (found.subjects, found.together)
    ]
    return (*cover, *(float(each.within(1 - PLANTED).mean()) for each in (found.subjects, found.together)))


if __name__ == "__main__":
    sys.exit(main())
