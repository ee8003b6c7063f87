"""Few pairs beside all of them: `check --design sparse` on a lab of 8 nodes, against every ordered pair once.

mpiGraph shifts a ring: each of 8 nodes sends to each other one, 56 ordered pairs, and prints a matrix. Here a slow node
link, a link slow in one direction, a slow uplink and nothing at all are planted in turn; each check must name what was
planted and nothing else, from at most a quarter of those pairs. All that was measured counts: the pilot, the survey,
the pairs chosen afterwards, the retest and its controls. A pair of which only latency was measured counts both ways.
"""

import sys
from pathlib import Path

import msgspec

from seatrial.archive.reader import read_run
from seatrial.lab.cluster import planting
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.lab.trial.scenario import Scenario
from seatrial.lab.trial.score import CheckOutput
from seatrial.lab.trial.trial import TrialStage, archive_of, real_stage
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.subject import Direction

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "pairs-beside-all"
"""Archives of checks that were wrong."""
NODES, LEAVES = 8, 4
SEEDS = (1, 2, 3)
ALL_PAIRS = NODES * (NODES - 1)
MOST_PAIRS = ALL_PAIRS // 4
FAULTS: tuple[tuple[str, str, str, Parameters], ...] = (
    ("healthy", "", "", Parameters()),
    ("node link at 60 %", "link-rate", "n3", Parameters(percent=60)),
    ("60 % outwards only", "one-way-rate", "n6", Parameters(percent=60, direction=Direction.OUT)),
    ("uplink at 50 %", "uplink-rate", "leaf2", Parameters(percent=50)),
)
NAMED = {
    "link-rate": ("slow-link", "node:"),
    "one-way-rate": ("slow-link", "node:"),
    "uplink-rate": ("slow-uplink", "uplink:"),
}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One check: whether it named the planted and nothing else, what it named, and what it measured."""

    right: bool
    named: str
    pairs: int
    measurements: int
    by_phase: dict[str, int]


def main() -> int:
    stage = real_stage(KEPT)
    plan = stage.plan(Scenario(name="pairs-beside-all", nodes=NODES, leaves=LEAVES))
    failed = False
    print(f"{NODES} nodes under {LEAVES} leaves, {ALL_PAIRS} ordered pairs, at most {MOST_PAIRS} allowed")
    try:
        stage.raise_lab(plan)
        for label, kind, subject, parameters in FAULTS:
            if kind:
                stage.plant(plan.name, kind, subject, parameters)
            for seed in SEEDS:
                outcome = measure(stage, plan, kind, subject, seed)
                good = outcome.right and outcome.pairs <= MOST_PAIRS
                failed |= not good
                print(
                    f"{'ok  ' if good else 'FAIL'} {label:20} seed {seed}: {outcome.pairs:2} ordered pairs "
                    f"({100 * outcome.pairs / ALL_PAIRS:.0f} %), {outcome.measurements} measurements "
                    f"({', '.join(f'{phase} {count}' for phase, count in outcome.by_phase.items())}): {outcome.named}",
                    flush=True,
                )
            planting.clear(plan.name)
    finally:
        stage.raze(plan.name)
    return int(failed)


def measure(stage: TrialStage, plan: LabPlan, kind: str, subject: str, seed: int) -> Outcome:
    """One check with a sparse design."""
    label = f"{kind or 'healthy'}-{seed}"
    done = stage.check(plan, ["check", "--no-nodes", "--design", "sparse", "--seed", str(seed)], label)
    try:
        output = msgspec.json.decode(done.stdout, type=CheckOutput)
    except msgspec.MsgspecError:
        sys.exit(f"The check printed no result: {done.stderr[-2000:]}")
    measured = [*read_run(Path(archive_of(plan, label)) / output.run).measurements]
    named = [(one.kind, one.subject, one.ambiguous_with) for one in output.findings]
    wanted: list[object] = [(NAMED[kind][0], NAMED[kind][1] + subject, ())] if kind else []
    if named != wanted:
        stage.keep(plan, label, done)
    return Outcome(
        right=named == wanted,
        named=", ".join(f"{what} {' or '.join((who, *others))}" for what, who, others in named) or "nothing",
        pairs=len({pair for one in measured for pair in ordered(one)}),
        measurements=len(measured),
        by_phase={phase.value: count for phase in Phase if (count := sum(one.phase is phase for one in measured))},
    )


def ordered(one: Measurement) -> tuple[tuple[str, str], ...]:
    """The ordered pairs that a measurement says something of."""
    back = (one.target, one.source)
    return (one.pair, back) if one.shape.kernel is Kernel.PINGPONG else (one.pair,)


if __name__ == "__main__":
    sys.exit(main())
