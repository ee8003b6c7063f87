"""Sentences on a fleet: the first line, runs that failed or are missing, and numbers that few nodes have."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import msgspec

from seatrial.importers.error_counts import ALL_COUNTS
from seatrial.importers.fleets import FleetTable
from seatrial.importers.lone_cells import LoneCell
from seatrial.judgement.fleet.judge import FewerRuns
from seatrial.judgement.fleet.strata import GRAVEST, FileShift, FleetJudgement
from seatrial.judgement.peer_suspects import brief_separation
from seatrial.model.units import share
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, folded, some, verb
from seatrial.render.finding_text import fitting_sentence
from seatrial.statistics.estimates import FEWEST_ALIKE

MOST_NAMES, MOST_CELLS, MOST_OTHERS = 5, 10, 2


def all_lone(tables: Mapping[str, FleetTable]) -> tuple[LoneCell, ...]:
    """The lone cells of all tables, in their order."""
    return tuple(cell for table in tables.values() for cell in table.lone)


def led_by_lone(sentences: Sequence[str], cells: Sequence[LoneCell], *, leads: bool) -> list[str]:
    """The sentences behind the first of these cells and the names of who has the others. `leads`: no fault was found.

    Of one that has several only the first cell is shown.
    """
    if not leads or not cells:
        return [*sentences]
    (_, *alike), first = next(iter(_texts(cells).items()))
    names = [*dict.fromkeys(cell.subject for cell in cells if cell.subject not in alike)]
    others = f" ({some(names, MOST_OTHERS)} too)" if names else ""
    return [f"{first}{others}; {sentence}" for sentence in sentences]


def lone_note(cells: Sequence[LoneCell]) -> str:
    """A sentence with all of them, or the first `MOST_CELLS`; empty without any."""
    texts = [*_texts(cells).values()]
    more = f"; {len(texts) - MOST_CELLS} more" if len(texts) > MOST_CELLS else ""
    return f"Not judged, but alone in its column: {'; '.join(texts[:MOST_CELLS])}{more}." if cells else ""


def _texts(cells: Sequence[LoneCell]) -> dict[tuple[str, ...], str]:
    """Column, and who has a cell in it -> the sentence that says so."""
    alike: defaultdict[LoneCell, list[str]] = defaultdict(list)
    for cell in cells:
        alike[msgspec.structs.replace(cell, subject="")].append(cell.subject)
    return {(cell.column, *names): cell.text(names, folded(names)) for cell, names in alike.items()}


def failed_text(failed: Sequence[str], names: int) -> str:
    """`2 runs of n3 and n5 failed`. `failed`: the node of each failed run."""
    return f"{count(len(failed), 'run')} of {some(tuple(dict.fromkeys(failed)), names)} failed"


def shift_text(shift: FileShift) -> str:
    """`all nodes 8.0 % worse in after.csv than in before.csv`."""
    files = " than in ".join(PurePath(file).name for file in (shift.worse, shift.better))
    return f"all nodes {share(shift.loss)} worse in {files}{shift.where and ', '}{shift.where}"


def fewer_runs_text(fewer: Sequence[FewerRuns], names: int, noun: str = "node") -> str:
    """Who has fewer runs than were planned; empty if nobody has. `names`: how many are listed."""
    if not fewer:
        return ""
    subjects = tuple(dict.fromkeys(each.subject for each in fewer))
    who = ", ".join(subjects) if len(subjects) <= names else count(len(subjects), noun)
    has = f"{who} {verb(len(subjects), 'has', 'have')}"
    planned = {each.planned for each in fewer}
    if len({(each.runs, each.planned) for each in fewer}) == 1:
        what = f"{fewer[0].runs} of {count(fewer[0].planned, 'run')}"
    else:
        what = f"fewer than {max(planned)} runs" if len(planned) == 1 else "fewer runs"
    places = tuple(dict.fromkeys(each.where for each in fewer if each.where))
    where = f" in {places[0]}" if len(places) == 1 else f" under {count(len(places), 'condition')}" if places else ""
    return f"{has} {what}{where}"


def fewer_runs_notes(fewer: Sequence[FewerRuns]) -> Iterator[str]:
    """What would have been found of each node with fewer runs."""
    listed = [f"{each.subject} {each.runs} of {each.planned}{each.where and ' in '}{each.where} "
              f"(a loss of {share(each.detectable)} is found)" for each in fewer]  # fmt: skip
    if listed:
        yield f"Fewer runs than planned: {some(listed, MOST_NAMES)}."


def fleet_sentence(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> str:
    """What is wrong, what was not measured, and the fact that is proved to go with it, as far as a line has room.

    A sentence that names nobody says which nodes have fewer runs, too; one that does, if there is room. The sentences
    below the table have all names, and how often chance would separate them so.
    """
    left_out = [name for table in tables.values() for name in table.left_out]
    if left_out and not judged.subjects and not any(stratum.all_zero for stratum in judged.strata):
        return f"none of {count(len(left_out), 'output')} is valid: {left_out[0]}"
    proved = next((brief_separation(each) for each in judged.suspects if each.proved), "")
    names = range(MOST_NAMES, -1, -1)
    sentences = {number: [f"{text}{_missing(judged, number)}" for text in _ways(judged, max(number, 1))]
                 for number in names}  # fmt: skip
    ways = [f"{sentences[number][-1]}; {proved}" for number in names if proved]
    ways += [text for number in names for text in sentences[number]]
    if counts := [table for table in tables.values() if table.roles.value == ALL_COUNTS and table.lone]:
        none = sum(bool(runs) for table in counts for runs in table.values.values())
        ways = [f"{count(none, f'other {noun(judged)}')} {verb(none, 'counts', 'count')} no more than usual"]
    ways = led_by_lone(ways, all_lone(tables), leads=judged.verdict is Verdict.NOTE or not judged.subjects)
    if judged.shifts and not judged.named:
        ways = [f"{shift_text(judged.shifts[0])}; {text}" for text in ways]
    return fitting_sentence(judged.verdict, ways, _gaps(judged), needed=not judged.named)


def fewer_runs(judged: FleetJudgement) -> tuple[FewerRuns, ...]:
    """Who has fewer runs under which condition; without the condition where it holds under all of them."""
    fewer = [each for stratum in judged.strata for each in stratum.fewer_runs()]
    places = Counter(each.subject for each in fewer)
    everywhere = all(number == len(judged.strata) for number in places.values())
    return tuple(each._replace(where="") if everywhere else each for each in fewer)


def in_conditions(texts: Sequence[str]) -> str:
    """The conditions of a statement, for a sentence; empty for all conditions together, and for the only one."""
    return f" in {some(texts, 1)}" if any(texts) else ""


def noun(judged: FleetJudgement) -> str:
    """What was compared."""
    return "part" if judged.node_of else "node"


def _missing(judged: FleetJudgement, names: int) -> str:
    """Nodes and parts without a value and without a run that failed, and the condition if they have others."""
    gaps = [stratum for stratum in judged.strata if stratum.missing]
    lacking = dict.fromkeys(name for stratum in gaps for name in stratum.missing)
    failed = {*judged.failed}
    missing = tuple(name for name in lacking if judged.node_of.get(name, name) not in failed)
    if not missing or not judged.subjects:
        return ""
    everywhere = len(gaps) == len(judged.strata) and len({stratum.missing for stratum in gaps}) == 1
    where = "" if everywhere else in_conditions([stratum.text for stratum in gaps])
    if len(missing) > names:
        return f"; {count(len(missing), noun(judged))} not measured{where if names else ''}"
    return f"; not measured: {', '.join(missing)}{where}"


def _gaps(judged: FleetJudgement) -> list[str]:
    """Runs, conditions and parts that only some have and that do not withhold PASS; longer sentences first."""
    fewer, what = fewer_runs(judged), noun(judged)
    few = [stratum for stratum in judged.strata if stratum.few_of]
    gaps = []
    for names in range(MOST_NAMES, -1, -1):
        texts = [fewer_runs_text(fewer, names, what)]
        if len(few) == 1 and names:
            texts.append(f"{few[0].text} on {len(few[0].nodes)} of {count(few[0].few_of, what)}")
        elif few:
            texts.append(f"{count(len(few), 'condition')} on some {what}s only")
        if judged.rare_parts:
            rare = some(judged.rare_parts, names) if names else count(len(judged.rare_parts), "part")
            texts.append(f"{rare} on some nodes only")
        gaps.append("; ".join(filter(None, texts)))
    return [*gaps, f"not each {what} has all"] if any(gaps) else []


def _ways(judged: FleetJudgement, names: int) -> Iterator[str]:
    """Sentences with the runs that failed, longer ones first. `names`: how many nodes are listed."""
    failed = failed_text(judged.failed, names) if judged.failed and judged.subjects else ""
    if judged.named:
        yield from (f"{text}{failed and '; '}{failed}" for text in _named(judged, names))
    elif failed:
        yield from (*(f"{failed}; {text}" for text in _unnamed(judged, names)), failed)
    else:
        yield from _unnamed(judged, names)


def _named(judged: FleetJudgement, names: int) -> Iterator[str]:
    """Texts for a result in which somebody is named."""
    verdict = next(verdict for verdict in GRAVEST if judged.of(verdict))
    named = judged.of(verdict)
    where = in_conditions(named[0].where) if len({each.where for each in named}) == 1 else ""
    if verdict is Verdict.UNSTABLE:
        of = f"{len(named)} of {count(len(judged.subjects), noun(judged))}: "
        listed = some([each.subject for each in named], names)
        yield from (
            f"single bad runs on {text}; none is slow" for text in (f"{of}{listed}{where}", f"{of}{listed}", listed)
        )
        return
    below = "below" if all(stratum.higher_is_better for stratum in judged.strata) else "worse than"
    listed = some([f"{each.subject} {share(each.loss)}" for each in named], names)
    peers = f"{listed} {below} {verb(len(named), 'its', 'their')} peers"
    if verdict is Verdict.INCONCLUSIVE:
        needed = count(max(FEWEST_ALIKE - min(each.runs for each in named), 1), "more run")
        ends = [f"; {needed} would decide"]
    else:
        unstable = f"; {len(judged.of(Verdict.UNSTABLE))} unstable" if judged.of(Verdict.UNSTABLE) else ""
        ends = [f"{unstable}, among {_subjects(judged)}", unstable]
    yield from (f"{peers}{text}{end}" for text in dict.fromkeys((where, "")) for end in ends)


def _subjects(judged: FleetJudgement) -> str:
    nodes = count(len(judged.nodes), "node")
    return f"{count(len(judged.subjects), 'part')} of {nodes}" if judged.node_of else nodes


def _unnamed(judged: FleetJudgement, names: int) -> Iterator[str]:
    """Texts for a result in which nobody is named."""
    wild = next((stratum for stratum in judged.strata if stratum.impossible), None)
    asked = next((stratum for stratum in judged.strata if stratum.sense_needed), None)
    zero = {name for stratum in judged.strata for name in stratum.all_zero}
    if not judged.subjects and zero:
        yield f"every value of {count(len(zero), noun(judged))} is 0, so nothing can be compared"
    elif not judged.subjects:
        yield "no value was read"
    elif wild:
        yield wild.doubtful_unit(names)
    elif asked:
        above = f"{some(asked.ahead, names)} above {verb(len(asked.ahead), 'its', 'their')} peers"
        yield from (f"{above}{text}: is higher better?" for text in dict.fromkeys((in_conditions([asked.text]), "")))
    elif divided := [*_divided(judged, names)]:
        yield from divided
    elif judged.verdict is Verdict.INCONCLUSIVE and not judged.failed:
        yield from _hidden(judged)
    else:
        yield from _alike(judged, names)


def _divided(judged: FleetJudgement, names: int) -> Iterator[str]:
    """Texts for nodes that are not one population, or are too few to compare; none otherwise."""
    compared = [(stratum, stratum.result) for stratum in judged.strata if stratum.result]
    conditions, what = count(len(judged.strata), "condition"), noun(judged)
    few = [stratum for stratum, result in compared if not result.enough]
    two = [(stratum.text, result.populations) for stratum, result in compared if result.populations]
    own = f"each {what} was compared with its own"
    if len(two) > 1:
        yield f"two populations under {len(two)} of {conditions}; {own}"
    elif two:
        text, (slower, faster) = two[0]
        populations = f"two populations of {len(slower)} and {len(faster)} {what}s{in_conditions([text])}"
        yield from (f"{populations}; {own}", populations)
    elif few and len(judged.strata) == 1:
        yield f"{_subjects(judged)}, and at least {FEWEST_ALIKE} are needed to compare them with each other"
    elif few:
        lone = [runs.node for runs in few[0].nodes]
        if len(few) < len(judged.strata):
            yield f"{some(lone, names)} {verb(len(lone), 'has', 'have')} no peers in {few[0].text}"
        yield f"fewer than {FEWEST_ALIKE} values to compare under {len(few)} of {conditions}"


def _hidden(judged: FleetJudgement) -> Iterator[str]:
    """Texts for values that scatter too much to say that nobody is slow."""
    results = [stratum.result for stratum in judged.strata if stratum.result]
    rounded = any(result.rounded and result.detectable == judged.detectable for result in results)
    hidden = f"{'rounding' if rounded else 'the scatter'} hides a loss of less than {share(judged.detectable)}"
    weakest = max(fewer_runs(judged), key=lambda each: each.detectable, default=None)
    on = f" on {weakest.subject}" if weakest and weakest.detectable == judged.detectable else ""
    lowest, text = max(
        ((runs, stratum.text) for stratum in judged.strata for runs in stratum.nodes), key=lambda at: at[0].loss
    )
    if lowest.loss >= judged.effect:
        low = f"{hidden}{on}; lowest: {lowest.node} {share(lowest.loss)}"
        yield from (f"{low}{where}" for where in dict.fromkeys((in_conditions([text]), "")))
    yield from (f"{hidden}{on}", hidden)


def _alike(judged: FleetJudgement, names: int) -> Iterator[str]:
    """Texts for nodes that are alike, beside some that may be far ahead."""
    strata = judged.strata
    alike, where = f"{_subjects(judged)} alike", f" under {count(len(strata), 'condition')}" if len(strata) > 1 else ""
    if ahead := next((stratum for stratum in strata if stratum.ahead), None):
        others = count(len(ahead.nodes) - len(ahead.ahead), noun(judged))
        alike = f"{some(ahead.ahead, names)} far {ahead.better} than {others} alike"
        where = in_conditions([ahead.text])
    loss = f"a loss of {share(judged.detectable)} would"
    yield from (f"{alike}{where}; {loss} have been named", f"{alike}{where}; {loss} show", f"{alike}; {loss} show")
    yield f"{count(len(judged.subjects), noun(judged))} alike; {loss} show"
    if judged.verdict is Verdict.NOT_RUN:  # who was not measured says more than what would show
        yield alike
