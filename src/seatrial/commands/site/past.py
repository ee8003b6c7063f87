"""What runs said of each node, one after another, and where that changed; pure."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.judgement.standings import Judged
from seatrial.model.monitoring import Standing
from seatrial.model.node_trials import Measure
from seatrial.model.verdict import Verdict

MOST_LOOKS = 60
"""Runs of a node that its page lists, the newest: two months of a check every night."""
MOST_CHANGES = 30
"""Changed verdicts on the index, the newest."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What one run said of a node."""

    run: str
    ended: str
    """When the run ended: UTC, ISO 8601."""
    verdict: Verdict
    of_limit: float | None
    """Share of the limit that the node's best pairs reached, out and in, the lesser; None: not measured."""
    faults: tuple[str, ...]
    """What the run found, each to follow the node's name; the gravest first."""
    figures: Mapping[Measure, float] = {}
    """The main figures of its trials, in base units, as far as measured."""


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """A node on which a run said something else than the run before it."""

    node: str
    before: Verdict
    after: Look


def looks_of_nodes(runs: Sequence[Judged]) -> dict[str, tuple[Look, ...]]:
    """What the newest runs said of each node, the newest first. `runs`: the oldest first."""
    looks: dict[str, list[Look]] = {}
    for run in reversed(runs):
        for standing in _nodes(run):
            of_node = looks.setdefault(standing.node, [])
            if len(of_node) < MOST_LOOKS:
                of_node.append(_look(run, standing))
    return {node: tuple(of_node) for node, of_node in looks.items()}


def changed_verdicts(runs: Iterable[Judged]) -> tuple[VerdictChange, ...]:
    """The latest changes, the newest first. `runs`: the oldest first."""
    last: dict[str, Verdict] = {}
    changes: deque[VerdictChange] = deque(maxlen=MOST_CHANGES)
    for run in runs:
        for standing in _nodes(run):
            before = last.get(standing.node)
            if before is not None and before is not standing.verdict:
                changes.append(VerdictChange(node=standing.node, before=before, after=_look(run, standing)))
            last[standing.node] = standing.verdict
    return tuple(reversed(changes))


def _nodes(run: Judged) -> Iterable[Standing]:
    """No node's name has a colon; other parts that a finding names have one."""
    return (standing for standing in run.nodes if ":" not in standing.node)


def _look(run: Judged, standing: Standing) -> Look:
    return Look(
        run=run.run,
        ended=run.ended,
        verdict=standing.verdict,
        of_limit=standing.of_limit,
        faults=tuple(fault.text for fault in standing.faults),
        figures=standing.figures,
    )
