"""The report of `seatrial nodes`."""

from collections.abc import Iterator, Mapping
from itertools import islice

from seatrial.commands.nodes.judge import NodesResult
from seatrial.judgement.nodes.noise import MODEL
from seatrial.model import subject
from seatrial.model.facts import NodeFacts
from seatrial.model.node_trials import Measure, NodeFigures
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.render.distribution import small
from seatrial.render.envelope import PastFields, past_fields
from seatrial.render.finding_text import out_of_service, sentence_of
from seatrial.render.json import filled
from seatrial.render.node_trials import (
    TrialFields,
    clock_lines,
    heat_lines,
    main_figures,
    resolution,
    storage_lines,
    trial_fields,
    trial_pictures,
    trial_tables,
)
from seatrial.render.pair_view import run_report
from seatrial.render.report import Block, Case, Lines, Report

MOST_SMALL = 3
"""Figures of which a terminal draws the distribution: memory comes first."""


class NodesFields(TrialFields, frozen=True, kw_only=True):
    """The nodes of a run, each by itself; docs/nodes.md describes each field."""

    reason: str
    complete: bool
    past: PastFields | None
    notes: tuple[str, ...]


def nodes_report(run: RunInfo, result: NodesResult, facts: Mapping[str, NodeFacts]) -> Report:
    """The whole report."""
    main = main_figures(result.trials)
    return run_report(
        run,
        result,
        sentence_of(result.findings) or result.reason,
        payload=lambda: filled(
            NodesFields, trial_fields(result.trials), result, past=past_fields(run.past, result.past)
        ),
        terminal=lambda width: (*_blocks(run, result), *_small(result, width)),
        page=lambda: (*_blocks(run, result), *trial_pictures(result.trials, result.findings)),
        cases=(_case(figures, main[figures.node]) for figures in result.trials.figures),
        facts=facts,
    )


def _case(figures: NodeFigures, main: Mapping[Measure, float]) -> Case:
    verdict = Verdict.PASS if figures.values else Verdict.NOT_RUN
    return Case(name=subject.node(figures.node).text, verdict=verdict, figures=main)


def _blocks(run: RunInfo, result: NodesResult) -> Iterator[Block]:
    yield from out_of_service(run, result.findings)
    yield from trial_tables(result.trials, "Nodes")
    yield Lines(rows=tuple(_lines(result)))


def _small(result: NodesResult, width: int) -> Iterator[Block]:
    """The distributions of the first figures over the nodes, in a terminal with room for them."""
    panels = (panel for block in trial_pictures(result.trials, result.findings) for panel in block.panels)
    yield from islice(small(panels, width), MOST_SMALL)


def _lines(result: NodesResult) -> Iterator[tuple[str, str]]:
    """What was compared, what could have been seen, the model of noise, and notes."""
    trials = result.trials
    if trials.figures:
        yield "compared", result.reason
    yield from storage_lines(trials.storage)
    yield from clock_lines(trials)
    yield from heat_lines(trials)
    if trials.comparisons:
        yield "would see", f"a node that is worse than its peers: {resolution(trials)}"
    if any(figures.noise for figures in trials.figures):
        yield "cost of noise", f"{MODEL}; rarer delays than were observed are not in it"
    unknown = dict.fromkeys(why for limits in trials.limits.values() for why in limits.unknown)
    for why in unknown:
        yield "no limit", why
    chased = [figures for figures in trials.figures if Measure.CHASE in figures.values]
    if chased and not any(figures.numa_latency_s for figures in chased):
        yield "NUMA", "no distances: every node has one NUMA node, or its NUMA nodes are not known"
    for note in result.notes:
        yield "note", note
