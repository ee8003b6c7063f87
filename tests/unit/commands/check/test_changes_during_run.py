"""Links that drop or flap while they are measured."""

import random
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.model.measurement import Kernel, Measurement, Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import node
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, leaves, names
from tests.support.scripted import ScriptedLauncher


def checked(archive: Path, launcher: ScriptedLauncher, seed: int = 1) -> CheckOutcome:
    settings = CheckSettings(archive=archive, run="trial", round_timeout_s=0.5, seed=seed)
    return run_check(settings, launcher=launcher)


class Changing(Cluster):
    """n3 carries half from some round of bandwidth on, or in every other handful of rounds; with a clock of its own."""

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        bandwidth = wanted.shape.kernel is Kernel.ONEWAY and wanted.phase is not Phase.PILOT
        seen, clock = self.__dict__.setdefault("seen", []), self.__dict__.setdefault("clock", [0.0])
        seen.append(bandwidth)
        slower = 2 if bandwidth and self.bad(sum(seen)) else 1
        began_s = sum(clock)
        found = [
            msgspec.structs.replace(
                one, at_s=began_s, times_s=tuple(time * (slower if "n3" in one.pair else 1) for time in one.times_s)
            )
            for one in super().measure(wanted, draw)
        ]
        clock.append(max((sum(one.times_s) for one in found), default=0.0))
        return found

    def bad(self, rounds: int) -> bool:
        return rounds > 28


def test_a_link_that_drops_in_the_middle_of_the_only_pass_is_named(tmp_path: Path) -> None:
    outcome = checked(tmp_path, ScriptedLauncher(Changing(nodes=names(8), boot_id="one")))
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject, finding.verdict) == (FindingKind.SLOW_LINK, node("n3"), Verdict.SLOW)


@pytest.mark.parametrize("round_of_fall", range(50, 62, 3))
def test_a_link_that_falls_in_the_last_pass_explains_all_its_pairs(round_of_fall: int, tmp_path: Path) -> None:
    class Falling(Changing):
        def bad(self, rounds: int) -> bool:
            return rounds >= round_of_fall

    cluster = Falling(nodes=names(6), leaf_of=leaves(6, 2), boot_id="one", noise=0.01)
    (finding,) = checked(tmp_path, ScriptedLauncher(cluster), seed=2).judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_LINK, node("n3"))


def test_a_link_that_flaps_is_unstable(tmp_path: Path) -> None:
    class Flapping(Changing):
        def bad(self, rounds: int) -> bool:
            return rounds // 6 % 2 == 1

    outcome = checked(tmp_path, ScriptedLauncher(Flapping(nodes=names(8), boot_id="one")))
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.UNSTABLE_LINK, node("n3"))
    assert finding.verdict is Verdict.UNSTABLE
