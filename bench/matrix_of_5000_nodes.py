"""What `seatrial judge` takes for matrices of 1,250, 2,500 and 5,000 nodes, and how that grows with the pairs.

Each command is a process of its own. Where work is in proportion to the pairs, the growth from one size to the next
is 1. Exits with 1 where a planted node is not named, or 5,000 nodes take more than 30 s of processor time or 2 GB.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SIZES = (1250, 2500, 5000)
MOST_S, MOST_BYTES = 30.0, 2e9
SLOW, LOSS = 10, 0.8


def rates(nodes: int, slow: set[int]) -> Iterator[list[float]]:
    """MB/s by sender, and then by receiver: 12,000 with a scatter of 0.1 %, SLOW nodes at 80 %."""
    draw = np.random.default_rng(1)
    share = np.where(np.isin(np.arange(nodes), list(slow)), LOSS, 1.0)
    for number in range(nodes):
        yield (12000 * np.minimum(share, share[number]) * (1 + draw.normal(0, 0.001, nodes))).tolist()


def write_csv(path: Path, nodes: int, slow: set[int]) -> None:
    """One line a pair, latency and bandwidth."""
    with path.open("w") as file:
        file.write("source,target,latency_us,bandwidth_mb_s\n")
        for a, row in enumerate(rates(nodes, slow)):
            file.writelines(f"n{a:04d},n{b:04d},1.{50 + b % 7},{rate:.1f}\n" for b, rate in enumerate(row) if a != b)


def write_mpigraph(path: Path, nodes: int, slow: set[int]) -> None:
    """mpiGraph's table of received bandwidths."""
    with path.open("w") as file:
        file.write("START mpiGraph v1.4\nRecv\t" + "".join(f"n{b:04d}:{b}\t" for b in range(nodes)) + "\n")
        for a, row in enumerate(rates(nodes, slow)):
            cells = "".join(f"{0 if a == b else rate:.3f}\t" for b, rate in enumerate(row))
            file.write(f"n{a:04d}:{a} from\t{cells}\n")
        file.write("END mpiGraph\n")


def measure(path: Path) -> tuple[set[str], float, float, int]:
    """Nodes that are named, processor seconds, seconds, and bytes of memory of one `locate --json`."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, "-m", "seatrial", "judge", str(path), "--json"], stdout=output)
        _, _, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        output.seek(0)
        found = json.load(output)["data"]
    named = {fault["subject"].removeprefix("node:") for fault in found["faults"]}
    return named, used.ru_utime + used.ru_stime, seconds, used.ru_maxrss * 1024


def main() -> int:
    """Print a row for each form and size."""
    failed = False
    print(f"{'form':10}{'nodes':>6}{'MB':>7}{'cpu s':>8}{'wall s':>8}{'memory MB':>11}{'growth beside pairs':>21}")
    for form, write in (("csv", write_csv), ("mpigraph", write_mpigraph)):
        before = (0, 0.0)
        for nodes in SIZES:
            slow = set(range(3, nodes, nodes // SLOW))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / form
                write(path, nodes, slow)
                megabytes = path.stat().st_size / 1e6
                named, cpu_s, wall_s, memory = measure(path)
            growth = f"{cpu_s / before[1] / (nodes / before[0]) ** 2:.2f}" if before[0] else ""
            print(f"{form:10}{nodes:6}{megabytes:7.0f}{cpu_s:8.1f}{wall_s:8.1f}{memory / 1e6:11.0f}{growth:>21}")
            before = (nodes, cpu_s)
            failed |= named != {f"n{number:04d}" for number in slow}
        failed |= cpu_s > MOST_S or memory > MOST_BYTES
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
