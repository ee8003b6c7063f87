"""python -m tests.campaign --kills 100 --seed 1: prints a line for each kill and a summary by kind of process."""

import argparse
import queue
import random
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from seatrial.lab.cluster.plan import LabPlan
from tests.campaign.lane import Lane
from tests.campaign.torn import full_disk, slow_disk
from tests.campaign.trial import Campaign, Outcome
from tests.campaign.victims import Kind
from tests.support.raised_lab import trial_lab

SHARES = {
    Kind.DRIVER: 20,
    Kind.TERMINATED: 6,
    Kind.CLOSING: 10,
    Kind.KEEPER: 8,
    Kind.SALLOC: 8,
    Kind.SRUN: 10,
    Kind.STEPD: 8,
    Kind.SLURMD: 6,
    Kind.RANK: 8,
    Kind.JOB_DRIVER: 4,
    Kind.JOB_STEPD: 2,
    Kind.RECOVER: 6,
    Kind.COLLECT: 4,
}
"""How many of a hundred kills."""
WIDTH = 3
"""Nodes of a check."""
Step = Callable[[Campaign], Outcome]


def main() -> int:
    """Exit code 0: all trials were as they must be."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--torn", type=int, default=10, help="trials on a full and on a slow disk, each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="number of the first kill, to go on with a campaign")
    parser.add_argument("--lanes", type=int, default=2, help="trials side by side")
    parser.add_argument("--minutes", type=float, default=60.0, help="no kill is begun after so long")
    parser.add_argument("--only", type=Kind, default=None, help="only this kind of process")
    given = parser.parse_args()
    with trial_lab("k", "campaign", nodes=WIDTH * given.lanes, keep=True) as (plan, folder):
        outcomes = _trials(plan, folder, given)
    print("\n".join(summary(outcomes)))
    if any(one.faults for one in outcomes):
        print(f"What the checks left is in {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _trials(plan: LabPlan, folder: Path, given: argparse.Namespace) -> list[Outcome]:
    """All trials, several side by side."""
    lanes = [Lane(plan=plan, nodes=plan.node_names[at : at + WIDTH]) for at in range(0, plan.nodes, WIDTH)]
    first = Campaign(lanes[0], folder, given.seed)
    outcomes = [_said(first.calibrate())]
    steps: queue.SimpleQueue[Step] = queue.SimpleQueue()
    for step in _steps(folder, given):
        steps.put(step)
    deadline = time.monotonic() + given.minutes * 60
    stop = threading.Event()

    def work(lane: Lane) -> None:
        campaign = Campaign(lane, folder, given.seed, first.length_s)
        while time.monotonic() < deadline and not stop.is_set():
            try:
                step = steps.get_nowait()
            except queue.Empty:
                return
            outcomes.append(_said(step(campaign)))

    with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
        try:
            list(pool.map(work, lanes))
        finally:
            stop.set()
    if left := steps.qsize():
        print(f"stopped by --minutes, {left} trials were not made", flush=True)
    return outcomes


def _steps(folder: Path, given: argparse.Namespace) -> Iterator[Step]:
    kinds = [kind for kind in order(given.kills, given.seed) if given.only in (None, kind)]
    for number, kind in list(enumerate(kinds, 1))[given.first - 1 :]:
        yield partial(_kill, number, kind)
    for number in range(1, given.torn + 1):
        yield partial(_torn, full_disk, folder / f"full-{number:02d}", number)
        yield partial(_torn, slow_disk, folder / f"slow-{number:02d}", number)


def _kill(number: int, kind: Kind, campaign: Campaign) -> Outcome:
    return campaign.trial(number, kind)


def _torn(how: Callable[..., Outcome], folder: Path, number: int, campaign: Campaign) -> Outcome:
    return how(campaign.lane, folder, number, random.Random(f"{campaign.seed} {folder.name}"))


def _said(outcome: Outcome) -> Outcome:
    print(outcome.line(), flush=True)
    return outcome


def order(kills: int, seed: int) -> list[Kind]:
    """Which kind of process each kill is for: every kind by its share, in random order."""
    kinds = [kind for kind, share in SHARES.items() for _ in range(max(round(share * kills / 100), 1))]
    random.Random(seed).shuffle(kinds)
    return kinds[: max(kills, 0)]


def summary(outcomes: list[Outcome]) -> list[str]:
    """A table by kind."""
    columns = ("kind of process", "trials", "killed", "delivered", "kept", "with faults")
    lines = [f"{columns[0]:34} {columns[1]:>7} {columns[2]:>7} {columns[3]:>10} {columns[4]:>7} {columns[5]:>12}"]
    trials = Counter(one.name for one in outcomes)
    for name in trials:
        mine = [one for one in outcomes if one.name == name]
        killed = sum(one.killed_at_s >= 0 for one in mine)
        delivered, kept = sum(one.delivered for one in mine), sum(one.kept for one in mine)
        faults = sum(bool(one.faults) for one in mine)
        lines.append(f"{name:34} {len(mine):7} {killed:7} {delivered:10} {kept:7} {faults:12}")
    blind = sum(one.blind for one in outcomes)
    return [*lines, f"{blind} trials without strace's witness"] if blind else lines


sys.exit(main())
