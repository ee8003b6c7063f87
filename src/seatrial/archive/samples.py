"""samples.parquet: one row a sample, made from the journal, so it can be deleted and made anew."""

from pathlib import Path
from typing import Any

from seatrial.archive import layout

COLUMNS = {
    "entry": "VARCHAR",
    "number": "BIGINT",
    "measurement": (
        "STRUCT(phase VARCHAR, repetition INTEGER, shape STRUCT(kernel VARCHAR, message_bytes BIGINT, "
        '"window" INTEGER, warmup INTEGER, iterations INTEGER), source VARCHAR, target VARCHAR, times_s DOUBLE[], '
        "warmup_times_s DOUBLE[], pairs_at_once INTEGER, errors BIGINT)"
    ),
}

QUERY = """
WITH delivered AS (
  SELECT number, unnest(measurement), times.warm, unnest(times.list) AS time_s,
         generate_subscripts(times.list, 1) - 1 AS iteration
  FROM (SELECT number, measurement, unnest([
          {warm: true, list: measurement.warmup_times_s}, {warm: false, list: measurement.times_s}]) AS times
        FROM journal WHERE entry = 'measurement')
)
SELECT run_name() AS run, number AS round, phase, repetition, shape.kernel AS kernel, source, target,
       shape.message_bytes AS message_bytes, shape."window" AS window_messages, pairs_at_once, warm,
       iteration, time_s, errors
FROM delivered ORDER BY round, source, target, warm DESC, iteration
"""


def write_samples(folder: Path, run: str) -> None:
    """Make samples.parquet from the journal of the run in `folder`."""
    import duckdb

    connection = duckdb.connect()
    name = run.replace("'", "''")
    connection.execute(f"CREATE MACRO run_name() AS '{name}'")  # a macro takes no parameter
    journal = connection.read_json(
        str(folder / layout.JOURNAL_FILE),
        columns=COLUMNS,
        format="newline_delimited",
        maximum_object_size=1 << 30,
    )
    connection.register("journal", journal)
    connection.sql(QUERY).write_parquet(str(folder / layout.SAMPLES_FILE), compression="zstd")
    connection.close()


def query_samples(files: list[Path], sql: str) -> list[tuple[Any, ...]]:
    """Run `sql` over a table `samples` made of those Parquet files; rows as tuples."""
    import duckdb

    connection = duckdb.connect()
    samples = connection.read_parquet([str(file) for file in files], union_by_name=True)
    connection.register("samples", samples)
    rows = connection.sql(sql).fetchall()
    connection.close()
    return rows
