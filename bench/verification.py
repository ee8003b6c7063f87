"""Times with and without comparing the data of the first and the last iteration, in turn, on two ranks of this machine.

Ranks that share memory are the sharpest test: what a comparison leaves in the caches would show there first. Each block
measures both in random order, as one round each of the same session; its ratio is that of the two medians. Prints the
median ratio over blocks with its 95 % interval. 1.00 within the interval: no cost in the timed region was found.
"""

import math
import random
import sys
import tempfile
from pathlib import Path

from seatrial.launch.contract import Session
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder
from seatrial.model.measurement import Kernel, Phase, Round, Shape, Verification
from seatrial.statistics.estimates import median, median_estimate

BLOCKS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SHAPES = (
    Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=20, iterations=400),
    Shape(kernel=Kernel.PINGPONG, message_bytes=65536, window=1, warmup=20, iterations=200),
    Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=30),
    Shape(kernel=Kernel.BOTHWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=30),
)
"""Those of a check, and what stresses the caches."""
COMPARED = (Verification.NONE, Verification.ENDS)


def run_s(session: Session, shape: Shape, verify: Verification) -> float:
    """The median time of one round, seconds."""
    first, second = session.nodes
    wanted = Round(phase=Phase.SURVEY, repetition=0, shape=shape, pairs=((first, second),), verify=verify)
    (measurement,) = session.measure(wanted, 60)
    if measurement.errors or bool(measurement.verified) != (verify is not Verification.NONE):
        sys.exit(f"{measurement.verified} iterations were compared, and {measurement.errors} bytes were wrong")
    return median(measurement.times_s)


def main() -> int:
    """Exit code 0: every interval contains 1."""
    draw = random.Random(1)
    logs: dict[Shape, list[float]] = {shape: [] for shape in SHAPES}
    mpi = find_mpi("")
    with tempfile.TemporaryDirectory() as folder:
        launcher = LocalLauncher(mpi, build(mpi, default_folder()), 2)
        session = launcher.start(launcher.hosts().nodes, Path(folder) / "log")
        try:
            for _ in range(BLOCKS):
                for shape in draw.sample(SHAPES, len(SHAPES)):
                    times = {verify: run_s(session, shape, verify) for verify in draw.sample(COMPARED, 2)}
                    logs[shape].append(math.log(times[Verification.ENDS] / times[Verification.NONE]))
        finally:
            session.close()
    good = True
    for shape, values in logs.items():
        ratio = median_estimate(values)
        low, value, high = (math.exp(number) for number in (ratio.low, ratio.value, ratio.high))
        print(f"{shape.kernel:9} {shape.message_bytes:8} B  {value:.4f} [{low:.4f}, {high:.4f}]  {len(values)} blocks")
        good = good and low <= 1 <= high
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
