"""What the rules find, as part of a whole judgement."""

import msgspec

from seatrial.commands.check.judge import judge
from seatrial.judgement.wording import named, part_remedy
from seatrial.model.errors import ExitCode
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.facts import NodeFacts, ProcessorFacts
from seatrial.model.judgement import Judgement
from seatrial.model.run import NodeState, RecordedRun
from seatrial.model.subject import CLUSTER, Subject, node
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, names, sail, slow_part
from tests.support.reports import check_text

POWERSAVE = ProcessorFacts(governors={"powersave": 2})
WELL = ProcessorFacts(governors={"performance": 2}, throttle_events=1)


def judged(recorded: RecordedRun, processors: dict[str, ProcessorFacts], **changes: object) -> Judgement:
    facts: dict[str, NodeFacts] = {
        name: msgspec.structs.replace(known, processor=processors[name], **changes)
        for name, known in recorded.facts.items()
    }
    return judge(msgspec.structs.replace(recorded, facts=facts))


def test_a_node_is_misconfigured_by_its_facts_and_not_slow() -> None:
    recorded = sail(Cluster(nodes=names(4)))
    judgement = judged(recorded, {**dict.fromkeys(names(4), WELL), "n3": POWERSAVE})
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.GOVERNOR, node("n3"))]
    assert {one.node: one.verdict for one in judgement.nodes} == {
        "n1": Verdict.PASS,
        "n2": Verdict.PASS,
        "n3": Verdict.MISCONFIGURED,
        "n4": Verdict.PASS,
    }
    assert judgement.verdict is Verdict.MISCONFIGURED
    assert judgement.exit_code is ExitCode.FINDINGS
    text = check_text(recorded.info, judgement, recorded.facts)
    assert text.startswith("MISCONFIGURED  n3: governor powersave on 2 of 2 processors")
    assert "SLOW" not in text


def test_measured_faults_come_first_and_give_the_run_its_verdict() -> None:
    recorded = sail(Cluster(nodes=names(6), parts=slow_part("node", "n5", 0.6)))
    judgement = judged(recorded, {**dict.fromkeys(names(6), WELL), "n3": POWERSAVE, "n5": POWERSAVE})
    assert [(one.kind, one.verdict) for one in judgement.findings] == [
        (FindingKind.SLOW_LINK, Verdict.SLOW),
        (FindingKind.GOVERNOR, Verdict.MISCONFIGURED),
        (FindingKind.GOVERNOR, Verdict.MISCONFIGURED),
    ]
    assert judgement.verdict is Verdict.SLOW
    verdicts = {one.node: one.verdict for one in judgement.nodes}
    assert (verdicts["n3"], verdicts["n5"]) == (Verdict.MISCONFIGURED, Verdict.SLOW)


def test_a_lost_node_is_a_measured_fault_too() -> None:
    lost = (NodeState(node="n4", reason="stopped answering", fault=True),)
    recorded = sail(Cluster(nodes=names(4)), lost=lost)
    judgement = judged(recorded, {**dict.fromkeys(names(4), WELL), "n3": POWERSAVE, "n4": POWERSAVE})
    kinds = [one.kind for one in judgement.findings]
    assert kinds == [FindingKind.NODE_DOWN, FindingKind.GOVERNOR, FindingKind.GOVERNOR]
    assert {one.node: one.verdict for one in judgement.nodes}["n4"] is Verdict.DOWN


def test_gravity_puts_facts_between_the_undecided_and_the_measured() -> None:
    rising = [
        Verdict.PASS,
        Verdict.MEASURED,
        Verdict.NOTE,
        Verdict.NOT_RUN,
        Verdict.INCONCLUSIVE,
        Verdict.MISCONFIGURED,
    ]
    rising += [Verdict.UNSTABLE, Verdict.SLOW, Verdict.DOWN, Verdict.BLOCKED, Verdict.INVALID]
    assert sorted(Verdict, key=lambda one: one.gravity) == rising


def test_what_is_wrong_with_the_cluster_is_laid_to_no_node() -> None:
    judgement = judged(sail(Cluster(nodes=names(4))), dict.fromkeys(names(4), POWERSAVE))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.GOVERNOR, CLUSTER)]
    assert {one.verdict for one in judgement.nodes} == {Verdict.PASS}
    assert judgement.verdict is Verdict.MISCONFIGURED


def test_what_grew_during_the_run_is_seen() -> None:
    recorded = sail(Cluster(nodes=names(4)))
    later = {
        name: msgspec.structs.replace(known, processor=ProcessorFacts(throttle_events=5 if name == "n2" else 1))
        for name, known in recorded.facts.items()
    }
    judgement = judged(msgspec.structs.replace(recorded, facts_after=later), dict.fromkeys(names(4), WELL))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.THROTTLED, node("n2"))]
    assert "throttled 4 times" in judgement.findings[0].statement


def test_places_of_one_machine_share_a_finding() -> None:
    recorded = sail(Cluster(nodes=names(4), megabits=None, boot_id="one"))
    info = msgspec.structs.replace(recorded.info, fabric=NO_FABRIC)
    recorded = msgspec.structs.replace(recorded, info=info)
    judgement = judged(recorded, dict.fromkeys(names(4), POWERSAVE), hostname="box")
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.GOVERNOR, node("n1"))]


def test_the_cluster_has_a_name_and_a_remedy() -> None:
    assert Subject.parse(CLUSTER.text) == CLUSTER
    assert named(CLUSTER) == "the whole cluster"
    assert "all nodes share" in part_remedy(CLUSTER)
