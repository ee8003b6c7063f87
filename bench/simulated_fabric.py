"""Cables at fault in a simulated fabric: what is named, over hundreds of seeds; and how the cost grows with nodes.

The map is the NDR fabric of ../shared/data/fabrics where it is there, else a fat tree of the same size. Exit status 1:
recall or precision below 0.95, sets of more than two on average, more than six rounds, a name on a healthy fabric, or
more than 30 s or 2 GB for 10,000 nodes.
"""

import math
import random
import subprocess
import sys
from pathlib import Path

import msgspec

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.lab.simulator.faults import FaultSpec, parse_fault
from seatrial.lab.simulator.outcome import Cost, Outcome, Totals, totals
from seatrial.lab.simulator.parts import PartKind
from seatrial.lab.simulator.telling import totals_text
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import Bench, run_trial

NDR = Path(__file__).resolve().parents[2] / "shared" / "data" / "fabrics" / "ndr-582-cas.ibnetdiscover"
SEEDS, HEALTHY, AT_ONCE = 300, 100, 60
SIZES = (100, 1000, 10_000)
ALLOWED_S, ALLOWED_BYTES = 30.0, 2e9
GROWN = ("link:0.5", "link:0.9", "node:0.8", "uplink:0.7")


def cables(seed: int) -> list[FaultSpec]:
    """1 to 5 cables, one direction or both, with 5 to 50 % of their bandwidth lost."""
    draw = random.Random(seed)
    return [FaultSpec(kind=PartKind.LINK, share=1 - draw.uniform(0.05, 0.5)) for _ in range(draw.randint(1, 5))]


def good(total: Totals, done: list[Outcome]) -> bool:
    """The bar for faulty fabrics."""
    most_rounds = max(one.cost.rounds for one in done)
    return total.recall >= 0.95 and total.precision >= 0.95 and total.mean_set <= 2 and most_rounds <= 6


def located() -> bool:
    """Print what is found on the fabric, with and without contention, and where nothing is at fault."""
    bench = Bench(parse_fabric(NDR.read_text()) if NDR.exists() else parse_topology("fat-tree:558,per-leaf=18"))
    right = True
    for at_once, count, how in ((False, SEEDS, "in pieces"), (True, AT_ONCE, "whole rounds at once")):
        done = [run_trial(bench, cables(seed), seed=seed, at_once=at_once) for seed in range(count)]
        print(f"1 to 5 cables, {how}: {totals_text(totals(done))}", flush=True)
        right &= good(totals(done), done)
    for at_once, how in ((False, "in pieces"), (True, "whole rounds at once")):
        done = [run_trial(bench, seed=seed, at_once=at_once) for seed in range(HEALTHY)]
        print(f"healthy, {how}: {totals_text(totals(done))}", flush=True)
        right &= totals(done).claims == 0
    return right


def one_size(topology: str) -> None:
    """A process of its own, so that its memory is its own."""
    outcome = run_trial(Bench(parse_topology(topology)), [parse_fault(text) for text in GROWN], seed=1)
    print(msgspec.json.encode((outcome.score.right, outcome.cost)).decode())


def grown(shape: str) -> bool:
    """Print seconds of each phase for 100 to 10,000 nodes, each as a ratio to the size before, beside n log n."""
    before: tuple[int, Cost] | None = None
    fine = True
    for nodes in SIZES:
        argv = [sys.executable, __file__, f"{shape}:{nodes}"]
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        right, cost = msgspec.json.decode(said, type=tuple[bool, Cost])
        total_s = cost.plan_s + cost.locate_s + cost.report_s
        fine &= right and total_s < ALLOWED_S and cost.peak_bytes < ALLOWED_BYTES
        print(
            f"{shape}:{nodes}: {'right' if right else 'WRONG'}, {cost.pairs} measurements, plan {cost.plan_s:.2f} s, "
            f"locate {cost.locate_s:.2f} s, report {cost.report_s:.3f} s, together {total_s:.2f} s; "
            f"simulated measuring {cost.simulate_s:.2f} s; peak {cost.peak_bytes / 1e6:.0f} MB"
        )
        if before is not None:
            fewer, cheaper = before
            ratio = nodes * math.log(nodes) / (fewer * math.log(fewer))
            cheaper_s = cheaper.plan_s + cheaper.locate_s + cheaper.report_s
            print(
                f"  x{nodes // fewer} nodes: n log n x{ratio:.1f}, measurements x{cost.pairs / cheaper.pairs:.1f}, "
                f"time x{total_s / cheaper_s:.1f} (plan x{cost.plan_s / cheaper.plan_s:.1f}, "
                f"locate x{cost.locate_s / cheaper.locate_s:.1f}), memory x{cost.peak_bytes / cheaper.peak_bytes:.1f}",
                flush=True,
            )
        before = nodes, cost
    return fine


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_size(sys.argv[1])
    else:
        results = [located(), *(grown(shape) for shape in ("fat-tree", "fat-tree3", "dragonfly"))]
        sys.exit(0 if all(results) else 1)
