"""How many runs, nodes and node-hours a claim needs, from how much the runs of an archive vary."""

import enum
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.judgement.comparison.subjects import FEWEST_RUNS, node_columns, pair_columns
from seatrial.model.run_values import MetricTable, RunMetric, RunSummary
from seatrial.statistics.estimates import ERROR_RATE, median, runs_to_detect
from seatrial.statistics.run_comparison import compare_runs


class Claim(enum.StrEnum):
    """What is to be shown."""

    EVERYTHING = "all pairs together changed"
    THIS_NODE = "a node that is known beforehand changed"
    ANY_NODE = "any one of the nodes changed"


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim in one metric needs."""

    metric: RunMetric
    claim: Claim
    deviation: float
    """Standard deviation of the logarithm of one run that the claim depends on."""
    runs: int | None
    """Runs of each set, before and after; None: too many, or too little is known."""
    more_runs: int | None
    """Runs after the change, where those of the archive are the ones before it."""
    node_hours: float | None
    """Node-hours of `more_runs`; None if that or the duration of a run is unknown."""


class ComparisonPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What runs like those of the archive can show."""

    effect: float
    runs: tuple[RunSummary, ...]
    nodes: int
    """Nodes of one run, the median."""
    node_hours_a_run: float | None
    needs: tuple[Need, ...]

    @property
    def enough_known(self) -> bool:
        """Whether there are enough runs to know how much they vary."""
        return len(self.runs) >= FEWEST_RUNS and bool(self.needs)


def plan_runs(
    runs: Sequence[RunSummary], tables: Sequence[MetricTable], effect: float, leaf_of: Mapping[str, str]
) -> ComparisonPlan:
    """`tables`: the metrics of interest, one row for each of `runs`, which were all measured alike."""
    hours = [len(run.nodes) * run.seconds / 3600 for run in runs if run.seconds and run.nodes]
    cost = median(hours) if hours else None
    needs = [need for table in tables for need in _needs(table, effect, leaf_of, cost)]
    return ComparisonPlan(
        effect=effect,
        runs=tuple(runs),
        nodes=round(median([len(run.nodes) for run in runs])) if runs else 0,
        node_hours_a_run=cost,
        needs=tuple(needs),
    )


def _needs(table: MetricTable, effect: float, leaf_of: Mapping[str, str], hours: float | None) -> list[Need]:
    """The last run is also the second set, where it adds nothing to what is known of the deviations."""
    count = len(table.values)
    doubled = table.rows([*range(count), count - 1])
    pairs = pair_columns(doubled, count)
    if table.metric.of_nodes:
        pairs = node_columns(doubled, count, leaf_of) or pairs
    if not pairs.names or len(pairs.first) < FEWEST_RUNS:
        return []
    levels = compare_runs(pairs.first, pairs.second).levels
    needs = [_need(table.metric, Claim.EVERYTHING, levels.run, 1 - ERROR_RATE, effect, hours, len(pairs.first))]
    nodes = node_columns(doubled, count, leaf_of)
    if nodes is not None and len(nodes.names) > 1 and len(nodes.first) >= FEWEST_RUNS:
        deviation, fewest = compare_runs(nodes.first, nodes.second).levels.one_run, nodes.fewest_runs
        for claim, confidence in (
            (Claim.THIS_NODE, 1 - ERROR_RATE), (Claim.ANY_NODE, 1 - ERROR_RATE / len(nodes.names)),
        ):  # fmt: skip
            needs.append(_need(table.metric, claim, deviation, confidence, effect, hours, len(nodes.first), fewest))
    return needs


def _need(
    metric: RunMetric,
    claim: Claim,
    deviation: float,
    confidence: float,
    effect: float,
    hours: float | None,
    existing: int,
    fewest: int = 1,
) -> Need:
    counts = [runs_to_detect(effect, deviation, before=before, confidence=confidence) for before in (0, existing)]
    runs, more = (None if each is None else max(each, fewest) for each in counts)
    cost = more * hours if more is not None and hours is not None else None
    return Need(metric=metric, claim=claim, deviation=deviation, runs=runs, more_runs=more, node_hours=cost)
