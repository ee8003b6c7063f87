"""What a round asks of a session and what it delivers, of pairs and of groups, with the entries of the journal."""

from collections.abc import Iterable, Iterator

import msgspec

from seatrial.archive.journal import Delivered, Entry, GroupDelivered, GroupRoundStarted, RoundStarted
from seatrial.launch.contract import MeasuresGroups, Session
from seatrial.model.errors import RoundRefused
from seatrial.model.measurement import GroupMeasurement, GroupRound, Measurement, Round


def started(number: int, session: int, at_s: float, wanted: Round | GroupRound) -> Entry:
    """The entry for the start of a round; `at_s`: seconds since the run began."""
    if isinstance(wanted, GroupRound):
        return GroupRoundStarted(number=number, session=session, at_s=at_s, round=wanted)
    return RoundStarted(number=number, session=session, at_s=at_s, round=wanted)


def delivered(number: int, measurement: Measurement | GroupMeasurement) -> Entry:
    """The entry for a measurement."""
    if isinstance(measurement, GroupMeasurement):
        return GroupDelivered(number=number, measurement=measurement)
    return Delivered(number=number, measurement=measurement)


def carry_out(
    session: Session, wanted: Round | GroupRound, timeout_s: float
) -> Iterator[Measurement] | Iterator[GroupMeasurement]:
    """Measurements as they are delivered. Raises as Session.measure does, RoundRefused where it has no groups."""
    if isinstance(wanted, Round):
        return session.measure(wanted, timeout_s)
    if not isinstance(session, MeasuresGroups):
        raise RoundRefused(f"{wanted.shape.kernel} is not a kernel of pairs, and this launcher measures pairs only.")
    return session.measure_groups(wanted, timeout_s)


def timed(
    measurements: Iterable[Measurement] | Iterable[GroupMeasurement], at_s: float
) -> Iterator[Measurement | GroupMeasurement]:
    """The measurements with the time at which their round began; a replayed or simulated one keeps its own."""
    for measurement in measurements:
        yield measurement if measurement.at_s is not None else msgspec.structs.replace(measurement, at_s=at_s)
