"""The journal: every event of a run, appended the moment it happened, one JSON object a line; and reading it back."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import msgspec

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun, damage, opened_inside
from seatrial.files.inputs import JOURNAL_BYTES, journal_lines
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, StepResult
from seatrial.model.imported import ImportedValue, Source
from seatrial.model.loss import CappedPair, SessionLoss
from seatrial.model.measurement import DefaultStart, GroupMeasurement, GroupRound, Measurement, Round
from seatrial.model.run import NodeState
from seatrial.model.transport import VariantNote


class SessionStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="session"):
    """A launch of the probe: which node each rank is on, and what the probe reported about itself and its ranks."""

    session: int
    nodes: tuple[str, ...]
    header: dict[str, Any]
    ranks: tuple[dict[str, Any], ...] = ()


class StartFailed(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="start-failed"):
    """A launch of the probe under one of several settings that did not come up, and why."""

    variant: str
    failure: str


class DefaultStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="default-start"):
    """A launch by the MPI's own launcher with its own binding, which measured nothing."""

    start: DefaultStart


class SurveyPlanned(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="plan", omit_defaults=True):
    """The ordered pairs that the survey is to measure."""

    pairs: tuple[tuple[str, str], ...]
    separate: bool = False
    """Whether those that share a known cable are in different rounds."""


class RoundStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="round"):
    """A round was sent to the probe. `number` counts up over the whole run."""

    number: int
    session: int
    at_s: float
    """Seconds since the run began."""
    round: Round


class Delivered(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="measurement"):
    """The measurement of one pair in a round."""

    number: int
    measurement: Measurement


class GroupRoundStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="group-round"):
    """A round of a kernel that is not a pair was sent to the probe. Numbers are those of all rounds."""

    number: int
    session: int
    at_s: float
    """Seconds since the run began."""
    round: GroupRound


class GroupDelivered(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="group-measurement"):
    """The measurement of one group in such a round."""

    number: int
    measurement: GroupMeasurement


class RoundEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="round-end"):
    """How a round ended: complete, timeout, died, refused, interrupted."""

    number: int
    outcome: str
    detail: str = ""


class NodeLost(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="node-lost"):
    """A node that could not be measured or stopped answering."""

    state: NodeState


class PairHung(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="pair-hung"):
    """A pair that did not answer while both its nodes did."""

    source: str
    target: str


class PairCapped(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="pair-capped"):
    """A pair that the survey left out, since it crosses a part that is known to be faulty."""

    pair: CappedPair


class SessionLost(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="session-lost"):
    """A session ended early, or did not start: when, where and why, as far as known."""

    loss: SessionLoss


class BenchmarkPlanned(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="benchmark-plan"):
    """The programs of a benchmark, their inputs, and the work that its output must show."""

    plan: BenchmarkPlan
    request: BenchmarkRequest


class StepEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="step"):
    """A program of a benchmark that ended, with what it printed."""

    step: StepResult


class VariantNoted(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="variant"):
    """What a start under one of several settings produced besides its samples: why it failed, bytes counted."""

    note: VariantNote


class ValuesImported(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="imported"):
    """Values of one run that another program measured, and the file that they are from."""

    source: Source
    label: str
    values: tuple[ImportedValue, ...]


Entry = (
    SessionStarted
    | StartFailed
    | DefaultStarted
    | SurveyPlanned
    | RoundStarted
    | Delivered
    | GroupRoundStarted
    | GroupDelivered
    | RoundEnded
    | NodeLost
    | PairHung
    | PairCapped
    | SessionLost
    | VariantNoted
    | BenchmarkPlanned
    | StepEnded
    | ValuesImported
)

_Any = TypeVar("_Any")
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """One line, newline included."""
    return _encoder.encode(entry) + b"\n"


def decode(lines: Iterable[bytes]) -> Iterator[Entry]:
    """The entries of whole lines; a line that ends without newline, cut off while it was written, is left out.

    Raises msgspec.DecodeError or ValidationError at a complete line that is not an entry.
    """
    for line in lines:
        if line.endswith(b"\n") and line.strip():
            try:
                yield _decoder.decode(line)
            except (UnicodeDecodeError, RecursionError) as error:
                raise msgspec.DecodeError(str(error)) from error


def of_type(entries: Iterable[Entry], kind: type[_Any]) -> list[_Any]:
    """The entries of one kind, in order."""
    return [entry for entry in entries if isinstance(entry, kind)]


_One = TypeVar("_One", bound=Measurement | GroupMeasurement)
PAIRS, GROUPS = b'"entry":"measurement"', b'"entry":"group-measurement"'
"""Marks of the journal's lines that have measurements of pairs, and of groups."""


class StoredMeasurements(Sequence[_One], Generic[_One]):
    """The measurements of one kind, in order, in the journal of the run in `folder`. Using it raises DamagedRun.

    Invalid lines are left out: whoever reads the run knows of them, and says so.
    """

    def __init__(self, folder: Path, mark: bytes) -> None:
        """`mark`: PAIRS or GROUPS."""
        self._folder = folder
        self._mark = mark
        self._count: int | None = None

    def __iter__(self) -> Iterator[_One]:
        """Decode one after the other."""
        for line in self._lines():
            try:
                entry = next(decode([line]), None)
            except msgspec.DecodeError:
                continue
            if isinstance(entry, Delivered | GroupDelivered):
                yield entry.measurement  # type: ignore[misc]

    def __len__(self) -> int:
        """How many there are."""
        if self._count is None:
            self._count = sum(1 for _ in self)
        return self._count

    def __bool__(self) -> bool:
        """Whether there are any, for which the first one is enough."""
        return next(iter(self), None) is not None

    @overload
    def __getitem__(self, place: int) -> _One: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[_One]: ...
    def __getitem__(self, place: int | slice) -> _One | Sequence[_One]:
        """One of them or some, which are read from the beginning."""
        if isinstance(place, slice):
            return tuple(self)[place]
        return next(islice(self, range(len(self))[place], None))

    def _lines(self) -> Iterator[bytes]:
        path = self._folder / layout.JOURNAL_FILE
        try:
            with opened_inside(self._folder, path, JOURNAL_BYTES) as journal, damage():
                yield from (line for line in journal_lines(journal, path) if self._mark in line)
        except OSError as error:
            raise DamagedRun(f"{path} cannot be read: {error}.") from error
