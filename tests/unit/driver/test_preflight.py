"""A start that fails while nodes' MPI is set differently."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from seatrial.archive.reader import read_run
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import run_check
from seatrial.driver.run import ExplainedByFacts, explained_by_facts
from seatrial.launch.contract import FactsReading
from seatrial.model.errors import ExitCode, LaunchError
from seatrial.model.run import Ending
from seatrial.model.settings import CheckSettings
from seatrial.model.system import SoftwareFacts
from seatrial.model.verdict import FindingKind
from tests.support.builders import Cluster
from tests.support.facts_examples import cluster
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher


class AtOdds(ScriptedLauncher):
    """Nodes whose files choose each another pml, or all the same."""

    pmls = ("ob1", "cm")

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        whole = super().read_facts(nodes)
        pml = dict(zip(self.cluster.nodes, self.pmls, strict=True))
        texts = {
            node: text.replace("#end", f"@file /etc/openmpi/openmpi-mca-params.conf\n|pml = {pml[node]}\n@end\n#end", 1)
            for node, text in whole.texts.items()
        }
        return FactsReading(texts=texts, silent=whole.silent)


def test_only_settings_that_differ_explain_a_start_that_failed() -> None:
    apart = cluster(
        every={"software": SoftwareFacts(mpi_settings={"pml": "ob1"})},
        odd={"software": SoftwareFacts(mpi_settings={"pml": "cm"})},
    )
    error = LaunchError("The probe did not start.", "Do this.")
    told = explained_by_facts(error, apart)
    assert isinstance(told, ExplainedByFacts)
    assert str(told) == str(error)
    assert explained_by_facts(error, cluster()) is error


def test_the_check_ends_with_the_finding(tmp_path: Path) -> None:
    launcher = AtOdds(Cluster(nodes=("n1", "n2")), starts_fail=9)
    use_launcher(launcher)
    outcome = run_check(CheckSettings(archive=tmp_path, run="odd"))
    assert [one.kind for one in outcome.judgement.findings] == [FindingKind.MPI_SETTINGS_DIFFER]
    assert outcome.judgement.exit_code is ExitCode.FINDINGS
    assert not outcome.judgement.complete
    assert outcome.recorded.info.ending is Ending.FAILED
    assert launcher.closed


def test_a_start_that_fails_for_another_reason_is_an_error(tmp_path: Path) -> None:
    launcher = AtOdds(Cluster(nodes=("n1", "n2")), starts_fail=9)
    launcher.pmls = ("ob1", "ob1")
    use_launcher(launcher)
    with pytest.raises(LaunchError, match="did not start"):
        run_check(CheckSettings(archive=tmp_path, run="odd"))


def test_nodes_that_stop_answering_before_a_start_are_findings(tmp_path: Path) -> None:
    """The report of the run in the archive says so as well, and both have one exit code."""
    use_launcher(ScriptedLauncher(Cluster(nodes=("n1", "n2", "n3")), dies_at={"n1": 0, "n2": 0}))
    outcome = run_check(CheckSettings(archive=tmp_path, run="silent"))
    assert {one.subject.text for one in outcome.judgement.findings} == {"node:n1", "node:n2"}
    assert outcome.judgement.exit_code is judge(read_run(outcome.folder)).exit_code is ExitCode.FINDINGS
    assert "Nodes that still answer: 1 of 3" in outcome.recorded.info.reason
