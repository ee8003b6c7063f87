"""The assessment of a growing run: evidence, references and suspects, of which new measurements renew their share."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from seatrial.commands.check.survey import Survey
from seatrial.commands.check.survey_suspects import behind_slow_uplinks
from seatrial.commands.check.suspects import Suspicion, suspect_all
from seatrial.drift.peer_groups import one_kernel
from seatrial.judgement.pair_limit import has_path_limits, limit_of_flow
from seatrial.limits.path import path_limits
from seatrial.locate.evidence import MeasuredPair, Pair, PairEvidence
from seatrial.locate.references import Baselines, PeerLine, References, scales_of
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RecordedRun
from seatrial.model.units import BANDWIDTH, LATENCY

Ways = tuple[float, float]
"""What the best path of a pair and all its paths together let through: alike for nodes of one model."""


class Assessment(NamedTuple):
    """What the driver chooses the next experiment from, and what a judgement is made of."""

    evidence: Mapping[Pair, MeasuredPair]
    references: References
    suspicion: Suspicion


class Assessor:
    """Assesses one run again and again while it grows. Facts, fabric and effects are those of the first call."""

    def __init__(self) -> None:
        self._unfinished = False
        self._forget()

    def _forget(self) -> None:
        self._pairs = PairEvidence()
        self._limits: dict[Pair, Limit] = {}
        self._paths: dict[Pair, Limit] = {}
        self._wider: dict[Ways, Limit] = {}
        self._scales: Mapping[Pair, float] = {}
        self._taken = 0
        self._growing: _Growing | None = None
        self._last: Assessment | None = None

    def assess(self, recorded: RecordedRun) -> Assessment:
        """`recorded`: the run until now. What was measured before the last call comes first, and is not read again.

        After a call that an interrupt ended half way, everything is assessed from the beginning.
        """
        if self._unfinished:
            self._forget()
        if self._last is not None and len(recorded.measurements) == self._taken:
            return self._last
        self._unfinished = True
        self._taken = len(recorded.measurements)
        fresh = self._pairs.take(recorded.measurements)
        evidence = dict(self._pairs.by_pair)
        growing = self._growing = self._growing or _Growing(recorded)
        if fresh.has_new_pairs and has_path_limits(recorded):
            fresh_pairs, figure = fresh.pairs - self._paths.keys(), recorded.info.figure
            self._paths |= limits_of(fresh_pairs, recorded.facts, of_gpus=figure is not None and figure.of_gpus)
        wider = self._limits_of_rails(evidence, recorded.facts)
        if wider.keys() != self._wider.keys() and self._last is not None:  # what was judged before has other limits
            self._forget()
            return self.assess(recorded)
        self._wider = wider
        if fresh.has_new_pairs:
            self._limits = {
                pair: msgspec.structs.replace(wider[_ways(limit)], path=limit.path) if _ways(limit) in wider else limit
                for pair, limit in self._paths.items()
            }
            self._scales = scales_of(self._limits, recorded.facts)
            growing.fabric = growing.fabric.measured(evidence)
        references = growing.baselines.update(evidence, fresh.pairs, self._limits, growing.fabric, self._scales)
        located = growing.survey.locate(evidence, fresh, references)
        if explained := behind_slow_uplinks(located, evidence, growing.fabric):
            references = growing.baselines.without(explained, references)
        growing.survey.update(evidence, fresh, references)
        suspicion = suspect_all(growing.survey, references, unknown_waits=self._pairs.without_waits)
        self._last = Assessment(growing.survey.evidence, references, suspicion)
        self._unfinished = False
        return self._last

    def _limits_of_rails(
        self, evidence: Mapping[Pair, MeasuredPair], facts: Mapping[str, NodeFacts]
    ) -> dict[Ways, Limit]:
        """If a pair carried more than its best path lets through, MPI uses several rails: what they carry together is
        the limit of all pairs with the same ways, in the words of the first of these pairs.
        """
        first: dict[Ways, Pair] = {}
        beyond: dict[Ways, Estimate] = {}
        for pair, limit in self._paths.items():
            if limit.gate_bytes_per_s > limit.limit_bytes_per_s:
                ways, measured = _ways(limit), evidence[pair].bandwidth_estimate
                first[ways] = min(pair, first.get(ways, pair))
                if measured and (ways not in beyond or measured.low > beyond[ways].low):
                    beyond[ways] = measured
        wider = {ways: limit_of_flow(facts, first[ways], measured) for ways, measured in beyond.items()}
        return {
            ways: limit
            for ways, limit in wider.items()
            if isinstance(limit, Limit) and limit.limit_bytes_per_s > ways[0]
        }

    def noise_of_runs(self, line: PeerLine) -> float:
        """Scatter of the repetitions of a pair in the survey, as a logarithm; 0 before the second one."""
        runs = self._growing.survey.survey_runs if self._growing else None
        return runs.noise(line.usual) if runs and runs.repeated.any() else 0.0


def _ways(limit: Limit) -> Ways:
    return limit.limit_bytes_per_s, limit.gate_bytes_per_s


class _Growing:
    """What a run that grows is assessed by, begun with its first measurements."""

    def __init__(self, recorded: RecordedRun) -> None:
        asked = {BANDWIDTH: recorded.info.effect, LATENCY: recorded.info.latency_effect}
        self.fabric = recorded.fabric.measured(())
        self.baselines = Baselines(
            alike=not on_one_machine(recorded.facts), one_kernel=one_kernel(recorded.facts.values()), asked=asked
        )
        self.survey = Survey(self.fabric, asked)


def on_one_machine(facts: Mapping[str, NodeFacts]) -> bool:
    """Whether what was measured are ranks of one and the same host."""
    return len(facts) > 1 and len({known.hostname for known in facts.values()}) == 1


def limits_of(pairs: Iterable[Pair], facts: Mapping[str, NodeFacts], *, of_gpus: bool = False) -> dict[Pair, Limit]:
    """Limits of those pairs that have one."""
    limits = path_limits(pairs, facts, of_gpus=of_gpus)
    return {pair: limit for pair, limit in limits.items() if isinstance(limit, Limit)}
