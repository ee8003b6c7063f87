"""Measurements that stay in the journal: the same as those that are read at once."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.journal import GROUPS, PAIRS, Delivered, GroupDelivered, StoredMeasurements, encode
from seatrial.archive.layout import JOURNAL_FILE, DamagedRun
from seatrial.archive.reader import read_run
from seatrial.archive.writer import RunWriter, ended
from seatrial.model.measurement import GroupMeasurement, Measurement
from seatrial.model.run import Ending, RecordedRun
from tests.support.node_series import GOOD, soaked

SOAK = soaked(lambda _node, _cycle: GOOD, ("n1", "n2"), 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a closed soak."""
    writer = RunWriter(tmp_path, SOAK.info)
    for number, pair in enumerate(SOAK.measurements):
        writer.append(Delivered(number=number, measurement=pair))
    for number, group in enumerate(SOAK.group_measurements):
        writer.append(GroupDelivered(number=number, measurement=group))
    return writer.close(ended(SOAK.info, Ending.COMPLETE, "2026-11-01T00:00:00Z"))


def test_they_are_those_that_were_delivered(folder: Path) -> None:
    run: RecordedRun = read_run(folder)
    pairs: Sequence[Measurement] = run.measurements
    groups: Sequence[GroupMeasurement] = run.group_measurements
    assert isinstance(pairs, StoredMeasurements)
    assert tuple(pairs) == tuple(pairs) == SOAK.measurements
    assert tuple(groups) == SOAK.group_measurements
    assert (len(groups), bool(groups)) == (len(SOAK.group_measurements), True)
    assert (groups[1], groups[-1]) == (SOAK.group_measurements[1], SOAK.group_measurements[-1])
    assert groups[-3:] == SOAK.group_measurements[-3:]
    assert run.damage == ()


def test_a_changed_journal_is_damage_and_gives_what_is_left(folder: Path) -> None:
    journal = folder / JOURNAL_FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[0] = b'{"entry":"measurement","number":tru\n'
    journal.write_bytes(b"".join(lines))
    run = read_run(folder)
    assert run.info.ending is Ending.DAMAGED
    assert tuple(run.measurements) == SOAK.measurements[1:]


def test_no_journal_is_damage(tmp_path: Path) -> None:
    stored = StoredMeasurements[Measurement](tmp_path, PAIRS)
    with pytest.raises(DamagedRun):
        len(stored)
    (tmp_path / JOURNAL_FILE).write_bytes(encode(Delivered(number=1, measurement=SOAK.measurements[0])))
    assert len(stored) == 1
    assert not StoredMeasurements[GroupMeasurement](tmp_path, GROUPS)
    assert msgspec.structs.replace(stored[0]) == SOAK.measurements[0]
