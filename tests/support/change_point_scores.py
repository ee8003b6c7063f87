"""Scores of change points against several annotators, and binary segmentation with default settings to compare with.

F1 and covering as van den Burg and Williams define them (An evaluation of change point detection algorithms, 2020,
sections 4.2 and 4.3): place 0 is a change point in every annotation and every answer.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Annotations = Mapping[str, Sequence[int]]
MARGIN = 5


def matched(truth: Iterable[int], answer: Iterable[int], margin: int = MARGIN) -> set[int]:
    """The true places for which there is an answer within the margin; each answer counts once."""
    left, found = set(answer), set()
    for place in sorted(truth):
        near = min(left, key=lambda one: (abs(one - place), one), default=None)
        if near is not None and abs(near - place) <= margin:
            found.add(place)
            left.remove(near)
    return found


def f1(annotations: Annotations, answer: Iterable[int], margin: int = MARGIN) -> float:
    """Precision against all annotators together, recall as the mean over annotators."""
    truths = [{0, *places} for places in annotations.values()]
    answers = {0, *answer}
    precision = len(matched(set().union(*truths), answers, margin)) / len(answers)
    recall = float(np.mean([len(matched(truth, answers, margin)) / len(truth) for truth in truths]))
    return 2 * precision * recall / (precision + recall)


def covering(annotations: Annotations, answer: Iterable[int], count: int) -> float:
    """Mean over annotators of how well the answer's segments cover theirs (Jaccard index, by length)."""
    answered = _segments(answer, count)
    each = []
    for places in annotations.values():
        covered = [(end - first) * max(_jaccard((first, end), one) for one in answered)
                   for first, end in _segments(places, count)]  # fmt: skip
        each.append(sum(covered) / count)
    return float(np.mean(each))


def _segments(places: Iterable[int], count: int) -> list[tuple[int, int]]:
    edges = [0, *sorted({place for place in places if 0 < place < count}), count]
    return list(itertools.pairwise(edges))


def _jaccard(one: tuple[int, int], other: tuple[int, int]) -> float:
    both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return both / (max(one[1], other[1]) - min(one[0], other[0]))


def binary_segmentation(values: Numbers, most: int = 5) -> list[int]:
    """R's `cpt.mean(scale(x), method = "BinSeg", penalty = "MBIC", Q = 5)`: normal, variance 1, changes of the mean.

    Killick and Eckley, changepoint: an R package, JSS 58, 2014; MBIC of Zhang and Siegmund, Biometrics 63, 2007.
    """
    series = (values - values.mean()) / values.std(ddof=1)
    count = len(series)
    total, squares = np.concatenate(([0.0], np.cumsum(series))), np.concatenate(([0.0], np.cumsum(series**2)))

    def cost(first: NDArray[np.intp] | int, end: NDArray[np.intp] | int) -> Numbers:
        length = np.asarray(end) - np.asarray(first)
        return np.asarray(squares[end] - squares[first] - (total[end] - total[first]) ** 2 / length + np.log(length))

    edges, least, kept = [0, count], np.inf, []
    for _ in range(most):
        best, place = -np.inf, 0
        for first, end in itertools.pairwise(edges):
            places = np.arange(first + 1, end)
            if not len(places):
                continue
            gains = cost(first, end) - cost(first, places) - cost(places, end)
            if gains.max() > best:
                best, place = float(gains.max()), int(places[np.argmax(gains)])
        least = min(least, best)
        if least < 3 * np.log(count):
            break
        kept.append(place)
        edges = sorted([*edges, place])
    return sorted(kept)


def labelled_series(folder: Path) -> dict[str, tuple[Numbers, dict[str, list[int]]]]:
    """Name -> values with a column for each dimension, and the annotations, of a folder in TCPD's format."""
    annotations = json.loads((folder / "annotations.json").read_text())
    found = {}
    for path in sorted(folder.glob("*.json")):
        if path.stem in annotations:
            series = json.loads(path.read_text())["series"]
            found[path.stem] = np.array([one["raw"] for one in series], dtype=np.float64).T, annotations[path.stem]
    return found
