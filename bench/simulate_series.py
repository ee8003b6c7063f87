"""`make simulate-series`: `seatrial check` over a grid of simulated fabrics; precision, recall, time and memory.

Cells: 100, 1,000, 2,000 and 10,000 nodes of a fat tree; 2:1 and 4:1 over-subscribed; with and without routes; with and
without background jobs. In each cell trials with 0 to 10 faults of random kinds that lose 5 to 50 %. Every cell is a
process of its own, so that its memory is its own. Exit status 1: in all cells together precision below 0.99 or recall
below 0.95, or a trial with 10,000 nodes that took more than 30 s of the processor (made-up measuring left out) or 2 GB.

Arguments: sizes (100 1000); `--trials N`: trials for each number of faults; `--few`: 0, 1, 3 and 10 faults only.
"""

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from seatrial.lab.simulator.disturbances import SimulatedConditions
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import FabricTrial, Share, SimulatedFabric, Totals, TrialSettings, run_trial, totals
from seatrial.lab.simulator.view import totals_text, trial_line
from seatrial.locate.evidence import run_value
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.subject import SubjectKind

SIZES = (100, 1000, 2000, 10_000)
FAULTS = {100: tuple(range(11)), 1000: (0, 1, 2, 3, 5, 10), 10_000: (0, 3, 10)}
FEW = (0, 1, 3, 10)
NODES_PER_JOB = 50
BUDGET_S = 1800.0
"""In simulated time: a check of 10,000 nodes beside background jobs takes about 11 minutes."""
RECALL, PRECISION = 0.95, 0.99
ALLOWED_S, ALLOWED_BYTES = 30.0, 2e9
SCALES, FLOOR = 4.5, 0.03
"""Of the medians of nodes: both must be exceeded."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What all trials of one process have in common."""

    nodes: int
    ratio: int
    routed: bool
    jobs: bool
    faults: tuple[int, ...]
    trials: int
    first: int = 0

    @property
    def text(self) -> str:
        """In one line."""
        return (
            f"{self.nodes} nodes, {self.ratio}:1, {'routes known' if self.routed else 'leaves known'}, "
            f"{'background jobs' if self.jobs else 'quiet'}"
        )


class Medians(msgspec.Struct, frozen=True, kw_only=True):
    """What the simple method made of a trial: planted nodes, those that it named, and wrong names."""

    planted: int
    hits: int
    wrong: int


def medians_of(measurements: Sequence[Measurement], trial: FabricTrial) -> Medians:
    """Medians of the survey's bandwidth by node, out and in, with MAD."""
    rates: dict[bool, defaultdict[str, list[float]]] = {False: defaultdict(list), True: defaultdict(list)}
    for one in measurements:
        if one.phase is Phase.SURVEY and one.shape.kernel is Kernel.ONEWAY:
            rates[False][one.source].append(run_value(one))
            rates[True][one.target].append(run_value(one))
    named: set[str] = set()
    for own in rates.values():
        logs = np.log([np.median(values) for values in own.values()])
        lack = np.median(logs) - logs
        scale = 1.4826 * float(np.median(np.abs(lack)))
        named |= {node for node, lacks in zip(own, lack.tolist(), strict=True) if lacks > max(SCALES * scale, FLOOR)}
    planted = {fault.subject.name for fault in trial.score.faults if fault.subject.kind is SubjectKind.NODE}
    return Medians(planted=len(planted), hits=len(planted & named), wrong=len(named - planted))


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A trial, and the simple method on its measurements."""

    trial: FabricTrial
    medians: Medians


def cell_trials(cell: Cell) -> list[Done]:
    """All trials of a cell. Seeds differ from cell to cell."""
    fabric = SimulatedFabric(parse_topology(f"fat-tree:{cell.nodes},oversubscription={cell.ratio}"))
    conditions = SimulatedConditions(jobs=cell.nodes // NODES_PER_JOB if cell.jobs else 0)
    first = 1000 * (cell.nodes + 100 * cell.ratio + 10 * cell.routed + cell.jobs)
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for faults, number in itertools.product(cell.faults, range(cell.first, cell.first + cell.trials)):
            settings = TrialSettings(random_faults=faults, routed=cell.routed, conditions=conditions, budget_s=BUDGET_S)
            seed = first + 100 * number + faults
            planted = fabric.plant(settings, seed)
            trial, outcome = run_trial(fabric, settings, planted, seed=seed, archive=Path(folder), run=f"trial-{seed}")
            shutil.rmtree(Path(folder) / f"trial-{seed}")
            print(f"  {trial_line(trial)}", file=sys.stderr, flush=True)
            done.append(Done(trial=trial, medians=medians_of(outcome.recorded.measurements, trial)))
    return done


def share(found: Share) -> str:
    """With its 95 % interval (Wilson)."""
    return f"{found.ratio:.3f} ({found.hits} of {found.count}; 95 % {found.low:.3f} to {found.high:.3f})"


def row(cell: Cell, total: Totals, medians: Sequence[Medians]) -> str:
    """One row of the table."""
    hits, planted, wrong = (sum(getattr(one, name) for one in medians) for name in ("hits", "planted", "wrong"))
    return (
        f"{cell.text}: recall {share(total.recall)}, precision {share(total.precision)}, {total.right} of "
        f"{total.trials} trials right, {total.false_pass} false PASS; {total.measurements:.0f} measurements and "
        f"{total.node_s:.0f} node-seconds a trial; {total.wall_s:.1f} s, {total.cpu_s:.1f} s of the processor "
        f"(most: {total.cpu_s_max:.1f} s), peak "
        f"{total.peak_bytes / 1e6:.0f} MB; medians of nodes: {hits} of {planted} nodes, {wrong} wrong names"
    )


def series(cells: list[Cell]) -> bool:
    """Print every cell and all of them together; whether the bar is met."""
    everything: list[FabricTrial] = []
    cheap = True
    for cell in cells:
        argv = [sys.executable, __file__, "--cell", msgspec.json.encode(cell).decode()]
        said = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout
        done = msgspec.json.decode(said, type=list[Done])
        trials = [one.trial for one in done]
        total = totals(trials)
        print(row(cell, total, [one.medians for one in done]), flush=True)
        everything += trials
        cheap &= cell.nodes < max(SIZES) or (total.cpu_s_max < ALLOWED_S and total.peak_bytes < ALLOWED_BYTES)
    total = totals(everything)
    print(totals_text(total), end="")
    return cheap and total.recall.ratio >= RECALL and total.precision.ratio >= PRECISION


def main() -> int:
    """Run the grid, or one cell of it."""
    arguments = argparse.ArgumentParser(description="Check simulated fabrics and score the findings.")
    arguments.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    arguments.add_argument("--trials", type=int, default=1)
    arguments.add_argument("--few", action="store_true")
    arguments.add_argument("--part", default="1/1")
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--cell", default="")
    given = arguments.parse_args()
    if given.cell:
        print(msgspec.json.encode(cell_trials(msgspec.json.decode(given.cell, type=Cell))).decode())
        return 0
    cells = [
        Cell(
            nodes=nodes,
            ratio=ratio,
            routed=routed,
            jobs=jobs,
            faults=FEW if given.few else FAULTS.get(nodes, FEW),
            trials=given.trials,
            first=given.first,
        )
        for nodes, ratio, routed, jobs in itertools.product(given.sizes, (2, 4), (False, True), (False, True))
    ]
    part, parts = map(int, given.part.split("/"))
    return 0 if series(cells[part - 1 :: parts]) else 1


if __name__ == "__main__":
    sys.exit(main())
