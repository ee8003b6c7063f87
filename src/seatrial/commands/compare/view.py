"""The report of a comparison, for a terminal and as JSON."""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.commands.compare.wording import (
    counts_text,
    in_one_text,
    levels_text,
    needed_text,
    proof_text,
    sentence,
    subject_name,
    sum_of,
    suspect_text,
)
from seatrial.judgement.comparison.change_words import amount, interval_text, values_text
from seatrial.judgement.comparison.records import Changed, Comparison, MetricChange, Proof, Suspect
from seatrial.model.errors import ExitCode
from seatrial.model.run_values import RunSummary
from seatrial.model.units import share
from seatrial.model.verdict import Outcome
from seatrial.model.words import count
from seatrial.render.json import Json, number
from seatrial.render.report import Block, Items, Lines, Report, Table, columns

EXIT_CODES = {
    Outcome.SLOWER: ExitCode.FINDINGS,
    Outcome.FASTER: ExitCode.PASS,
    Outcome.SAME: ExitCode.PASS,
    Outcome.INCONCLUSIVE: ExitCode.INCOMPLETE,
}
MOST_SHOWN = 20
MOST_SUSPECTS = 10
MOST_METRICS = 10


def comparison_report(comparison: Comparison) -> Report:
    """Everything that is known of the second set compared with the first."""
    return Report(
        word=comparison.outcome.value.upper(),
        sentence=sentence(comparison),
        exit_code=EXIT_CODES[comparison.outcome],
        payload=lambda: comparison_fields(comparison),
        terminal=lambda _: _blocks(comparison),
        page=lambda: _blocks(comparison),
    )


def _blocks(comparison: Comparison) -> Iterable[Block]:
    heads = columns("metric", "subject", "verdict", "change", "before → after")
    yield Table(columns=heads, rows=tuple(_rows(comparison)), left_out=_left_out(comparison))
    if comparison.suspects:
        shown = tuple(suspect_text(each) for each in comparison.suspects[:MOST_SUSPECTS])
        yield Items(title="Suspects: facts that differ, the most likely first", items=_numbered(shown))
    if comparison.proofs:
        yield Items(title="Proof", items=_numbered(tuple(proof_text(each) for each in comparison.proofs)))
    if comparison.new_problems:
        yield Items(title="Known problems that only the second set has", items=comparison.new_problems[:MOST_SUSPECTS])
    yield Lines(title="Subjects", rows=_shortened(_counted(comparison)))
    yield Lines(title="Spread (standard deviation)", rows=_shortened(_spreads(comparison)))
    yield Lines(title="Compared", rows=tuple(_about(comparison)))


def _changed_first(comparison: Comparison) -> list[MetricChange]:
    """Metrics in which everything is the same come last."""
    return sorted(comparison.metrics, key=lambda each: all(row.outcome is Outcome.SAME for row in each.rows))


