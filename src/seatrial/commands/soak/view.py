"""The report of `seatrial nodes --for`."""

from collections.abc import Iterator, Mapping

from seatrial.commands.soak.findings import change_text
from seatrial.commands.soak.judge import NodeSoak, SoakResult
from seatrial.model import subject
from seatrial.model.facts import NodeFacts
from seatrial.model.node_trials import Measure
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.render.finding_text import out_of_service, sentence_of
from seatrial.render.json import filled
from seatrial.render.node_trials import TrialFields, main_figures, trial_fields, trial_pictures, trial_tables
from seatrial.render.pair_view import design_note, run_line
from seatrial.render.report import Block, Case, Findings, Lines, Report, columns, first_rows

HEAD = columns(
    "node", "#cycles", "#last, s", "#wrong bytes", "#throttled", "#hottest, °C", "#clock, GHz", "~became worse"
)


class SoakFields(TrialFields, frozen=True, kw_only=True):
    """Nodes that were kept busy for long; docs/soak.md describes each field."""

    reason: str
    complete: bool
    soak: tuple[NodeSoak, ...]
    notes: tuple[str, ...]


def soak_report(run: RunInfo, result: SoakResult, facts: Mapping[str, NodeFacts]) -> Report:
    """The whole report."""
    main = main_figures(result.trials)
    return Report(
        word=result.word,
        sentence=sentence_of(result.findings) or result.reason,
        exit_code=result.exit_code,
        run=run,
        payload=lambda: filled(SoakFields, trial_fields(result.trials), result, soak=result.nodes),
        terminal=lambda _: _blocks(run, result),
        page=lambda: _page(run, result),
        about=run_line(run),
        findings=result.findings,
        facts=facts,
        cases=tuple(_case(node, result, main.get(node.node, {})) for node in result.nodes),
    )


def _case(node: NodeSoak, result: SoakResult, main: Mapping[Measure, float]) -> Case:
    """A node that no finding names is as good as the whole soak could show."""
    verdict = Verdict.PASS if result.findings else result.verdict
    return Case(name=subject.node(node.node).text, verdict=verdict, figures=main)


def _blocks(run: RunInfo, result: SoakResult) -> Iterator[Block]:
    if result.findings:
        yield Findings(findings=result.findings)
        yield from out_of_service(run, result.findings)
    yield from first_rows(HEAD, [_row(node) for node in result.nodes])
    yield from trial_tables(result.trials, "Medians over all cycles")
    yield Lines(rows=tuple(_lines(result)))


def _page(run: RunInfo, result: SoakResult) -> Iterator[Block]:
    yield from _blocks(run, result)
    yield from trial_pictures(result.trials, result.findings)
    yield from design_note(run)


def _row(node: NodeSoak) -> tuple[str, ...]:
    return (
        node.node,
        str(node.cycles),
        f"{node.last_s:.0f}",
        str(node.wrong_bytes),
        "—" if node.throttles is None else str(node.throttles),
        "—" if node.celsius is None else f"{node.celsius:.0f}",
        _clock(node),
        "; ".join(change_text(decline) for decline in node.declines) or "nothing",
    )


def _clock(node: NodeSoak) -> str:
    """The clock of the slowest core, in the first and in the last round."""
    if node.first_hz is None or node.last_hz is None:
        return "—"
    first, last = f"{node.first_hz / 1e9:.2f}", f"{node.last_hz / 1e9:.2f}"
    return first if first == last else f"{first} → {last}"


def _lines(result: SoakResult) -> Iterator[tuple[str, str]]:
    if result.nodes:
        yield "soaked", result.reason
    for note in result.notes:
        yield "note", note
