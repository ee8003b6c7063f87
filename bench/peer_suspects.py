"""Facts of slow nodes: how often facts without any effect are called proved, and how often a planted one is.

    .venv/bin/python bench/peer_suspects.py [--draws 1000]

Facts are drawn at random: each of 30 settings is odd on a share of the nodes, three of them always together, and each
node has odd values of its own with some probability. Which nodes are slow is drawn independently, or a setting decides
it. Exits with 1 where more than 5 % of the draws without an effect name a fact, beyond the chance of the draws.
"""

import argparse
import math
import random
import sys
from collections import defaultdict

from seatrial.judgement.peer_suspects import ERROR_RATE, PeerFact, PeerSuspect, rank_groups

SETTINGS = 30
TOGETHER = 3
PLANTED = "settings.planted"
DESIGNS = ((8, 2), (8, 3), (16, 2), (16, 4), (60, 2), (60, 6), (60, 20), (1000, 2), (1000, 30))
"""Nodes, and slow ones among them."""
ODD_SHARES = (0.03, 0.1, 0.3, 0.5)


def facts_of(nodes: list[str], share: float, chance: random.Random) -> dict[tuple[str, ...], list[PeerFact]]:
    """Groups as `fact_groups` makes them."""
    groups: defaultdict[tuple[str, ...], list[PeerFact]] = defaultdict(list)
    for number in range(SETTINGS):
        odd = tuple(name for name in nodes if chance.random() < share)
        if not odd or 2 * len(odd) > len(nodes):
            continue
        for alike in range(TOGETHER if number == 0 else 1):
            groups[odd].append(PeerFact(fact=f"settings.sysctls.s{number}.{alike}", value=1, usual=0))
    for name in nodes:
        if chance.random() < share:
            groups[(name,)].append(PeerFact(fact=f"settings.sysctls.own_{name}", value=1, usual=0))
    return groups


def proved(groups: dict[tuple[str, ...], list[PeerFact]], slow: set[str], nodes: list[str]) -> list[PeerSuspect]:
    """What would be named as proved, in its order."""
    return [each for each in rank_groups(groups, slow, frozenset(nodes)) if each.proved]


def main() -> int:
    """0 where the error rate holds."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=1000)
    draws = options.parse_args().draws
    chance = random.Random(7)
    worst = 0.0
    print(f"{draws} draws each: share with a fact named that has no effect; share with the planted fact named first\n")
    for count, slow_nodes in DESIGNS:
        nodes = [f"n{number}" for number in range(1, count + 1)]
        for share in ODD_SHARES:
            wrong = found = 0
            tried = max(draws // (10 if count == 1000 else 1), 1)
            for _ in range(tried):
                groups = facts_of(nodes, share, chance)
                slow = set(chance.sample(nodes, slow_nodes))
                wrong += bool(proved(groups, slow, nodes))
                groups.setdefault(tuple(sorted(slow)), []).append(PeerFact(fact=PLANTED, value=1, usual=0))
                named = proved(groups, slow, nodes)
                found += bool(named) and any(each.fact == PLANTED for each in named[0].facts)
            worst = max(worst, wrong / tried - 3 * math.sqrt(ERROR_RATE * (1 - ERROR_RATE) / tried))
            text = f"{count:5} nodes, {slow_nodes:3} slow, facts odd on {share:4.0%}"
            print(f"{text}: {wrong / tried:6.1%} {found / tried:6.1%}", flush=True)
    return int(worst > ERROR_RATE)


if __name__ == "__main__":
    sys.exit(main())
