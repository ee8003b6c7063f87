"""huge-pages-differ: memory is mapped in pages of other sizes than on the peers."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

HUGE_PAGES = ("vm.nr_hugepages", "vm.nr_overcommit_hugepages", "vm.nr_hugepages_mempolicy")
REMEDY = (
    "Set it as on the other nodes (/sys/kernel/mm/transparent_hugepage/enabled, sysctl vm.nr_hugepages, and "
    "transparent_hugepage= and hugepages= on the kernel's command line). Codes bound by memory differ by tenths."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Transparent ones and those set aside."""
    return unlike_items(readings, pages, REMEDY)


def pages(facts: NodeFacts) -> dict[str, str | None]:
    """What is set about them."""
    kept = {name: facts.settings.sysctls.get(name) for name in HUGE_PAGES}
    return {"the setting of transparent huge pages": facts.settings.transparent_huge_pages, **kept}


RULE = Rule(kind=FindingKind.HUGE_PAGES_DIFFER, title="huge pages differ", look=look)
