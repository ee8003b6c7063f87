"""The measurements of a run that is too long for memory: read from its journal each time that they are gone through."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar, overload

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import Delivered, GroupDelivered, decode
from seatrial.archive.run_files import DamagedRun, damage, opened_inside
from seatrial.files.inputs import JOURNAL_BYTES, journal_lines
from seatrial.model.measurement import GroupMeasurement, Measurement

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
