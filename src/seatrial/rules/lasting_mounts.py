"""Which mounts say something about a node: those that are there for good."""

from collections.abc import Iterable, Sequence

from seatrial.model.facts import NodeFacts
from seatrial.model.system import Mount
from seatrial.node.mounts import is_passing
from seatrial.rules.base import Readings

AUTOFS = "autofs"


def mounts_by_node(readings: Readings, group: Sequence[str]) -> dict[str, dict[str, Mount]]:
    """Node -> path -> mount, of the nodes that tell their mounts; alike tables are one and the same."""
    automatic = autofs_places(readings.facts.values())
    found: dict[str, dict[str, Mount]] = {}
    told: tuple[Mount, ...] = ()
    table: dict[str, Mount] = {}
    for node in group:
        known = readings.facts[node]
        if known.system.mounts and known.complete:
            if known.system.mounts != told:
                told, table = known.system.mounts, lasting_mounts(known.system.mounts, automatic)
            found[node] = table
    return found


def autofs_places(facts: Iterable[NodeFacts]) -> tuple[str, ...]:
    """Paths, with a slash at the end, at and below which a mount comes and goes with its use."""
    places = {mount.path for known in facts for mount in known.system.mounts if mount.kind == AUTOFS}
    return tuple(sorted(f"{place.rstrip('/')}/" for place in places))


def lasting_mounts(mounts: Iterable[Mount], automatic: tuple[str, ...]) -> dict[str, Mount]:
    """Path -> what is mounted there last, of mounts that are there for good; autofs' own mounts are."""
    found = {}
    for mount in mounts:
        folder = f"{mount.path}/"
        triggered = mount.kind != AUTOFS and folder.startswith(automatic)
        if not is_passing(mount.path) and not triggered:
            found[mount.path] = mount
    return found
