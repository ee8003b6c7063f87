"""cores-differ: fewer cores or processors online than the peers have."""

from collections.abc import Iterator
from operator import lt

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike, unlike_items

REMEDY = (
    "Look which processors are offline (/sys/devices/system/cpu/offline) and why: nr_cpus, maxcpus or isolcpus on "
    "the kernel's command line, cores switched off in the BIOS, a processor that the BMC reports as failed."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Cores first; processors among nodes with as many cores and SMT alike, so that nothing is told twice."""
    yield from unlike(readings, "the number of its cores", lambda facts: facts.cores, REMEDY, worse=lt)
    yield from unlike_items(readings, processors, REMEDY, worse=lt)


def processors(facts: NodeFacts) -> dict[str, int | None]:
    """Its processors, under a name that only comparable nodes share."""
    smt = {True: ", SMT on", False: ", SMT off", None: ""}[facts.processor.smt_active]
    cores = "" if facts.cores is None else f" ({facts.cores} cores{smt})"
    return {f"the number of its processors{cores}": facts.processors}


RULE = Rule(kind=FindingKind.CORES_DIFFER, title="cores missing", look=look)
