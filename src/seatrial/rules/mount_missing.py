"""mount-missing: a file system that most peers have mounted is not."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.lasting_mounts import mounts_by_node
from seatrial.rules.peers import unlike_tables

HERE, MISSING = "it mounted", "missing"
REMEDY = (
    "Mount it (mount PATH) and find out why it was not: the line in fstab, the server's answer, the order of "
    "services at the start. What jobs wrote to the path meanwhile lies in the node's own file system."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Path by path, among nodes that tell their mounts at all."""
    for group in readings.peers:
        mounts = mounts_by_node(readings, group)
        somewhere = {f"the file system {path}": MISSING for paths in mounts.values() for path in paths}
        tables = {
            node: somewhere | dict.fromkeys((f"the file system {path}" for path in paths), HERE)
            for node, paths in mounts.items()
        }
        yield from unlike_tables(tables, REMEDY, worse=is_missed)


def is_missed(here: str, there: str) -> bool:
    """Only what is not there is wrong; one mount more than the peers have is none of this rule's."""
    return here == MISSING and there == HERE


RULE = Rule(kind=FindingKind.MOUNT_MISSING, title="mount missing", look=look)
