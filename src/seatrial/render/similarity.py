"""An order of the rows of a map in which like rows are neighbours, so that groups and culprits become blocks."""

import numpy as np

from seatrial.model.run_values import Reals


def similarity_order(values: Reals) -> tuple[int, ...]:
    """Numbers of the rows of a square matrix by average linkage, in each merger the lower values first.

    `values`: positive, from row to column; NaN where nothing was measured. Two rows are like each other if their
    logarithms are, in both directions. A missing value is what its row and its column have in the middle.
    """
    profiles, level = _profiles(values)
    squares = np.einsum("ij,ij->i", profiles, profiles)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * profiles @ profiles.T, 0.0))
    return tuple(_linked(distance, level))


def _profiles(values: Reals) -> tuple[Reals, Reals]:
    """Logarithms out of and into each row, and its level: the sum of the middles of both."""
    positive = np.isfinite(values) & (values > 0)
    logs = np.full(values.shape, np.nan)
    logs[positive] = np.log(values[positive])
    if positive.any():
        logs -= np.median(logs[positive])
    out, into = _middles(logs), _middles(logs.T)
    filled = np.where(np.isnan(logs), out[:, None] + into, logs)
    return np.hstack((filled, filled.T)), out + into


def _middles(logs: Reals) -> Reals:
    """The median of each row; 0 for a row without values."""
    return np.array([np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else 0.0 for row in logs])


def _linked(distance: Reals, level: Reals) -> list[int]:
    """The leaves of the tree of average linkage, by chains of nearest neighbours (Murtagh, Comput. J. 26 (1983) 354).

    `distance` is used up: a group is in the row of one of its members, and rows of the others become infinite.
    """
    groups = {number: [number] for number in range(len(distance))}
    levels = level.tolist()
    np.fill_diagonal(distance, np.inf)
    chain: list[int] = []
    while len(groups) > 1:
        if not chain:
            chain.append(next(iter(groups)))
        last = chain[-1]
        nearest = int(np.argmin(distance[last]))
        if len(chain) < 2 or distance[last, nearest] < distance[last, chain[-2]]:
            chain.append(nearest)
            continue
        kept, gone = sorted((chain.pop(), chain.pop()))
        sizes = len(groups[kept]), len(groups[gone])
        joined = np.average(distance[[kept, gone]], axis=0, weights=sizes)
        distance[kept], distance[:, kept] = joined, joined
        distance[gone], distance[:, gone], distance[kept, kept] = np.inf, np.inf, np.inf
        parts = sorted((kept, gone), key=lambda number: (levels[number], number))
        groups[kept] = [member for part in parts for member in groups[part]]
        levels[kept] = np.average([levels[kept], levels[gone]], weights=sizes)
        del groups[gone]
    return next(iter(groups.values()), [])
