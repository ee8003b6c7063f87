"""Parts that change during a run: how often they are named, how often anything is named without a change, and speed.

Series from tests/support/change_series.py. Without an argument a short form of two to three minutes; `--full` draws
2,000 healthy runs of each kind and 200 of each change. Exit status 1: more than 1 % of all draws without a change get
a name, or a wrong part is named in more than 1 % of those with one.
"""

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.change_series import EFFECTS, Scene, drop, flaps, named_parts

from seatrial.locate.changes import find_changes

NOISES = (0.001, 0.01, 0.05, 0.15)
MEASURED = {
    "4 nodes, one pass": {"nodes": 4, "repetitions": 1},
    "4 nodes, 3 repetitions": {"nodes": 4},
    "the same and a retest": {"nodes": 4, "retested": 2},
    "8 nodes, one pass": {"nodes": 8, "repetitions": 1},
    "8 nodes, 3 repetitions": {"nodes": 8},
    "16 nodes, 8 at once": {"nodes": 16, "pairs_at_once": 8},
}
CHANGES = (
    ("50 % from 1/4", 0.5, 0.25),
    ("50 % from 4/7", 0.5, 4 / 7),
    ("50 % from 4/5", 0.5, 0.8),
    ("85 % from 1/2", 0.85, 0.5),
    ("95 % from 1/2", 0.95, 0.5),
)
FLAPS = (("to 10 % every 2 s", 0.1), ("to 50 % every 2 s", 0.5))
PART = "node:n2"


def healthy(draws: int) -> tuple[int, int]:
    """Draws with a name, of all, where no part changes."""
    named, total = 0, 0
    disturbed = {
        "healthy": {},
        "8 % of values at half": {"outliers": 0.08},
        "a third of values at half": {"outliers": 1 / 3},
        "all at 60 % from the middle on": {"everything": drop(0.6, 5.0)},
    }
    print(f"\n{'draws with a name, of ' + str(draws):38}" + "".join(f"{noise:>9.1%}" for noise in NOISES))
    for what, disturbance in disturbed.items():
        for how, measured in MEASURED.items():
            if what != "healthy" and "16" in how:
                continue
            found = [count_named(Scene(noise=noise, **measured, **disturbance), draws) for noise in NOISES]
            named, total = named + sum(found), total + draws * len(found)
            print(f"{what[:14]:15}{how:23}" + "".join(f"{one:9d}" for one in found), flush=True)
    return named, total


def count_named(scene: Scene, draws: int) -> int:
    """Draws in which anything is named."""
    return sum(bool(scene.changes(seed)) for seed in range(draws))


def power(draws: int) -> tuple[int, int]:
    """Share of draws in which the changing node alone is named, and draws with a wrong name, of all."""
    wrong, total = 0, 0
    print(f"\n{'share of draws in which it is named':42}" + "".join(f"{noise:>9.1%}" for noise in NOISES))
    for how, measured in MEASURED.items():
        length = Scene(**{**measured, "retested": -1}).duration_s
        kinds = [(what, drop(share, part * length)) for what, share, part in CHANGES]
        kinds += [(what, flaps(share, 2.0)) for what, share in FLAPS]
        for what, change in kinds:
            line = []
            for noise in NOISES:
                seen = Counter(
                    tuple(named_parts(Scene(noise=noise, both={2: change}, **measured).changes(seed)))
                    for seed in range(draws)
                )
                line.append(seen[(PART,)] / draws)
                wrong += draws - seen[(PART,)] - seen[()]
                total += draws
            print(f"{how:24}{what:18}" + "".join(f"{one:9.2f}" for one in line), flush=True)
    return wrong, total


def speed() -> None:
    """Processor seconds for 10,000 nodes."""
    scene = Scene(nodes=10_000, repetitions=1, partners=3, pairs_at_once=5000, noise=0.01, both={77: drop(0.5, 0.6)})
    series, names = scene.series(0), [f"n{place}" for place in range(10_000)]
    began = time.process_time()
    find_changes(series, names, EFFECTS)
    print(f"\n10,000 nodes, {len(series.log)} values: {time.process_time() - began:.2f} s of processor time")


def main() -> int:
    """Print everything; the exit status."""
    full = "--full" in sys.argv
    named, clean = healthy(2000 if full else 100)
    wrong, changed = power(200 if full else 20)
    speed()
    print(f"\nnames without a change: {named} of {clean} draws; wrong names beside a change: {wrong} of {changed}")
    return int(named > 0.01 * clean or wrong > 0.01 * changed)


if __name__ == "__main__":
    sys.exit(main())
