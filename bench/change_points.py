"""Changes of series: error rate, labelled series beside binary segmentation, and time beside apache-otava.

    .venv/bin/python bench/change_points.py [FOLDER OF TCPD] [--draws 400] [--otava PYTHON]

Without a folder the labelled series are those of the larger data set, if it is there. `--otava` names the Python of an
environment that has `apache-otava`; both programs run one after the other on the same machine.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.change_point_scores import binary_segmentation, covering, f1, labelled_series
from tests.support.paths import ROOT, SHARED

from seatrial.statistics.change_points import find_changes

COUNTS = (12, 20, 40, 100, 300, 1000)
AUTOCORRELATIONS = (0.0, 0.3, 0.6, 0.8)
KINDS = ("normal", "t3", "wild", "rounded")
OTAVA = """
import json, sys, time
import numpy as np
from otava.analysis import compute_change_points
series = np.load(sys.argv[1])
began = time.process_time()
for values in series:
    compute_change_points(list(values), window_len=50, max_pvalue=0.001, min_magnitude=0.0)
print(json.dumps(time.process_time() - began))
"""


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


def times(folder: Path, python: Path | None, count: int = 1000) -> None:
    """Processor time of 1,000 series of 1,000 values, half of them with a change, in turn with otava."""
    generator = np.random.default_rng(9)
    series = generator.normal(100, 1, (count, 1000))
    series[::2, 600:] += 3
    began = time.process_time()
    for values in series:
        find_changes(values)
    ours_s = time.process_time() - began
    print(f"seatrial: {count} series of 1,000 values in {ours_s:.2f} s")
    if python is None:
        print("apache-otava was not given (--otava): not compared")
        return
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "series.npy", series)
    command = [str(python), "-c", OTAVA, str(folder / "series.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    otava_s = json.loads(done.stdout)
    print(f"apache-otava 0.8: the same in {otava_s:.2f} s, {otava_s / ours_s:.1f} times as long (its default method)")


def main() -> int:
    """0 where the error rate holds and the labelled series score at least as well as with binary segmentation."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=SHARED / "changepoints")
    options.add_argument("--draws", type=int, default=100)
    options.add_argument("--otava", type=Path, metavar="PYTHON")
    given = options.parse_args()
    good = error_rates(given.draws)
    if (given.folder / "annotations.json").exists():
        good &= labelled(given.folder)
    times(ROOT / "build" / "change_points", given.otava)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
