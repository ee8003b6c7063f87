"""The values of many runs in columns, read from their samples or from a baseline by DuckDB, one run at a time.

A value is what reports mean by latency and bandwidth (`locate.evidence.run_value`): the median over the iterations of
a round, and of that the median over the rounds of a pair. Pairs that a check measured again alone, or with fewer at
once, have the value of those rounds, since the others may have shared cables. Several ranks of a node at once
(`seatrial saturate`) count as one pair of nodes that carries the sum. Rounds whose data arrived wrong do not count.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from seatrial.archive.samples import exactly, opened, read_errors, system_errors
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.run_values import Compared, Metric, MetricTable

if TYPE_CHECKING:
    import duckdb

KERNELS = {kernel.value: kernel for kernel in Kernel}
MEMORY = "1GB"
"""For DuckDB; what does not fit goes to a temporary file."""
COLUMNS = (
    "phase VARCHAR, variant VARCHAR, kernel VARCHAR, message_bytes BIGINT, window_messages BIGINT, source VARCHAR, "
    "target VARCHAR, value DOUBLE, iteration_spread DOUBLE, round_spread DOUBLE, pairs_at_once BIGINT, "
    "iterations DOUBLE, compared INTEGER"
)
"""One row for each metric and pair of a run. `value`: seconds or bytes/s. `compared`: 0, 1, 2 as `Compared`."""
ROUNDS = """
WITH rounds AS (
  SELECT phase, variant, kernel, message_bytes, window_messages, round,
         CASE WHEN kernel = 'pingpong' THEN least(source, target) ELSE source END AS source,
         CASE WHEN kernel = 'pingpong' THEN greatest(source, target) ELSE target END AS target,
         median(greatest(time_s, 1e-12)) AS time_s, stddev_samp(ln(greatest(time_s, 1e-12))) AS spread,
         max(pairs_at_once) AS pairs_at_once, count(*) AS iterations, max(verified) AS verified
  FROM samples
  WHERE NOT warm AND coalesce(errors, 0) = 0
        AND kernel IN ('pingpong', 'oneway', 'bothway')
        AND phase IN ('survey', 'next', 'retest', 'curve', 'saturation', 'variant')
  GROUP BY ALL
), valued AS (
  SELECT * EXCLUDE (time_s),
         CASE kernel WHEN 'pingpong' THEN time_s / 2 ELSE message_bytes * window_messages / time_s END AS value
  FROM rounds
), together AS (
  SELECT * FROM valued WHERE phase <> 'saturation'
  UNION ALL BY NAME
  SELECT phase, pairs_at_once || ' ranks' AS variant, kernel, message_bytes, window_messages, round, source, target,
         CASE WHEN kernel = 'pingpong' THEN median(value) ELSE sum(value) END AS value, median(spread) AS spread,
         pairs_at_once, median(iterations) AS iterations, max(verified) AS verified
  FROM (SELECT * REPLACE (regexp_replace(source, ':[0-9]+$', '') AS source,
                          regexp_replace(target, ':[0-9]+$', '') AS target)
        FROM valued WHERE phase = 'saturation')
  GROUP BY phase, kernel, message_bytes, window_messages, round, source, target, pairs_at_once
  HAVING count(*) = pairs_at_once
), ranked AS (
  SELECT * REPLACE (CASE WHEN phase IN ('next', 'retest') THEN 'survey' ELSE phase END AS phase),
         CASE phase WHEN 'retest' THEN 0 WHEN 'next' THEN pairs_at_once ELSE 1 << 30 END AS crowd
  FROM together WHERE value > 0
), chosen AS (
  SELECT * FROM ranked WHERE phase <> 'survey'
  UNION ALL BY NAME
  SELECT * FROM ranked WHERE phase = 'survey'
  QUALIFY crowd = min(crowd) OVER (PARTITION BY variant, kernel, message_bytes, window_messages, source, target)
)
SELECT phase, variant, kernel, message_bytes, window_messages, source, target, median(value) AS value,
       median(spread) AS iteration_spread, stddev_samp(ln(value)) AS round_spread, max(pairs_at_once) AS pairs_at_once,
       median(iterations) AS iterations,
       CASE WHEN max(verified) = 0 THEN 0 WHEN max(verified) < median(iterations) THEN 1 ELSE 2 END AS compared
