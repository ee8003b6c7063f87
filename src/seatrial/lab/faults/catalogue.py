"""All faults. A new one is a row in the table of its subject and a row in docs/lab.md."""

from seatrial.lab.faults.base import LabFault
from seatrial.lab.faults.facts import FACTS
from seatrial.lab.faults.links import LINKS
from seatrial.lab.faults.load import LOAD
from seatrial.lab.faults.nodes import NODES
from seatrial.model.errors import UsageError

FAULTS: tuple[LabFault, ...] = (*LINKS, *NODES, *FACTS, *LOAD)


def fault_named(kind: str) -> LabFault:
    """The fault of that kind. Raises UsageError that lists the kinds."""
    for fault in FAULTS:
        if fault.kind == kind:
            return fault
    raise UsageError(f"There is no fault {kind!r}.", f"Kinds: {', '.join(fault.kind for fault in FAULTS)}.")
