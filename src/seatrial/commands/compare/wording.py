"""The results of a comparison in words."""

import re
from collections.abc import Sequence

from seatrial.judgement.comparison.records import Changed, Comparison, Counts, MetricChange, Proof, ProofOutcome
from seatrial.model import units
from seatrial.model.measurement import Phase
from seatrial.model.run_values import RunMetric, RunSummary
from seatrial.model.subject import FABRIC, SubjectKind
from seatrial.model.units import fine_share, share
from seatrial.model.verdict import ComparisonOutcome
from seatrial.model.words import count, natural_sorted, some
from seatrial.render.change_text import (
    MOST_NAMES,
    amount,
    change_text,
    estimate_text,
    fact_values,
    interval_text,
    speed_text,
)

LABEL = re.compile(r"(?<= )\w+=")
DECIDED = (ProofOutcome.CONFIRMED, ProofOutcome.REFUTED)


def subject_name(row: Changed, pairs: int) -> str:
    """n3, n1>n2, all 128 pairs."""
    if row.subject == FABRIC:
        return f"all {pairs} pairs" if pairs else "all nodes"
    return row.subject.name


def needed_text(row: Changed) -> str:
    """2 more runs of each would decide; empty where it is decided."""
    if row.outcome is not ComparisonOutcome.INCONCLUSIVE:
        return ""
    if row.more_runs is None:
        return "more runs than are worth planning would be needed to decide"
    return f"{count(row.more_runs, 'more run')} of each would decide"


def counts_text(counts: Counts) -> str:
    """1 slower, 31 same; empty for no subjects."""
    numbers = ((outcome.value, getattr(counts, outcome.value)) for outcome in ComparisonOutcome)
    return ", ".join(f"{number} {word}" for word, number in numbers if number)


def runs_text(first: Sequence[RunSummary], second: Sequence[RunSummary]) -> str:
    """3 runs compared with 1 run."""
    return f"{count(len(second), 'run')} compared with {count(len(first), 'run')} before"


def sentence(comparison: Comparison) -> str:
    """The first line, without its verdict."""
    runs = runs_text(comparison.first_runs, comparison.second_runs)
    if comparison.worst is None:
        return f"nothing was measured in both; {runs}"
    row = comparison.worst
    metric = next(each for each in comparison.metrics if each.metric == row.metric)
    if row.metric.main:
        shares = [f"a rank has {shares_text(comparison)}"] if comparison.rank_shares else []
        return "; ".join([*_of_main(comparison, metric, row), *shares, *_explained(comparison), runs])
    name = subject_name(row, sum_of(metric))
    if comparison.outcome is ComparisonOutcome.SAME or row is comparison.undecided:
        largest = f"largest change {name}: {change_text(row)} ({interval_text(row)})"
        parts = [] if row is comparison.undecided else [largest]
        return "; ".join([*_not_decided(comparison), _within(comparison), *parts, *_not_measured(comparison), runs])
    parts = [f"{name}: {change_text(row)} ({interval_text(row)})"]
    parts += filter(None, (_of_sizes(comparison, row), _others(comparison, row)))
    if comparison.outcome is ComparisonOutcome.INCONCLUSIVE:
        parts.append(needed_text(row))
    parts += _explained(comparison)
    if comparison.outcome is ComparisonOutcome.FASTER:
        parts += [*_not_decided(comparison), *_not_measured(comparison)]
    return "; ".join([*parts, runs])


def _of_main(comparison: Comparison, metric: MetricChange, row: Changed) -> list[str]:
    """The main figure of a benchmark before and after, how much that is, and how many of the others changed."""
    name = _figure_name(row.metric)
    several = metric.nodes.slower + metric.nodes.faster + metric.nodes.same + metric.nodes.inconclusive > 1
    whose = f"{metric.metric.whose(row.subject)}: " if several else ""
    deviations = (metric.before_deviation, metric.after_deviation) if row is metric.together else (None, None)
    values = " → ".join(units.with_deviations((row.before, row.after), deviations, row.metric.printed_unit))
    same = f"within {share(comparison.threshold)}: " if comparison.outcome is ComparisonOutcome.SAME else ""
    parts = [f"{whose}{name} {values}, {same}{speed_text(row)} ({interval_text(row)})"]
    if needed := needed_text(row):
        parts.append(needed)
    others = [other for other in comparison.metrics if not other.metric.main]
    changed = []
    for outcome in (ComparisonOutcome.SLOWER, ComparisonOutcome.FASTER):
        names = [_figure_name(other.metric).partition(" ")[2] for other in others if other.together.outcome is outcome]
        changed += [f"{len(names)} {outcome.value}{f' ({names[0]})' if len(names) == 1 else ''}"] if names else []
    if changed:
        parts.append(f"of {count(len(others), 'other figure')} {' and '.join(changed)}")
    return [*parts, *([] if row is comparison.undecided else _not_decided(comparison)), *_not_measured(comparison)]


def _figure_name(metric: RunMetric) -> str:
    """`hpcc HPL_Tflops`: the benchmark, and of which part the figure is."""
    benchmark, _, of = metric.name.removesuffix(f" [{metric.printed_unit}]").partition(" ")
    figure, *part = LABEL.sub("", of).split(" ")
    return " ".join((benchmark, *(part or ([] if metric.main else [figure]))))


def shares_text(comparison: Comparison) -> str:
    """7.68 GB/s → 15.36 GB/s of memory, 443 MB/s → 886 MB/s of the link; empty where that did not change."""
    return ", ".join(
        f"{units.bandwidth(part.before_bytes_per_s)} → {units.bandwidth(part.after_bytes_per_s)} of "
        f"{'the link' if part.of == 'link' else part.of}"
        for part in comparison.rank_shares
    )


