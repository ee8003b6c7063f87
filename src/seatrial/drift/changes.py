"""How each node's facts changed between two readings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from seatrial.drift.comparison import Value, fingerprint, within
from seatrial.drift.expected_differences import excused_over_time, tolerated_share
from seatrial.drift.flat_facts import FactGroup, parts
from seatrial.drift.severity import family, leading, weight
from seatrial.model.facts import NodeFacts
from seatrial.model.past import FactChange

THE_NODE = "node"
BOOT = "boot_id"
Step = tuple[str, Value, Value]
"""A fact, before and after."""


class FactDrift(FactChange, frozen=True, kw_only=True):
    """One fact that changed in the same way on some nodes. None: unknown or absent."""

    of: int
    """How many nodes were compared."""
    weight: int


def changes(before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> tuple[FactDrift, ...]:
    """Facts that changed, by what they are known to cost, then by how few nodes they changed on, then by name.

    What changes on its own (`EXCUSES`) is left out, and so is a fact that one of the readings could not read. A new
    boot is one change, `boot_id`, without its values; nodes that are in one of the readings alone are changes of the
    fact "node".
    """
    both = sorted(before.keys() & after.keys())
    nodes_of: defaultdict[Step, list[str]] = defaultdict(list)
    compared: dict[tuple[object, ...], tuple[Step, ...]] = {}
    for node in both:
        for step in _steps(before[node], after[node], compared):
            nodes_of[step].append(node)
    drifts = [
        *_folded(nodes_of, len(both)),
        *_of_nodes(before.keys() - after.keys(), len(before.keys() | after.keys()), came=False),
        *_of_nodes(after.keys() - before.keys(), len(before.keys() | after.keys()), came=True),
    ]
    return tuple(sorted(drifts, key=lambda each: (-each.weight, len(each.nodes), each.fact, each.nodes)))


def _steps(before: NodeFacts, after: NodeFacts, memo: dict[tuple[object, ...], tuple[Step, ...]]) -> Iterator[Step]:
    """What changed on one node. `memo`: pairs of pieces that were compared on another node already."""
    if before.boot_id and after.boot_id and before.boot_id != after.boot_id:
        yield BOOT, "one boot", "another boot"
    old = {part.name: part for part in parts(before, steady=True)}
    new = {part.name: part for part in parts(after, steady=True)}
    for name in dict.fromkeys((*old, *new)):
        was, now = old.get(name, FactGroup(name, None)), new.get(name, FactGroup(name, None))
        key = (name, fingerprint(was), fingerprint(now), before.complete, after.complete)
        if key[1] == key[2]:
            continue
        if key not in memo:
            memo[key] = tuple(_unlike(was, now, before.complete, after.complete))
        for step in memo[key]:
            fact, was_value, now_value = step
            unread = (was_value is None and was_unread(fact, before)) or (now_value is None and was_unread(fact, after))
            if not unread:
                yield step


def was_unread(fact: str, facts: NodeFacts) -> bool:
    """Whether a fact that has no value there could not be read, so that nothing is known of it.

    `NodeFacts.absent` names facts and groups of them: `memory.dimms`, `pci.max_width` (of all devices). A reason for a
    whole list of which some entries were read is a remark on others, and says nothing of this one.
    """
    words = fact.split(".")
    for name in facts.absent:
        whole = getattr(facts, name, None)
        if not (isinstance(whole, tuple) and whole) and _part_of(name.split("."), words):
            return True
    return False


def _part_of(name: Sequence[str], fact: Sequence[str]) -> bool:
    """Whether the words of a name occur in those of a fact, in order, beginning with the first."""
    left = iter(fact)
    return name[0] == fact[0] and all(word in left for word in name)


def _unlike(was: FactGroup, now: FactGroup, was_complete: bool, now_complete: bool) -> Iterator[Step]:
    old, new = was.flat(steady=True), now.flat(steady=True)
    for fact in dict.fromkeys((*old, *new)):
        before, after = old.get(fact), new.get(fact)
        broke_off = (before is None and not was_complete) or (after is None and not now_complete)
        if before == after or broke_off or excused_over_time(fact):
            continue
        share = tolerated_share(fact)
        if not share or len(within({before: [""], after: [""]}, share)) > 1:
            yield fact, before, after


def _folded(nodes_of: Mapping[Step, list[str]], of: int) -> Iterator[FactDrift]:
    together: defaultdict[tuple[str, tuple[str, ...]], list[Step]] = defaultdict(list)
    for step, changed in nodes_of.items():
        fact, before, after = step
        together[family(fact, of_presence=before is None or after is None), tuple(changed)].append(step)
    for (_, nodes), steps in together.items():
        named, heaviest, others = leading(name for name, _, _ in steps)
        fact, before, after = next(step for step in steps if step[0] == named)
        yield FactDrift(
            fact=fact,
            before=before,
            after=after,
            nodes=nodes,
            of=of,
            weight=heaviest,
            along_with=tuple(dict.fromkeys(others)),
        )


def _of_nodes(nodes: Set[str], of: int, *, came: bool) -> list[FactDrift]:
    """The nodes that only one of the readings has."""
    if not nodes:
        return []
    before, after = (None, "read") if came else ("read", None)
    return [
        FactDrift(fact=THE_NODE, before=before, after=after, nodes=tuple(sorted(nodes)), of=of, weight=weight(THE_NODE))
    ]
