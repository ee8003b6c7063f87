"""Differences between nodes: the report of `seatrial facts --drift`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from seatrial.commands.facts.drift import Drift
from seatrial.drift.changes import FactDrift
from seatrial.drift.comparison import LOGIN_AND_COMPUTE, FactDifference
from seatrial.drift.fact_words import NOT_THERE, THERE, Value, value_text
from seatrial.drift.peer_groups import PeerGroup, groups
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import INCOMPLETE, Finding, Verdict
from seatrial.model.words import count, few, natural_sorted, some
from seatrial.render.escape import shorten
from seatrial.render.finding_text import at_fault, finding_sentence, part_name, sentence_of, word_of
from seatrial.render.json import filled
from seatrial.render.report import Block, Findings, Gauge, Lines, Paragraph, Report

LINE = 65
"""Columns of the first line that its verdict leaves."""
MOST_DIFFERENCES = 40
MOST_VALUES = 6
MOST_ALONG = 6
MOST_OF_NAMES = 60
MOST_OF_FIRST = 30
"""Characters of the nodes in the first line."""
MOST_OF_VALUE = 160


class DifferenceFields(FactDifference, frozen=True, kw_only=True):
    """One fact that is not the same on nodes that should be alike, and the nodes without its usual value."""

    odd: tuple[str, ...]


class DriftFields(msgspec.Struct, frozen=True, kw_only=True):
    """Differences between nodes, and changes since an earlier reading; docs/drift.md describes each field."""

    groups: tuple[PeerGroup, ...]
    differences: tuple[DifferenceFields, ...]
    changes: tuple[FactDrift, ...]
    not_compared: tuple[str, ...]
    against: tuple[DifferenceFields, ...]


def drift_report(facts: Mapping[str, NodeFacts], found: Drift) -> Report:
    """Findings, differences, changes, and differences between login node and compute nodes."""
    return Report(
        kind="drift",
        word=word_of(found.findings, _word(found)),
        sentence=_sentence_of(facts, found),
        exit_code=found.exit_code,
        payload=lambda: drift_fields(facts, found),
        terminal=lambda _: _blocks(facts, found),
        page=lambda: _blocks(facts, found),
        findings=found.findings,
        gauges=(Gauge(name="nodes", value=len(facts)), Gauge(name="differences", value=len(found.differences))),
    )


def drift_fields(facts: Mapping[str, NodeFacts], found: Drift) -> DriftFields:
    """What programs read of differences, nodes in natural order."""
    return DriftFields(
        groups=tuple(structs.replace(group, nodes=tuple(natural_sorted(group.nodes))) for group in groups(facts)),
        differences=tuple(map(_difference_fields, found.differences)),
        changes=tuple(structs.replace(change, nodes=tuple(natural_sorted(change.nodes))) for change in found.changes),
        not_compared=tuple(natural_sorted(found.not_compared)),
        against=tuple(map(_difference_fields, found.against)),
    )


def _difference_fields(difference: FactDifference) -> DifferenceFields:
    return filled(DifferenceFields, difference, odd=natural_sorted(difference.odd))


def _blocks(facts: Mapping[str, NodeFacts], found: Drift) -> Iterator[Block]:
    yield Findings(findings=found.findings)
    several = len({each.group for each in found.differences}) > 1
    yield from _section("Facts that differ between nodes that should be alike", found.differences, several=several)
    yield from _changes(found.changes)
    if found.not_compared:
        which = few(natural_sorted(found.not_compared), MOST_OF_NAMES)
        yield Paragraph(text=f"Not compared with the earlier reading, which does not have them: {which}")
    yield from _section("Differences between the login node and the compute nodes", found.against, several=False)
    makes = groups(facts)
    if len(makes) > 1:
        rows = ((few(each.nodes, MOST_OF_NAMES), f"{count(len(each.nodes), 'node')}: {each.name}") for each in makes)
        yield Lines(title="Nodes with the same hardware", rows=tuple(rows), indent=0)


def _word(found: Drift) -> str:
    """The headline's word without a finding: INCOMPLETE if a node is missing, NOTE if something differs or changed."""
    if found.exit_code is ExitCode.INCOMPLETE:
        return INCOMPLETE
    differs = found.differences or found.changes or found.against or found.findings
    return Verdict.NOTE.value if differs else Verdict.PASS.value


