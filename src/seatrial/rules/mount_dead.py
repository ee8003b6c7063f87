"""mount-dead: a file system that is mounted and does not answer, or a path that is not there."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Look whether its server answers (ping, rpcinfo, lfs check servers) and whether processes wait for it (state "
    "D); mount it anew with umount -l and mount, or restart the node where it will not go."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Each path once, whether it was found in the table of mounts or asked for by name."""
    for node, known in readings.facts.items():
        dead = [mount.path for mount in known.system.mounts if mount.reachable is False]
        for path in dict.fromkeys(dead):
            yield Violation(node=node, says=f"{path} is mounted and does not answer", key=path, remedy=REMEDY)
        for path, answered in known.system.paths.items():
            if not answered and path not in dead:
                says = f"the path {path} is not there or does not answer"
                yield Violation(node=node, says=says, key=path, remedy=REMEDY)


def knows(facts: NodeFacts) -> bool:
    """Whether anything was asked."""
    return bool(facts.system.paths) or any(mount.reachable is not None for mount in facts.system.mounts)


RULE = Rule(kind=FindingKind.MOUNT_DEAD, title="dead mount", look=look, knows=knows)
