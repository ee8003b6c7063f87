"""The probe's kernels of one node beside other tools, in turn, on one core of this machine.

Memory beside STREAM's four loops, written here from the formulas in its documentation, with arrays that lie one
behind the other as the probe's do, compiled for the same instruction set; arithmetic beside likwid-bench (Debian's
likwid), the pipe beside `perf bench sched pipe` (linux-perf). Each block measures all in random order; its ratio is
ours by theirs, of rates, the best of a few each. Prints the median ratio over blocks with its interval and the range
of the blocks. Run it on an idle machine, or with `chrt -f 20`. Exit code 1: a median differs by more than 5 %.
Argument: number of blocks.
"""

import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from seatrial.launch.contract import MeasuresGroups
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder
from seatrial.model.measurement import GroupRound, Kernel, Phase, Shape
from seatrial.statistics.estimates import median_estimate

BLOCKS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
ARRAY_BYTES = (64 << 20) + 17 * 64
PASSES = 12
ROUND_TRIPS = 2000
TRIES, SHORT_TRIES = 3, 9
"""Of which the best counts: other work on the machine makes a number worse, never better. Arithmetic and pipes are
tried more often and for milliseconds only, as long as one of our iterations: on a busy machine longer ones are never
whole."""
LIKWID_ITERATIONS = 3000
WITHIN = 0.05
STREAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define N (%d / 8)
#define TIME(what) do { double best = 1e9; for (int t = 0; t < %d; t++) { double s = now(); what; \\
    double e = now() - s; if (e < best) best = e; } printf("%%.9f\\n", best); } while (0)
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(void) {
    double *restrict a = malloc(3 * 8 * N), *restrict b = a + N, *restrict c = b + N;
    for (long i = 0; i < N; i++) a[i] = 1, b[i] = 2, c[i] = 0;
    TIME(for (long i = 0; i < N; i++) c[i] = a[i]);
    TIME(for (long i = 0; i < N; i++) b[i] = 3.0 * c[i]);
    TIME(for (long i = 0; i < N; i++) c[i] = a[i] + b[i]);
    TIME(for (long i = 0; i < N; i++) a[i] = b[i] + 3.0 * c[i]);
    return a[N / 2] + b[N / 3] + c[N / 4] > 1e300;
}
"""
STREAM_KERNELS = (Kernel.MEMORY_COPY, Kernel.MEMORY_SCALE, Kernel.MEMORY_ADD, Kernel.MEMORY_TRIAD)
LIKWID = {32: "peakflops_avx_fma", 64: "peakflops_avx512_fma"}


class Ours:
    """A session of the probe on this machine; rates of its first rank, which has processor 0."""

    def __init__(self, folder: Path) -> None:
        mpi = find_mpi("")
        launcher = LocalLauncher(mpi, build(mpi, default_folder()), 2)
        session = launcher.start(launcher.hosts().nodes, folder / "log")
        if not isinstance(session, MeasuresGroups):
            sys.exit("this session measures pairs only")
        self._groups, self.session = session, session
        self.cpu = str(session.ranks[0]["own_cpu"])

    def times_s(self, kernel: Kernel, message_bytes: int = 0, window: int = 1, iterations: int = PASSES) -> list[float]:
        """The times of one round."""
        shape = Shape(kernel=kernel, message_bytes=message_bytes, window=window, warmup=1, iterations=iterations)
        ranks = self.session.nodes if kernel is Kernel.PIPE_SWITCH else self.session.nodes[:1]
        wanted = GroupRound(phase=Phase.NODES, repetition=0, shape=shape, groups=(tuple(ranks),))
        (measurement,) = self._groups.measure_groups(wanted, 120)
        if measurement.errors:
            sys.exit(f"{kernel}: {measurement.errors} bytes were wrong")
        return list(measurement.times_s)


def output(*argv: str | Path) -> str:
    """What a program prints, on standard output and standard error."""
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout + done.stderr


def comparisons(ours: Ours, folder: Path) -> dict[str, Callable[[], dict[str, float]]]:
    """What can be compared here: each gives ratios of rates, ours by theirs, of one block."""
    source, stream = folder / "stream.c", folder / "stream"
    source.write_text(STREAM % (ARRAY_BYTES, PASSES))
    plain = "-fno-tree-loop-distribute-patterns"  # else copy becomes a call of memcpy, whose stores bypass the caches
    subprocess.run(["gcc", "-O3", plain, "-o", stream, source], check=True)  # noqa: S607

    def memory() -> dict[str, float]:
        outputs = [output("taskset", "-c", ours.cpu, stream).split() for _ in range(TRIES)]
        theirs = [min(map(float, times)) for times in zip(*outputs, strict=True)]
        own = [[min(ours.times_s(kernel, ARRAY_BYTES)) for kernel in STREAM_KERNELS] for _ in range(TRIES)]
        pairs = zip(STREAM_KERNELS, theirs, map(min, zip(*own, strict=True)), strict=True)
        return {f"{kernel} / STREAM": other / own for kernel, other, own in pairs}

    def arithmetic() -> dict[str, float]:
        ratios = {}
        for width, test in LIKWID.items():
            own = min(ours.times_s(Kernel.FMA, width, 256, 30))
            if not own:
                continue
            texts = [
                output("likwid-bench", "-t", test, "-w", "S0:16kB:1", "-i", str(LIKWID_ITERATIONS))
                for _ in range(SHORT_TRIES)
            ]
            megaflops = max(float(re.findall(r"MFlops/s:\s+([0-9.]+)", text)[0]) for text in texts)
            ratios[f"fma {width} B / {test}"] = 256 * 12288 * width / own / (megaflops * 1e6)
        return ratios

    def perf_s(round_trips: int) -> float:
        asked = ("taskset", "-c", ours.cpu, "perf", "bench", "sched", "pipe", "-l", str(round_trips))
        return float(re.findall(r"([0-9.]+) usecs/op", output(*asked))[0]) * 1e-6 * round_trips

    def pipe() -> dict[str, float]:
        tries = [(perf_s(ROUND_TRIPS), perf_s(2 * ROUND_TRIPS)) for _ in range(SHORT_TRIES)]
        short, long = map(min, zip(*tries, strict=True))
        own = [ours.times_s(Kernel.PIPE_SWITCH, iterations=ROUND_TRIPS) for _ in range(SHORT_TRIES)]
        theirs = (long - short) / ROUND_TRIPS  # perf's clock runs while its two tasks start and end, too
        return {"pipe_switch / perf bench sched pipe": theirs / min(sum(times) / len(times) for times in own)}

    able = {"memory": memory}
    if shutil.which("likwid-bench"):
        able["arithmetic"] = arithmetic
    if shutil.which("perf"):
        able["pipe"] = pipe
    return able


def main() -> int:
    """Exit code 0: every median lies within 5 % of 1."""
    draw = random.Random(1)
    ratios: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        ours = Ours(Path(name))
        able = comparisons(ours, Path(name))
        for missing in (tool for tool in ("likwid-bench", "perf") if not shutil.which(tool)):
            print(f"{missing} is not installed: not compared")
        for _ in range(BLOCKS):
            for what in draw.sample(sorted(able), len(able)):
                for label, ratio in able[what]().items():
                    ratios[label].append(ratio)
        ours.session.close()
    good = True
    for label, values in ratios.items():
        estimate = median_estimate(values)
        good = good and abs(estimate.value - 1) <= WITHIN
        print(f"{label}: {estimate.value:.3f} [{estimate.low:.3f} to {estimate.high:.3f}], "
              f"blocks {min(values):.3f} to {max(values):.3f}, n = {len(values)}")  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