def _sentence_of(facts: Mapping[str, NodeFacts], drift: Drift) -> str:
    differences, findings = drift.differences, drift.findings
    nodes = count(len(facts), "node")
    wrong = _reached(facts)
    wrong += f"{_of_findings(findings)}; " if findings else ""
    wrong += _of_changes(drift.changes, counted=bool(findings))
    wrong += _of_login(drift.against, counted=bool(findings or drift.changes))
    if not differences and len(facts) == 1:
        whole = f"{wrong or 'nothing known to be bad; '}{nodes}, compared with no other node"
        return whole if len(whole) <= LINE else wrong.removesuffix("; ") or whole
    if not differences:
        kinds = len(groups(facts))
        if kinds > 1:
            return (
                f"{wrong}no fact differs among {nodes}; only nodes of the same hardware are compared, of {kinds} kinds"
            )
        return f"{wrong}no fact differs among {nodes} that should be alike"
    facts_differ = "1 fact differs" if len(differences) == 1 else f"{count(len(differences), 'fact')} differ"
    first = "" if findings else f"{_first(differences)}; "
    return f"{wrong}{first}{facts_differ} among {nodes}"


def _reached(facts: Mapping[str, NodeFacts]) -> str:
    """`/home/work answers on 4 nodes; `: where paths were asked for and all nodes reach all of them."""
    answers = [each.system.paths for each in facts.values()]
    paths = list(answers[0]) if answers else []
    if not paths or not all(list(own) == paths and all(own.values()) for own in answers):
        return ""
    what = f"{paths[0]} answers" if len(paths) == 1 else f"{count(len(paths), 'path')} answer"
    return f"{what} on {count(len(facts), 'node')}; "


def _of_findings(findings: Sequence[Finding]) -> str:
    """`n7: governor ondemand on 8 of 8 processors; 2 more findings: n2, n9`: the first, and who has the others."""
    faults = at_fault(findings)
    if len(faults) < 2:
        return sentence_of(findings) or _of_notes(findings)
    others = list(dict.fromkeys(part_name(fault.subject) for fault in faults[1:]))
    return f"{finding_sentence(faults[0])}; {count(len(faults) - 1, 'more finding')}: {few(others, MOST_OF_FIRST)}"


def _of_notes(notes: Sequence[Finding]) -> str:
    """`n1: processor 0 is 6 °C hotter than processor 1; 1 more note`; the number of them where the first is long."""
    if not notes[0].brief:
        return count(len(notes), "note")
    more = f"; {count(len(notes) - 1, 'more note')}" if len(notes) > 1 else ""
    return f"{part_name(notes[0].subject)}: {notes[0].brief}{more}"


def _of_changes(changes: Sequence[FactDrift], *, counted: bool) -> str:
    """`4 of 4 nodes: kernel: 3.10.0-327 → 3.10.0-327.36.1; 2 more changes; `: the first change, and how many more there
    are; after a finding their number alone.
    """
    if not changes:
        return ""
    if counted:
        return f"{count(len(changes), 'change')} since the earlier reading; "
    more = f"; {count(len(changes) - 1, 'more change')}" if len(changes) > 1 else ""
    return f"{_change(changes[0])}{more}; "


def _of_login(differences: Sequence[FactDifference], *, counted: bool) -> str:
    """`the login node differs in kernel; 3 more differences from it; `: after something else their number alone."""
    if not differences:
        return ""
    if counted:
        return f"{count(len(differences), 'difference')} from the login node; "
    more = f"; {count(len(differences) - 1, 'more difference')} from it" if len(differences) > 1 else ""
    return f"the login node differs in {differences[0].fact}{more}; "


