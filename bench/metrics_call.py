"""What one call of `seatrial metrics` takes on clusters of several sizes, and how that grows with nodes and jobs.

    .venv/bin/python bench/metrics_call.py [NODES ...]

There are ten jobs for each node. Slurm's commands are scripts that print made-up lines, with separators, quotes and
bytes that are not UTF-8 in the names of users and accounts. Each call is a process of its own; its time includes that
of the scripts. Where work is in proportion, the growth from one size to the next is 1. Exits with 1 where a count
differs from the lines, or a call for 10,000 nodes takes more than 1 s of processor time or 300 MB.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

SIZES = (1_000, 10_000)
LARGEST = 10_000
MOST_S, MOST_BYTES = 1.0, 300e6
JOBS_OF_NODE = 10
STATES = ("RUNNING", "RUNNING", "PENDING", "PENDING", "COMPLETING")
NAMES = ("ann", 'q"uote', "a|b", "na\xefve", "x y")
SDIAG = "Server thread count: 3\nAgent queue size: 0\n\nBackfilling stats\n\tMean cycle: 19\n"


def write(folder: Path, nodes: int) -> int:
    """Scripts in place of Slurm's commands; returns how many jobs are running."""
    states = ("allocated", "mixed", "idle", "idle+drain", "down+not_responding")
    sinfo = (
        f"{f'n{i:05d}':64}|{states[i % 5]:64}|{partition:64}|{'2/2/0/4':32}|{'256000':16}|{'1000':16}|"
        for i in range(nodes)
        for partition in ("main*", "debug")
    )
    jobs = JOBS_OF_NODE * nodes
    squeue = (
        f"{i}|{STATES[i % 5]}|main|{i % 64 + 1}|{i % 4 + 1}|{1795749000 - i}|{NAMES[i % 5]}{i % 300}|a{i % 40}"
        for i in range(jobs)
    )
    sshare = (f"a{i}||{i * 3600}|cpu={i}" for i in range(200))
    scripts = {
        "sinfo": "\n".join(sinfo),
        "squeue": "\n".join(squeue),
        "sdiag": SDIAG,
        "sshare": "\n".join(sshare),
        "scontrol": "ClusterName = bench",
    }
    for name, text in scripts.items():
        (folder / f"{name}.txt").write_bytes(f"{text}\n".encode("latin-1"))
        (folder / name).write_text(f"#!/bin/sh\nexec cat {folder}/{name}.txt\n")
        (folder / name).chmod(0o755)
    return sum(STATES[i % 5] == "RUNNING" for i in range(jobs))


def call(folder: Path) -> tuple[float, float, int]:
    """Processor seconds, seconds and bytes of memory of one call that writes `seatrial.prom`."""
    place = {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder / "cache")}
    target = f"textfile:{folder / 'seatrial.prom'}"
    argv = ["-m", "seatrial", "metrics", "--slurm", "always", "--to", target, "--archive", str(folder / "archive")]
    began = time.perf_counter()
    process = os.posix_spawn(sys.executable, [sys.executable, *argv], {**os.environ, **place})
    _, status, used = os.wait4(process, 0)
    if status:
        sys.exit("seatrial metrics failed")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss * 1024


def main() -> int:
    """Print a row for each size."""
    failed = False
    before = (0, 0.0)
    print(f"{'nodes':>8}{'jobs':>9}{'series':>9}{'cpu s':>8}{'wall s':>8}{'memory MB':>11}{'growth':>9}")
    for nodes in [int(word) for word in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            running = write(folder, nodes)
            cpu_s, wall_s, memory = call(folder)
            families = text_string_to_metric_families((folder / "seatrial.prom").read_text())
            found = {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}
            series = (folder / "seatrial.prom").read_text().count("\n")
        growth = f"{cpu_s / before[1] / (nodes / before[0]):.2f}" if before[0] else ""
        print(f"{nodes:8}{nodes * JOBS_OF_NODE:9}{series:9}{cpu_s:8.2f}{wall_s:8.2f}{memory / 1e6:11.0f}{growth:>9}")
        before = (nodes, cpu_s)
        wanted = (nodes, nodes * JOBS_OF_NODE, running, nodes // 5)
        names = ("slurm_nodes", "slurm_jobs", "slurm_jobs_running", "slurm_nodes_drained")
        failed |= tuple(found[name] for name in names) != wanted
        failed |= nodes <= LARGEST and (cpu_s > MOST_S or memory > MOST_BYTES)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
