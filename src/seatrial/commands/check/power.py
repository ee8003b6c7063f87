"""What a run could have shown: the smallest fault that it would have named, and whether noise hid more than it may."""

from collections.abc import Sequence
from math import sqrt

from seatrial.commands.check.suspects import Suspicion
from seatrial.locate.effects import MUST_SHOW, to_log, to_loss
from seatrial.locate.references import Line, References
from seatrial.locate.significance import detectable
from seatrial.locate.thresholds import RETEST_PAIRS
from seatrial.model.judgement import Power
from seatrial.model.pair_faults import Population, Resolution
from seatrial.model.units import BANDWIDTH, LATENCY, share
from seatrial.model.words import natural_sorted, some

MOST_NODES = 6
MARGIN = 1.5
"""An effect that was asked for may take this many times itself to be found."""


def powers(references: References, suspicion: Suspicion) -> tuple[Power, ...]:
    """Of bandwidth and of latency, where either was compared with peers."""
    if not references.alike:
        return ()
    resolutions = {one.metric: one for one in (suspicion.located.resolutions if suspicion.located else ())}
    found = []
    if references.bandwidth is not None:
        found.append(_power(BANDWIDTH, references.bandwidth, resolutions.get(BANDWIDTH)))
    if references.speed:
        worst = max(references.speed.values(), key=lambda line: line.lack)
        found.append(_power(LATENCY, worst, resolutions.get(LATENCY)))
    return tuple(found)


def _power(metric: str, line: Line, averaged: Resolution | None) -> Power:
    """A fault has to be suspected first, by a pair or by an average, and to stand the retest then."""
    smallest = detectable(line.lack, line.scatter)
    if averaged is not None and averaged.detectable_ratio is not None:
        smallest = min(smallest, to_log(min(averaged.detectable_ratio, 0.99), metric))
    smallest = max(smallest, detectable(line.effect, line.scatter / sqrt(RETEST_PAIRS)))
    loss = to_loss(smallest, metric)
    return Power(
        metric=metric,
        effect_ratio=to_loss(line.effect, metric),
        scatter_ratio=to_loss(line.scatter, metric),
        detectable_ratio=loss,
        enough=metric != BANDWIDTH or loss <= max(MUST_SHOW, MARGIN * to_loss(line.effect, metric)),
    )


def unsure_notes(known: Sequence[Power], paces: Sequence[Population]) -> list[str]:
    """Why nothing passes although nothing is named."""
    notes = [
        f"Healthy pairs scatter by {share(power.scatter_ratio)}: a node that is 10 % slow would not have been seen, so "
        "nothing passes. Measure when the machine is quiet, or longer (--budget)."
        for power in known
        if not power.enough
    ]
    if paces:
        slower = min(paces, key=lambda one: one.ratio)
        notes.append(
            f"The nodes have two paces: {some(natural_sorted(slower.nodes), MOST_NODES)} deliver {share(slower.ratio)} "
            "of what the others do. Their majority does not say which is right; compare with their design."
        )
    return notes
