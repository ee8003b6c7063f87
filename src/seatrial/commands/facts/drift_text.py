"""Which facts differ, for a terminal: what is known to be wrong, then what is odd, then what changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from seatrial.drift.changes import Change
from seatrial.drift.comparison import LOGIN_AND_COMPUTE, Difference
from seatrial.drift.peer_groups import groups
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import Finding
from seatrial.model.words import count, natural_sorted, some
from seatrial.render import finding_text
from seatrial.render.escape import shorten
from seatrial.render.fact_value import NOT_THERE, THERE, Value, value_text
from seatrial.render.node_names import few
from seatrial.render.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_DIFFERENCES = 40
MOST_VALUES = 6
MOST_ALONG = 6
MOST_OF_NAMES = 60
MOST_OF_VALUE = 160


def drift_as_text(
    facts: Mapping[str, NodeFacts],
    differences: Sequence[Difference],
    changes: Sequence[Change],
    against: Sequence[Difference],
    findings: Sequence[Finding],
    *,
    width: int = 100,
    colour: bool = False,
) -> str:
    """Findings, differences, changes, and what the login node has otherwise; ends in a newline.

    At most `width` (40 at least) columns wide, with ANSI colours or none.
    """
    blocks = _blocks(facts, differences, changes, against, findings)
    return rendered(blocks, width=width, colour=colour)


def _blocks(
    facts: Mapping[str, NodeFacts],
    differences: Sequence[Difference],
    changes: Sequence[Change],
    against: Sequence[Difference],
    findings: Sequence[Finding],
) -> Iterator["RenderableType"]:
    several = len({each.group for each in differences}) > 1
    yield text(_headline(facts, differences, findings), "bold")
    for number, finding in enumerate(findings, start=1):
        yield ""
        yield text(f"{number}  {finding.verdict.value}  {finding_text.title(finding)}", "bold")
        told = [("", finding.statement), *((line.label, line.text) for line in finding_text.lines(finding))]
        yield labelled(told, indent=3)
    yield from _section("Facts that differ between nodes that should be alike", differences, several=several)
    yield from _changes(changes)
    yield from _section("What the login node has otherwise than the compute nodes", against, several=False)
    makes = groups(facts)
    if len(makes) > 1:
        yield ""
        yield text("Nodes of like hardware", "bold")
        yield labelled(
            [(few(each.nodes, MOST_OF_NAMES), f"{count(len(each.nodes), 'node')}: {each.name}") for each in makes]
        )


def _headline(facts: Mapping[str, NodeFacts], differences: Sequence[Difference], findings: Sequence[Finding]) -> str:
    nodes = count(len(facts), "node")
    odd = {node for each in differences if each.group != LOGIN_AND_COMPUTE for node in each.odd}
    wrong = f"{count(len(findings), 'finding')}; " if findings else ""
    if not differences:
        return f"{wrong}no fact differs among {nodes} that should be alike"
    facts_differ = "1 fact differs" if len(differences) == 1 else f"{len(differences)} facts differ"
    return (
        f"{wrong}{facts_differ} among {nodes}; {len(odd)} of them {'is' if len(odd) == 1 else 'are'} odd in something"
    )


def _section(title: str, differences: Sequence[Difference], *, several: bool) -> Iterator["RenderableType"]:
    if not differences:
        return
    yield ""
    yield text(title, "bold")
    for difference in differences[:MOST_DIFFERENCES]:
        yield ""
        yield text(_sentence(difference, several=several))
        yield labelled(_values(difference), indent=3)
    if len(differences) > MOST_DIFFERENCES:
        yield ""
        yield text(f"and {count(len(differences) - MOST_DIFFERENCES, 'difference')} more, which the JSON has")


def _sentence(difference: Difference, *, several: bool) -> str:
    """1 of 64 nodes differs: processor.governors; with its group where there are several."""
    odd, compared = len(difference.odd), difference.compared
    if odd == compared:
        who = f"nothing is usual among {count(compared, 'node')}"
    else:
        who = f"{odd} of {count(compared, 'node')} {'differs' if odd == 1 else 'differ'}"
    where = f" ({difference.group})" if several else ""
    return f"{who}: {difference.fact}{where}"


def _values(difference: Difference) -> list[tuple[str, str]]:
    """Who has what, the rarest first; the usual value is always shown."""
    held = list(difference.values)
    shown = held if len(held) <= MOST_VALUES else [*held[: MOST_VALUES - 1], held[-1]]
    texts = _texts(difference.fact, (value for value, _ in shown))
    rows = [(few(nodes, MOST_OF_NAMES), words) for words, (_, nodes) in zip(texts, shown, strict=True)]
    if len(shown) < len(held):
        rows.insert(-1, ("...", f"{len(held) - len(shown)} values more"))
    if difference.along_with:
        rows.append(("along with", _along(difference.fact, difference.along_with)))
    return rows


def _changes(changes: Sequence[Change]) -> Iterator["RenderableType"]:
    if not changes:
        return
    yield ""
    yield text("What changed between the two readings", "bold")
    for change in changes[:MOST_DIFFERENCES]:
        before, after = _texts(change.fact, (change.before, change.after))
        yield ""
        yield text(f"{len(change.nodes)} of {count(change.of, 'node')}: {change.fact}: {before} → {after}")
        rows = [("on", few(change.nodes, MOST_OF_NAMES))]
        if change.along_with:
            rows.append(("along with", _along(change.fact, change.along_with)))
        yield labelled(rows, indent=3)
    if len(changes) > MOST_DIFFERENCES:
        yield ""
        yield text(f"and {count(len(changes) - MOST_DIFFERENCES, 'change')} more, which the JSON has")


def _texts(fact: str, values: Iterable[Value]) -> list[str]:
    """A device or a mount is there or not; any other fact has a value, or was not told."""
    told = list(values)
    if all(value is None or value is True for value in told):
        return [NOT_THERE if value is None else THERE for value in told]
    return [shorten(value_text(fact, value), MOST_OF_VALUE) for value in told]


def _along(fact: str, others: Sequence[str]) -> str:
    """The other facts by name, but those of the fact's own device or mount by their number."""
    own = [each for each in others if each.startswith(f"{fact}.")]
    apart = natural_sorted(each for each in others if not each.startswith(f"{fact}."))
    told = [f"its {count(len(own), 'fact')}"] if own else []
    return ", ".join([*told, *([some(apart, MOST_ALONG)] if apart else [])])
