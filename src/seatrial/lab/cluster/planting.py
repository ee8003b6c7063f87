"""Plants faults in a running lab and clears them, and records what is planted."""

from seatrial.lab.cluster import state
from seatrial.lab.cluster.processes import require_lab
from seatrial.lab.faults.base import (
    LabFault,
    Parameters,
    Planted,
    check_parameters,
    check_rail,
    check_subject,
    check_timing,
    marks_of,
)
from seatrial.lab.faults.facts import FACTS
from seatrial.lab.faults.links import LINKS
from seatrial.lab.faults.load import LOAD
from seatrial.lab.faults.nodes import NODES
from seatrial.model.errors import SeatrialError, UsageError

FAULTS: tuple[LabFault, ...] = (*LINKS, *NODES, *FACTS, *LOAD)
"""All faults. A new one is a row in the table of its subject and a row in docs/lab.md."""


def fault_named(kind: str) -> LabFault:
    """The fault of that kind. Raises UsageError that lists the kinds."""
    for fault in FAULTS:
        if fault.kind == kind:
            return fault
    raise UsageError(f"There is no fault {kind!r}.", f"Kinds: {', '.join(fault.kind for fault in FAULTS)}.")


def bare(subject: str) -> str:
    """`n3` for `node:n3`, `leaf2` for `uplink:leaf2`; a bare name stays."""
    return subject.rpartition(":")[2]


def planned(name: str, kind: str, subject: str, parameters: Parameters, every_s: float = 0.0) -> Planted:
    """The fault, checked against the lab but not planted yet. Raises UsageError where it does not fit."""
    require_lab()
    fault = fault_named(kind)
    check_parameters(fault, parameters)
    check_timing(fault, every_s=every_s)
    plan = state.standing(name).plan
    planted = Planted(kind=kind, subject=bare(subject), parameters=parameters, every_s=every_s)
    check_subject(fault, plan, planted.subject)
    check_rail(plan, parameters)
    return planted


def plant(name: str, kind: str, subject: str, parameters: Parameters, every_s: float = 0.0) -> Planted:
    """Plant one fault. Raises UsageError where it does not fit, or another fault is in the way.

    One that flaps is on when this returns; `switch` turns it off and on.
    """
    planted = planned(name, kind, subject, parameters, every_s)
    fault = fault_named(kind)
    marks = marks_of(fault, parameters)
    with state.locked(name):
        standing = state.standing(name)
        for other in standing.planted:
            if other.subject == planted.subject and marks_of(fault_named(other.kind), other.parameters) & marks:
                raise UsageError(
                    f"{other.subject} already has the fault {other.kind}; {kind} cannot be combined with it.",
                    f"Clear it first: seatrial lab fault clear {other.subject} --name {name}",
                )
        state.save(_with_faults(standing, (*standing.planted, planted)))
        fault.plant(standing.plan, planted.subject, parameters)
    return planted


def switch(name: str, planted: Planted, on: bool) -> bool:
    """Turn a planted fault that flaps on or off. False where the fault was cleared, or the lab is gone.

    The lab keeps it on record while it is off, so that `clear` still ends it and no other fault mixes with it.
    """
    fault = fault_named(planted.kind)
    try:
        with state.locked(name):
            standing = state.read(name)
            if standing is None or planted not in standing.planted:
                return False
            if on:
                fault.plant(standing.plan, planted.subject, planted.parameters)
            else:
                fault.clear(standing.plan, planted.subject)
    except (OSError, SeatrialError):
        if state.read(name) is None:
            return False
        raise
    return True


def clear(name: str, subject: str | None = None, kind: str | None = None) -> list[Planted]:
    """Clear the planted faults, all or only those on `subject` or of `kind`; return what was cleared."""
    require_lab()
    if kind is not None:
        fault_named(kind)
    cleared: list[Planted] = []
    with state.locked(state.standing(name).plan.name):
        for planted in state.standing(name).planted:
            if subject not in (None, planted.subject) or kind not in (None, planted.kind):
                continue
            standing = state.standing(name)
            fault_named(planted.kind).clear(standing.plan, planted.subject)
            state.save(_with_faults(standing, tuple(other for other in standing.planted if other != planted)))
            cleared.append(planted)
    return cleared


def _with_faults(standing: state.LabState, planted: tuple[Planted, ...]) -> state.LabState:
    return state.LabState(plan=standing.plan, raiser=standing.raiser, planted=planted)
