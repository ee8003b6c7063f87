"""What the verdicts of a check rest on: which pairs were compared with what, and how many bytes were verified."""

from collections.abc import Sequence

from seatrial.locate.references import References
from seatrial.model.judgement import Before, PairVerdict, VerdictBasis
from seatrial.model.measurement import Kernel, Measurement
from seatrial.model.past import PastRatio
from seatrial.model.run import RecordedRun
from seatrial.model.units import size
from seatrial.model.words import count

NOTHING = "with nothing, since no limit is known and ranks of one machine are not peers of each other"


def comparisons(
    recorded: RecordedRun,
    pairs: Sequence[PairVerdict],
    references: References,
    before: Sequence[Before],
    past: Sequence[PastRatio],
) -> VerdictBasis:
    """Counted over the pairs whose bandwidth was measured. Ranks of one machine are not peers."""
    measured = [pair for pair in pairs if pair.bandwidth_bytes_per_s]
    earlier = {run for one in before for run in one.runs}
    if recorded.info.past and past:
        earlier |= {one.run for one in recorded.info.past.runs}
    peers = references.alike and references.bandwidth is not None
    return VerdictBasis(
        pairs=len(measured),
        with_limit=sum(pair.limit is not None for pair in measured),
        with_peers=len(measured) if peers else 0,
        earlier_runs=len(earlier),
        verified_bytes=sum(map(verified_bytes, recorded.measurements)),
    )


def verified_bytes(measurement: Measurement) -> int:
    """How much of its data was compared with what was sent; both directions of kernels that answer."""
    shape = measurement.shape
    ways = 2 if shape.kernel is Kernel.PINGPONG else 1
    return measurement.verified * shape.message_bytes * shape.window * ways


def comparisons_text(compared: VerdictBasis | None) -> str:
    """The text of the report's line `compared`; empty if nothing was measured."""
    if compared is None or not compared.pairs:
        return ""
    parts = []
    if compared.with_limit == compared.pairs:
        parts.append("all pairs with their limits")
    elif compared.with_limit:
        parts.append(f"{compared.with_limit} of {count(compared.pairs, 'ordered pair')} with their limits")
    parts += ["all pairs with their peers"] if compared.with_peers else []
    parts += [f"nodes with {count(compared.earlier_runs, 'earlier run')}"] if compared.earlier_runs else []
    verified = f"{size(compared.verified_bytes)} of data with what was sent" if compared.verified_bytes else ""
    return "; ".join(filter(None, (", ".join(parts) or NOTHING, verified)))
