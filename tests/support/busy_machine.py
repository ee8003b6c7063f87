"""Nodes that share the processors of one machine on which other programs come and go."""

import random
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.locate.evidence import Pair
from seatrial.model.measurement import Measurement, Round
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, leaves, names, slow_part
from tests.support.scripted import ScriptedLauncher

CORES = 2
BUSY, IDLE = (5, 60), (10, 80)
"""Rounds, at least and at most, for which a core is busy and idle."""
TAKEN = (0.1, 0.5)
"""Share of a busy core that another program takes."""
STAYS = 0.95
"""Probability that a rank is on the same core in the next round."""


@dataclass
class _Core:
    left: int
    taken: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BusyMachine(Cluster):
    """Each rank is on one of a few cores, and waits while another program is on it; its runs take longer by about as
    much as it waited."""

    cores: dict[int, _Core] = field(default_factory=dict)
    homes: dict[str, int] = field(default_factory=dict)

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        for number in range(CORES):
            core = self.cores.setdefault(number, _Core(draw.randint(0, IDLE[1])))
            if core.left <= 0:
                core.taken = 0.0 if core.taken else draw.uniform(*TAKEN)
                core.left = draw.randint(*(BUSY if core.taken else IDLE))
            core.left -= 1
        for name in self.nodes:
            if name not in self.homes or draw.random() > STAYS:
                self.homes[name] = draw.randrange(CORES)
        return super().measure(wanted, draw)

    def _measurement(self, wanted: Round, pair: Pair, draw: random.Random) -> Measurement:
        quiet = super()._measurement(wanted, pair, draw)
        waits = [self._wait(name, draw) for name in pair]
        lost = min(max(waits) * draw.uniform(0.7, 1.3), 0.9)
        times = tuple(time / (1 - lost) for time in quiet.times_s)
        return msgspec.structs.replace(quiet, times_s=times, waited_s=tuple(wait * sum(times) for wait in waits))

    def _wait(self, name: str, draw: random.Random) -> float:
        taken = self.cores[self.homes[name]].taken
        return taken * draw.uniform(0.6, 1.2) if taken else draw.uniform(0, 0.01)


def checked(archive: Path, count: int, seed: int, share: float = 1.0, dies_at: int = 0) -> CheckOutcome:
    """A check of `count` nodes, of which n3 carries `share` of what the others do, and n2 dies in round `dies_at`."""
    parts = slow_part("node", "n3", share) if share < 1 else {}
    cluster = BusyMachine(nodes=names(count), leaf_of=leaves(count, 2), boot_id="one", seed=seed, parts=parts)
    settings = CheckSettings(archive=archive, run="trial", round_timeout_s=0.5, loaded=False)
    launcher = ScriptedLauncher(cluster, dies_at={"n2": dies_at} if dies_at else None)
    return run_check(settings, launcher=launcher)
