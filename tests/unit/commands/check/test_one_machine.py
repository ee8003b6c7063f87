"""Ranks of one machine are measured, and nobody is named for what caches and sockets do."""

import msgspec

from seatrial.commands.check.judge import judge
from seatrial.model.errors import ExitCode
from seatrial.model.fabric import NO_FABRIC
from tests.support.builders import Cluster, names, sail


def test_a_slow_pair_of_cores_is_no_finding() -> None:
    recorded = sail(Cluster(nodes=names(4), pairs={("n1", "n3"): 0.5}, megabits=None, late={"n2": 4.0}))
    facts = {name: msgspec.structs.replace(known, hostname="box", hcas=()) for name, known in recorded.facts.items()}
    info = msgspec.structs.replace(recorded.info, fabric=NO_FABRIC)
    judgement = judge(msgspec.structs.replace(recorded, facts=facts, info=info))
    assert judgement.findings == ()
    assert judgement.exit_code is ExitCode.PASS
    assert any("ranks of one machine are not peers" in note for note in judgement.notes)
    assert judge(recorded).findings
