"""hca-missing: fewer adapters of a kind than the peers have."""

from collections import Counter
from collections.abc import Iterator
from operator import lt

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Look whether the bus shows the card (lspci): if it does, its driver did not start (dmesg, openibd or rdma "
    "service); if not, seat it anew, then look at its power and at the slot."
)


def look(readings: Readings) -> Iterator[Violation]:
    """By driver, since names and numbers may move; all together where an adapter does not tell its driver."""
    told = all(hca.driver for known in readings.facts.values() for hca in known.hcas)

    def counts(facts: NodeFacts) -> Counter[str]:
        return Counter(f"the number of adapters{f' of {hca.driver}' if told else ''}" for hca in facts.hcas)

    none = {kind: 0 for known in readings.facts.values() for kind in counts(known)}

    def read(facts: NodeFacts) -> dict[str, int | None]:
        return {**none, **counts(facts)} if facts.complete else {}  # what broke off may have what it does not tell

    return unlike_items(readings, read, REMEDY, worse=lt)


RULE = Rule(kind=FindingKind.HCA_MISSING, title="adapter missing", look=look)
