"""The mean that `seatrial link` reports against a plain ping-pong that is timed as osu_latency times it.

Neither OSU's nor Intel's benchmarks are Debian packages: plain_pingpong.c beside this file stands in for them.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from seatrial.commands.link.curve.judge import points_of
from seatrial.launch.contract import StartManner
from seatrial.launch.local import LocalLauncher, mpirun_argv
from seatrial.launch.mpi import Mpi, find_mpi, without_schedulers
from seatrial.launch.probe_build import build
from seatrial.model.measurement import Kernel, Measurement, Phase, Round, Shape
from seatrial.pairs.sizes import Pace, latency_shape

BYTES = 8
BLOCK = 20
"""Round trips; as in plain_pingpong.c."""
ROUNDS = 20
BLOCKS = 200
LAUNCHES = 3
ENOUGH_S = 20.0
"""So long it is tried on a machine whose cores others take."""
AGREE = 0.02
ITSELF = 0.01
"""Where the quietest moments differ by more from launch to launch, nothing can be compared."""
BOUND = ("--bind-to", "core", "--map-by", "core")
TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_mpi_yield_when_idle": "1"}
"""As between nodes: the clock's reading counts for nothing there."""


@pytest.fixture(scope="module")
def mpi() -> Mpi:
    if shutil.which("mpicc.openmpi") is None or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("it takes mpicc.openmpi and two cores")
    return find_mpi("mpicc.openmpi")


def plain(mpi: Mpi, program: Path) -> list[float]:
    """Seconds one way, the mean of each block."""
    argv = mpirun_argv(mpi, 2, program, str(BYTES), str(BLOCKS), root=os.geteuid() == 0, options=BOUND)
    done = subprocess.run(
        without_schedulers(argv, os.environ),
        env={**os.environ, **TCP},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [float(line) for line in done.stdout.split()]


def probed(mpi: Mpi, probe: Path, folder: Path) -> tuple[list[Measurement], tuple[str, ...]]:
    """Runs of the probe, each as the curve measures one, and the ranks' masks."""
    launcher = LocalLauncher(mpi, probe, 2)
    first, second, *_ = nodes = launcher.hosts().nodes
    session = launcher.start(nodes, folder / "launch.err", StartManner(options=BOUND, environment=TCP))
    shape = latency_shape(BYTES, Pace())
    assert shape == Shape(kernel=Kernel.PINGPONG, message_bytes=BYTES, window=1, warmup=40, iterations=200)
    found = []
    for repetition in range(ROUNDS):
        asked = Round(phase=Phase.CURVE, repetition=repetition, shape=shape, pairs=((first, second),))
        found += list(session.measure(asked, 30))
    masks = tuple(str(rank["cpus"]) for rank in session.ranks)
    session.close()
    return found, masks


def block_means(measurements: list[Measurement]) -> list[float]:
    """What the report makes of each block of iterations alone."""
    found = []
    for one in measurements:
        for first in range(0, len(one.times_s), BLOCK):
            (point,) = points_of([replace(one, times_s=one.times_s[first : first + BLOCK])], one.pair)
            assert point.latency_mean_s is not None
            found.append(point.latency_mean_s.value)
    return found


def settled(quietest: list[float]) -> bool:
    """Whether the best two launches agree with each other."""
    first, second = sorted(quietest)[:2]
    return second <= first * (1 + ITSELF)


def agree(ours: list[float], theirs: list[float]) -> bool:
    """Whether the quietest moments of both take the same time to 2 %."""
    return min(ours) == pytest.approx(min(theirs), rel=AGREE)


@pytest.mark.alone
def test_the_mean_agrees_with_a_plain_ping_pong_on_the_same_cores(mpi: Mpi, tmp_path: Path) -> None:
    """The quietest blocks of round trips of either: what else runs lengthens blocks, and shortens none.

    In turns, and again while they differ. Where even launches of the same program do, nothing can be said.
    """
    program = tmp_path / "plain_pingpong"
    source = Path(__file__).with_name("plain_pingpong.c")
    subprocess.run([mpi.mpicc, "-O2", "-o", str(program), str(source)], check=True, capture_output=True)
    probe = build(mpi, tmp_path)
    theirs: list[float] = []
    ours: list[float] = []
    until = time.monotonic() + ENOUGH_S
    while len(ours) < LAUNCHES or (time.monotonic() < until and not agree(ours, theirs)):
        theirs.append(min(plain(mpi, program)))
        measurements, masks = probed(mpi, probe, tmp_path)
        assert len(set(masks)) == 2
        assert not any("-" in mask or "," in mask for mask in masks), "each rank has one core of its own"
        ours.append(min(block_means(measurements)))
    if not agree(ours, theirs) and not (settled(theirs) and settled(ours)):
        pytest.skip(f"the machine is too busy: plain {sorted(theirs)[:2]}, probe {sorted(ours)[:2]}")
    assert agree(ours, theirs), (ours, theirs)
