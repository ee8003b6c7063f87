"""What mpiGraph prints: one table of what every rank sent, one of what it received, in MiB/s."""

from seatrial.benchmarks.pairs_lines import MEBIBYTE, Pair, positive
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable, pair_table

ENDING = "END mpiGraph"


def parse_mpigraph(text: str) -> PairTable:
    """The table after "Recv": a sender's clock stops when its buffers have the data, a receiver's when they are there.

    Row `n1:0 from` holds what rank 0 got from each column; the output's own last line must be there. Ranks of one host
    stay apart as HOST:RANK. Raises UsageError for an output that is cut off or holds no table.
    """
    if ENDING not in text:
        raise UsageError("This output of mpiGraph is cut off: its last line is missing.", "Run mpiGraph to its end.")
    columns: list[str] = []
    rates: dict[Pair, float] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if cells[0] == "Recv":
            columns = [cell for cell in cells[1:] if cell]
        elif columns and cells[0].endswith(" from"):
            receiver = cells[0].removesuffix(" from")
            for sender, cell in zip(columns, cells[1:], strict=False):
                rate = positive(cell)
                if sender != receiver and rate is not None:
                    rates[sender, receiver] = rate * MEBIBYTE  # it says "MB" and divides by 1024 × 1024
    if not rates:
        raise UsageError("There is no table of received bandwidths in this output of mpiGraph.")
    hosts = [column.rpartition(":")[0] for column in columns]
    names = dict(zip(columns, hosts if len(set(hosts)) == len(hosts) else columns, strict=True))
    known = {(names.get(a, a), names.get(b, b)): rate for (a, b), rate in rates.items()}
    nodes = dict.fromkeys([*names.values(), *(end for pair in known for end in pair)])
    return pair_table(tuple(nodes), known)
