"""Data that arrived other than they were sent: which part corrupts them, and what remains as evidence of speed."""

from collections.abc import Iterable, Mapping

import msgspec

from seatrial.judgement.wording import named
from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import PartSuspect, locate
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Kernel, Measurement
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction, Subject, SubjectKind
from seatrial.model.subject import pair as pair_subject
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count

REMEDY = (
    "Use nothing that {parts} computed or moved until this is explained. Look for memory errors (EDAC, rasdaemon, "
    "ipmitool sel list), replace its adapter and cable in turn, compare its firmware and driver with those of a good "
    "node, and switch off offloads (ethtool -K) to see whether the errors stop."
)
PAIR_REMEDY = (
    "Measure both nodes with others (--verify compares all iterations). If only this pair shows errors, look at the "
    "switches and cables on its route."
)


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared of the data that one node sent to another, over all measurements."""

    compared: int = 0
    """Measurements whose data were compared."""
    corrupt: int = 0
    """Measurements with wrong bytes among them."""
    wrong_bytes: int = 0
    first_byte: int = 0
    """Offset in its message of the first wrong byte of all."""
    message_bytes: int = 0
    """Length of that message."""

    @property
    def statement(self) -> str:
        """What is wrong with it."""
        return (
            f"{count(self.wrong_bytes, 'byte')} arrived wrong in {self.corrupt} of "
            f"{count(self.compared, 'measurement')}, first at byte {self.first_byte} of a message of "
            f"{self.message_bytes} B"
        )


CLEAN = Flow()


def flows_of(measurements: Iterable[Measurement]) -> dict[Pair, Flow]:
    """Flows by sender and receiver, in both directions of kernels that answer. Only data that were compared count.

    Errors come by chance, and seldom hit a short message: those shorter than all that were corrupted do not count.
    """
    measurements = tuple(measurements)
    shortest = min((one.shape.message_bytes for one in measurements if one.errors), default=1)
    flows: dict[Pair, Flow] = {}
    for measurement in measurements:
        if not measurement.verified or measurement.shape.message_bytes < shortest:
            continue
        pair = measurement.pair
        answers = measurement.shape.kernel is Kernel.PINGPONG
        for way in (pair, pair[::-1]) if answers else (pair,):
            flows[way] = _with(flows.get(way, CLEAN), measurement, way)
    return flows


def _with(flow: Flow, measurement: Measurement, way: Pair) -> Flow:
    wrong = [each for each in measurement.corruptions if (each.source, each.target) == way]
    if not wrong:
        return msgspec.structs.replace(flow, compared=flow.compared + 1)
    return Flow(
        compared=flow.compared + 1,
        corrupt=flow.corrupt + 1,
        wrong_bytes=flow.wrong_bytes + sum(each.wrong_bytes for each in wrong),
        first_byte=flow.first_byte if flow.corrupt else wrong[0].first_byte,
        message_bytes=flow.message_bytes if flow.corrupt else measurement.shape.message_bytes,
    )


def corrupt_flows(measurements: Iterable[Measurement]) -> dict[Pair, Flow]:
    """The flows whose data arrived wrong."""
    measurements = tuple(measurements)
    if not any(one.errors for one in measurements):
        return {}
    return {way: flow for way, flow in flows_of(measurements).items() if flow.corrupt}


def corruption_suspects(measurements: Iterable[Measurement], fabric: Wiring) -> list[PartSuspect]:
    """The fewest parts that explain all corrupted flows, those that explain most first.

    A clean flow clears no part, since errors come by chance; it only weighs against the parts that it crosses.
    """
    measurements = tuple(measurements)
    if not any(one.errors for one in measurements):
        return []
    flows = flows_of(measurements)
    bad = {way: float(flow.corrupt) for way, flow in flows.items() if flow.corrupt}
    return _merged(locate(bad, flows.keys() - bad.keys(), fabric, acquit=False))


def _merged(suspects: Iterable[PartSuspect]) -> list[PartSuspect]:
    """The suspects without those that may be another direction of a part at fault anyway: they join that part."""
    suspects = sorted(suspects, key=lambda one: bool(one.ambiguous_with))
    sure: dict[Subject, PartSuspect] = {}
    doubtful: list[PartSuspect] = []
    for suspect in suspects:
        subjects = (suspect.subject, *suspect.ambiguous_with)
        named_already = next((sure[subject] for subject in subjects if subject in sure), None)
        if named_already is not None:
            pairs = tuple(sorted({*named_already.pairs, *suspect.pairs}))
            merged = msgspec.structs.replace(named_already, direction=Direction.BOTH, pairs=pairs)
            sure[merged.subject] = merged
        elif suspect.ambiguous_with:
            doubtful.append(suspect)
        else:
            sure[suspect.subject] = suspect
    return [*sure.values(), *doubtful]


def corruption_findings(measurements: Iterable[Measurement], fabric: Wiring) -> list[Finding]:
    """One for each part that corrupts data. A single wrong byte is proof: no measurement has to repeat it."""
    measurements = tuple(measurements)
    flows = corrupt_flows(measurements)
    return [_finding(suspect, flows) for suspect in corruption_suspects(measurements, fabric)]


def _finding(suspect: PartSuspect, flows: Mapping[Pair, Flow]) -> Finding:
    own = [flows[way] for way in suspect.pairs if way in flows]
    wrong, corrupt, compared = (
        sum(getattr(flow, field) for flow in own) for field in ("wrong_bytes", "corrupt", "compared")
    )
    parts = " or ".join(subject.name for subject in (suspect.subject, *suspect.ambiguous_with))
    is_pair = suspect.subject.kind is SubjectKind.PAIR
    return Finding(
        kind=FindingKind.DATA_CORRUPT,
        **suspect.accused,
        verdict=Verdict.INVALID,
        statement=(
            f"{_what(suspect)}: {count(wrong, 'byte')} wrong in {corrupt} of {count(compared, 'measurement')}, on "
            f"{count(len(own), 'ordered pair')}."
        ),
        remedy=PAIR_REMEDY if is_pair else REMEDY.format(parts=parts),
    )


def _what(suspect: PartSuspect) -> str:
    subjects = (suspect.subject, *suspect.ambiguous_with)
    if len(subjects) == 1 and suspect.subject.kind is SubjectKind.NODE:
        name = suspect.subject.name
        return {
            Direction.OUT: f"Data that {name} sends arrive corrupted",
            Direction.IN: f"Data arrive at {name} corrupted",
            Direction.BOTH: f"Data are corrupted on their way to and from {name}",
        }[suspect.direction]
    names = [one.name if one.kind is SubjectKind.NODE else named(one) for one in subjects]
    doubt = " (these pairs cannot show which)" if len(names) > 1 else ""
    return f"Data are corrupted by {' or '.join(names)}{doubt}"


# Commands that measure one pair, or a few places, leave corrupted measurements out and say so.


def sound(recorded: RecordedRun) -> RecordedRun:
    """The run without measurements whose data arrived wrong: their times say nothing of speed."""
    if not any(one.errors for one in recorded.measurements):
        return recorded
    kept = tuple(one for one in recorded.measurements if not one.errors)
    return msgspec.structs.replace(recorded, measurements=kept)


def corruption_reason(recorded: RecordedRun) -> str:
    """What arrived wrong, in one sentence without its full stop; empty where nothing did."""
    wrong: list[str] = []
    for variant in dict.fromkeys(one.variant for one in recorded.measurements if one.errors):
        flows = corrupt_flows(one for one in recorded.measurements if one.variant == variant)
        under = f"{variant}, " if variant else ""
        wrong += [f"{under}from {source} to {target} {flows[source, target].statement}" for source, target in flows]
    return f"data arrived corrupted: {'; '.join(wrong)}" if wrong else ""


def corrupted_pair(pair: Pair, recorded: RecordedRun) -> tuple[Finding, ...]:
    """The finding on the only pair of nodes that was measured; none where all data arrived as they were sent."""
    reason = corruption_reason(recorded)
    if not reason:
        return ()
    return (
        Finding(
            kind=FindingKind.DATA_CORRUPT,
            subject=pair_subject(*pair),
            verdict=Verdict.INVALID,
            statement=f"{reason[0].upper()}{reason[1:]}.",
            remedy=PAIR_REMEDY,
            pairs=(">".join(pair),),
        ),
    )


def after_corruption(recorded: RecordedRun, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """The verdict on a pair and its reason: INVALID where any of its data arrived wrong."""
    corrupted = corruption_reason(recorded)
    return (Verdict.INVALID, corrupted) if corrupted else (verdict, reason)
