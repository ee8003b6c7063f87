"""A check of nodes with two rails: the slow one is named, with its node."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.reader import read_run
from seatrial.commands.check.judge import judge
from seatrial.commands.check.rail_measurement import PAIRS_OF_EACH
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.driver.manners import rail_manners
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.errors import LaunchError
from seatrial.model.measurement import Phase
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import node
from seatrial.node.node import parse_facts
from tests.support.builders import Cluster, names
from tests.support.launchers import use_launcher
from tests.support.rail_cluster import INCLUDE, Railed, RailedLauncher
from tests.support.scripted import ScriptedSession

SLOW = Railed(nodes=names(4), ends={("n3", "eth1"): 0.6})


def checked(archive: Path, cluster: Railed, **trouble: Any) -> tuple[CheckOutcome, RailedLauncher]:
    launcher = RailedLauncher(cluster, **trouble)
    use_launcher(launcher)
    return run_check(CheckSettings(archive=archive, run="trial", round_timeout_s=0.5)), launcher


def test_the_rail_of_a_slow_node_is_named(tmp_path: Path) -> None:
    outcome, launcher = checked(tmp_path, SLOW)
    (finding,) = outcome.judgement.findings
    assert finding.subject == node("n3")
    assert "It is the rail eth1: over eth1 alone 70." in finding.statement
    assert "over eth0 alone 11" in finding.statement
    assert finding.remedy.endswith("Begin with eth1.")
    told = finding.experiments[-1]
    assert "over each rail alone, 6 runs each" in told.description
    assert told.confirmed
    asked = [manner.environment.get(INCLUDE) for manner in launcher.manners]
    assert asked == [None, "eth0", "eth1", "eth0", None]  # the last look is of the nodes as they are
    split = {one.pair for one in outcome.recorded.measurements if one.phase is Phase.VARIANT}
    assert len(split) == PAIRS_OF_EACH
    assert all("n3" in pair for pair in split)
    assert judge(read_run(outcome.folder)) == outcome.judgement


def test_a_node_slow_on_both_rails_is_said_to_be(tmp_path: Path) -> None:
    cluster = Railed(nodes=names(4), ends={("n3", "eth0"): 0.6, ("n3", "eth1"): 0.6})
    outcome, _ = checked(tmp_path, cluster)
    (finding,) = outcome.judgement.findings
    assert "No rail is slower than another" in finding.statement
    assert not finding.experiments[-1].confirmed


def test_healthy_rails_cost_nothing(tmp_path: Path) -> None:
    outcome, launcher = checked(tmp_path, Railed(nodes=names(4)))
    assert outcome.judgement.findings == ()
    assert len(launcher.starts) == 1


@pytest.mark.parametrize("trouble", [{"unstartable": "eth1"}, {"silent_over": "eth1"}])
def test_a_rail_that_fails_costs_the_finding_nothing(tmp_path: Path, trouble: dict[str, str]) -> None:
    outcome, _ = checked(tmp_path, SLOW, **trouble)
    (finding,) = outcome.judgement.findings
    assert finding.subject == node("n3")
    assert "rail" not in finding.statement
    assert "Over eth1 alone" in outcome.recorded.info.reason or any(
        "Over eth1 alone" in note for note in outcome.judgement.notes
    )
    assert outcome.recorded.info.hanging_pairs == ()


def test_nodes_of_one_rail_are_not_asked() -> None:
    one = [parse_facts(Cluster(nodes=names(2)).facts_text(name)) for name in names(2)]
    both = [parse_facts(SLOW.facts_text(name)) for name in SLOW.nodes]
    assert rail_manners("Open MPI v4.1.4", one) == {}
    assert rail_manners("Open MPI v4.1.4", [*both, one[0]]) == {}
    assert rail_manners("Some MPI", both) == {}
    assert list(rail_manners("Open MPI v4.1.4", both)) == ["eth0", "eth1"]


class StartsOnce(RailedLauncher):
    """After the rails were measured, no probe starts any more."""

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> ScriptedSession:
        if len(self.manners) > 1 and not manner.environment:
            raise LaunchError("The probe did not start on 4 ranks: no route to host")
        return super().start(nodes, log, manner)


def test_a_probe_that_does_not_start_for_the_last_look_costs_no_finding(tmp_path: Path) -> None:
    launcher = StartsOnce(SLOW)
    outcome = run_check(CheckSettings(archive=tmp_path, run="trial", round_timeout_s=0.5), launcher=launcher)
    assert [one.subject for one in outcome.judgement.findings] == [node("n3")]
    assert not outcome.judgement.complete
    assert "did not start" in outcome.recorded.info.reason
