"""A process is killed while a setting is changed: it is restored, and no foreign job saw the change.

`make restorations` kills 20 of each kind of process during each command, `lab-test` one of those that differ most.
"""

from collections.abc import Iterator

import pytest

from seatrial.lab.cluster.plan import LabPlan
from tests.campaign.lane import Lane
from tests.restorations.trial import NODE, PEER, Command, Restorations, Victim

pytestmark = pytest.mark.lab
CASES = (
    (Command.TOGGLE, Victim.DRIVER),
    (Command.TOGGLE, Victim.KEEPER),
    (Command.PROVE, Victim.SILENT),
    (Command.TOGGLE, Victim.SRUN),
)
"""Something else than the driver restores the setting in the first three; what the driver survives, it restores at the
end of all its runs, whichever command it is."""


@pytest.fixture(scope="module")
def restorations(standing_lab4: LabPlan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restorations]:
    lane = Lane(plan=standing_lab4, nodes=(PEER, NODE))
    yield Restorations(lane, tmp_path_factory.mktemp("restorations"), seed=7, length_s=8.0)


@pytest.mark.parametrize(("command", "victim"), CASES)
def test_a_kill_leaves_the_usual_setting_and_nothing_else(
    lab4: LabPlan, restorations: Restorations, command: Command, victim: Victim
) -> None:
    outcome = restorations.trial(command, victim, 1)
    assert outcome.faults == [], outcome.line()
    assert outcome.killed_at_s >= 0, outcome.line()
    assert outcome.foreign > 0


def test_doctor_names_what_nobody_restored(lab4: LabPlan, restorations: Restorations) -> None:
    """The keeper was killed with its command while the setting was changed."""
    note = restorations.left_changed()
    done = restorations.seatrial("doctor", "--nodes", "n[3-4]")
    assert done.returncode == 0, done.stdout
    assert f"interfaces.eth0.mtu_bytes of {NODE} is 1500 in place of 600" in " ".join(done.stdout.split())
    assert f"seatrial compare --restore {note}" in " ".join(done.stdout.split())
    restored = restorations.seatrial("compare", "--restore")
    assert restored.stdout == f"Restored: interfaces.eth0.mtu_bytes of {NODE} is 600 again.\n"
    assert restorations.setting() == "600"
