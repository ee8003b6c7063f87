"""Changes of series: error rate, labelled series beside binary segmentation, and time beside apache-otava.

    .venv/bin/python bench/change_points.py [FOLDER OF TCPD] [--draws 400] [--otava PYTHON]

The folder has labelled series in the format of TCPD (alan-turing-institute/TCPD). `--otava` names the Python of an
environment that has `apache-otava`; both programs run one after the other on the same machine.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.change_point_scores import binary_segmentation, covering, f1, labelled_series
from tests.support.paths import ROOT

from seatrial.statistics.change_points import find_changes

COUNTS = (12, 20, 40, 100, 300, 1000)
AUTOCORRELATIONS = (0.0, 0.3, 0.6, 0.8)
KINDS = ("normal", "t3", "wild", "rounded")
OTAVA = """
import json, sys, time
import numpy as np
from otava.analysis import compute_change_points
series = np.load(sys.argv[1])
for line in sys.stdin:
    rows = np.atleast_2d(series[line.strip()])
    began = time.process_time()
    places = [
        sorted(int(one.index) for one in compute_change_points(list(row), window_len=50, max_pvalue=0.001)[0])
        for row in rows
    ]
    print(json.dumps({"seconds": time.process_time() - began, "places": places}), flush=True)
"""
BLOCKS = 10
"""Of series, which both programs take in turn: the machine's speed changes within seconds."""
NEAR = 5
"""Places that differ by no more are the same change, as in the scores of labelled series."""
STEP, CHANGED_AT = 3.0, 600


def noise(count: int, draws: int, autocorrelation: float, kind: str, generator: np.random.Generator) -> np.ndarray:
    """Unchanged series, one a row."""
    steps = (
        generator.standard_t(3, (count + 100, draws)) if kind == "t3" else generator.normal(size=(count + 100, draws))
    )
    values = steps.copy()
    for place in range(1, len(values)):
        values[place] = autocorrelation * values[place - 1] + steps[place]
    values = values[100:].T + 100
    if kind == "wild":
        wild = generator.random(values.shape) < 0.02
        values = values + wild * generator.choice([-1, 1], values.shape) * generator.uniform(5, 20, values.shape)
    return np.round(values) if kind == "rounded" else values


def error_rates(draws: int) -> bool:
    """The share of unchanged series in which a change is reported; whether their mean is at most 1 %."""
    generator = np.random.default_rng(5)
    print(f"Unchanged series reported as changed, of {draws} each (limit 1 %), by autocorrelation:\n")
    print("values  noise   " + "".join(f"{one:>8}" for one in AUTOCORRELATIONS))
    everything = []
    for count in COUNTS:
        for kind in KINDS:
            row = []
            for autocorrelation in AUTOCORRELATIONS:
                found = [
                    bool(find_changes(one).changes) for one in noise(count, draws, autocorrelation, kind, generator)
                ]
                row.append(float(np.mean(found)))
            everything += row
            print(f"{count:>6}  {kind:8}" + "".join(f"{100 * one:7.2f}%" for one in row))
    print(f"\nMean {100 * np.mean(everything):.2f} %, largest {100 * max(everything):.2f} %\n")
    return float(np.mean(everything)) <= 0.01


def labelled(folder: Path) -> bool:
    """F1 and covering of each labelled series, ours and binary segmentation's; whether ours are at least as good."""
    print("Labelled series: F1 / covering (changes). Binary segmentation: mean, MBIC, Q = 5, standardised, as R's\n")
    methods = {
        "seatrial": lambda values: [one.index for one in find_changes(values).changes],
        "binary segmentation": binary_segmentation,
        "no change": lambda _: [],
    }
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    print(f"{'series':22}" + "".join(f"{name:>24}" for name in methods))
    for series, (values, annotations) in labelled_series(folder).items():
        row = f"{series:22}"
        for name, search in methods.items():
            answer = sorted({place for column in values.T for place in search(column)})
            one = f1(annotations, answer), covering(annotations, answer, len(values))
            scores[name].append(one)
            row += f"{one[0]:14.3f} / {one[1]:.3f}{'(' + str(len(answer)) + ')':>2}"
        print(row)
    means = {name: np.mean(each, axis=0) for name, each in scores.items()}
    print(f"{'mean':22}" + "".join(f"{one[0]:14.4f} / {one[1]:.4f} " for one in means.values()) + "\n")
    return bool((means["seatrial"] >= means["binary segmentation"]).all())