def _shortened(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The lines of the first metrics, and how many more there are."""
    lines = tuple(rows)
    more = len(lines) - MOST_METRICS
    if more <= 1:
        return lines
    return (*lines[:MOST_METRICS], ("more", f"{count(more, 'metric')} in the JSON."))


def _numbered(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{place}  {item}" for place, item in enumerate(items, start=1))


def _rows(comparison: Comparison) -> Iterable[tuple[str, ...]]:
    for metric in comparison.metrics:
        undecided = (metric.undecided,) if metric.undecided else ()
        for row in (metric.together, *metric.changed[:MOST_SHOWN], *undecided):
            yield (
                metric.metric.name,
                subject_name(row, sum_of(metric)),
                row.outcome.value,
                f"{amount(row.ratio.value)} ({interval_text(row)})",
                values_text(row),
            )


def _counted(comparison: Comparison) -> Iterable[tuple[str, str]]:
    """How many pairs and nodes have each outcome, and what would decide."""
    for metric in _changed_first(comparison):
        kinds = (("nodes", metric.nodes), ("pairs", metric.pairs))
        texts = [f"{name}: {counts_text(counts)}" for name, counts in kinds if counts_text(counts)]
        needed = needed_text(metric.together)
        yield metric.metric.name, "; ".join([*texts, needed] if needed else texts)


def _left_out(comparison: Comparison) -> str:
    hidden = sum(metric.unlisted + max(len(metric.changed) - MOST_SHOWN, 0) for metric in comparison.metrics)
    return f"{count(hidden, 'more changed subject')} in the JSON or counted there." if hidden else ""


def _spreads(comparison: Comparison) -> Iterable[tuple[str, str]]:
    for metric in _changed_first(comparison):
        yield metric.metric.name, levels_text(metric)


def _runs_of(asked: str, runs: Sequence[RunSummary]) -> str:
    """What was asked for, and the runs that this means where it does not name them."""
    names = [run.run for run in runs]
    return ", ".join(names) if asked.split(",") == names else f"{asked}: {', '.join(names)}"


def _about(comparison: Comparison) -> Iterable[tuple[str, str]]:
    yield "before", _runs_of(comparison.first, comparison.first_runs)
    yield "after", _runs_of(comparison.second, comparison.second_runs)
    for metric in comparison.metrics:
        if alone := in_one_text(metric):
            yield "nodes" if metric.metric.of_nodes else "pairs", alone
    limit = share(comparison.threshold)
    yield "same", f"shown to have changed by less than {limit} (two one-sided tests, 5 %)"
    yield "slower, faster", "at most 1 % of those named are expected to be wrong (Benjamini and Hochberg)"
    for unlike in comparison.across:
        yield "across", f"{unlike.condition}: {unlike.first} and {unlike.second}, as requested"
    for note in comparison.notes:
        yield "note", note


def comparison_fields(comparison: Comparison) -> Json:
    """The JSON object: docs/compare.md describes every field."""
    return {
        "outcome": comparison.outcome.value,
        "first": {"name": comparison.first, "runs": [run.run for run in comparison.first_runs]},
        "second": {"name": comparison.second, "runs": [run.run for run in comparison.second_runs]},
        "threshold": comparison.threshold,
        "worst": _changed_fields(comparison.worst) if comparison.worst else None,
        "metrics": [_metric_fields(metric) for metric in comparison.metrics],
        "suspects": [_suspect_fields(suspect) for suspect in comparison.suspects],
        "proofs": [_proof_fields(proof) for proof in comparison.proofs],
        "new_problems": list(comparison.new_problems),
        "across": [msgspec.to_builtins(each) for each in comparison.across],
        "notes": list(comparison.notes),
    }


def _metric_fields(metric: MetricChange) -> Json:
    levels = metric.levels
    return {
        "metric": metric.metric.name,
        "together": _changed_fields(metric.together),
        "nodes": msgspec.to_builtins(metric.nodes),
        "pairs": msgspec.to_builtins(metric.pairs),
        "changed": [_changed_fields(row) for row in metric.changed],
        "unlisted": metric.unlisted,
        "undecided": _changed_fields(metric.undecided) if metric.undecided else None,
        "only_in_first": metric.pairs_of_one[0],
        "only_in_second": metric.pairs_of_one[1],
        "spread": {
            "iteration": number(metric.iteration_spread),
            "round": number(metric.round_spread),
            "run": number(levels.run),
            "subject_run": number(levels.subject_run),
            "subject": number(levels.subject),
        },
    }


def _changed_fields(row: Changed) -> Json:
    return {
        "subject": row.subject.text,
        "metric": row.metric.name,
        "outcome": row.outcome.value,
        "before": number(row.before),
        "after": number(row.after),
        "unit": row.metric.unit,
        "ratio": row.ratio,
        "beyond_others": number(row.beyond_others),
        "deviates": row.deviates,
        "more_runs": row.more_runs,
    }


def _suspect_fields(suspect: Suspect) -> Json:
    return {
        "facts": [msgspec.to_builtins(each) for each in suspect.facts],
        "nodes": list(suspect.nodes),
        "of": suspect.of,
        "weight": suspect.weight,
        "mechanism": suspect.mechanism,
        "slower_nodes": suspect.slower_nodes,
        "all_slower": suspect.all_slower,
        "p_value": number(suspect.p_value),
        "adjusted_p": number(suspect.adjusted_p),
    }


def _proof_fields(proof: Proof) -> Json:
    return {
        "outcome": proof.outcome.value,
        "facts": [msgspec.to_builtins(each) for each in proof.facts],
        "nodes": list(proof.nodes),
        "statement": proof.statement,
        "subject": proof.subject.text if proof.subject else None,
        "metric": proof.metric.name if proof.metric else None,
        "ratio": proof.ratio,
        "with_change": list(proof.with_change),
        "without_change": list(proof.without_change),
    }
