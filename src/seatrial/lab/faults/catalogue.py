"""The list of all faults. Adding one is one file, one line here, one paragraph in docs/lab.md."""

from seatrial.lab.faults import (
    link_rate,
    mtu,
    node_down,
    node_hung,
    one_way_rate,
    packet_loss,
    slurmd_killed,
    slurmd_stopped,
    uplink_rate,
)
from seatrial.lab.faults.base import Fault
from seatrial.model.errors import UsageError

FAULTS: tuple[Fault, ...] = (
    link_rate.FAULT,
    uplink_rate.FAULT,
    one_way_rate.FAULT,
    mtu.FAULT,
    packet_loss.FAULT,
    slurmd_killed.FAULT,
    slurmd_stopped.FAULT,
    node_down.FAULT,
    node_hung.FAULT,
)


def fault_named(kind: str) -> Fault:
    """The fault of that kind. Raises UsageError that lists the kinds."""
    for fault in FAULTS:
        if fault.kind == kind:
            return fault
    raise UsageError(f"There is no fault {kind!r}.", f"Kinds: {', '.join(fault.kind for fault in FAULTS)}.")
