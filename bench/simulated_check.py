"""`seatrial check` on simulated fabrics of 100 to 10,000 nodes: is the right part named, and how does the cost grow?

Everything of a check is in it: planning, facts, analysis, proof, archive, terminal, JSON; measuring is made up. Exit
status 1: a wrong name or none, or more than 30 s of the processor or 2 GB for 10,000 nodes.
"""

import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from seatrial.commands.check.run import run_check
from seatrial.commands.check.view import check_report
from seatrial.lab.simulator.faults import parse_fault
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings
from seatrial.model.settings import CheckSettings
from seatrial.render.envelope import envelope
from seatrial.render.json import json_text
from seatrial.render.text import as_text

SIZES = (100, 1000, 10_000)
TRIALS: tuple[tuple[str, ...], ...] = ((), ("node:0.8:both", "node:0.6:in"))
ALLOWED_S, ALLOWED_BYTES = 30.0, 2e9


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of the processor by stage, in the order of the stages; `peak_bytes` of the whole process.

    `simulated_s` of the measuring stages is the made-up measuring, which a real fabric does by itself.
    """

    right: bool
    said: str
    measurements: int
    stages: dict[str, float]
    simulated_s: float
    peak_bytes: int

    @property
    def total_s(self) -> float:
        """All stages, without the made-up measuring."""
        return sum(self.stages.values()) - self.simulated_s


class Watch:
    """Progress of the check, as a stopwatch: stages by the first word of what they say."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._name, self._began = "start", time.process_time()

    def stage(self, text: str) -> None:
        """See experiment.progress."""
        now = time.process_time()
        self.stages[self._name] = self.stages.get(self._name, 0.0) + now - self._began
        self._name, self._began = text.partition(" ")[0].lower(), now
        if text == "Reading the facts again":
            self._name = "close and judge"
        elif text.endswith("alone"):
            self._name = "prove"
        elif text.endswith("at once"):
            self._name = "spread"

    def rounds(self, more: int) -> None:
        """Nothing."""

    def advance(self, rounds: int = 1) -> None:
        """Nothing."""

    def until(self, deadline: float) -> None:
        """Nothing."""


def one_size(topology: str, faults: tuple[str, ...]) -> None:
    """A process of its own, so that its memory is its own."""
    watch = Watch()
    fabric = SimulatedFabric(parse_topology(topology))
    planted = fabric.plant(TrialSettings(specs=tuple(map(parse_fault, faults))), 1)
    with tempfile.TemporaryDirectory() as folder:
        settings = CheckSettings(archive=Path(folder), design="sparse", seed=1)
        launcher = SimulatedLauncher(fabric.routes, planted, 1)
        outcome = run_check(settings, watch, launcher)
        watch.stage("report")
        report = check_report(outcome.recorded.info, outcome.judgement, outcome.recorded.facts)
        as_text(report)
        json_text(envelope(report, command="", time=""))
        watch.stage("end")
    wanted = sorted(f"node:{one.part.name.split(' ')[0]}" for one in planted)
    named = sorted(one.subject.text for one in outcome.judgement.findings)
    cost = Cost(
        right=named == wanted,
        said=", ".join(named) or "nothing",
        measurements=len(outcome.recorded.measurements),
        stages=watch.stages,
        simulated_s=launcher.spent_s,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
    print(msgspec.json.encode(cost).decode())


def grown(shape: str, faults: tuple[str, ...]) -> bool:
    """Print what each size costs, each as a ratio to the size before, beside n log n."""
    before: tuple[int, Cost] | None = None
    fine = True
    for nodes in SIZES:
        argv = [sys.executable, __file__, f"{shape}:{nodes}", *faults]
        cost = msgspec.json.decode(subprocess.run(argv, capture_output=True, text=True, check=True).stdout, type=Cost)
        fine &= cost.right and cost.total_s < ALLOWED_S and cost.peak_bytes < ALLOWED_BYTES
        stages = ", ".join(f"{name} {spent_s:.2f}" for name, spent_s in cost.stages.items())
        print(
            f"{shape}:{nodes}, {' '.join(faults) or 'healthy'}: {'right' if cost.right else 'WRONG'} ({cost.said}), "
            f"{cost.measurements} measurements, {cost.total_s:.2f} s ({stages}, of them made-up measuring "
            f"{cost.simulated_s:.2f}), peak {cost.peak_bytes / 1e6:.0f} MB"
        )
        if before is not None:
            fewer, cheaper = before
            ratio = nodes * math.log(nodes) / (fewer * math.log(fewer))
            print(
                f"  x{nodes // fewer} nodes: n log n x{ratio:.1f}, "
                f"measurements x{cost.measurements / cheaper.measurements:.1f}, "
                f"time x{cost.total_s / cheaper.total_s:.1f}, memory x{cost.peak_bytes / cheaper.peak_bytes:.1f}",
                flush=True,
            )
        before = nodes, cost
    return fine


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_size(sys.argv[1], tuple(sys.argv[2:]))
    else:
        results = [grown("fat-tree", faults) for faults in TRIALS]
        sys.exit(0 if all(results) else 1)