FROM chosen GROUP BY ALL
"""


class ValuesFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of one run come from."""

    path: Path
    """samples.parquet of a run, or values.parquet of a baseline."""
    run: str
    in_baseline: bool = False


def read_tables(files: Sequence[ValuesFile]) -> tuple[MetricTable, ...]:
    """All metrics of these runs, sorted; rows in the order of `files`. Raises DamagedRun, TooLittleMemory."""
    with _loaded(files) as connection:
        metrics = connection.execute(
            "SELECT DISTINCT phase, variant, kernel, message_bytes, window_messages FROM run_values"
        ).fetchall()
        keys = sorted(
            Metric(
                phase=Phase(phase), variant=variant, kernel=KERNELS[kernel], message_bytes=size, window_messages=many
            )
            for phase, variant, kernel, size, many in metrics
        )
        return tuple(_table(connection, metric, len(files)) for metric in keys)


def write_values(files: Sequence[ValuesFile], target: Path) -> None:
    """One Parquet file with the values of these runs, by name of the run. Raises OSError, DamagedRun."""
    with _loaded(files) as connection, system_errors():
        connection.execute("CREATE TEMP TABLE names (number INTEGER, run VARCHAR)")
        connection.executemany("INSERT INTO names VALUES (?, ?)", [(n, file.run) for n, file in enumerate(files)])
        named = "SELECT names.run, * EXCLUDE (run, number) FROM run_values JOIN names USING (number) ORDER BY ALL"
        connection.sql(named).write_parquet(str(target), compression="zstd")


@contextmanager
def _loaded(files: Sequence[ValuesFile]) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection with a table `run_values`, of which `number` is the place of the file."""
    with opened() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"CREATE TEMP TABLE run_values (number INTEGER, {COLUMNS})")
        for number, file in enumerate(files):
            with read_errors():
                samples = connection.read_parquet(exactly(file.path))
                connection.register("samples", samples)
                if file.in_baseline:
                    wanted = "INSERT INTO run_values SELECT ?, * EXCLUDE (run) FROM samples WHERE run = ?"
                    connection.execute(wanted, [number, file.run])
                else:
                    connection.sql(ROUNDS).create_view("of_run")
                    connection.execute("INSERT INTO run_values SELECT ?, * FROM of_run", [number])
                    connection.execute("DROP VIEW of_run")
                connection.unregister("samples")
        yield connection


def _table(connection: "duckdb.DuckDBPyConnection", metric: Metric, runs: int) -> MetricTable:
    where = [metric.phase.value, metric.variant, metric.kernel.value, metric.message_bytes, metric.window_messages]
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE chosen AS SELECT *, dense_rank() OVER (ORDER BY source, target) - 1 AS pair "
        "FROM run_values "
        "WHERE phase = ? AND variant = ? AND kernel = ? AND message_bytes = ? AND window_messages = ?",
        where,
    )
    pairs = connection.execute("SELECT DISTINCT pair, source, target FROM chosen ORDER BY pair").fetchall()
    columns = connection.execute("SELECT number, pair, value FROM chosen").fetchnumpy()
    values = np.full((runs, len(pairs)), np.nan)
    values[columns["number"], columns["pair"]] = columns["value"]
    of_runs = np.full((runs, 4), np.nan)
    compared: list[Compared | None] = [None] * runs
    for number, *numbers, level in connection.execute(
        "SELECT number, median(iteration_spread), median(round_spread), max(pairs_at_once), median(iterations), "
        "min(compared) FROM chosen GROUP BY number"
    ).fetchall():
        of_runs[number] = [np.nan if each is None else each for each in numbers]
        compared[number] = tuple(Compared)[level]
    return MetricTable(
        metric=metric,
        pairs=tuple((source, target) for _, source, target in pairs),
        values=values,
        iteration_spread=of_runs[:, 0],
        round_spread=of_runs[:, 1],
        pairs_at_once=of_runs[:, 2],
        iterations=of_runs[:, 3],
        compared=tuple(compared),
    )
