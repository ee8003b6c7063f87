"""Several conditions, or parts of nodes: the report of `seatrial judge --as fleet` on such a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from seatrial.importers.fleets import FleetTable
from seatrial.judgement.fleet.judge import FewerRuns
from seatrial.judgement.fleet.strata import JudgedStratum, StrataJudgement
from seatrial.judgement.peer_suspects import suspects_text
from seatrial.model.units import prefixed, share
from seatrial.model.verdict import Verdict
from seatrial.model.words import by_text, count, some, verb
from seatrial.render.distribution import over_each_other
from seatrial.render.finding_text import fitting_sentence
from seatrial.render.fleet.remarks import (
    MOST_NAMES,
    all_lone,
    failed_text,
    fewer_runs_notes,
    fewer_runs_text,
    led_by_lone,
)
from seatrial.render.fleet.view import (
    SENSE_TAKEN,
    FleetFields,
    FleetFigures,
    FleetStratum,
    ahead_note,
    column_fields,
    fleet_pictures,
    node_fields,
    read_as,
)
from seatrial.render.json import filled
from seatrial.render.report import Block, Case, Paragraph, Report, judged_report, rows_table
from seatrial.statistics.fleets import FEWEST_RUNS

NAMED = ("node", "verdict", "#loss", "under", "#runs")
MOST_DRAWN = 8
"""Conditions whose nodes are drawn."""
CONDITIONS = ("condition", "#nodes", "#median", "#lowest", "", "#would show")


def strata_report(judged: StrataJudgement, tables: Mapping[str, FleetTable]) -> Report:
    """Who is named, under which conditions, and what each condition would have shown."""
    cases = tuple(
        Case(
            name=f"node:{each.subject}", verdict=each.verdict, reason=f"{share(each.loss)}{_in_conditions(each.where)}"
        )
        for each in judged.named
    )
    lacking = by_text((stratum.text, name) for stratum in judged.strata for name in _missing(stratum))
    missing = tuple(
        Case(name=f"node:{name}", verdict=Verdict.NOT_RUN, reason=f"no value{_in_conditions(texts)}")
        for name, texts in lacking.items()
    )
    healthy = tuple(Case(name=f"node:{name}", verdict=Verdict.PASS) for name in _healthy(judged) if name not in lacking)
    fields, blocks = partial(strata_fields, judged, tables), partial(_blocks, judged, tables)
    return judged_report(
        judged.verdict,
        _sentence(judged, tables),
        fields,
        blocks,
        (*cases, *missing, *healthy),
        lambda: _pictures(judged),
    )


def _pictures(judged: StrataJudgement) -> Iterator[Block]:
    """The medians of the nodes: those of all conditions over each other, then each by itself."""
    drawn = {
        each.text: [node.median for node in each.judged.result.nodes]
        for each in judged.strata[:MOST_DRAWN]
        if each.judged.result and min(node.median for node in each.judged.result.nodes) > 0
    }
    unit, *others = {each.unit for each in judged.strata}
    if len(drawn) > 1 and not others:
        yield over_each_other("Medians of nodes by condition", drawn, prefixed, f"median {unit}".strip(), "nodes")
    for stratum in judged.strata[:MOST_DRAWN]:
        yield from fleet_pictures(stratum.judged, stratum.text)


def _healthy(judged: StrataJudgement) -> list[str]:
    """Nodes and parts that are not named, in the order of the table."""
    named = {each.subject for each in judged.named}
    results = [stratum.judged.result for stratum in judged.strata if stratum.judged.result]
    return [name for name in dict.fromkeys(runs.node for result in results for runs in result.nodes)
            if name not in named]  # fmt: skip


def strata_fields(judged: StrataJudgement, tables: Mapping[str, FleetTable]) -> FleetFields:
    """What programs read of several conditions."""
    strata = [stratum.judged for stratum in judged.strata]
    return filled(
        FleetFields,
        judged,
        FleetFigures(),
        better=strata[0].better,
        sense_known=all(stratum.sense_known for stratum in strata),
        ahead=list(dict.fromkeys(name for stratum in strata for name in stratum.ahead)),
        impossible=list(dict.fromkeys(name for stratum in strata for name, _ in stratum.impossible)),
        slow=[each.subject for each in judged.of(Verdict.SLOW)],
        unstable=[each.subject for each in judged.of(Verdict.UNSTABLE)],
        suspected=[each.subject for each in judged.of(Verdict.INCONCLUSIVE)],
        unmeasured=list(dict.fromkeys(name for each in judged.strata for name in _missing(each))),
        nodes=(),
        strata=[_stratum_fields(stratum) for stratum in judged.strata],
        columns=column_fields(tables),
        without_value=[node for table in tables.values() for node in table.without_value],
        lone=all_lone(tables),
    )


def _stratum_fields(stratum: JudgedStratum) -> FleetStratum:
    result = stratum.judged.result
    return filled(
        FleetStratum,
        stratum,
        stratum.judged,
        result or FleetFigures(),
        unmeasured=_missing(stratum),
        nodes=[node_fields(runs) for runs in result.nodes] if result else (),
    )


def _missing(stratum: JudgedStratum) -> tuple[str, ...]:
    return (*stratum.judged.unmeasured, *stratum.absent)


def _in_conditions(texts: Sequence[str]) -> str:
    """The conditions of a statement, for a sentence; empty for all conditions together, and for the only one."""
    return f" in {some(texts, 1)}" if any(texts) else ""


def _sentence(judged: StrataJudgement, tables: Mapping[str, FleetTable]) -> str:
    """The worst that is named, as far as a line has room; else what would have been found, and what is missing."""
    ways = [text for names in range(MOST_NAMES, 0, -1) for text in _ways(judged, names)]
    ways = led_by_lone(judged.verdict, ways, all_lone(tables))
    return fitting_sentence(judged.verdict, ways, _gaps(judged), needed=not judged.named)


def _gaps(judged: StrataJudgement) -> list[str]:
    """Runs, conditions and parts that only some have and that do not withhold PASS; longer sentences first."""
    fewer, noun = _fewer_runs(judged), _noun(judged)
    few = [stratum for stratum in judged.strata if stratum.few_of]
    gaps = []
    for names in range(MOST_NAMES, -1, -1):
        texts = [fewer_runs_text(fewer, names, noun)]
        if len(few) == 1 and names:
            texts.append(f"{few[0].text} on {_row(few[0])[1]} of {count(few[0].few_of, noun)}")
        elif few:
            texts.append(f"{count(len(few), 'condition')} on some {noun}s only")
        if judged.rare_parts:
            rare = some(judged.rare_parts, names) if names else count(len(judged.rare_parts), "part")
            texts.append(f"{rare} on some nodes only")
        gaps.append("; ".join(filter(None, texts)))
    return [*gaps, f"not each {noun} has all"] if any(gaps) else []


def _fewer_runs(judged: StrataJudgement) -> tuple[FewerRuns, ...]:
    """Who has fewer runs under which condition; without the condition where it holds under all of them."""
    fewer = [each for stratum in judged.strata for each in stratum.judged.fewer_runs(stratum.text)]
    places = Counter(each.subject for each in fewer)
    everywhere = all(number == len(judged.strata) for number in places.values())
    return tuple(each._replace(where="") if everywhere else each for each in fewer)


def _ways(judged: StrataJudgement, names: int) -> Iterator[str]:
    """Sentences, longer ones first. `names`: how many nodes are listed."""
    among = f", among {_subjects(judged)}"
    below = "below" if all(stratum.judged.higher_is_better for stratum in judged.strata) else "worse than"
    for verdict, what in ((Verdict.SLOW, below), (Verdict.UNSTABLE, ""), (Verdict.INCONCLUSIVE, below)):
        named = judged.of(verdict)
        if judged.verdict is not verdict or not named:
            continue
        if not what:
            listed = some([each.subject for each in named], names)
            where = _in_conditions(named[0].where) if len(named) == 1 else ""
            yield f"single bad runs on {listed}{where}; none is slow"
            yield f"single bad runs on {listed}; none is slow"
            continue
        listed = some([f"{each.subject} {share(each.loss)}" for each in named], names)
        peers = f"{listed} {what} {verb(len(named), 'its', 'their')} peers"
        if verdict is Verdict.INCONCLUSIVE:
            peers += f"; {count(max(FEWEST_RUNS - named[0].runs, 1), 'more run')} would decide"
        alike = len({each.where for each in named}) == 1
        if alike:
            yield f"{peers}{_in_conditions(named[0].where)}{among if verdict is Verdict.SLOW else ''}"
            yield f"{peers}{_in_conditions(named[0].where)}"
        yield f"{peers}{among if not alike else ''}"
        yield peers
        return
    yield from _unnamed(judged)


def _noun(judged: StrataJudgement) -> str:
    return "part" if judged.parts else "node"


def _subjects(judged: StrataJudgement) -> str:
    nodes = count(judged.nodes, "node")
    return f"{count(judged.subjects, 'part')} of {nodes}" if judged.parts else nodes


def _unnamed(judged: StrataJudgement) -> Iterator[str]:
    """Texts for a result in which nobody is named."""
    results = [stratum.judged.result for stratum in judged.strata]
    many = f" under {count(len(judged.strata), 'condition')}" if len(judged.strata) > 1 else ""
    if not any(results):
        yield "no value was read, or all are 0"
    elif few := [stratum for stratum in judged.strata if stratum.judged.result and not stratum.judged.result.enough]:
        lone = [node.node for node in few[0].judged.result.nodes] if few[0].judged.result else []
        if len(few) < len(judged.strata):
            yield f"{some(lone, MOST_NAMES)} {'has' if len(lone) == 1 else 'have'} no peers in {few[0].text}"
        yield f"fewer than 3 values to compare under {len(few)} of {count(len(judged.strata), 'condition')}"
    elif wild := next((stratum.judged for stratum in judged.strata if stratum.judged.impossible), None):
        yield wild.doubtful_unit(1)
    elif asked := next((stratum for stratum in judged.strata if stratum.judged.sense_needed), None):
        yield f"{some(asked.judged.ahead, 1)} above its peers in {asked.text}: is higher better?"
        yield f"{some(asked.judged.ahead, 1)} above its peers: is higher better?"
    elif two := [stratum for stratum in judged.strata if stratum.judged.result and stratum.judged.result.populations]:
        yield f"two populations of {'parts' if judged.parts else 'nodes'} in {two[0].text or 'the values'}"
        yield f"two populations under {len(two)} of {count(len(judged.strata), 'condition')}"
    elif judged.failed and judged.verdict is Verdict.INCONCLUSIVE:
        yield from (failed_text(judged.failed, names) for names in range(MOST_NAMES, 0, -1))
    elif judged.verdict is Verdict.NOT_RUN and (gaps := [each for each in judged.strata if _missing(each)]):
        where = "any run" if len({_missing(each) for each in judged.strata}) == 1 else gaps[0].text
        yield f"not measured: {some(_missing(gaps[0]), MOST_NAMES)} in {where}; no other named"
        yield f"values are missing under {len(gaps)} of {count(len(judged.strata), 'condition')}; no node is named"
    elif judged.verdict is Verdict.INCONCLUSIVE:
        rounded = any(result and result.rounded and result.detectable == judged.detectable for result in results)
        hidden = f"{'rounding' if rounded else 'the scatter'} hides a loss of less than {share(judged.detectable)}"
        loss, subject, text = max(
            (runs.loss, runs.node, stratum.text)
            for stratum in judged.strata if stratum.judged.result for runs in stratum.judged.result.nodes
        )  # fmt: skip
        if loss >= judged.effect:
            yield f"{hidden}; lowest: {subject} {share(loss)}{text and ' in '}{text}"
            yield f"{hidden}; lowest: {subject} {share(loss)}"
        yield hidden
    elif ahead := next((stratum for stratum in judged.strata if stratum.judged.ahead), None):
        far = f"{some(ahead.judged.ahead, 1)} far ahead of the others"
        yield f"{far} in {ahead.text}; a loss of {share(judged.detectable)} would have been named"
        yield f"{far}; a loss of {share(judged.detectable)} would show"
    else:
        yield f"{_subjects(judged)} alike{many}; a loss of {share(judged.detectable)} would have been named"
        yield f"{_subjects(judged)} alike{many}; a loss of {share(judged.detectable)} would show"
        yield f"{_subjects(judged)} alike; a loss of {share(judged.detectable)} would show"
        yield f"{count(judged.subjects, _noun(judged))} alike; a loss of {share(judged.detectable)} would show"


def _blocks(judged: StrataJudgement, tables: Mapping[str, FleetTable]) -> Iterator[Block]:
    order = sorted(judged.named, key=lambda each: (each.verdict is not Verdict.SLOW, -each.loss))
    rows = [
        (each.subject, each.verdict.value, share(each.loss), some(each.where, 2) or _everywhere(judged), str(each.runs))
        for each in order
    ]
    yield rows_table(NAMED, rows)
    if len(judged.strata) > 1:
        yield rows_table(CONDITIONS, [_row(stratum) for stratum in judged.strata])
    for note in _notes(judged):
        yield Paragraph(text=note)
    yield Paragraph(text=suspects_text(judged.suspects))
    yield from read_as(tables)


def _everywhere(judged: StrataJudgement) -> str:
    return "all conditions together" if len(judged.strata) > 1 else ""


def _row(stratum: JudgedStratum) -> tuple[str, ...]:
    result = stratum.judged.result
    if result is None:
        return stratum.text or "all", "0", "", "", "", ""
    lowest = max(result.nodes, key=lambda runs: runs.loss)
    unit = f" {stratum.unit}" if stratum.unit else ""
    return (
        stratum.text or "all",
        str(len(result.nodes)),
        f"{prefixed(result.median)}{unit}",
        share(lowest.loss),
        lowest.node,
        share(result.detectable),
    )


def _notes(judged: StrataJudgement) -> Iterator[str]:
    by = f"Judged by {' and '.join(judged.conditions)}" if judged.conditions else "Judged as one condition"
    yield f"{by}{'; part: ' + ', '.join(judged.parts) if judged.parts else ''}."
    if judged.parts:
        yield "A part is compared with the same part of other nodes and with the other parts of its node."
    if not all(stratum.judged.sense_known for stratum in judged.strata):
        yield SENSE_TAKEN
    for stratum in [stratum for stratum in judged.strata if stratum.judged.ahead][:MOST_NAMES]:
        yield ahead_note(stratum.judged, stratum.text)
    for stratum in [stratum for stratum in judged.strata if stratum.judged.impossible][:MOST_NAMES]:
        yield f"{stratum.text}: {stratum.judged.doubtful_unit(MOST_NAMES)}."
    lacking = by_text((each.text, _missing(each)) for each in judged.strata if _missing(each))
    gaps = [
        f"{some(names, MOST_NAMES)} in {some(texts, MOST_NAMES) if len(texts) < len(judged.strata) else 'any run'}"
        for names, texts in lacking.items()
    ]
    if gaps:
        yield f"Not measured: {some(gaps, MOST_NAMES)}."
    yield from fewer_runs_notes(_fewer_runs(judged))
    if few := [f"{each.text} ({_row(each)[1]} of {each.few_of})" for each in judged.strata if each.few_of]:
        yield f"Measured on fewer than half: {some(few, MOST_NAMES)}."
    if judged.rare_parts:
        yield f"Parts that a third of the nodes or more lack: {some(judged.rare_parts, MOST_NAMES)}."
    if judged.without_facts:
        yield f"No facts are known of {some(judged.without_facts, MOST_NAMES)}."
