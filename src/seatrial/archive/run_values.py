"""The values of many runs in columns, read from their samples or from a baseline by DuckDB, one run at a time.

A value is what reports mean by latency and bandwidth (`locate.evidence.run_value`): the median over the iterations of
a round, and of that the median over the rounds of a pair. Pairs that a check measured again alone, or with fewer at
once, have the value of those rounds, since the others may have shared cables. Several ranks of a node at once
(`seatrial link --ranks-per-node`) count as one pair of nodes that carries the sum. Rounds whose data arrived wrong do
not count. Figures of trials of nodes have each node as a pair with itself.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from seatrial.archive.journal import GROUPS, StoredMeasurements, ValuesImported, of_type
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import read_entries, read_info, read_run
from seatrial.archive.samples import opened, parquet, read_errors, system_errors
from seatrial.files.owners import is_own
from seatrial.judgement.benchmark_result import RunResult, declared_in, judge_run, run_values
from seatrial.judgement.nodes.run_values import NodeValue, node_values
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.imported import ImportedValue, Sense
from seatrial.model.measurement import GroupMeasurement, Kernel, Phase
from seatrial.model.node_trials import Measure
from seatrial.model.run import RunKind
from seatrial.model.run_values import MetricTable, RunMetric, VerifiedData
from seatrial.model.words import some
from seatrial.process.time_limit import PARSE_S, limited

if TYPE_CHECKING:
    import duckdb


def trial_rows(number: int, folder: Path) -> list[tuple[object, ...]]:
    """The figures of a closed run as rows of the table that `run_values` describes. Raises DamagedRun."""
    return [
        (number, one.metric.phase.value, one.metric.variant, one.metric.kernel.value, one.metric.message_bytes,
         one.node, one.node, one.value, one.spread)
        for one in read_node_values(folder)
    ]  # fmt: skip


def read_node_values(folder: Path) -> tuple[NodeValue, ...]:
    """The figures of the nodes of a closed run. Raises DamagedRun."""
    groups: StoredMeasurements[GroupMeasurement] = StoredMeasurements(folder, GROUPS)
    measured = tuple(one for one in groups if one.phase is Phase.NODES)
    return tuple(node_values(measured, read_info(folder).settings))


KERNELS: dict[str, Kernel | Sense | Measure] = {one.value: one for one in (*Kernel, *Sense, *Measure)}
LEVELS = tuple(VerifiedData)
STRANGE = """
SELECT count(*) > 0 FROM run_values
WHERE number = ? AND (
  coalesce(phase, '') NOT IN (SELECT unnest(?)) OR coalesce(kernel, '') NOT IN (SELECT unnest(?))
  OR coalesce(compared, -1) NOT BETWEEN 0 AND 2 OR NOT coalesce(isfinite(value), false)
  OR (source <> target AND value <= 0)
  OR source IS NULL OR target IS NULL OR variant IS NULL OR message_bytes IS NULL OR window_messages IS NULL
)
"""
"""Whether a run has values that seatrial does not write: the file of somebody else may contain anything."""
LEFT_OUT = "The run {} is left out: {}"
MOST_NAMED = 6
OTHERS_S = 1.0
"""Time limit for the output of another user's run, whose patterns may be made to take for ever."""
MEMORY = "1GB"
"""DuckDB's memory limit; what does not fit goes to a temporary file."""
COLUMNS = (
    "phase VARCHAR, variant VARCHAR, kernel VARCHAR, message_bytes BIGINT, window_messages BIGINT, source VARCHAR, "
    "target VARCHAR, value DOUBLE, iteration_spread DOUBLE, round_spread DOUBLE, pairs_at_once BIGINT, "
    "iterations DOUBLE, compared INTEGER"
)
"""One row for each metric and pair of a run. `value`: seconds or bytes/s. `compared`: 0, 1, 2 as `VerifiedData`."""
SHAPES = """
CREATE OR REPLACE TEMP TABLE shapes AS
SELECT round, any_value(phase) AS phase, coalesce(any_value(variant), '') AS variant, any_value(kernel) AS kernel,
       any_value(message_bytes) AS message_bytes, any_value(window_messages) AS window_messages,
       max(pairs_at_once) AS pairs_at_once, max(verified) AS verified
FROM samples
WHERE NOT warm AND kernel IN ('pingpong', 'oneway')
      AND phase IN ('survey', 'next', 'retest', 'curve', 'saturation', 'variant')
GROUP BY round
"""
"""A round has one shape, phase and variant."""
ROUNDS = """
CREATE OR REPLACE TEMP TABLE rounds AS
SELECT times.* EXCLUDE (source, target, time_s), shapes.* EXCLUDE (round),
       CASE WHEN kernel = 'pingpong' THEN least(source, target) ELSE source END AS source,
       CASE WHEN kernel = 'pingpong' THEN greatest(source, target) ELSE target END AS target,
       CASE kernel WHEN 'pingpong' THEN time_s / 2 ELSE message_bytes * window_messages / time_s END AS value
FROM (
  SELECT round, source, target, greatest(median(time_s), 1e-12) AS time_s,
         stddev_samp(ln(greatest(time_s, 1e-12))) AS spread, count(*) AS iterations
  FROM samples WHERE NOT warm AND coalesce(errors, 0) = 0 AND round IN (SELECT round FROM shapes)
  GROUP BY round, source, target
) times JOIN shapes USING (round)
"""
"""One row for each round and pair."""
RETESTED = """
CREATE OR REPLACE TEMP TABLE rounds AS
SELECT * EXCLUDE (crowd) FROM (
  SELECT * REPLACE (CASE WHEN phase IN ('next', 'retest') THEN 'survey' ELSE phase END AS phase),
         CASE phase WHEN 'retest' THEN 0 WHEN 'next' THEN pairs_at_once ELSE 1 << 30 END AS crowd
  FROM rounds
)
QUALIFY phase <> 'survey'
        OR crowd = min(crowd) OVER (PARTITION BY phase, variant, kernel, message_bytes, window_messages, source, target)
"""
"""Keeps only the rounds that decide of pairs that were measured again."""
SATURATED = """
CREATE OR REPLACE TEMP TABLE rounds AS
SELECT * FROM rounds WHERE phase <> 'saturation'
UNION ALL BY NAME
SELECT phase, ranks AS variant, kernel, message_bytes, window_messages, round, source, target,
       CASE WHEN kernel = 'pingpong' THEN median(value) ELSE sum(value) END AS value, median(spread) AS spread,
       pairs_at_once, median(iterations) AS iterations, max(verified) AS verified
FROM (SELECT * REPLACE (regexp_replace(source, ':[0-9]+$', '') AS source,
                        regexp_replace(target, ':[0-9]+$', '') AS target),
             coalesce(nullif(variant, ''), pairs_at_once || ' ranks') AS ranks
      FROM rounds WHERE phase = 'saturation')
GROUP BY phase, ranks, kernel, message_bytes, window_messages, round, source, target, pairs_at_once
HAVING count(*) = TRY_CAST(split_part(ranks, ' ', 1) AS BIGINT)
"""
"""Ranks of a node at once as one pair of nodes; rounds in which a rank is missing do not count. A check measures
several pairs of nodes in a round, and its variant says how many ranks each has (`model.judgement.variant_of`)."""
PAIRS = """
INSERT INTO run_values
SELECT ?, phase, variant, kernel, message_bytes, window_messages, source, target, median(value), median(spread),
       stddev_samp(ln(value)), max(pairs_at_once), median(iterations),
       CASE WHEN max(verified) = 0 THEN 0 WHEN max(verified) < greatest(median(iterations), 3) THEN 1 ELSE 2 END
FROM rounds WHERE value > 0 GROUP BY phase, variant, kernel, message_bytes, window_messages, source, target
"""
"""Medians of the rounds of each pair. Two iterations are verified by the first and the last: a slow fabric has no time
for more, and both ends were compared."""
OF_NODE = "INSERT INTO run_values VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, NULL, ?, 1, 1, 0)"
"""A node is a pair with itself."""
TRIED = "SELECT count(*) > 0 FROM (SELECT 1 FROM samples WHERE phase = ? LIMIT 1)"
KEPT = "INSERT INTO run_values SELECT ?, * EXCLUDE (run) FROM samples WHERE run = ? AND (phase <> ? OR ?)"


class ValuesFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file with the values of one run, or the reason why there is none."""

    path: Path | SeatrialError
    """samples.parquet of a run, or values.parquet of a baseline; or why the run has no such file."""
    run: str
    in_baseline: bool = False
    by_date: bool = False
    """Nobody named the run: it is one of a range of dates."""
    printed: bool = False
    """The values are numbers that programs printed: imported, or those of a benchmark that was run. Then the path is
    that of the run's folder."""
    trials_of: Path | None = None
    """The folder of the run (or baseline) whose figures of trials of nodes are wanted, too; None: they are not."""


def read_tables(files: Sequence[ValuesFile], note: Callable[[str], None] | None = None) -> tuple[MetricTable, ...]:
    """All metrics of these runs, main figures of benchmarks first, then sorted; rows in the order of `files`.

    `note` gets a sentence on each run of a range of dates that cannot be read, whose row then has no values. Without
    it, and for a run that was named, raises DamagedRun, SeatrialError; always TooLittleMemory.
    """
    with _loaded(files, note) as connection:
        connection.execute(
            "CREATE TEMP TABLE metrics AS SELECT row_number() OVER () - 1 AS metric, * FROM (SELECT DISTINCT "
            "phase, variant, kernel, message_bytes, window_messages FROM run_values)"
        )
        connection.execute(
            "CREATE TEMP TABLE pairs AS SELECT row_number() OVER (ORDER BY source, target) - 1 AS pair, * FROM "
            "(SELECT DISTINCT source, target FROM run_values)"
        )
        joined = connection.sql(
            "SELECT number, metric, pair, run_values.* FROM run_values JOIN pairs USING (source, target) "
            "JOIN metrics USING (phase, variant, kernel, message_bytes, window_messages)"
        )
        joined.create_view("numbered")
        values = _Values(connection)
        keys = {
            RunMetric(
                phase=Phase(phase), variant=variant, kernel=KERNELS[kernel], message_bytes=size, window_messages=many
            ): number
            for number, phase, variant, kernel, size, many in connection.execute("SELECT * FROM metrics").fetchall()
        }
    in_order = sorted(keys, key=lambda metric: (not metric.main, metric))
    return tuple(values.table(metric, keys[metric], len(files)) for metric in in_order)


