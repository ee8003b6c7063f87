"""memlock-too-small: RDMA cannot register the buffers of large messages."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortState
from seatrial.model.units import size
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

ENOUGH_BYTES = 1 << 30
"""A window of 64 messages of 4 MiB in both directions (osu_bibw) pins 512 MiB: reported to Open MPI's developers to
hang at a limit of 128 MiB and to pass at 512 MiB. The other half is for the library's own buffers and queues."""

REMEDY = (
    "Set it to unlimited for all users on all nodes (memlock in /etc/security/limits.d), and for slurmd itself, "
    "whose jobs inherit it (LimitMEMLOCK=infinity in its unit; PropagateResourceLimitsExcept=MEMLOCK in "
    "slurm.conf)."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Nodes with an adapter that does RDMA and a limit that is one; -1 is unlimited."""
    for node, known in readings.facts.items():
        limit = known.system.limits.locked_memory_bytes
        if limit is not None and 0 <= limit < ENOUGH_BYTES and has_rdma(known):
            says = f"a process of the job may lock {size(limit)} of memory, and RDMA locks all that it sends from"
            yield Violation(node=node, says=says, key=str(limit), remedy=REMEDY)


def has_rdma(facts: NodeFacts) -> bool:
    """Whether a port of an adapter is active."""
    return any(port.state is PortState.ACTIVE for hca in facts.hcas for port in hca.ports)


RULE = Rule(
    kind=FindingKind.MEMLOCK_TOO_SMALL,
    title="too little lockable memory for RDMA",
    look=look,
    knows=lambda facts: facts.system.limits.locked_memory_bytes is not None and has_rdma(facts),
)
