"""`make job-histories`: does `seatrial jobs` name what is planted in histories resampled from recorded jobs?

    .venv/bin/python -m bench.job_histories [--seed 1] [--seeds 20] [--show]

A history has 400 nodes, 20 families, 120 days and 20,000 to 67,000 jobs (tests/support/resampled_histories.py).
Families that become 1.3, 2 and 4 times slower are drawn from those whose recorded run times scatter less (distance of
quartiles). A trial counts if exactly what was planted is named, and the interval of each change contains the planted
value. Exits with 1 where fewer than 19 of 20 trials of a kind are right.
"""

import argparse
import sys

from tests.support.resampled_trials import Trial, trial

LEAST = 0.95


def main() -> int:
    """Print a row for each kind of history."""
    parser = argparse.ArgumentParser(prog="python -m bench.job_histories", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds")
    parser.add_argument("--show", action="store_true", help="print each trial")
    given = parser.parse_args()
    few = False
    for kind in Trial:
        outcomes = [trial(kind, given.seed + number) for number in range(given.seeds)]
        for seed, outcome in enumerate(outcomes, given.seed):
            if given.show or not outcome.right:
                print(f"  seed {seed}: {'right' if outcome.right else 'WRONG'}: {outcome.text}")
        right = sum(outcome.right for outcome in outcomes)
        few |= right < LEAST * given.seeds
        fewest, most = (extreme(outcome.jobs for outcome in outcomes) for extreme in (min, max))
        print(f"{kind.value:28} {right} of {given.seeds} right; {fewest} to {most} jobs", flush=True)
    return int(few)


if __name__ == "__main__":
    sys.exit(main())
