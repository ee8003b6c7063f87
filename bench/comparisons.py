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


def main() -> None:
    """One line for each design."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    chance = np.random.default_rng(5)
    planted = math.log(PLANTED)
    for before, after, subjects, of_run, of_subject in DESIGNS:
        rows = []
        for _ in range(draws):
            usual = chance.normal(0, 0.05, subjects)
            first, second = (
                np.exp(usual + chance.normal(0, of_run, (runs, 1)) + chance.normal(0, of_subject, (runs, subjects)))
                for runs in (before, after)
            )
            found = compare_runs(first, second * PLANTED)
            cover = [
                np.mean((each.low <= planted) & (planted <= each.high)) for each in (found.subjects, found.together)
            ]
            rows.append((*cover, found.subjects.within(1 - PLANTED).mean(), found.together.within(1 - PLANTED).mean()))
        numbers = ", ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        print(f"{before}+{after} runs, {subjects} subjects: covered (subjects, together), called the same: {numbers}")


if __name__ == "__main__":
    main()
