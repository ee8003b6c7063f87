"""What it costs to judge a run of `seatrial check` again while it grows, beside judging the same measurements at once.

A simulated check of 1,000 nodes, or of as many as the first argument says (10,000 takes a minute or two), by the real
driver. Whenever the driver asks for an assessment after new measurements, the same run is also assessed from nothing;
both must agree. Exit status 1: they differ, or judging again takes more than a third of judging at once.
"""

import sys
import tempfile
import time
from pathlib import Path

from seatrial.commands.check.assessment import Assessment, Assessor
from seatrial.commands.check.run import run_check
from seatrial.lab.simulator.faults import parse_fault
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings
from seatrial.model.run import RecordedRun
from seatrial.model.settings import CheckSettings

FAULTS = ("node:0.8:both", "node:0.6:in")
ALLOWED_RATIO = 1 / 3


class Watch:
    """Takes the place of `Assessor.assess` and times both ways, in seconds of the processor."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, float, float]] = []
        """Measurements, those that were new, seconds for judging again, seconds for judging at once."""
        self.agree = True
        self._before = 0

    def assess(self, assessor: Assessor, recorded: RecordedRun) -> Assessment:
        """The assessment by the growing `assessor`."""
        count = len(recorded.measurements)
        began = time.process_time()
        grown = GROW(assessor, recorded)
        again_s = time.process_time() - began
        if count > self._before > 0:
            began = time.process_time()
            afresh = GROW(Assessor(), recorded)
            self.steps.append((count, count - self._before, again_s, time.process_time() - began))
            self.agree &= same(grown, afresh)
        self._before = count
        return grown


def same(one: Assessment, other: Assessment) -> bool:
    """Whether two assessments lead to the same judgement."""
    suspicions = [
        (it.suspicion.bandwidth, it.suspicion.latency, it.suspicion.suspects, it.suspicion.good())
        for it in (one, other)
    ]
    lines = [(it.references.bandwidth, it.references.speed) for it in (one, other)]
    return one.evidence == other.evidence and lines[0] == lines[1] and suspicions[0] == suspicions[1]


GROW = Assessor.assess


def main(nodes: int) -> bool:
    """Run the check and print a line for each step."""
    watch = Watch()
    fabric = SimulatedFabric(parse_topology(f"fat-tree:{nodes}"))
    planted = fabric.plant(TrialSettings(specs=tuple(map(parse_fault, FAULTS))), 1)

    def timed(assessor: Assessor, recorded: RecordedRun) -> Assessment:
        return watch.assess(assessor, recorded)

    Assessor.assess = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        settings = CheckSettings(archive=Path(folder), design="sparse", seed=1)
        run_check(settings, None, SimulatedLauncher(fabric.routes, planted, 1))
    for count, new, again_s, afresh_s in watch.steps:
        ratio = again_s / afresh_s
        print(f"{count} measurements, {new} new: again {again_s:.3f} s, at once {afresh_s:.3f} s, ratio {ratio:.3f}")
    ratio = sum(step[2] for step in watch.steps) / sum(step[3] for step in watch.steps)
    print(
        f"{nodes} nodes, {len(watch.steps)} times judged again: ratio {ratio:.3f}, {'same' if watch.agree else 'OTHER'}"
    )
    return watch.agree and ratio <= ALLOWED_RATIO


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000) else 1)
