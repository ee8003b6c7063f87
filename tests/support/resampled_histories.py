"""Histories made of recorded jobs: bursts of NREL's Eagle drawn again and again, and what is planted in them.

`tests/data/accounting/eagle-bursts.json` has the families of a recorded history with at least `FEWEST` jobs, and each
burst of a family as the run times of its jobs. A history keeps what a model would lose: how often families run, how
many jobs they send at once, how wide they are, how run times scatter in a burst and between bursts, and time limits.
How often a family runs changes over the period, and so does how many jobs it sends at once.
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np

from tests.support.job_histories import HEADER

RECORDED_BURSTS = Path(__file__).resolve().parents[1] / "data" / "accounting" / "eagle-bursts.json"
BEGINNING = datetime(2026, 3, 2)
FAILING = 0.03
"""Share of jobs that fail, at any time of their run; the recorded jobs are those that completed or reached a limit."""
NOISE = 0.02
"""Deviation of a burst's run times, and of each, beyond the recorded ones, but of jobs that were cut off: a second that
is recorded once would come again and again, and show small effects too well."""
BREAKING = 0.9
"""Share of a program's jobs that fail on a node that breaks it."""
TRIALS, TRIED_S = 8, 900.0
"""How often a user tries a program that fails, and how far apart in time."""
MOST_OFTEN = 12.0
"""Bursts of a day and family at most."""


