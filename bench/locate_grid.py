"""Slow nodes in made-up pair tables: recall and false names of `locate` beside medians of rows and columns with MAD.

Without an argument a short form of a few minutes; `--brief` is one of about two minutes of the processor, with fewer
cells and draws; `--full FILE` writes every cell of the whole grid as CSV. Exit status 1: a cell with a recall clearly
below the baseline's, more than 1 % of draws with a wrong name, a recall below 0.95 from 2 % loss on at 0.1 % noise (but
for 3 slow of 8 nodes with pairs missing), or a smallest detectable effect that is found in fewer than 90 % of draws.
"""

import itertools
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.pair_tables import FLOOR, Cell, Score, detected, draw_rates, score

NOISES = (0.001, 0.01, 0.05, 0.15)
LOSSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
SHARES = (0.001, 0.1, 0.25, 0.4)
DISTURBED = ({}, {"outliers": 0.01}, {"missing": 0.3}, {"outliers": 0.02, "missing": 0.1})
SHORT = {
    "nodes": (8, 56),
    "losses": (0.005, 0.02, 0.05, 0.2),
    "shares": (0.001, 0.25, 0.4),
    "draws": 10,
    "healthy": 200,
}
BRIEF = SHORT | {"nodes": (8, 32), "losses": (0.02, 0.05, 0.2), "draws": 20, "healthy": 100}
FULL = {"nodes": (8, 16, 32, 56, 128), "losses": LOSSES, "shares": SHARES, "draws": 20, "healthy": 1000}
ERRORS = 3.0
"""Standard errors by which a recall must lie below the baseline's to count as below."""


def clearly_below(ours: Score, theirs: Score) -> bool:
    """Draws are the unit: the nodes of one draw share its noise."""
    spread = max(math.sqrt(theirs.recall * (1 - theirs.recall) / theirs.draws), 1 / theirs.draws / ERRORS)
    return ours.recall < theirs.recall - ERRORS * spread


def healthy(nodes: int, noise: float, disturbed: dict[str, float], draws: int) -> tuple[Score, Score]:
    """Tables without a slow node."""
    return score(Cell(nodes=nodes, noise=noise, **disturbed), draws, seed=1)


def power(nodes: int, noise: float, effect: float | None, draws: int) -> tuple[float, float]:
    """The smallest detectable effect of healthy tables, and how often a node that loses so much in them is named."""
    losses, hits, tried = [], 0, 0
    for seed in range(max(draws // nodes, 5)):
        rate, _ = draw_rates(Cell(nodes=nodes, noise=noise), np.random.default_rng([7, nodes, seed]))
        loss, found = detected(rate, effect, range(0, nodes, max(nodes // 16, 1)))
        losses.append(loss)
        hits, tried = hits + sum(found), tried + len(found)
    return float(np.median(losses)), hits / tried


def main() -> int:
    """Print the grid, the false names and the power curve."""
    plan = FULL if "--full" in sys.argv else BRIEF if "--brief" in sys.argv else SHORT
    file = Path(sys.argv[sys.argv.index("--full") + 1]).open("w") if "--full" in sys.argv else None  # noqa: SIM115
    if file:
        print("nodes,noise,slow,loss,outliers,missing,recall,baseline,wrong,baseline_wrong,passed,draws", file=file)
    sums: defaultdict[tuple[float, float, float], list[tuple[Score, Score]]] = defaultdict(list)
    below, bad, wrong, draws = [], 0, 0, 0
    grid = itertools.product(plan["nodes"], NOISES, plan["shares"], plan["losses"], DISTURBED)
    for nodes, noise, share, loss, disturbed in grid:
        cell = Cell(nodes=nodes, noise=noise, slow_share=share, loss=loss, **disturbed)
        ours, theirs = score(cell, plan["draws"], seed=0)
        sums[noise, loss, share].append((ours, theirs))
        wrong, draws = wrong + ours.wrong_draws, draws + ours.draws
        if clearly_below(ours, theirs):
            below.append((cell, ours.recall, theirs.recall))
        hopeless = nodes < 16 and share > 0.3 and "missing" in disturbed
        bad += noise == NOISES[0] and loss >= 0.02 and ours.recall < 0.95 and not hopeless
        if file:
            counts = (ours.recall, theirs.recall, ours.wrong_draws, theirs.wrong_draws, ours.passed, ours.draws)
            print(nodes, noise, cell.slow, loss, cell.outliers, cell.missing, *counts, sep=",", file=file, flush=True)
    print(f"recall of slow nodes / of the baseline, --effect {FLOOR:.1%}, {plan['nodes']} nodes, disturbed and not")
    for share in plan["shares"]:
        print(f"slow: {'one node' if share == plan['shares'][0] else format(share, '.0%')}")
        print("  noise  " + "".join(f"{loss:>14.1%}" for loss in plan["losses"]))
        for noise in NOISES:
            print(f"  {noise:6.1%} " + "".join(_pair(sums[noise, loss, share]) for loss in plan["losses"]))
    print(f"draws with a wrong name: {wrong} of {draws} ({wrong / draws:.2%})")
    for cell, mine, other in below:
        print(f"below the baseline: {cell} {mine:.2f} < {other:.2f}")
    print("healthy tables, draws with a name / of the baseline")
    healthy_wrong = healthy_draws = 0
    for nodes, disturbed in itertools.product(plan["nodes"], DISTURBED):
        for noise in NOISES:
            ours, theirs = healthy(nodes, noise, disturbed, max(plan["healthy"] // max(nodes // 32, 1), 20))
            healthy_wrong, healthy_draws = healthy_wrong + ours.wrong_draws, healthy_draws + ours.draws
            shown = f"{ours.wrong_draws:3d} / {theirs.wrong_draws:3d} of {ours.draws}"
            print(f"  {nodes:4d} nodes, {noise:5.1%} noise, {disturbed or 'undisturbed'}: {shown}")
    print(f"  together {healthy_wrong} of {healthy_draws} ({healthy_wrong / healthy_draws:.2%})")
    print("smallest detectable effect of one node as reported, and how often such a node is named")
    weak = 0
    for nodes, noise in itertools.product(plan["nodes"], NOISES):
        said = []
        for effect in (FLOOR, None):
            loss, hits = power(nodes, noise, effect, 100 if nodes <= 56 else 40)
            said.append(f"{loss:7.2%} {hits:5.0%}")
            weak += hits < 0.9
        print(f"  {nodes:4d} nodes, {noise:5.1%} noise: --effect {FLOOR:.1%} {said[0]}   default {said[1]}")
    return int(bool(below or bad or weak or wrong > 0.01 * draws or healthy_wrong > 0.01 * healthy_draws))


def _pair(scores: list[tuple[Score, Score]]) -> str:
    mine, other = (np.mean([each[side].recall for each in scores]) for side in (0, 1))
    return f"   {mine:4.2f} / {other:4.2f}"


if __name__ == "__main__":
    sys.exit(main())
