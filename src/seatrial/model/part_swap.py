"""Parts that are exchanged between places to find the faulty one: what was where, and what was measured there."""

from collections.abc import Mapping

import msgspec

Part = tuple[str, str]
"""Kind and name: ("card", "c1")."""
Place = Mapping[str, str]
"""The parts in one place, kind -> name. A place without a part of each kind is a shelf: nothing is measured there."""
JOINT = "+"
"""Between places that one measurement needs together: `n1+n2`, both ends of a link."""


class SwapStep(msgspec.Struct, frozen=True, kw_only=True):
    """One arrangement of the parts and what was measured with it."""

    places: tuple[dict[str, str], ...]
    """The parts of each place, kind -> name, in the order in which places are printed."""
    results: dict[str, bool]
    """Place, or places joined with + -> whether the measurement was good. Empty: not measured yet."""
    run: str = ""
    """The run that measured it; empty if none was named."""
    time: str = ""
    """When it was recorded: UTC, ISO 8601; empty in a history that was imported."""


class SwapHistory(msgspec.Struct, frozen=True, kw_only=True):
    """All steps of one search, oldest first, and how reliable a measurement is."""

    format: int
    name: str
    fixed: tuple[str, ...]
    """Kinds of parts that cannot be moved, such as nodes and slots; together they name a place."""
    kinds: tuple[str, ...]
    """All kinds of parts, the fixed ones included."""
    miss_rate: float
    """Probability that a measurement with a faulty part is good."""
    false_alarm_rate: float
    """Probability that a measurement without a faulty part is bad."""
    steps: tuple[SwapStep, ...]
    shelves: tuple[str, ...] = ()
    """Names of places with spare parts, where nothing is measured however many parts they have."""

    @property
    def movable(self) -> tuple[str, ...]:
        """Kinds of parts that can be exchanged."""
        return tuple(kind for kind in self.kinds if kind not in self.fixed)

    def place_name(self, place: Place) -> str:
        """`n1/slot2`: its fixed parts."""
        return "/".join(place[kind] for kind in self.fixed)

    def is_shelf(self, place: Place) -> bool:
        """Whether it is a shelf, or lacks a part, so that nothing can be measured there."""
        return self.place_name(place) in self.shelves or any(kind not in place for kind in self.kinds)

    def named(self, step: SwapStep) -> dict[str, dict[str, str]]:
        """The places of a step by name."""
        return {self.place_name(place): place for place in step.places}
