"""module-version-differs: a driver of another version than on peers with the same kernel."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import same_kernel, unlike_items

REMEDY = (
    "Install the same driver package on all nodes (OFED, the GPU's, the file system's) and load it anew, or "
    "restart: the module that is loaded may be older than the one that is installed (modinfo against "
    "/sys/module)."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Module by module; those that tell no version are the kernel's own."""
    return unlike_items(readings, versions, REMEDY, groups=same_kernel(readings))


def versions(facts: NodeFacts) -> dict[str, str | None]:
    """Version by module."""
    return {f"the module {name}": version for name, version in facts.settings.modules.items() if version}


RULE = Rule(kind=FindingKind.MODULE_VERSION_DIFFERS, title="module version differs", look=look)
