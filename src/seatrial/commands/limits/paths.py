"""Which limits to show for many nodes: nodes of the same model once, and a line for each class of paths."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from seatrial.limits.node import node_limits
from seatrial.limits.path import path_limit
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import AnyLimit, Limit, NoLimit
from seatrial.model.words import few, natural_sorted

MOST_OF_NAMES = 40
NAMELESS = "node"


def limits_inside(facts: Mapping[str, NodeFacts]) -> list[AnyLimit]:
    """Every limit inside each node; nodes whose limits are the same in all but the name share them: "n[1-16] ..."."""
    alike: defaultdict[bytes, list[str]] = defaultdict(list)
    for node in natural_sorted(facts):
        plain = node_limits(msgspec.structs.replace(facts[node], hostname=NAMELESS))
        alike[msgspec.json.encode(plain)].append(node)
    found: list[AnyLimit] = []
    for nodes in alike.values():
        found += node_limits(msgspec.structs.replace(facts[nodes[0]], hostname=few(nodes, MOST_OF_NAMES)))
    return found


def limits_of_pair(facts: Mapping[str, NodeFacts], source: str, target: str) -> list[AnyLimit]:
    """Both ways between two nodes."""
    here, there = (msgspec.structs.replace(facts[node], hostname=node) for node in (source, target))
    return [path_limit(here, there), path_limit(there, here)]


def limits_between(facts: Mapping[str, NodeFacts]) -> list[AnyLimit]:
    """One for each class of ordered pairs with the same limit and the same binding term, the lowest first.

    Nodes that are the same in all that a path's limit is made of are computed once. The first pair stands for its
    class: "n1>n2 and 239 pairs more, from n[1-16] to n[1-16]".
    """
    makes: defaultdict[bytes, list[str]] = defaultdict(list)
    for node in natural_sorted(facts):
        makes[_ends(facts[node])].append(node)
    classes: dict[tuple[object, ...], tuple[AnyLimit, list[tuple[list[str], list[str]]]]] = {}
    for sources in makes.values():
        for targets in makes.values():
            if sources is targets and len(sources) < 2:
                continue
            source, target = sources[0], targets[1 if sources is targets else 0]
            limit, _ = limits_of_pair(facts, source, target)
            classes.setdefault(_kind(limit, source, target), (limit, []))[1].append((sources, targets))
    found = [_named(limit, blocks) for limit, blocks in classes.values()]
    return sorted(found, key=lambda each: each.limit_bytes_per_s if isinstance(each, Limit) else float("inf"))


def nothing_known(limits: Iterable[AnyLimit]) -> bool:
    """Whether none of them is a number."""
    return all(isinstance(each, NoLimit) for each in limits)


def _ends(facts: NodeFacts) -> bytes:
    """All that a path's limit takes from one of its ends, without what only names or counts."""
    hcas = [
        msgspec.structs.replace(
            hca,
            firmware="",
            ports=tuple(
                msgspec.structs.replace(port, lid=None, subnet_manager_lid=None, counters={}) for port in hca.ports
            ),
        )
        for hca in facts.hcas
    ]
    interfaces = [msgspec.structs.replace(each, errors={}) for each in facts.interfaces]
    pci = [
        msgspec.structs.replace(device, path=tuple(msgspec.structs.replace(hop, errors={}) for hop in device.path))
        for device in facts.pci
    ]
    why = {fact: reason for fact, reason in facts.absent.items() if fact.startswith("interfaces")}
    return msgspec.json.encode((facts.complete, hcas, pci, interfaces, why))


def _kind(limit: AnyLimit, source: str, target: str) -> tuple[object, ...]:
    """What makes two paths' limits the same; names do not."""
    if isinstance(limit, Limit):
        value: object = f"{limit.limit_bytes_per_s:.9g}"
        words = limit.binding
    else:
        value, words = None, limit.reason if isinstance(limit, NoLimit) else ""
    for node, stand_in in ((source, "source"), (target, "target")):
        words = re.sub(rf"(?<!\w){re.escape(node)}(?!\w)", stand_in, words)
    return value, words


def _named(limit: AnyLimit, blocks: list[tuple[list[str], list[str]]]) -> AnyLimit:
    count = sum(len(sources) * (len(targets) - (sources is targets)) for sources, targets in blocks)
    if count < 2:
        return limit
    froms = few({node for sources, _ in blocks for node in sources}, MOST_OF_NAMES)
    tos = few({node for _, targets in blocks for node in targets}, MOST_OF_NAMES)
    pairs = "1 pair" if count == 2 else f"{count - 1} pairs"
    return msgspec.structs.replace(limit, path=f"{limit.path} and {pairs} more, from {froms} to {tos}")
