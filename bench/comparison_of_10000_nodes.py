"""Compares runs of 10,000 nodes: 50 metrics, 10 runs, read from their samples. Prints seconds and memory.

    .venv/bin/python bench/comparison_of_10000_nodes.py [nodes] [metrics] [runs]

Each node sends to the next one, so there are as many pairs as nodes; nodes are compared as well. Half of the runs are
before a change, in which node n7 loses 10 %.
"""

import hashlib
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from seatrial.commands.compare.run import run_comparison

ITERATIONS = 3
SAMPLES = """
COPY (
  SELECT '{run}' AS run, metric AS round, 'survey' AS phase, 0 AS repetition,
         CASE WHEN metric % 2 = 0 THEN 'oneway' ELSE 'pingpong' END AS kernel,
         'n' || node AS source, 'n' || ((node + 1) % {nodes}) AS target, 1 << (metric // 2) AS message_bytes,
         1 AS window_messages, {nodes} // 2 AS pairs_at_once, false AS warm, iteration,
         1e-6 * (1 + 0.003 * (random() + random() + random() - 1.5))
           * CASE WHEN {slow} AND node IN (6, 7) THEN 1 / 0.9 ELSE 1 END AS time_s,
         2 AS verified, 0 AS errors, NULL AS corruptions, '' AS variant, 0.0 AS at_s
  FROM range({nodes}) nodes(node), range({metrics}) metrics(metric), range({iterations}) iterations(iteration)
) TO '{path}' (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{journal_sha256: '{digest}'}})
"""
"""Times scatter by 0.15 %, in every iteration of its own."""


def write_run(archive: Path, name: str, nodes: int, metrics: int, *, slow: bool) -> None:
    """A closed run with nothing but samples: its journal is empty."""
    folder = archive / name
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_bytes(b"")
    digest = hashlib.sha256(b"").hexdigest()
    contents = {"journal_bytes": 0, "journal_entries": 0, "journal_sha256": digest, "measurements": 0, "samples": 0}
    info = {
        "format": 1, "run": name, "seatrial": "0.1.0", "command": ["check"], "started": "2026-11-21T10:00:00Z",
        "ended": "2026-11-21T10:10:00Z", "ending": "complete", "launcher": "slurm", "kind": "check",
        "contents": contents,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(info))
    text = SAMPLES.format(
        run=name, nodes=nodes, metrics=metrics, iterations=ITERATIONS, digest=digest, slow=str(slow).lower(),
        path=folder / "samples.parquet",
    )  # fmt: skip
    duckdb.sql(text)


def main() -> None:
    """Write the runs, compare them in this process, print one line."""
    nodes, metrics, runs = (int(word) for word in [*sys.argv[1:], *("10000", "50", "10")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        archive = Path(folder)
        names = [f"run{number}" for number in range(runs)]
        for number, name in enumerate(names):
            write_run(archive, name, nodes, metrics, slow=number >= runs // 2)
        began, cpu = time.perf_counter(), time.process_time()
        found = run_comparison(archive, ",".join(names[: runs // 2]), ",".join(names[runs // 2 :]))
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    assert found.worst is not None and "n7" in found.worst.subject.name
    print(f"{nodes} nodes x {metrics} metrics x {runs} runs: {wall_s:.1f} s ({cpu_s:.1f} s of processor), "
          f"{peak:.2f} GB at most, {found.outcome.value}: {found.worst.subject.name}")  # fmt: skip


if __name__ == "__main__":
    main()
