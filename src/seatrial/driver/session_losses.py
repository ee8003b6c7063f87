"""Rounds that the probe delivers, and sessions that a run has lost: each is written down, and starts have an end."""

from collections.abc import Iterable, Iterator

import msgspec

from seatrial.archive.journal import Delivered, Entry, GroupDelivered, GroupRoundStarted, RoundStarted, SessionLost
from seatrial.archive.writer import RunWriter
from seatrial.launch.contract import MeasuresGroups, Session, StartManner
from seatrial.model.errors import RoundRefused, SeatrialError
from seatrial.model.loss import Loss, LossCause, Moment, SessionLoss
from seatrial.model.measurement import GroupMeasurement, GroupRound, Measurement, Round
from seatrial.model.words import count


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


MOST_PER_NODE = 3
"""Sessions that one node's ranks may cost; then the node is left out."""
MOST_STARTS_PER_NODE = 5
"""Starts of the probe or of a program that one node's ranks may cost: MPIs crash now and then on healthy nodes, too."""
MOST_UNEXPLAINED = 12
"""Sessions that may be lost without a node to leave out; then the run ends."""
STRUCK = (LossCause.SIGNAL, LossCause.OUT_OF_MEMORY, LossCause.NODE_FAILURE)
"""Causes that happen on the node itself. A rank that exits may have reacted to another one."""
DIED = (*STRUCK, LossCause.EXIT, LossCause.UNKNOWN)


class TooManyLost(SeatrialError):
    """Too many sessions died for another start to make sense."""


class Losses:
    """What was lost, in order. Sessions with settings that seatrial changed are written down and not counted."""

    def __init__(self, writer: RunWriter) -> None:
        self.all: list[SessionLoss] = []
        self._writer = writer
        self._known = set(writer.info.nodes)
        self._given_up: set[str] = set()

    def add(
        self,
        loss: Loss,
        *,
        session: int,
        moment: Moment,
        at_s: float,
        manner: StartManner,
        detail: str = "",
        number: int = 0,
        wanted: Round | GroupRound | None = None,
        began_s: float | None = None,
    ) -> SessionLoss:
        """Write it down. `wanted`: the round that was under way since `began_s`, its number is `number`."""
        one = SessionLoss(
            session=session,
            moment=moment,
            at_s=at_s,
            round=number,
            phase=wanted.phase if wanted else None,
            variant=wanted.variant if wanted else "",
            kernel=wanted.shape.kernel if wanted else None,
            began_s=began_s if wanted else None,
            altered=bool(manner.environment or manner.options),
            detail=detail,
            loss=self._by_node(loss, wanted),
        )
        self.all.append(one)
        self._writer.append(SessionLost(loss=one))
        return one

    def worn_out(self) -> dict[str, SessionLoss]:
        """Nodes that have cost as many sessions as they may, with the last of these; each is named once."""
        found: dict[str, list[SessionLoss]] = {}
        for one in self._counted():
            if placed(one) and one.loss.suspects[0] not in self._given_up:
                found.setdefault(one.loss.suspects[0], []).append(one)
        worn = {node: lost[-1] for node, lost in found.items() if _too_often(lost)}
        self._given_up |= worn.keys()
        return worn

    def of(self, node: str) -> int:
        """How many sessions the ranks of this node have cost."""
        return sum(placed(one) and one.loss.suspects[0] == node for one in self._counted())

    def refuse_more(self) -> None:
        """Raise TooManyLost once more sessions died than the nodes that were left out account for."""
        counted = [one for one in self._counted() if one.loss.pair is None]  # a program that fails costs its pair alone
        unexplained = [one for one in counted if not self._given_up & set(one.loss.suspects)]
        if len(unexplained) >= MOST_UNEXPLAINED:
            raise self.too_many(f"{count(len(unexplained), 'session')} of the probe died", unexplained[-1])

    @staticmethod
    def too_many(what: str, last: SessionLoss) -> TooManyLost:
        """The error for it."""
        said = f" The last one: {last.detail}" if last.detail else ""
        return TooManyLost(f"{what}, so no further one was started; what was not measured until then is missing.{said}")

    def _counted(self) -> list[SessionLoss]:
        return [one for one in self.all if one.loss.cause in DIED and not one.altered]

    def _by_node(self, loss: Loss, wanted: Round | GroupRound | None) -> Loss:
        """The loss with nodes for places; a rank that exited by itself is suspected with those it was measured with."""
        suspects = [self._node(name) for name in loss.suspects]
        if loss.cause is LossCause.EXIT and wanted is not None:
            sets = wanted.pairs if isinstance(wanted, Round) else wanted.groups
            together = [tuple(map(self._node, names)) for names in sets]
            suspects += [name for names in together if set(names) & set(suspects) for name in names]
        deaths = tuple(msgspec.structs.replace(one, node=self._node(one.node)) for one in loss.deaths)
        return msgspec.structs.replace(loss, suspects=tuple(dict.fromkeys(suspects)), deaths=deaths)

    def _node(self, name: str) -> str:
        """The node of a place NODE:0, unless that is a node by itself."""
        base = name.rpartition(":")[0]
        return base if name not in self._known and base in self._known else name


def _too_often(lost: list[SessionLoss]) -> bool:
    starts = sum(one.starting for one in lost)
    return len(lost) - starts >= MOST_PER_NODE or starts >= MOST_STARTS_PER_NODE


def placed(one: SessionLoss) -> bool:
    """Whether it is known on which node the session was lost."""
    return one.loss.cause in STRUCK and len(one.loss.suspects) == 1