def beside_otava(work: Path, python: Path | None, labels: Path, count: int = 1000) -> None:
    """Processor time and places of 1,000 series of 1,000 values, half of them with a change, and of labelled series."""
    generator = np.random.default_rng(9)
    series = generator.normal(100, 1, (count, 1000))
    series[::2, CHANGED_AT:] += STEP
    blocks = {f"block {number}": block for number, block in enumerate(np.array_split(series, BLOCKS))}
    if python is None:
        seconds = sum(timed(block)[0] for block in blocks.values())
        print(f"seatrial: {count} series of 1,000 values in {seconds:.2f} s")
        print("apache-otava was not given (--otava): not compared")
        return
    real = labelled_series(labels) if labels else {}
    columns = {f"{name} {place}": column for name, (values, _) in real.items() for place, column in enumerate(values.T)}
    whole = {name: column for name, column in columns.items() if not np.isnan(column).any()}
    work.mkdir(parents=True, exist_ok=True)
    np.savez(work / "series.npz", **blocks, **whole)
    command = [str(python), "-c", OTAVA, str(work / "series.npz")]
    ours: list[list[int]] = []
    theirs: list[list[int]] = []
    times = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as otava:
        for name, block in blocks.items():
            ours_s, found = timed(block)
            done = answer(otava, name)
            times.append((ours_s, done["seconds"]))
            ours += found
            theirs += done["places"]
        real_places = {name: answer(otava, name)["places"][0] for name in whole}
        otava.communicate()
    own, other = (sum(each) for each in zip(*times, strict=True))
    ratios = sorted(theirs_s / ours_s for ours_s, theirs_s in times)
    print(f"{count} series of 1,000 values: seatrial {own:.2f} s, apache-otava 0.8 (its default method) {other:.2f} s")
    print(f"{np.median(ratios):.1f} times as long, {BLOCKS} blocks {ratios[0]:.1f} to {ratios[-1]:.1f}\n")
    print(f"Places: equal, alike (within {NEAR}), and how many changes are found where there is one, or none\n")
    for words, rows, truth in (("a change", slice(0, None, 2), [CHANGED_AT]), ("no change", slice(1, None, 2), [])):
        beside(f"{count // 2} series with {words}", ours[rows], theirs[rows], truth)
    found = [[one.index for one in find_changes(column).changes] for column in whole.values()]
    beside(f"{len(whole)} labelled series", found, list(real_places.values()))
    for one, (name, places) in zip(found, real_places.items(), strict=True):
        print(f"  {name:24} {one} / {places}")


def timed(series: np.ndarray) -> tuple[float, list[list[int]]]:
    """Seconds of the processor, and the places of changes in each series."""
    began = time.process_time()
    found = [[one.index for one in find_changes(values).changes] for values in series]
    return time.process_time() - began, found


def answer(otava: "subprocess.Popen[str]", name: str) -> dict[str, Any]:
    """What apache-otava finds in the series of that name."""
    assert otava.stdin is not None
    assert otava.stdout is not None
    print(name, file=otava.stdin, flush=True)
    found: dict[str, Any] = json.loads(otava.stdout.readline())
    return found


def beside(name: str, ours: list[list[int]], theirs: list[list[int]], truth: list[int] | None = None) -> None:
    """One line: how often both programs name the same places, and how often each names the true ones."""
    pairs = list(zip(ours, theirs, strict=True))
    equal = sum(one == other for one, other in pairs)
    alike = sum(
        len(one) == len(other) and all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))
        for one, other in pairs
    )
    line = f"{name}: equal {equal}, alike {alike}"
    if truth is not None:
        right = [sum(one == truth for one in found) for found in (ours, theirs)]
        numbers = [sum(len(one) == len(truth) for one in found) for found in (ours, theirs)]
        line += (
            f"; exactly the truth: seatrial {right[0]}, otava {right[1]}; the true number: {numbers[0]}, {numbers[1]}"
        )
    print(line)


def main() -> int:
    """0 where the error rate holds and the labelled series score at least as well as with binary segmentation."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--draws", type=int, default=100)
    options.add_argument("--otava", type=Path, metavar="PYTHON")
    given = options.parse_args()
    good = error_rates(given.draws)
    if given.folder:
        good &= labelled(given.folder)
    beside_otava(ROOT / "build" / "change_points", given.otava, given.folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
