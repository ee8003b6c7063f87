"""The probe's kernels of storage beside fio (Debian's fio), in turn, in one folder of this machine.

Both write a new file of 64 MiB in blocks of 1 MiB past the page cache, and read it again, as one stream. Each block
measures both in random order; its ratio is ours by theirs, of rates over the whole time. Prints the median ratio over
blocks with its interval and the range of the blocks. A disk that others use varies more than the two differ: give a
folder on a device of a fixed rate, or more blocks. Exit code 1: a median differs by more than 5 %.
Arguments: the folder, number of blocks.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from seatrial.launch.contract import MeasuresGroups
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder
from seatrial.model.measurement import GroupRound, Kernel, Phase, Shape
from seatrial.statistics.estimates import median_estimate

PARENT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
BLOCKS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
BLOCK_BYTES, WINDOW, ITERATIONS = 1 << 20, 4, 16
WITHIN = 0.05
KERNELS = {"write": Kernel.STORAGE_WRITE, "read": Kernel.STORAGE_READ}


def of_fio(mode: str, folder: Path) -> float:
    """Bytes per second of one job."""
    size = BLOCK_BYTES * WINDOW * ITERATIONS
    words = [f"--name={mode}", f"--rw={mode}", f"--size={size}", f"--bs={BLOCK_BYTES}", "--direct=1"]
    argv = ["fio", *words, f"--directory={folder}", "--output-format=json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    (folder / f"{mode}.0.0").unlink()
    return float(json.loads(done.stdout)["jobs"][0][mode]["bw_bytes"])


def of_probe(mode: str, folder: Path, session: MeasuresGroups, rank: str) -> float:
    """The same of one rank."""
    shape = Shape(
        kernel=KERNELS[mode], message_bytes=BLOCK_BYTES, window=WINDOW, warmup=0, iterations=ITERATIONS
    )  # fmt: skip
    wanted = GroupRound(phase=Phase.NODES, repetition=0, shape=shape, groups=((rank,),), folder=str(folder))
    (measured,) = session.measure_groups(wanted, 300)
    if measured.errors or (measured.conditions and (measured.conditions.failed or measured.conditions.cached)):
        sys.exit(f"{mode}: {measured.conditions}")
    return BLOCK_BYTES * WINDOW * ITERATIONS / sum(measured.times_s)


def main() -> int:
    """Exit code 0: both medians lie within 5 % of 1."""
    draw = random.Random(1)
    ratios: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=PARENT) as name:
        folder = Path(name)
        mpi = find_mpi("")
        launcher = LocalLauncher(mpi, build(mpi, default_folder()), 2)
        session = launcher.start(launcher.hosts().nodes, folder / "log")
        if not isinstance(session, MeasuresGroups):
            sys.exit("this session measures pairs only")
        for _ in range(BLOCKS):
            for mode in draw.sample(sorted(KERNELS), len(KERNELS)):
                tools = {"fio": lambda mode=mode: of_fio(mode, folder),
                         "probe": lambda mode=mode: of_probe(mode, folder, session, session.nodes[0])}  # fmt: skip
                rates = {tool: tools[tool]() for tool in draw.sample(sorted(tools), len(tools))}
                ratios[mode].append(rates["probe"] / rates["fio"])
        session.close()
    good = True
    for mode, values in sorted(ratios.items()):
        estimate = median_estimate(values)
        good = good and abs(estimate.value - 1) <= WITHIN
        print(f"{mode} / fio: {estimate.value:.3f} [{estimate.low:.3f} to {estimate.high:.3f}], "
              f"blocks {min(values):.3f} to {max(values):.3f}, n = {len(values)}")  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
