"""Background jobs of a simulated fabric: other traffic on its cables, and on its nodes if shared, part of the time."""

import random

from seatrial.fabric.routes import Path, Routes

JOB_NODES = 8
"""Nodes of one job, drawn over the whole fabric; each sends to the next one of them."""
JOB_LOAD = 0.3
"""Share of its path's bandwidth that each of these streams takes while the job communicates."""
BUSY_S, QUIET_S = 2.0, 8.0
"""Mean lengths of the phases with and without communication, in simulated seconds: a job is busy 20 % of the time."""


class Jobs:
    """All background jobs, each in a phase of its own."""

    def __init__(self, count: int, routes: Routes, seed: int, *, shared_nodes: bool = False) -> None:
        """`seed` of their places and of the lengths of their phases (exponential).

        Nodes are allocated to one job at a time as a rule: a background job then runs on nodes of its own below the
        same leaves, and its streams cross cables between switches only. `shared_nodes`: ports of the nodes as well.
        """
        self._draw = random.Random(seed)
        self._streams: list[list[Path]] = []
        for _ in range(count):
            nodes = self._draw.sample(routes.adapters, min(JOB_NODES, len(routes.adapters)))
            pairs = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
            paths = routes.paths(pairs) if shared_nodes else [path[1:-1] for path in routes.paths(pairs)]
            self._streams.append([path for path in paths if path])
        self._busy = [self._draw.random() < BUSY_S / (BUSY_S + QUIET_S) for _ in range(count)]
        self._left_s = [self._length_s(busy) for busy in self._busy]

    @property
    def streams(self) -> list[Path]:
        """Paths of all streams that flow now."""
        return [path for busy, paths in zip(self._busy, self._streams, strict=True) if busy for path in paths]

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        for job in range(len(self._busy)):
            rest = seconds - self._left_s[job]
            while rest >= 0:
                self._busy[job] = not self._busy[job]
                self._left_s[job] = self._length_s(self._busy[job])
                rest -= self._left_s[job]
            self._left_s[job] = -rest

    def _length_s(self, busy: bool) -> float:
        return self._draw.expovariate(1 / (BUSY_S if busy else QUIET_S))
