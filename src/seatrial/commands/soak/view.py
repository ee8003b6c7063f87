"""The report of `seatrial nodes --for`."""

from collections.abc import Iterator, Mapping

from seatrial.commands.soak.judge import NodeSoak, SoakResult, change_text
from seatrial.model import subject
from seatrial.model.facts import NodeFacts
from seatrial.model.node_trials import Measure
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.render.finding_text import out_of_service, sentence_of
from seatrial.render.json import filled
from seatrial.render.node_trials import TrialFields, main_figures, trial_fields, trial_pictures, trial_tables
from seatrial.render.pair_view import run_report
from seatrial.render.report import Block, Case, Cells, Lines, Report, record_table


class SoakFields(TrialFields, frozen=True, kw_only=True):
    """Nodes that were kept busy for long; docs/soak.md describes each field."""

    reason: str
    complete: bool
    soak: tuple[NodeSoak, ...]
    notes: tuple[str, ...]


def soak_report(run: RunInfo, result: SoakResult, facts: Mapping[str, NodeFacts]) -> Report:
    """The whole report."""
    main = main_figures(result.trials)
    return run_report(
        run,
        result,
        sentence_of(result.findings) or result.reason,
        payload=lambda: filled(SoakFields, trial_fields(result.trials), result, soak=result.nodes),
        terminal=lambda _: _blocks(run, result),
        page=lambda: (*_blocks(run, result), *trial_pictures(result.trials, result.findings)),
        cases=(_case(node, result, main.get(node.node, {})) for node in result.nodes),
        facts=facts,
    )


def _case(node: NodeSoak, result: SoakResult, main: Mapping[Measure, float]) -> Case:
    """A node that no finding names is as good as the whole soak could show."""
    verdict = Verdict.PASS if result.findings else result.verdict
    return Case(name=subject.node(node.node).text, verdict=verdict, figures=main)


def _blocks(run: RunInfo, result: SoakResult) -> Iterator[Block]:
    yield from out_of_service(run, result.findings)
    yield record_table(SOAKED, result.nodes)
    yield from trial_tables(result.trials, "Medians over all cycles")
    soaked = (("soaked", result.reason),) if result.nodes else ()
    yield Lines(rows=(*soaked, *(("note", note) for note in result.notes)))


def _clock(node: NodeSoak) -> str:
    """The clock of the slowest core, in the first and in the last round."""
    if node.first_hz is None or node.last_hz is None:
        return "—"
    first, last = f"{node.first_hz / 1e9:.2f}", f"{node.last_hz / 1e9:.2f}"
    return first if first == last else f"{first} → {last}"


SOAKED: Cells[NodeSoak] = {
    "node": lambda node: node.node,
    "#cycles": lambda node: str(node.cycles),
    "#last, s": lambda node: f"{node.last_s:.0f}",
    "#wrong bytes": lambda node: str(node.wrong_bytes),
    "#throttled": lambda node: "—" if node.throttles is None else str(node.throttles),
    "#hottest, °C": lambda node: "—" if node.celsius is None else f"{node.celsius:.0f}",
    "#clock, GHz": _clock,
    "~became worse": lambda node: "; ".join(map(change_text, node.declines)) or "nothing",
}
