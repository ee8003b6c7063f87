"""What `seatrial jobs` takes for 10,000, 100,000 and 1,000,000 lines of sacct, and how that grows with the lines.

    .venv/bin/python bench/job_lines.py [LINES ...]

The lines are those of one description (`Cluster`): jobs of 400 families on 1,000 nodes in 60 days, in every state,
arrays, heterogeneous jobs, steps, submit lines over two lines, separators, quotes, control characters and bytes that
are not UTF-8 in names. One node makes jobs 1.5 times as long. Each command is a process of its own. Where work is in
proportion to the lines, the growth from one size to the next is 1. Exits with 1 where another node is named, a record
is not read, or a million lines take more than 30 s of processor time or 2 GB.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

SIZES = (10_000, 100_000, 1_000_000)
MOST_S, MOST_BYTES = 30.0, 2e9
MOST_LINES = 1_000_000
HEADER = (
    "JobID|User|Partition|NNodes|ReqCPUS|Submit|Start|End|ElapsedRaw|Suspended|Timelimit|JobName|State|ExitCode|"
    "SubmitLine|NodeList"
)
STATES = (
    ("COMPLETED", "0:0", 0.8),
    ("FAILED", "1:0", 0.05),
    ("FAILED", "0:11", 0.01),
    ("TIMEOUT", "0:0", 0.03),
    ("CANCELLED by 1001", "0:15", 0.06),
    ("OUT_OF_MEMORY", "0:125", 0.01),
    ("NODE_FAIL", "0:0", 0.004),
    ("PREEMPTED", "0:0", 0.01),
    ("REQUEUED", "0:0", 0.006),
    ("RUNNING", "0:0", 0.01),
    ("PENDING", "0:0", 0.005),
    ("BOOT_FAIL", "0:0", 0.001),
    ("DEADLINE", "0:0", 0.002),
    ("SUSPENDED", "0:0", 0.001),
    ("RESIZING", "0:0", 0.001),
)
NAMES = ("relax", "md run", 'scf "fine"', "a|b", "\x1b[31mred", "na\xefve", "bands\nof two")
"""One of them is written in Latin 1, and one has a line break."""
SIZES_OF_JOBS = (1, 1, 1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Cluster:
    """The description of all lines but their number."""

    nodes: int = 1000
    families: int = 400
    users: int = 60
    days: int = 60
    slow: int = 123
    factor: float = 1.5
    seed: int = 1


def write(path: Path, records: int, cluster: Cluster) -> None:
    """That many records, steps of jobs among them."""
    draw = np.random.default_rng(cluster.seed)
    family = (cluster.families * draw.random(records) ** 2.5).astype(int)
    size = np.array(SIZES_OF_JOBS)[draw.integers(0, len(SIZES_OF_JOBS), cluster.families)][family]
    first = draw.integers(1, cluster.nodes - size + 2)
    logs = draw.uniform(5, 10, cluster.families)[family] + 0.1 * draw.standard_t(3, records)
    logs += np.log(cluster.factor) * ((first <= cluster.slow) & (cluster.slow < first + size))
    seconds = np.exp(np.clip(logs, 1, 12)).astype(int)
    began = np.sort(draw.integers(0, cluster.days * 86400, records))
    state = draw.choice(len(STATES), records, p=np.array([one[2] for one in STATES]) / sum(one[2] for one in STATES))
    kind = draw.random(records)
    start = datetime(2026, 3, 2)
    with path.open("wb") as file:
        file.write(f"{HEADER}\n".encode())
        rows = zip(*(each.tolist() for each in (family, size, first, seconds, began, state, kind)), strict=True)
        for number, (group, nodes, low, elapsed, when, place, shape) in enumerate(rows):
            word, code, _ = STATES[place]
            job = f"{number}"
            if shape < 0.05:
                job = f"{number}.batch"
            elif shape < 0.35:
                job = f"{number // 50}_{number % 50}"
            elif shape < 0.36:
                job = f"{number}+1"
            begun = start + timedelta(seconds=when)
            listed = f"n{low:04d}" if nodes == 1 else f"n[{low:04d}-{low + nodes - 1:04d}]"
            user, name = f"user{group % cluster.users}", f"{NAMES[group % len(NAMES)]}{chr(97 + group % 26)}"
            second = "\n  --input b.in | tee log" if group % 5 == 0 else ""
            ended = begun + timedelta(seconds=elapsed)
            line = (
                f"{job}|{user}|main|{nodes}|{nodes * 32}|{begun.isoformat()}|{begun.isoformat()}|{ended.isoformat()}|"
                f"{elapsed}|00:00:00|2-00:00:00|{name}-{number}|{word}|{code}|"
                f"sbatch -N{nodes} /home/{user}/run{number}/job{chr(97 + group // 26)}.sh{second}|"
                f"{'None assigned' if word == 'PENDING' else listed}\n"
            )
            file.write(line.encode("latin-1"))


def measure(path: Path) -> tuple[dict[str, object], float, float, int]:
    """The data, processor seconds, seconds, and bytes of memory of one `jobs --json`."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        argv = [sys.executable, "-m", "seatrial", "jobs", "--from", str(path), "--json"]
        process = subprocess.Popen(argv, stdout=output)
        _, _, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        output.seek(0)
        found = json.load(output)["data"]
    return found, used.ru_utime + used.ru_stime, seconds, used.ru_maxrss * 1024


def main() -> int:
    """Print a row for each number of lines."""
    failed = False
    left: dict[str, int] = {}
    print(f"{'records':>9}{'MB':>7}{'cpu s':>8}{'wall s':>8}{'memory MB':>11}{'growth beside records':>23}  named")
    before = (0, 0.0)
    cluster = Cluster()
    for records in [int(word) for word in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sacct.txt"
            write(path, records, cluster)
            megabytes = path.stat().st_size / 1e6
            data, cpu_s, wall_s, memory = measure(path)
        named = [node["node"] for node in data["slow"]]
        left = data["left_out"]
        growth = f"{cpu_s / before[1] / (records / before[0]):.2f}" if before[0] else ""
        print(
            f"{records:9}{megabytes:7.0f}{cpu_s:8.1f}{wall_s:8.1f}{memory / 1e6:11.0f}{growth:>23}  "
            f"{', '.join(named) or 'nobody'}",
            flush=True,
        )
        before = (records, cpu_s)
        failed |= data["records"] != records or bool(data["unreadable_lines"])
        failed |= data["used"] + sum(left.values()) != records
        failed |= named != [f"n{cluster.slow:04d}"] and records > min(SIZES)
        failed |= records <= MOST_LINES and (cpu_s > MOST_S or memory > MOST_BYTES)
    print(f"Left out of {records}: {', '.join(f'{number} {reason}' for reason, number in left.items())}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
