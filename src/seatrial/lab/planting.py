"""Plants faults in a standing lab and clears them, keeping account of what is planted."""

from seatrial.lab import state
from seatrial.lab.faults.base import Parameters, Planted, check_parameters, check_rail, check_subject
from seatrial.lab.faults.catalogue import fault_named
from seatrial.lab.require import require_lab
from seatrial.model.errors import UsageError


def bare(subject: str) -> str:
    """`n3` for `node:n3`, `leaf2` for `uplink:leaf2`; a bare name stays."""
    return subject.rpartition(":")[2]


def plant(name: str, kind: str, subject: str, parameters: Parameters) -> Planted:
    """Plant one fault. Raises UsageError where it does not fit, or another fault is in the way."""
    require_lab()
    fault = fault_named(kind)
    check_parameters(fault, parameters)
    plan = state.standing(name).plan
    planted = Planted(kind=kind, subject=bare(subject), parameters=parameters)
    check_subject(fault, plan, planted.subject)
    check_rail(plan, parameters)
    with state.locked(name):
        standing = state.standing(name)
        for other in standing.planted:
            if other.subject == planted.subject and fault_named(other.kind).marks == fault.marks:
                raise UsageError(
                    f"{other.subject} carries the fault {other.kind} already, and {kind} would mix with it.",
                    f"Clear it first: seatrial lab fault clear {other.subject} --name {name}",
                )
        state.save(_with_faults(standing, (*standing.planted, planted)))
        fault.plant(plan, planted.subject, parameters)
    return planted


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
