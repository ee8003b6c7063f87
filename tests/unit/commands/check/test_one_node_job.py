"""A user's own job of a single node has no pair: its facts and the job itself are judged, and nothing is started."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.commands.check.headline import headline
from seatrial.commands.check.run import run_check
from seatrial.launch.contract import FactsReading, Hosts
from seatrial.model.errors import SeatrialError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.past import OwnJob
from seatrial.model.settings import CheckSettings
from seatrial.model.verdict import Verdict
from tests.support.builders import Cluster
from tests.support.rule_cases import ranks_on


class OneNode:
    """Inside job 7, on n1, where two ranks of the user's share a core."""

    name = "slurm"
    job = "7"

    def hosts(self) -> Hosts:
        return Hosts(nodes=("n1",), fabric=NO_FABRIC, cluster="test")

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """The job's node is there already."""

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        return FactsReading(texts={"n1": Cluster(nodes=("n1",)).facts_text("n1")}, silent={})

    def start(self, *words: object) -> Any:
        raise AssertionError("nothing is to be started")

    def own_job(self, nodes: Sequence[str]) -> OwnJob:
        return OwnJob(job="7", ranks=ranks_on("n1", (0,), (0,)))

    def close(self) -> None:
        """Nothing is ours."""


def test_the_job_is_judged_and_the_machine_is_not_decided(tmp_path: Path) -> None:
    outcome = run_check(CheckSettings(archive=tmp_path, answer_s=30.0), launcher=OneNode())
    judgement = outcome.judgement
    assert [(str(one.kind), one.subject.text) for one in judgement.findings] == [("ranks-share-core", "job:7")]
    assert (judgement.verdict, judgement.exit_code) == (Verdict.MISCONFIGURED, 1)
    said = headline(outcome.recorded.info, judgement).what
    assert said.startswith("it is not decided whether the machine is as it should be: nothing was measured on 1 node")
    assert "A single node has no pair" in " ".join(judgement.notes)


def test_elsewhere_one_node_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(SeatrialError, match="only one node to measure"):
        run_check(CheckSettings(archive=tmp_path), launcher=OneNode())
