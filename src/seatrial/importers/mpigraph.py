"""What mpiGraph prints: one table of what every rank sent, one of what it received, in MiB/s."""

from collections.abc import Iterator

import numpy as np

from seatrial.importers.fields import numbers, split_fields
from seatrial.importers.node_names import NodeNames, one_name_each, short_names
from seatrial.importers.pair_columns import PairColumns
from seatrial.importers.pair_lines import MEBIBYTE, alive_or_dead
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, PairTable, Places, Reals

ENDING = b"END mpiGraph"
RECEIVED, FROM = b"Recv", b" from"


def parse_mpigraph(text: Iterator[bytes]) -> PairTable:
    """The table after "Recv": a sender's clock stops when its buffers have the data, a receiver's when they are there.

    Row `n1:0 from` holds what rank 0 received from each column; the output's own last line must be there. Ranks of one
    host stay apart as HOST:RANK. Raises UsageError for an output that is cut off or holds no table.
    """
    names, rows = NodeNames(), PairColumns()
    columns: Places = np.zeros(0, dtype=np.int32)
    ended = False
    for piece in text:
        for line in piece.splitlines():
            ended |= ENDING in line
            head, _, cells = line.partition(b"\t")
            head = head.strip()
            if head == RECEIVED:
                columns = np.array([names.number(cell) for cell in _cells(cells)], dtype=np.int32)
                rows.meet(columns)
            elif len(columns) and head.endswith(FROM):
                rates = _rates(cells, len(columns))
                senders = columns[: len(rates)]
                receiver = np.full(len(rates), names.number(head.removesuffix(FROM)), dtype=np.int32)
                rows.add(senders, receiver, rates, np.full(len(rates), np.nan))
    if not ended:
        raise UsageError("This output of mpiGraph is cut off: its last line is missing.", "Run mpiGraph to its end.")
    table = one_name_each(rows.table(_hosts(names.names, columns), {"bandwidth": MEBIBYTE}))
    if not len(table.source):
        raise UsageError("This output of mpiGraph has no table of received bandwidths.")
    return table


def _cells(line: bytes) -> list[bytes]:
    return [name for cell in line.split(b"\t") if (name := cell.strip())]


def _rates(line: bytes, most: int) -> Reals:
    """Bytes per second by column; an empty cell counts as a column. The output has "MB" and means 1024 × 1024 bytes."""
    fields = split_fields(b"0\t" + line)
    chosen = np.arange(1, min(len(fields.start), most + 1))
    with np.errstate(over="ignore"):
        return alive_or_dead(numbers(fields, chosen) * MEBIBYTE, DEAD_BANDWIDTH)


def _hosts(names: list[str], columns: Places) -> list[str]:
    """The names without their ranks, where each host has one rank only; rows may lack the domain that columns have."""
    short = short_names(names)
    names = [short.get(name, name) for name in names]
    hosts = {names[number]: names[number].rpartition(":")[0] for number in columns.tolist()}
    return [hosts.get(name, name) for name in names] if len({*hosts.values()}) == len(columns) else names