def _explained(comparison: Comparison) -> list[str]:
    """What was proved; else what changed at the same time and is known to matter."""
    proofs = [f"{each.outcome.value}: {_where(each)}" for each in comparison.proofs if each.outcome in DECIDED]
    if proofs or comparison.outcome is ComparisonOutcome.SAME or not comparison.suspects:
        return proofs
    first = comparison.suspects[0]
    where = "all nodes" if len(first.nodes) == first.of else some(list(first.nodes), MOST_NAMES)
    return [f"{first.facts[0].fact.rpartition('.')[2]} changed on {where}"] if first.mechanism else []


def _within(comparison: Comparison) -> str:
    """All pairs together within 2 % in every metric, or whatever was compared."""
    together = [(metric.metric, metric.together.subject) for metric in comparison.metrics]
    names = dict.fromkeys(
        f"{metric.together} together" if subject == FABRIC else subject.name for metric, subject in together
    )
    every = " in every metric" if len(together) > 1 else ""
    return f"{' and '.join(names)} within {share(comparison.threshold)}{every}"


def _not_decided(comparison: Comparison) -> list[str]:
    """How many subjects are open, and the one that lost most."""
    worst = comparison.undecided
    if worst is None:
        return []
    metric = next(each for each in comparison.metrics if each.undecided is worst)
    kind, counts = ("node", metric.nodes) if worst.subject.kind is SubjectKind.NODE else ("pair", metric.pairs)
    number = f"{counts.inconclusive} of {count(_sum(counts), kind)}"
    return [f"not decided for {number}, worst {worst.subject.name}: {change_text(worst)} ({interval_text(worst)})"]


def _not_measured(comparison: Comparison) -> list[str]:
    """Nodes that only the first runs have."""
    first, second = (
        {node for run in runs for node in run.nodes} for runs in (comparison.first_runs, comparison.second_runs)
    )
    gone = natural_sorted(first - second) if second else []
    return [f"not measured again: {some(gone, MOST_NAMES)}"] if gone else []


def sum_of(metric: MetricChange) -> int:
    """How many pairs were compared."""
    return _sum(metric.pairs)


def _sum(counts: Counts) -> int:
    return counts.slower + counts.faster + counts.same + counts.inconclusive


def in_one_text(metric: MetricChange) -> str:
    """7 in both, 1 in one of them alone; empty where both have the same."""
    alone = sum(metric.pairs_of_one)
    both = _sum(metric.nodes if metric.metric.of_nodes else metric.pairs)
    return f"{metric.metric.name}: {both} in both, {alone} in one of them alone" if alone else ""


def _of_sizes(comparison: Comparison, row: Changed) -> str:
    """Message sizes of a curve with the same outcome; empty for other metrics, and for what is not decided."""
    if row.metric.phase is not Phase.CURVE or row.outcome is ComparisonOutcome.INCONCLUSIVE:
        return ""
    curve = [
        each for each in comparison.metrics if (each.metric.phase, each.metric.unit) == (Phase.CURVE, row.metric.unit)
    ]
    shown = sorted(each.metric.message_bytes for each in curve if each.together.outcome is row.outcome)
    if not shown:
        return ""
    ends = f", {units.size(shown[0])} to {units.size(shown[-1])}" if len(shown) > 1 else ""
    return f"{row.outcome.value} at {len(shown)} of {count(len(curve), 'size')}{ends}"


def _others(comparison: Comparison, worst: Changed) -> str:
    """Which other subjects have the same outcome."""
    if worst.outcome is ComparisonOutcome.INCONCLUSIVE:
        return ""
    rows = [row for metric in comparison.metrics for row in (metric.together, *metric.changed)]
    names = dict.fromkeys(
        subject_name(row, 0) if row.subject != FABRIC else f"{row.metric.together} in {row.metric.name}"
        for row in rows
        if row.outcome is worst.outcome and row is not worst and row.subject != worst.subject
    )
    return f"also {worst.outcome.value}: {some(list(names), MOST_NAMES)}" if names else ""


def proof_text(proof: Proof) -> str:
    """confirmed: interfaces.eth0.mtu_bytes 1500 → 600 on n2; with it n2>n1: bandwidth 1 MiB 9.1 % lower (...); ..."""
    text = f"{proof.outcome.value}: {_where(proof)}"
    if proof.ratio is not None:
        runs = f"{len(proof.with_change)} runs with it and {len(proof.without_change)} without"
        text += f"; with it {_remeasured(proof)}{amount(proof.ratio.value)} ({estimate_text(proof.ratio)}), {runs}"
    return f"{text}; {proof.statement}"


def _remeasured(proof: Proof) -> str:
    """What was measured again: `n2>n1: bandwidth 1 MiB `; empty where it is not recorded."""
    if proof.subject is None or proof.metric is None:
        return ""
    return f"{proof.metric.whose(proof.subject)}: {proof.metric.name} "


def _where(proof: Proof) -> str:
    facts = some([f"{each.fact} {fact_values(each)}" for each in proof.facts], MOST_NAMES)
    return f"{facts} on {some(list(proof.nodes), MOST_NAMES)}"


def levels_text(metric: MetricChange) -> str:
    """Standard deviations of each level, as percentages."""
    levels = metric.levels
    deviations = (
        ("iterations of a round", metric.iteration_spread),
        ("rounds of a run", metric.round_spread),
        ("whole runs", levels.run),
        ("one subject from run to run", levels.subject_run),
        ("between subjects", levels.subject),
    )
    return ", ".join(f"{name} {fine_share(value)}" for name, value in deviations)
