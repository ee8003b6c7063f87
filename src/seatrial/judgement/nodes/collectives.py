"""Collective operations: how long they take, and for which node the others wait."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import asdict, replace

from seatrial.model.measurement import GroupMeasurement, node_of
from seatrial.model.node_trials import Clock, Collective, Measure, Runs
from seatrial.model.words import natural_sorted
from seatrial.pairs.node_rounds import COLLECTIVE_KERNELS, MEETING
from seatrial.statistics.estimates import median, median_estimate


def by_node(measured: GroupMeasurement) -> Iterator[tuple[str, GroupMeasurement]]:
    """The part of each node: its places, arrivals and wrong bytes; times are those of the whole group."""
    names = [*map(node_of, measured.nodes)]
    if len(set(names)) <= 1:
        yield names[0], measured
        return
    for number, name in enumerate(dict.fromkeys(names)):
        places = tuple(place for place, home in zip(measured.nodes, names, strict=True) if home == name)
        wrong = tuple(one for one in measured.corruptions if node_of(one.target) == name)
        yield (
            name,
            replace(
                measured,
                nodes=places,
                corruptions=wrong,
                errors=sum(one.wrong_bytes for one in wrong),
                arrivals=tuple(
                    one for one, home in zip(measured.arrivals, names, strict=False) if home == name
                ),
                conditions=measured.conditions if number == 0 else None,
            ),
        )  # fmt: skip


def meetings(measurements: Iterable[GroupMeasurement]) -> Iterator[GroupMeasurement]:
    """Barriers after work that several nodes came to."""
    for measured in measurements:
        together = measured.variant == MEETING and measured.shape.kernel in COLLECTIVE_KERNELS
        if together and measured.arrivals and len(set(map(node_of, measured.nodes))) > 1:
            yield measured


def late_runs(measurements: Iterable[GroupMeasurement]) -> dict[str, Runs]:
    """Delay of each node behind the first one, as a share of the time of a step: work and barrier.

    Nodes whose clocks are not known well enough have no value: of a clock that may be wrong by the practical effect,
    nothing follows.
    """
    late: dict[str, Runs] = defaultdict(dict)
    for measured in meetings(measurements):
        if measured.conditions is None or measured.errors:
            continue
        step_s = measured.conditions.wall_s / max(measured.shape.iterations, 1)
        for place, arrival in zip(measured.nodes, measured.arrivals, strict=True):
            if arrival.error_s < Measure.LATE.effect * step_s:
                name = node_of(place)
                share = max(arrival.late_s, 0.0) / step_s
                late[name][measured.repetition] = max(share, late[name].get(measured.repetition, 0.0))
    return dict(late)


def clocks_of(measurements: Iterable[GroupMeasurement]) -> tuple[Clock, ...]:
    """The clocks at the last barriers that several nodes came to: offsets change, by parts of a million of the time."""
    last = max(meetings(measurements), key=lambda one: one.repetition, default=None)
    if last is None:
        return ()
    return tuple(
        Clock(node=node_of(place), barriers=last.shape.iterations, **asdict(arrival))
        for place, arrival in zip(last.nodes, last.arrivals, strict=True)
    )


def collectives_of(measurements: Sequence[GroupMeasurement]) -> tuple[Collective, ...]:
    """One for each operation, size and group of nodes, without those after work."""
    medians: dict[tuple[str, int, tuple[str, ...], int], list[float]] = defaultdict(list)
    for measured in measurements:
        shape = measured.shape
        usable = measured.times_s and min(measured.times_s) > 0 and not measured.errors
        if usable and shape.kernel in COLLECTIVE_KERNELS and measured.variant != MEETING:
            nodes = tuple(natural_sorted(set(map(node_of, measured.nodes))))
            key = (str(shape.kernel), shape.message_bytes, nodes, len(measured.nodes))
            medians[key].append(median(measured.times_s))
    return tuple(
        Collective(kernel=kernel, message_bytes=message_bytes, nodes=nodes, ranks=ranks, time_s=median_estimate(values))
        for (kernel, message_bytes, nodes, ranks), values in medians.items()
    )
