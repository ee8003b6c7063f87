"""Which facts differ: between nodes that should be alike, between two times, between login and compute nodes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from seatrial.drift.changes import Change, changes
from seatrial.drift.common_facts import EVERYONE, alike_everywhere, shared_mounts
from seatrial.drift.compare import Holders, Value, majority, unlike
from seatrial.drift.expected_differences import excused_between_nodes
from seatrial.drift.hardware_groups import groups
from seatrial.drift.severity import family, leading
from seatrial.model.facts import NodeFacts

__all__ = ["Change", "Difference", "against", "changes", "drift"]

LOGIN_AND_COMPUTE = "login and compute nodes"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One fact that is not the same on nodes that should be alike."""

    fact: str
    group: str
    """The make of the nodes that were compared, "all nodes", or "login and compute nodes"."""
    usual: Value
    """What more than half of them have; None where nothing has a majority, or where most do not have the fact."""
    values: Holders
    """Every value (None: not told, not there) and its nodes, the rarest first."""
    weight: int
    """100: known to spoil everything; 10: nothing is known."""
    along_with: tuple[str, ...] = ()
    """Facts of the same family (a device, a mount) that differ on the same nodes."""

    @property
    def odd(self) -> tuple[str, ...]:
        """The nodes without the usual value; all where nothing is usual."""
        usual = majority(self.values)
        return tuple(node for _, nodes in self.values for node in nodes if nodes != usual)

    @property
    def compared(self) -> int:
        """How many nodes there are in all."""
        return sum(len(nodes) for _, nodes in self.values)


def drift(facts: Mapping[str, NodeFacts]) -> tuple[Difference, ...]:
    """The facts that differ within each group of like hardware, the most telling first.

    Then those that are one within each group and differ between groups although hardware is no reason (versions,
    shared mounts: `everywhere.alike_everywhere`). Order: what the fact is known to cost, then how few nodes are odd,
    then the name. Facts that must differ are left out (`excuses.EXCUSES`).
    """
    makes = groups(facts)
    found: list[Difference] = []
    for make in makes:
        found += _folded(make.name, unlike({node: facts[node] for node in make.nodes}, excused_between_nodes))
    if len(makes) > 1:
        told = {fact for each in found for fact in (each.fact, *each.along_with)}
        shared = shared_mounts(facts)
        apart = unlike(
            facts, lambda fact: fact in told or excused_between_nodes(fact) or not alike_everywhere(fact, shared)
        )
        found += _folded(EVERYONE, apart)
    return tuple(sorted(found, key=_most_telling_first))


def against(login: NodeFacts, nodes: Mapping[str, NodeFacts]) -> tuple[Difference, ...]:
    """What programs built on the login node would miss on the compute nodes: versions, libraries, shared mounts, paths.

    A difference is told where the login node has not what is usual on the compute nodes; where nothing is usual there,
    if none of them has it.
    """
    name = login.hostname if login.hostname not in nodes else f"{login.hostname} (login)"
    everyone = {name: login, **nodes}
    shared = shared_mounts(everyone)
    found = []
    for fact, told in unlike(everyone, lambda fact: excused_between_nodes(fact) or not alike_everywhere(fact, shared)):
        others = tuple((value, tuple(node for node in holding if node != name)) for value, holding in told)
        of_login = next((holding for value, holding in told if name in holding), (name,))
        usual = majority(tuple(sorted(others, key=lambda each: len(each[1]))))
        if (set(of_login) - {name}) and (not usual or usual[0] in of_login):
            continue
        found.append((fact, told))
    return tuple(sorted(_folded(LOGIN_AND_COMPUTE, found), key=_most_telling_first))


def _folded(group: str, found: Iterable[tuple[str, Holders]]) -> list[Difference]:
    """One difference for all facts of a family that part the nodes in the same way."""
    together: defaultdict[tuple[object, ...], list[tuple[str, Holders]]] = defaultdict(list)
    for fact, told in found:
        of_presence = len(told) == 2 and any(value is None for value, _ in told)
        parted = tuple(nodes for _, nodes in told)
        together[(family(fact, of_presence=of_presence), *parted)].append((fact, told))
    return [_difference(group, each) for each in together.values()]


def _difference(group: str, facts: list[tuple[str, Holders]]) -> Difference:
    fact, weight, others = leading(name for name, _ in facts)
    told = next(told for name, told in facts if name == fact)
    usual = majority(told)
    return Difference(
        fact=fact,
        group=group,
        usual=next((value for value, nodes in told if nodes == usual), None),
        values=told,
        weight=weight,
        along_with=others,
    )


def _most_telling_first(difference: Difference) -> tuple[int, float, int, str, str]:
    odd = len(difference.odd)
    return -difference.weight, odd / difference.compared, odd, difference.fact, difference.group
