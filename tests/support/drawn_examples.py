"""The ten examples of docs/check.md: runs on clusters whose fault, level and noise are drawn by their number."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seatrial.commands.check.judge import judge
from seatrial.locate.evidence import Pair, run_value, stalls_of
from seatrial.model.judgement import Judgement
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction, SubjectKind
from seatrial.statistics.estimates import median, robust_scale
from tests.support.builders import Cluster, names, sail, slow_part

FAULTS = ("none", "out", "in", "both", "pair", "sometimes", "loss")
EXAMPLES = range(27, 37)


@dataclass(frozen=True)
class Example:
    """A run, and which of its ordered pairs the row of the example is about; none where all are alike."""

    number: int
    nodes: int
    recorded: RecordedRun
    healthy: bool
    part: str
    crosses: Callable[[Pair], bool]

    @property
    def judgement(self) -> Judgement:
        """All verdicts of the run."""
        return judge(self.recorded)

    @property
    def row(self) -> str:
        """What was measured, as a row of the table: all that a reader needs to predict the answer."""
        survey = self._ratios(Phase.SURVEY)
        again = self._ratios(Phase.RETEST)
        cells = [str(self.number), str(self.nodes), percent(self._scatter()), self.part]
        cells += [percent(median(survey))]
        cells += [percent(value) for value in (min(again), median(again), max(again))] if again else ["–"] * 3
        cells += [self._stalls()]
        return f"| {' | '.join(cells)} |"

    @property
    def answer(self) -> str:
        """The gravest finding, or the verdict of the run."""
        found = []
        for one in self.judgement.findings:
            way = f" {one.direction}" if one.subject.kind is SubjectKind.NODE else ""
            found.append(f"`{one.verdict.value}` {one.subject.name}{way}")
        return ", ".join(found) or f"`{self.judgement.verdict.value}`"

    def _of(self, phase: Phase, kernel: Kernel = Kernel.ONEWAY) -> list[Measurement]:
        return [one for one in self.recorded.measurements if (one.phase, one.shape.kernel) == (phase, kernel)]

    def _ratios(self, phase: Phase) -> list[float]:
        """The median of the part's pairs as a share of that of the others, for each repetition."""
        ratios = []
        for _, together in itertools.groupby(self._of(phase), key=lambda one: one.repetition):
            runs = list(together)
            own = [run_value(one) for one in runs if self.crosses(one.pair)]
            rest = [run_value(one) for one in runs if not self.crosses(one.pair)]
            ratios += [median(own) / median(rest)] if own and rest else []
        return ratios

    def _scatter(self) -> float:
        good = [run_value(one) for one in self._of(Phase.SURVEY) if not self.crosses(one.pair)]
        return robust_scale(good) / median(good)

    def _stalls(self) -> str:
        """How many of how many round trips stalled, in the survey and when measured again."""
        texts = []
        for phase in (Phase.SURVEY, Phase.RETEST):
            trips = self._of(phase, Kernel.PINGPONG)
            both = [one for one in trips if self.crosses(one.pair) or self.crosses(one.pair[::-1])]
            stalled = sum(stalls_of(one, one.times_s)[0] for one in both)
            texts += [f"{stalled} of {sum(len(one.times_s) for one in both)}"] if both else []
        return ", ".join(texts)


def percent(ratio: float) -> str:
    """The share with one decimal."""
    return f"{100 * ratio:.1f} %"


def drawn(number: int) -> Example:
    """The example with this number."""
    draw = random.Random(number)
    nodes = names(draw.choice((5, 6, 8, 12)))
    fault, level = draw.choice(FAULTS), draw.choice((0.6, 0.9, 0.95, 0.965, 0.98, 0.99))
    noise, name, other = draw.choice((0.002, 0.005, 0.01, 0.02, 0.06)), *draw.sample(nodes, 2)
    settings: dict[str, Any] = {}
    part, crosses = name, lambda pair: name in pair
    match fault:
        case "out" | "in":
            settings["parts"] = slow_part("node", name, level, (Direction(fault),))
            part, crosses = f"{name} {fault}", (lambda pair: pair[0 if fault == "out" else 1] == name)
        case "both":
            settings["parts"] = slow_part("node", name, level)
        case "pair":
            settings["pairs"] = {(name, other): level}
            part, crosses = f"{name}>{other}", (lambda pair: pair == (name, other))
        case "sometimes":
            bad = frozenset(draw.sample(range(6), 3))
            settings["mood"] = lambda _, repetition, pair: level if name in pair and repetition in bad else 1.0
        case "loss":
            settings["loss"] = {name: 1 - level}
    cluster = Cluster(nodes=nodes, noise=noise, seed=number, **settings)
    return Example(number, len(nodes), sail(cluster), fault == "none", part, crosses)
