"""Programs that print the bandwidth of two nodes, on a synthetic cluster: each start prints what its pair carries."""

import random
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from seatrial.launch.contract import ProgramCommand
from seatrial.launch.probe_text import RUN_OPTION
from seatrial.limits.collectives import bus_factor
from seatrial.locate.evidence import run_value
from seatrial.model.measurement import Phase, Round
from seatrial.pairs.survey import PROGRAM
from tests.support.builders import Cluster
from tests.support.paths import ROOT
from tests.support.scripted import ScriptedLauncher

Pair = tuple[str, str]
OSU_BW = "osu_bw -m 4194304:4194304"
SENDRECV = "sendrecv_perf -b 4M -e 4M"
DECLARED = str(ROOT / "tests" / "data" / "benchmarks" / "sendrecv_perf.toml")
NO_DEVICE = "echo 'no CUDA-capable device is detected' >&2; exit 3"


def osu_bw(bytes_per_s: float) -> str:
    """The output of osu_bw for one size."""
    return f"# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n4194304 {bytes_per_s / 1e6:.4f}\n"


def nccl_test(
    bytes_per_s: float, collective: str = "sendrecv", ranks_per_node: int = 1, nodes: int = 2, wrong: str = "0"
) -> str:
    """The output of nccl-tests for one size on two nodes: more digits than it prints, since links of a lab are slow.

    `wrong`: the column #wrong of the first buffer; the second has N/A, as in sendrecv.
    """
    ranks = [(rank, f"n{1 + rank // ranks_per_node}", rank % ranks_per_node) for rank in range(nodes * ranks_per_node)]
    places = [f"#  Rank {rank:2} Group  0 Pid {7 + rank} on {host} device {gpu}\n" for rank, host, gpu in ranks]
    algorithm = bytes_per_s / (bus_factor(collective, len(ranks)) or 1.0)
    figures = f"{4194304 / algorithm * 1e6:.1f} {algorithm / 1e9:.6f} {bytes_per_s / 1e9:.6f}"
    rate = f"{bytes_per_s / 1e9:.6f}"
    return (
        f"# Collective test starting: {collective}_perf\n"
        "# nThread 1 nGpus 1 minBytes 4194304 maxBytes 4194304 step: 1048576(bytes) warmup iters: 1 iters: 5\n"
        "# Using devices\n"
        f"{''.join(places)}"
        f"#       size         count      type   redop    root  {'   time   algbw   busbw #wrong' * 2}\n"
        f"     4194304       1048576     float    none      -1   {figures}  {wrong:>5}   {figures}    N/A\n"
        f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {rate}\n#\n"
        f"# Collective test concluded: {collective}_perf\n"
    )


def ran(rank: int, waited: float) -> str:
    """What the probe reports of a rank that it ran for two seconds."""
    return f'{{"record":"ran","rank":{rank},"ran_s":{2 - 2 * waited},"waited_s":{2 * waited}}}\n'


class PairProgramLauncher(ScriptedLauncher):
    """Starts no program but a shell that prints what one would.

    `fails`: nodes on which it ends with exit code 3; `between`: two nodes on which it does so together; `says`: what
    it prints for a rate in bytes per second; `waits`: share of its time that the rank of each node waits for a
    processor, of which the probe reports; None: an old one.
    """

    def __init__(
        self,
        cluster: Cluster,
        says: Callable[[float], str] = osu_bw,
        *,
        fails: Collection[str] = (),
        between: Collection[str] = (),
        bad: str = "",
        waits: Callable[[str], float] | None = None,
    ) -> None:
        super().__init__(cluster)
        self.waits = waits
        self.header = {"runs_programs": 1} if waits else {}
        self.says = says
        self.fails, self.between = set(fails), set(between)
        self.bad = bad
        self.pairs: list[Pair] = []

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path, *, in_order: bool = False
    ) -> ProgramCommand:
        assert (ranks_per_node, in_order) == (1, True)
        assert (tuple(argv[:2]) == (self.program, RUN_OPTION)) is (self.waits is not None)
        source, target = nodes
        self.pairs.append((source, target))
        if self.fails & set(nodes) or self.between == set(nodes):
            return ProgramCommand(argv=("sh", "-c", self.bad or NO_DEVICE))
        asked = Round(phase=Phase.SURVEY, repetition=0, shape=PROGRAM, pairs=((source, target),))
        (measured,) = self.cluster.measure(asked, random.Random(f"{self.cluster.seed} {len(self.pairs)}"))
        errors = "".join(ran(rank, self.waits(node)) for rank, node in enumerate(nodes)) if self.waits else ""
        return ProgramCommand(
            argv=("sh", "-c", 'printf %s "$1"; printf %s "$2" >&2', "sh", self.says(run_value(measured)), errors)
        )
