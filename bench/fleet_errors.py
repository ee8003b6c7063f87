"""Fleets and evidence by simulation: false names, runs until a slow node is flagged, coverage after every run.

    .venv/bin/python bench/fleet_errors.py [--draws 100]

Exits with 1 where more than 5 % of healthy fleets have a slow node, or looking after every run flags more than 5 %.
"""

import argparse
import sys

import numpy as np

from seatrial.statistics.fleets import alarm_count, judge_fleet, median_sequence

SCATTER = 0.0115
RUNS = 5
LOOKS = 300
COUNTS = (3, 5, 10, 30, 100, 1000)
KINDS = ("normal", "t3", "unlike nodes")


def noise(kind: str, nodes: int, generator: np.random.Generator) -> np.ndarray:
    """Healthy nodes, one a row, on logarithms."""
    if kind == "t3":
        return SCATTER * generator.standard_t(3, (nodes, RUNS)) / 3**0.5
    values = generator.normal(size=(nodes, RUNS))
    own = generator.normal(0, 0.5, (nodes, 1)) if kind == "unlike nodes" else 0.0
    return SCATTER * (values + own)


def fleets(draws: int) -> float:
    """The largest share of healthy fleets in which a node is named as slow."""
    generator = np.random.default_rng(1)
    print(f"Healthy fleets with {RUNS} runs of each node, {draws} each: fleets with a slow node, detectable loss\n")
    worst = 0.0
    for nodes in COUNTS:
        for kind in KINDS:
            results = [
                judge_fleet({str(place): np.exp(one) for place, one in enumerate(noise(kind, nodes, generator))})
                for _ in range(draws)
            ]
            share = float(np.mean([any(node.slow for node in result.nodes) for result in results]))
            detectable = float(np.median([result.detectable for result in results]))
            worst = max(worst, share)
            print(f"{nodes:6} nodes  {kind:13} {100 * share:6.1f} %  {100 * detectable:6.1f} %")
    return worst


def evidence(draws: int) -> float:
    """The share of healthy nodes that are flagged in any of `LOOKS` looks; prints runs until slow ones are."""
    generator = np.random.default_rng(2)
    alarms = np.array([alarm_count(runs) for runs in range(1, LOOKS + 1)])
    flagged = {}
    print(f"\nSign test after every run, {draws} nodes, scatter {100 * SCATTER:.2f} %, at 5 %, {LOOKS} looks\n")
    for loss in (0.0, 0.005, 0.01, 0.02, 0.05):
        below = np.cumsum(generator.normal(-loss, SCATTER, (draws, LOOKS)) < 0, axis=1) >= alarms
        hit = below.any(axis=1)
        flagged[loss] = float(hit.mean())
        runs = np.where(hit, below.argmax(axis=1) + 1, LOOKS)
        print(
            f"loss {100 * loss:4.1f} %: flagged {100 * flagged[loss]:5.1f} %, after {runs.mean():6.1f} runs on average"
        )
    missed = 0
    for _ in range(draws // 20):
        values = generator.normal(size=LOOKS).tolist()
        ends = [median_sequence(values[:runs]) for runs in range(6, LOOKS + 1)]
        missed += any(not low <= 0 <= high for low, high in ends)
    print(f"interval of the median missed it at any look: {100 * missed / (draws // 20):.1f} % of {draws // 20} series")
    return flagged[0.0]


def main() -> int:
    """0 where both error rates hold."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=100)
    draws = options.parse_args().draws
    return 0 if fleets(draws) <= 0.05 and evidence(20 * draws) <= 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
