"""The report of `seatrial nodes --program`."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from seatrial.commands.nodes.program_judge import NodeStart, ProgramResult
from seatrial.drift.fact_words import hertz
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import node_of
from seatrial.model.run import RunInfo
from seatrial.model.system import LoadedGpu
from seatrial.model.units import duration, in_unit, share
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.finding_text import fitting_sentence, out_of_service, sentence_of
from seatrial.render.fleet.fields import FleetFields
from seatrial.render.fleet.view import fleet_report
from seatrial.render.gpu_node import device_map
from seatrial.render.json import filled
from seatrial.render.pair_view import run_report
from seatrial.render.report import Block, Case, Cells, Lines, Report, record_table
from seatrial.rules.gpus import HARDWARE_SLOWDOWNS
from seatrial.statistics.estimates import median

MOST_DRAWN = 2
"""Named nodes whose devices are drawn."""


class NodeProgramFields(msgspec.Struct, frozen=True, kw_only=True):
    """A program of the site on each node by itself; docs/nodes.md describes each field."""

    program: tuple[str, ...]
    benchmark: str
    unit: str
    reason: str
    complete: bool
    starts: tuple[NodeStart, ...]
    fleet: FleetFields | None
    gpus: tuple[LoadedGpu, ...]
    notes: tuple[str, ...]


def program_report(run: RunInfo, result: ProgramResult, facts: Mapping[str, NodeFacts]) -> Report:
    """The whole report: what nodes and their GPUs show beside each other is that of `seatrial judge`."""
    fleet = fleet_report(result.fleet, result.tables) if result.fleet else None
    judged = _of_nodes(fleet.cases if fleet else ())
    measured = {start.node for start in result.starts if not start.failure}
    failed = {start.node: start.failure for start in result.starts if start.node not in measured}
    others = [
        Case(name=f"node:{name}", verdict=_alone(result)) for name in sorted(measured) if f"node:{name}" not in judged
    ]
    not_run = [Case(name=f"node:{name}", verdict=Verdict.NOT_RUN, reason=why) for name, why in failed.items()]
    return run_report(
        run,
        result,
        "; ".join(filter(None, (_sentence(result, fleet), _hottest(result)))),
        payload=lambda: filled(
            NodeProgramFields, result, program=result.words, fleet=fleet.payload() if fleet else None
        ),
        terminal=lambda width: _blocks(run, result, fleet, width),
        page=lambda: (*_blocks(run, result, fleet, 0), *_pictures(result, facts)),
        cases=(*judged.values(), *others, *not_run),
        facts=facts,
    )


def _of_nodes(cases: Iterable[Case]) -> dict[str, Case]:
    """The gravest case of each node, in place of those of its GPUs: what reads cases counts nodes by them."""
    gravest: dict[str, Case] = {}
    for case in cases:
        node, _, part = case.name.partition(" ")
        if node not in gravest or gravest[node].verdict.gravity < case.verdict.gravity:
            reason = f"{part}: {case.reason}" if part and case.reason else case.reason
            gravest[node] = msgspec.structs.replace(case, name=node, reason=reason)
    return gravest


def _alone(result: ProgramResult) -> Verdict:
    """The verdict on a node that is not compared with others."""
    return result.verdict if result.verdict in (Verdict.PASS, Verdict.MEASURED) else Verdict.NOTE


def _sentence(result: ProgramResult, fleet: Report | None) -> str:
    """What is at fault; else what was not measured; else what the comparison shows."""
    if sentence := sentence_of(result.findings):
        return sentence
    values = [start.value for start in result.starts if start.value is not None]
    number = f": {in_unit(median(values), result.unit)}" if values else ""
    alone = f"{result.benchmark} on {count(_measured(result), 'node')}{number}"
    alone += ", compared with nothing" if result.verdict is Verdict.MEASURED else ""
    compared = fleet.sentence if fleet else alone
    if not result.benchmark or not result.reason:
        return result.reason or compared
    left = result.reason.partition(": ")[0]  # the causes are below, beside each node
    return fitting_sentence(result.word, (f"{result.reason}; {compared}", f"{left}; {compared}", left), needed=True)


def _hottest(result: ProgramResult) -> str:
    """`hottest n1 GPU 3: 91 °C, 1.2 GHz`, of GPUs that were sampled under load; empty if none was."""
    hot = max((gpu for gpu in result.gpus if gpu.celsius is not None), key=lambda gpu: gpu.celsius or 0.0, default=None)
    if hot is None:
        return ""
    clock = "" if hot.hertz is None else f", {hertz(hot.hertz)}"
    return f"hottest {hot.node} {hot.gpu}: {hot.celsius:.0f} °C{clock}"


def _measured(result: ProgramResult) -> int:
    return len({start.node for start in result.starts if not start.failure})


def _blocks(run: RunInfo, result: ProgramResult, fleet: Report | None, width: int) -> Iterator[Block]:
    yield from out_of_service(run, result.findings)
    if fleet:
        yield from fleet.terminal(width)
    hottest = sorted(result.gpus, key=lambda gpu: -(gpu.celsius or 0.0))
    yield record_table(GPUS, sorted(hottest, key=lambda gpu: HARDWARE_SLOWDOWNS.keys().isdisjoint(gpu.slowdowns)))
    yield Lines(rows=tuple(_lines(result)))


def _clocks(gpu: LoadedGpu) -> str:
    hertz = [each for each in (gpu.hertz, gpu.least_hz) if each is not None]
    return " to ".join(dict.fromkeys(f"{each / 1e9:.2f}" for each in sorted(hertz))) or "—"


GPUS: Cells[LoadedGpu] = {
    "GPU": lambda gpu: f"{gpu.node} {gpu.gpu}",
    "#samples": lambda gpu: str(gpu.samples),
    "#hottest, °C": lambda gpu: "—" if gpu.celsius is None else f"{gpu.celsius:.0f}",
    "#clock, GHz": _clocks,
    "#power, W": lambda gpu: "—" if gpu.watts is None else f"{gpu.watts:.0f}",
    "~clock lowered by": lambda gpu: (
        ", ".join(f"{name} {share(part)}" for name, part in gpu.slowdowns.items()) or "nothing"
    ),
}


def _pictures(result: ProgramResult, facts: Mapping[str, NodeFacts]) -> Iterator[Block]:
    """The devices of each node that a finding names, else of the first one that has GPUs, with what was measured."""
    own = {node_of(place): known for place, known in facts.items()}
    named = dict.fromkeys(finding.subject.name for finding in result.findings if finding.subject.name in own)
    for name in list(named)[:MOST_DRAWN] or list(own)[:1]:
        measured = _measured_of(result, name)
        aside = f"Measured by {result.benchmark}: the median of all starts." if measured else ""
        if drawn := device_map(own[name], aside, measured):
            yield msgspec.structs.replace(drawn, title=f"{name}: {drawn.title[:1].lower()}{drawn.title[1:]}")


def _measured_of(result: ProgramResult, node: str) -> dict[str, str]:
    """Median of each GPU of a node over its starts, under the first conditions; none without a unit of data."""
    for table in result.tables.values():
        for stratum in table.strata:
            own = {
                part: [value for value in stratum.with_gaps.get(subject, ()) if math.isfinite(value)]
                for subject, (of, part) in table.parts.items()
                if of == node
            }
            if own := {part: values for part, values in own.items() if values}:
                return {part: in_unit(median(values), stratum.unit) for part, values in own.items()}
    return {}


def _lines(result: ProgramResult) -> Iterator[tuple[str, str]]:
    """The program, how often it was started and how long that takes, where it failed, and notes."""
    yield "program", shlex.join(result.words)
    good = [start for start in result.starts if not start.failure]
    if good:
        took = duration(median([start.seconds for start in good]))
        yield "starts", f"{len(good)} on {count(_measured(result), 'node')}, {took} each"
    waits = [start for start in good if start.waited is not None]
    if (longest := max(waits, key=lambda start: start.waited or 0.0, default=None)) and longest.waited:
        usual = share(median([start.waited for start in waits if start.waited is not None]))
        yield "waits", f"{usual} of the time for a processor, at most {share(longest.waited)} ({longest.node})"
    causes = Counter((start.node, start.failure) for start in result.starts if start.failure)
    for (node, why), times in causes.items():
        yield "not run", f"{node}, {count(times, 'start')}: {why}"
    for note in result.notes:
        yield "note", note