def _change(change: FactDrift) -> str:
    before, after = _texts(change.fact, (change.before, change.after))
    return f"{len(change.nodes)} of {count(change.of, 'node')}: {change.fact}: {before} → {after}"


def _first(differences: Sequence[FactDifference]) -> str:
    """The nodes and the name of the first difference between like nodes."""
    difference = next((each for each in differences if each.group != LOGIN_AND_COMPUTE), differences[0])
    if len(difference.odd) == difference.compared:
        return f"{count(difference.compared, 'node')} have no majority value of {difference.fact}"
    names = natural_sorted(difference.odd)
    return f"{few(names, MOST_OF_FIRST)} {'differs' if len(names) == 1 else 'differ'} in {difference.fact}"


def _section(title: str, differences: Sequence[FactDifference], *, several: bool) -> Iterator[Block]:
    if not differences:
        return
    yield Paragraph(text=title, strong=True)
    for difference in differences[:MOST_DIFFERENCES]:
        yield Paragraph(text=_sentence(difference, several=several))
        yield Lines(rows=tuple(_values(difference)), tight=True)
    if len(differences) > MOST_DIFFERENCES:
        more = count(len(differences) - MOST_DIFFERENCES, "more difference")
        yield Paragraph(text=f"and {more} in the JSON report")


def _sentence(difference: FactDifference, *, several: bool) -> str:
    """1 of 64 nodes differs: processor.governors; with its group where there are several."""
    odd, compared = len(difference.odd), difference.compared
    if odd == compared:
        who = f"no majority value among {count(compared, 'node')}"
    else:
        who = f"{odd} of {count(compared, 'node')} {'differs' if odd == 1 else 'differ'}"
    where = f" ({difference.group})" if several else ""
    return f"{who}: {difference.fact}{where}"


def _values(difference: FactDifference) -> list[tuple[str, str]]:
    """Nodes and their values, the rarest value first; the most common one is always shown."""
    held = list(difference.values)
    shown = held if len(held) <= MOST_VALUES else [*held[: MOST_VALUES - 1], held[-1]]
    texts = _texts(difference.fact, (value for value, _ in shown))
    rows = [(few(nodes, MOST_OF_NAMES), words) for words, (_, nodes) in zip(texts, shown, strict=True)]
    if len(shown) < len(held):
        rows.insert(-1, ("...", f"{len(held) - len(shown)} more values"))
    if difference.along_with:
        rows.append(("along with", _along(difference.fact, difference.along_with)))
    return rows


def _changes(changes: Sequence[FactDrift]) -> Iterator[Block]:
    if not changes:
        return
    yield Paragraph(text="What changed between the two readings", strong=True)
    for change in changes[:MOST_DIFFERENCES]:
        yield Paragraph(text=_change(change))
        rows = [("on", few(change.nodes, MOST_OF_NAMES))]
        if change.along_with:
            rows.append(("along with", _along(change.fact, change.along_with)))
        yield Lines(rows=tuple(rows), tight=True)
    if len(changes) > MOST_DIFFERENCES:
        more = count(len(changes) - MOST_DIFFERENCES, "more change")
        yield Paragraph(text=f"and {more} in the JSON report")


def _texts(fact: str, values: Iterable[Value]) -> list[str]:
    """A device or a mount exists or not; any other fact has a value, or was not read."""
    known = list(values)
    if all(value is None or value is True for value in known):
        return [NOT_THERE if value is None else THERE for value in known]
    return [shorten(value_text(fact, value), MOST_OF_VALUE) for value in known]


def _along(fact: str, others: Sequence[str]) -> str:
    """The other facts by name, but those of the fact's own device or mount by their number."""
    own = [each for each in others if each.startswith(f"{fact}.")]
    apart = natural_sorted(each for each in others if not each.startswith(f"{fact}."))
    counted = [f"its {count(len(own), 'fact')}"] if own else []
    return ", ".join([*counted, *([some(apart, MOST_ALONG)] if apart else [])])
