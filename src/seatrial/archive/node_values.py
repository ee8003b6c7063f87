"""The figures of node trials of one run, from its journal: of the samples alone the conditions would be missing."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import GroupDelivered, decode
from seatrial.archive.reader import read_info
from seatrial.archive.run_files import DamagedRun, damage, opened_inside
from seatrial.files.inputs import JOURNAL_BYTES, journal_lines
from seatrial.judgement.nodes.run_values import NodeValue, node_values
from seatrial.model.measurement import GroupMeasurement, Phase

GROUP = b'"entry":"group-measurement"'


def trial_rows(number: int, folder: Path) -> list[tuple[object, ...]]:
    """The figures of a closed run as rows of the table that `run_values` describes. Raises DamagedRun."""
    return [
        (number, one.metric.phase.value, one.metric.variant, one.metric.kernel.value, one.metric.message_bytes,
         one.node, one.node, one.value, one.spread)
        for one in read_node_values(folder)
    ]  # fmt: skip


def read_node_values(folder: Path) -> tuple[NodeValue, ...]:
    """The figures of the nodes of a closed run. Raises DamagedRun."""
    measured = tuple(one for one in _group_measurements(folder) if one.phase is Phase.NODES)
    return tuple(node_values(measured, read_info(folder).settings))


def _group_measurements(folder: Path) -> Iterator[GroupMeasurement]:
    """Only these lines are decoded: of a check most are those of pairs."""
    try:
        path = folder / layout.JOURNAL_FILE
        with opened_inside(folder, path, JOURNAL_BYTES) as journal, damage():
            for line in journal_lines(journal, path):
                if GROUP in line:
                    yield from (one.measurement for one in decode([line]) if isinstance(one, GroupDelivered))
    except (OSError, msgspec.MsgspecError) as error:
        raise DamagedRun(f"The journal of {folder} cannot be read: {error}.") from error
