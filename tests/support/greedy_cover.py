"""The parts that explain bad pairs, chosen by the definition of `locate.explanation.blame` and not by its arrays."""

from collections.abc import Collection, Mapping

from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import Blamed, Crossings
from seatrial.model.fabric import Component


def greedy(
    bad: Mapping[Pair, float], good: Crossings, *, acquit: bool, cleared: Collection[Component] = ()
) -> list[Blamed]:
    """All parts are weighed again for each one that is chosen."""
    fabric = good.fabric
    on_bad: dict[Component, set[Pair]] = {}
    for one in bad:
        for part in fabric.path(*one):
            on_bad.setdefault(part, set()).add(one)
    able = {part: pairs for part, pairs in on_bad.items() if part not in cleared and not (acquit and good.count(part))}
    alone = [[part for part in fabric.path(*one) if part in able] for one in bad]
    certain = {parts[0] for parts in alone if acquit and len(parts) == 1}
    found, left = [], set(bad)
    for part in sorted(certain, key=lambda each: (-len(able[each]), each)):
        found.append(Blamed(frozenset([part]), frozenset(able[part])))
        left -= able.pop(part)
    while able:
        weight = {part: sum(bad[one] for one in pairs & left) for part, pairs in able.items()}
        subject = {part: (part.kind, part.name) if acquit else part for part in able}
        together = {part: sum(weight[other] for other in able if subject[other] == subject[part]) for part in able}
        scores = {part: (together[part], weight[part]) for part in able if weight[part]}
        if not scores:
            break
        top = max(scores.values())
        explains = able[min(part for part in scores if scores[part] == top)] & left
        alike = frozenset(part for part in able if able[part] & left == explains)
        found.append(Blamed(alike, frozenset(explains)))
        left -= explains
        able = {part: pairs for part, pairs in able.items() if part not in alike}
    return found
