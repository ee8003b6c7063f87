"""Evidence and peers of measurements that are all there."""

from collections.abc import Iterable, Mapping

from seatrial.locate.evidence import MeasuredPair, PairEvidence
from seatrial.locate.references import PeerScatter, PeerTable
from seatrial.model.measurement import Measurement

Pair = tuple[str, str]


def gather(measurements: Iterable[Measurement]) -> dict[Pair, MeasuredPair]:
    """Evidence for every ordered pair of which anything was measured; the pilot's rounds do not count."""
    evidence = PairEvidence()
    evidence.take(tuple(measurements))
    return evidence.by_pair


def peers_of(values: Mapping[Pair, float]) -> PeerScatter | None:
    """`values`: one positive number for each ordered pair, larger is better. None where there is none."""
    table = PeerTable()
    table.update(values)
    return table.peers()
