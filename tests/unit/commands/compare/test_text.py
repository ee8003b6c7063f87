"""The text of a comparison: what changed and why comes before how it was measured."""

import msgspec

from seatrial.commands.compare.view import MOST_METRICS, comparison_report
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.render.report import Lines, Table
from tests.support.run_tables import LATENCY, summaries, table

SIZES = tuple(1 << power for power in range(20))
SLOW_SIZE = SIZES[-1]


def test_of_many_metrics_those_that_changed_are_described_and_the_others_counted() -> None:
    tables = [
        table(
            (5, 5), nodes=4, metric=msgspec.structs.replace(LATENCY, message_bytes=size), seed=size,
            everything=1.3 if size == SLOW_SIZE else 1.0,
        )
        for size in SIZES
    ]  # fmt: skip
    first, second = (RunSet(name=name, runs=summaries(1 + 5 * at, 5)) for at, name in enumerate("AB"))
    blocks = list(comparison_report(compare(first, second, tables)).page())
    (every,) = (block for block in blocks if isinstance(block, Table))
    assert len(every.rows) >= len(SIZES)
    subjects, spread = (block for block in blocks if isinstance(block, Lines) and block.title != "Compared")
    for block in (subjects, spread):
        assert block.rows[0][0] == f"latency {SLOW_SIZE >> 10} KiB"
        assert len(block.rows) == MOST_METRICS + 1
        assert block.rows[-1] == ("more", f"{len(SIZES) - MOST_METRICS} metrics in the JSON.")
