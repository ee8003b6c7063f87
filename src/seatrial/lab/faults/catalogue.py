"""The list of all faults. Adding one is one file, one line here, one paragraph in docs/lab.md."""

from seatrial.lab.faults import (
    firmware,
    governor,
    link_rate,
    mount,
    mpi_pml,
    mpi_transport,
    mtu,
    node_down,
    node_hung,
    one_way_rate,
    packet_loss,
    pcie_width,
    scheduler_granularity,
    slurmd_killed,
    slurmd_stopped,
    sysctl,
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
    governor.FAULT,
    pcie_width.FAULT,
    firmware.FAULT,
    mount.FAULT,
    scheduler_granularity.FAULT,
    sysctl.FAULT,
    mpi_transport.FAULT,
    mpi_pml.FAULT,
)


def fault_named(kind: str) -> Fault:
    """The fault of that kind. Raises UsageError that lists the kinds."""
    for fault in FAULTS:
        if fault.kind == kind:
            return fault
    raise UsageError(f"There is no fault {kind!r}.", f"Kinds: {', '.join(fault.kind for fault in FAULTS)}.")