def write_values(files: Sequence[ValuesFile], target: Path) -> None:
    """One Parquet file with the values of these runs, by name of the run.

    Raises OSError, DamagedRun, and UsageError where a run has no value, so that nothing could be compared with it.

    `target`: the path of an open file's descriptor, see `files.writing.descriptor_path`.
    """
    with _loaded(files) as connection, system_errors():
        numbers = {number for (number,) in connection.execute("SELECT DISTINCT number FROM run_values").fetchall()}
        if empty := [file.run for place, file in enumerate(files) if place not in numbers]:
            raise UsageError(
                f"Nothing can be compared with {some(empty, MOST_NAMED)}: no value was measured.",
                "Leave such runs out.",
            )
        connection.execute("CREATE TEMP TABLE names (number INTEGER, run VARCHAR)")
        connection.executemany("INSERT INTO names VALUES (?, ?)", [(n, file.run) for n, file in enumerate(files)])
        named = "SELECT names.run, * EXCLUDE (run, number) FROM run_values JOIN names USING (number) ORDER BY ALL"
        connection.execute(f"COPY ({named}) TO '{target}' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")


@contextmanager
def _loaded(
    files: Sequence[ValuesFile], note: Callable[[str], None] | None = None
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection with a table `run_values`, of which `number` is the place of the file. `note`: see `read_tables`."""
    with opened() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"CREATE TEMP TABLE run_values (number INTEGER, {COLUMNS})")
        for number, file in enumerate(files):
            try:
                with read_errors():
                    _load(connection, number, file)
                    ((strange,),) = connection.execute(STRANGE, [number, [*Phase], [*KERNELS]]).fetchall()
                    if strange:
                        raise DamagedRun("its values are not what seatrial writes.")
            except SeatrialError as error:
                if note is None or not file.by_date:
                    how = "read" if isinstance(error, DamagedRun) else "used"
                    raise DamagedRun(f"The run {file.run} cannot be {how}: {error.what}", error.remedy) from error
                connection.execute("DELETE FROM run_values WHERE number = ?", [number])
                note(LEFT_OUT.format(file.run, error.what))
        yield connection


def _load(connection: "duckdb.DuckDBPyConnection", number: int, file: ValuesFile) -> None:
    """The values of one run. Raises DamagedRun, SeatrialError."""
    if isinstance(file.path, SeatrialError):
        raise file.path
    if file.printed:
        _insert(connection, [_printed_row(number, value) for value in printed_values(file.path)])
    elif _load_samples(connection, number, file, file.path) and file.trials_of is not None:
        _insert(connection, trial_rows(number, file.trials_of))


def _load_samples(connection: "duckdb.DuckDBPyConnection", number: int, file: ValuesFile, path: Path) -> bool:
    """The values of one file; whether there are trials of nodes besides, of which the journal has the figures."""
    with parquet(connection, path) as name:
        connection.register("samples", connection.read_parquet(name))
        if file.in_baseline:
            connection.execute(KEPT, [number, file.run, Phase.NODES.value, file.trials_of is not None])
        else:
            _reduce(connection, number)
        ((tried,),) = connection.execute(TRIED, [Phase.NODES.value]).fetchall()
        connection.unregister("samples")
    return bool(tried) and not file.in_baseline


def _insert(connection: "duckdb.DuckDBPyConnection", rows: Sequence[tuple[object, ...]]) -> None:
    """Values of nodes."""
    if rows:
        connection.executemany(OF_NODE, rows)


def judged_benchmark(folder: Path, others_s: float = OTHERS_S) -> RunResult:
    """The output of a benchmark that was run, by the patterns of its run. Raises UsageError where they take too long.

    `others_s`: seconds for a run of another user, who wrote the patterns and the output.
    """
    with limited(PARSE_S if is_own(folder) else others_s, f"Reading the output of {read_info(folder).run}"):
        recorded = read_run(folder)
        return judge_run(recorded, declared_in(recorded.info))


def printed_values(folder: Path) -> Sequence[ImportedValue]:
    """What programs printed: values that were imported, or those of a benchmark that was run, if they can be used.

    Raises DamagedRun, and SeatrialError for a run that is not valid or not complete.
    """
    info = read_info(folder)
    if info.kind is RunKind.IMPORT:
        return [value for entry in of_type(read_entries(folder), ValuesImported) for value in entry.values]
    result = judged_benchmark(folder)
    if not result.output.valid:
        why = [*result.output.missing, *(breach.reason for breach in result.output.breaches), result.failure]
        raise SeatrialError(
            f"its output is {result.word}: {why[0]}.", f"Leave it out; see seatrial report {shlex.quote(info.run)}."
        )
    return tuple(run_values(info, result.benchmark, result.output))


def _printed_row(number: int, value: ImportedValue) -> tuple[object, ...]:
    phase = Phase.MAIN if value.main else Phase.IMPORTED
    return (number, phase.value, value.name, value.sense.value, 0, value.node, value.node, value.value, None)


def _reduce(connection: "duckdb.DuckDBPyConnection", number: int) -> None:
    """Reduce the samples of a run to a row for each metric and pair."""
    connection.execute(SHAPES)
    connection.execute(ROUNDS)
    phases = {phase for (phase,) in connection.execute("SELECT DISTINCT phase FROM shapes").fetchall()}
    if phases & {Phase.NEXT, Phase.RETEST}:
        connection.execute(RETESTED)
    if Phase.SATURATION in phases:
        connection.execute(SATURATED)
    connection.execute(PAIRS, [number])


class _Values:
    """All values of all runs, read from DuckDB at once and taken apart by metric."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        columns = connection.execute("SELECT number, metric, pair, value FROM numbered ORDER BY metric").fetchnumpy()
        self._numbers, self._pairs, self._values = columns["number"], columns["pair"], columns["value"]
        most = int(columns["metric"].max(initial=-1))
        self._ends = np.searchsorted(columns["metric"], np.arange(most + 2))
        self._names = connection.execute("SELECT source, target FROM pairs ORDER BY pair").fetchall()
        self._of_runs: dict[tuple[int, int], tuple[float | None, ...]] = {
            (metric, number): tuple(numbers)
            for metric, number, *numbers in connection.execute(
                "SELECT metric, number, median(iteration_spread), median(round_spread), max(pairs_at_once), "
                "median(iterations), min(compared) FROM numbered GROUP BY metric, number"
            ).fetchall()
        }

    def table(self, metric: RunMetric, place: int, runs: int) -> MetricTable:
        """One metric; only the pairs that some run has."""
        rows = slice(self._ends[place], self._ends[place + 1])
        pairs, columns = np.unique(self._pairs[rows], return_inverse=True)
        values = np.full((runs, len(pairs)), np.nan)
        values[self._numbers[rows], columns] = self._values[rows]
        of_runs = np.full((runs, 4), np.nan)
        compared: list[VerifiedData | None] = [None] * runs
        for number in range(runs):
            if (place, number) in self._of_runs:
                *numbers, level = self._of_runs[place, number]
                of_runs[number] = [np.nan if each is None else each for each in numbers]
                compared[number] = LEVELS[int(level or 0)]
        return MetricTable(
            metric=metric,
            pairs=tuple(self._names[pair] for pair in pairs),
            values=values,
            iteration_spread=of_runs[:, 0],
            round_spread=of_runs[:, 1],
            pairs_at_once=of_runs[:, 2],
            iterations=of_runs[:, 3],
            compared=tuple(compared),
        )
