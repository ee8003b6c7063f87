"""What a fault declares, and the record of a planted one."""

from collections.abc import Callable
from typing import Literal

import msgspec

from seatrial.lab.cluster.plan import LabPlan, check_mtu, rate_text
from seatrial.model.errors import UsageError
from seatrial.model.subject import Direction

Place = Literal["node", "leaf"]
SHORTEST_PERIOD_S = 0.2
"""Shortest period of a fault that flaps: setting a rate takes a few hundredths of a second."""
LONGEST_S = 3600.0
LOAD = "load"
"""Marks of faults that put a node into a control group of its own: it can have one."""


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The values of a fault; each kind declares which of them it takes."""

    percent: float | None = None
    rate_bit_per_s: int | None = None
    direction: Direction | None = None
    mtu: int | None = None
    rail: str | None = None
    """Which of the node's links; none given: the first."""

    @property
    def given(self) -> dict[str, object]:
        """The parameters that were given, under the names that a user gives them."""
        values: dict[str, object] = {
            "percent": self.percent,
            "rate": self.rate_bit_per_s,
            "direction": self.direction,
            "mtu": self.mtu,
            "rail": self.rail,
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def text(self) -> str:
        """The parameters as a user gives them, in one line."""
        shown = self.given
        if self.rate_bit_per_s is not None:
            shown["rate"] = rate_text(self.rate_bit_per_s)
        if self.percent is not None:
            shown["percent"] = f"{self.percent:g}"
        return " ".join(f"{name}={value}" for name, value in shown.items())


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """One fault that is planted in a lab. `subject` is the bare name: n3, leaf2."""

    kind: str
    subject: str
    parameters: Parameters = Parameters()
    every_s: float = 0.0
    """The fault flaps: it is on for this long, then off for as long, repeatedly. 0: it stays."""

    @property
    def text(self) -> str:
        """Kind, subject and parameters in one line."""
        flaps = f"every {self.every_s:g} s" if self.every_s else ""
        return " ".join(filter(None, (f"{self.kind} on {self.subject}", self.parameters.text, flaps)))


class FaultKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of fault that can be planted, and its parameters.

    `takes` is the kind of its target. Of each group in `needs` exactly one parameter must be given; those in `may` can
    be.
    """

    kind: str
    description: str
    takes: Place = "node"
    needs: tuple[tuple[str, ...], ...] = ()
    may: tuple[str, ...] = ()


class LabFault(FaultKind, frozen=True, kw_only=True):
    """A kind of fault with its functions.

    Two faults with the same `marks` cannot be planted on the same target, since clearing one would clear the other.
    """

    marks: str
    plant: Callable[[LabPlan, str, Parameters], object]
    clear: Callable[[LabPlan, str], object]
    has_substitute: bool = False
    """A percentage makes it limit the processors of the node."""
    stops_node: bool = False
    """The node takes part in nothing until the fault is cleared, which takes too long for a fault that flaps."""


def marks_of(fault: LabFault, parameters: Parameters) -> set[str]:
    """What a planted fault occupies on its target; a substitute for the kernel also the control group of its node."""
    return {fault.marks, LOAD} if fault.has_substitute and parameters.percent is not None else {fault.marks}


def check_parameters(fault: LabFault, parameters: Parameters) -> None:
    """Refuse parameters that a kind does not take, or lacks. Raises UsageError that names them."""
    given = parameters.given
    accepted = {name for group in fault.needs for name in group} | set(fault.may)
    for name in given:
        if name not in accepted:
            takes = ", ".join(sorted(accepted)) or "no parameter"
            raise UsageError(f"The fault {fault.kind} takes no {name} ({given[name]}).", f"It takes {takes}.")
    for group in fault.needs:
        if sum(name in given for name in group) != 1:
            raise UsageError(
                f"The fault {fault.kind} needs {' or '.join(group)}.", f"Give one: --{' or --'.join(group)}."
            )
    if parameters.percent is not None and not 0 < parameters.percent <= 100:
        raise UsageError(f"{parameters.percent:g} percent is out of range.", "Give more than 0 and at most 100.")
    if parameters.mtu is not None:
        check_mtu(parameters.mtu)


def check_timing(fault: LabFault, *, after_s: float = 0.0, every_s: float = 0.0) -> None:
    """Refuse a delay or a period that is out of range. Raises UsageError that shows the value."""
    if not 0 <= after_s <= LONGEST_S:
        raise UsageError(f"A fault cannot begin after {after_s:g} s.", f"Give 0 to {LONGEST_S:g} s.")
    if every_s and not SHORTEST_PERIOD_S <= every_s <= LONGEST_S:
        raise UsageError(f"A fault cannot flap every {every_s:g} s.", f"Give {SHORTEST_PERIOD_S:g} to {LONGEST_S:g} s.")
    if every_s and fault.stops_node:
        raise UsageError(
            f"The fault {fault.kind} cannot flap: a node takes too long to recover.",
            "Choose a fault of a link, or plant this one without flapping.",
        )


def check_rail(plan: LabPlan, parameters: Parameters) -> None:
    """Refuse a rail that the lab does not have. Raises UsageError that lists those it has."""
    if parameters.rail not in (None, *plan.rail_names):
        raise UsageError(
            f"The nodes of this lab have no rail {parameters.rail!r}.", f"They have {', '.join(plan.rail_names)}."
        )


def check_subject(fault: LabFault, plan: LabPlan, subject: str) -> None:
    """Refuse a subject that the lab does not have. Raises UsageError that lists those it has."""
    names = plan.node_names if fault.takes == "node" else plan.leaf_names
    if subject not in names:
        raise UsageError(
            f"The fault {fault.kind} needs a {fault.takes}, and this lab has no {fault.takes} {subject!r}.",
            f"It has {', '.join(names)}.",
        )


def faulty_rate(design_bit_per_s: int, parameters: Parameters) -> float:
    """The rate in bit/s that remains of the design rate."""
    if parameters.rate_bit_per_s is not None:
        return parameters.rate_bit_per_s
    return design_bit_per_s * (parameters.percent or 100) / 100
