"""Ranks of one machine are measured, and nobody is named for what caches and sockets do."""

import msgspec
import pytest

from seatrial.commands.check.headline import headline, worst_pair
from seatrial.commands.check.judge import judge
from seatrial.commands.check.view import check_report
from seatrial.model.errors import ExitCode
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.run import RecordedRun
from seatrial.model.verdict import Verdict
from seatrial.render.text import as_text
from tests.support.builders import Cluster, names, sail


@pytest.fixture
def cluster() -> RecordedRun:
    """Four nodes with a slow pair and a late node."""
    return sail(Cluster(nodes=names(4), pairs={("n1", "n3"): 0.45}, megabits=None, late={"n2": 4.0}))


@pytest.fixture
def one_machine(cluster: RecordedRun) -> RecordedRun:
    """The same numbers from four ranks of one machine."""
    facts = {name: msgspec.structs.replace(known, hostname="box", hcas=()) for name, known in cluster.facts.items()}
    info = msgspec.structs.replace(cluster.info, fabric=NO_FABRIC)
    return msgspec.structs.replace(cluster, facts=facts, info=info)


def test_a_slow_pair_of_cores_is_no_finding(one_machine: RecordedRun, cluster: RecordedRun) -> None:
    judgement = judge(one_machine)
    assert judgement.findings == ()
    assert judgement.exit_code is ExitCode.PASS
    assert any("ranks of one machine are not peers" in note for note in judgement.notes)
    assert judge(cluster).findings


def test_what_was_compared_with_nothing_does_not_pass(one_machine: RecordedRun) -> None:
    """The headline said PASS, "the worst at 45 % of its peers' bandwidth", though the ranks have no peers."""
    judgement = judge(one_machine)
    assert judgement.verdict is Verdict.MEASURED
    first = headline(one_machine.info, judgement)
    assert first.word == "MEASURED"
    assert first.what.startswith("4 nodes, 12 ordered pairs measured, not judged: compared with nothing")
    assert (judgement.peers_bandwidth_bytes_per_s, judgement.peers_latency_s) == (None, None)
    assert worst_pair(judgement) == "nothing to compare with"
    text = as_text(check_report(one_machine.info, judgement, one_machine.facts))
    assert "of its peers" not in text
    assert {node.reason for node in judgement.nodes} == {"measured, not judged"}
