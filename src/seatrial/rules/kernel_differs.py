"""kernel-differs: another kernel than the peers run."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    "Install and start the same kernel on all nodes: one that was not restarted after an update, or boots another "
    "image, runs the old one. What follows from it (modules, mitigations) is compared among nodes of one kernel "
    "only."
)


def look(readings: Readings) -> Iterator[Violation]:
    """By its release."""
    return unlike(readings, "the kernel", lambda facts: facts.kernel, REMEDY)


RULE = Rule(kind=FindingKind.KERNEL_DIFFERS, title="kernel differs", look=look)