class RecordedFamily(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of one user, size, limit and partition; `bursts`: run times of those submitted within an hour."""

    user: str
    partition: str
    size: int
    processors: int
    limit_s: float
    days: float
    """Length of the record."""
    bursts: tuple[tuple[float, ...], ...]

    @property
    def jobs(self) -> float:
        """How many a day has."""
        return sum(map(len, self.bursts)) / self.days

    @property
    def width(self) -> float:
        """Distance of the quartiles of the run times' logarithms."""
        times = np.log(np.maximum(np.concatenate([np.array(burst) for burst in self.bursts]), 1.0))
        return float(np.subtract(*np.percentile(times, [75, 25])))


class Resampled(msgspec.Struct, frozen=True, kw_only=True):
    """A period of a cluster. `planted`: how many times as long jobs of families take from `changed` on."""

    seed: int
    nodes: int = 400
    families: int = 20
    days: int = 120
    changed: int = 60
    planted: Sequence[float] = ()
    """Each in a family drawn from those whose recorded run times scatter less (distance of quartiles)."""
    slow_nodes: Mapping[str, float] = {}
    only: str = ""
    """A node that gets all jobs of one family of single-node jobs, which become slower by `only_factor`, and no others.
    """
    only_factor: float = 2.0
    breaking: str = ""
    """A node on which nearly all jobs of the single-node family with most of them fail from `changed` on."""
    tried_on: str = ""
    """A node on which three users each try a program of theirs `TRIALS` times on the day `changed`; it fails."""


def recorded_families() -> tuple[RecordedFamily, ...]:
    """All that are recorded."""
    return msgspec.convert(json.loads(RECORDED_BURSTS.read_text()), tuple[RecordedFamily, ...])


class ResampledHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What sacct would print, and the name of each planted family with its factor."""

    text: str
    planted: dict[str, float]

    @property
    def lines(self) -> list[bytes]:
        """As a file has them."""
        return self.text.encode().splitlines(keepends=True)


def resampled(history: Resampled) -> ResampledHistory:
    """The history of that seed."""
    random = np.random.default_rng(history.seed)
    recorded = recorded_families()
    chosen = [recorded[place] for place in random.permutation(len(recorded))[: history.families]]
    factors = [1.0] * len(chosen)
    for factor in sorted(history.planted):
        fits = [at for at, one in enumerate(chosen) if one.width < math.log(factor) and factors[at] == 1.0]
        factors[int(random.choice(fits))] = factor
    single = next((at for at, one in enumerate(chosen) if one.size == 1), -1) if history.only else -1
    writer = _Writer(history, random)
    singles = sorted((at for at, one in enumerate(chosen) if one.size == 1), key=lambda at: -chosen[at].jobs)
    for at, family in enumerate(chosen):
        writer.breaks = at == singles[0] and bool(history.breaking)
        _run(writer, family, f"code{chr(97 + at)}", factors[at], alone=at == single)
    users = {chosen[at].user: at for at in singles} if history.tried_on else {}
    for at in list(users.values())[:3]:
        for number in range(TRIALS):
            writer.write(chosen[at], f"code{chr(97 + at)}", history.changed, 4e4 + TRIED_S * number, 600.0, number,
                         tried=True)  # fmt: skip
    planted = {f"{chosen[at].user}/code{chr(97 + at)}": factor for at, factor in enumerate(factors) if factor != 1.0}
    return ResampledHistory(text="\n".join([HEADER, *writer.lines, ""]), planted=planted)


def _run(writer: "_Writer", family: RecordedFamily, name: str, factor: float, *, alone: bool) -> None:
    """All jobs of a family. How often it runs and how many jobs it sends grow or shrink over the period."""
    random, history = writer.random, writer.history
    often = min(len(family.bursts) / family.days, MOST_OFTEN)
    slope, growth = random.uniform(-1.5, 1.5, 2)
    for day in range(history.days):
        course = day / history.days - 0.5
        for _ in range(random.poisson(often * math.exp(slope * course))):
            burst = np.array(family.bursts[int(random.integers(len(family.bursts)))])
            size = max(1, round(len(burst) * math.exp(growth * course)))
            noise = NOISE * (random.standard_normal() + random.standard_normal(size))
            times = random.choice(burst, size)
            times = np.where(times < family.limit_s, times * np.exp(noise), times) * (
                factor if day >= history.changed else 1.0
            )
            if alone:
                times = times * history.only_factor
            began = random.uniform(0, 86_000)
            for task, seconds in enumerate(times):
                writer.write(family, name, day, began, float(seconds), task, alone=alone)


class _Writer:
    """Lines of sacct."""

    def __init__(self, history: Resampled, random: np.random.Generator) -> None:
        self.history = history
        self.random = random
        self.lines: list[str] = []
        self.breaks = False
        """Whether jobs of the family fail on the node that breaks a program."""
        self._number = 1000
        self._names = np.array([f"n{at}" for at in range(1, history.nodes + 1) if f"n{at}" != history.only])

    def write(
        self,
        family: RecordedFamily,
        name: str,
        day: int,
        began_s: float,
        seconds: float,
        task: int,
        *,
        alone: bool = False,
        tried: bool = False,
    ) -> None:
        """One job, on neighbouring nodes or on any, and as slow as its slowest node."""
        self._number += 1
        random = self.random
        history = self.history
        nodes = [history.only] if alone else [history.tried_on] if tried else self._nodes(family.size)
        seconds *= max(history.slow_nodes.get(node, 1.0) for node in nodes)
        state, exit_code = "COMPLETED", "0:0"
        breaks = self.breaks and day >= history.changed and history.breaking in nodes
        if tried or random.random() < (BREAKING if breaks else FAILING):
            state, exit_code, seconds = "FAILED", "1:0", seconds * random.random()
        if seconds >= family.limit_s:
            state, exit_code, seconds = "TIMEOUT", "0:0", family.limit_s
        elapsed = max(round(seconds), 1)
        begun = BEGINNING + timedelta(days=day, seconds=int(began_s))
        limit = int(family.limit_s)
        fields = (
            self._number,
            family.user,
            family.partition,
            family.size,
            family.processors,
            begun.isoformat(),
            begun.isoformat(),
            (begun + timedelta(seconds=elapsed)).isoformat(),
            elapsed,
            "00:00:00",
            f"{limit // 86400}-{limit // 3600 % 24:02}:{limit // 60 % 60:02}:{limit % 60:02}",
            state,
            exit_code,
            ",".join(nodes),
            name,
            f"sbatch /home/{family.user}/{task}/{name}.sh",
        )
        self.lines.append("|".join(map(str, fields)))

    def _nodes(self, size: int) -> list[str]:
        names = self._names
        if self.random.random() < 0.5:
            first = int(self.random.integers(len(names)))
            return [str(names[(first + at) % len(names)]) for at in range(size)]
        return [str(names[at]) for at in self.random.choice(len(names), size, replace=False)]
