"""A check without leaf switches says which nodes probably share one, labelled as inferred."""

import msgspec

from seatrial.commands.check.judge import judge
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.run import RecordedRun
from tests.support.builders import Cluster, leaves, names, sail


def without_leaves(cluster: Cluster) -> RecordedRun:
    """A run whose latencies follow leaf switches that nobody knows; each node has a kernel of its own."""
    recorded = sail(cluster)
    facts = {name: msgspec.structs.replace(each, boot_id=f"boot-{name}") for name, each in recorded.facts.items()}
    info = msgspec.structs.replace(recorded.info, fabric=NO_FABRIC)
    return msgspec.structs.replace(recorded, info=info, facts=facts, facts_after=facts)


def inferred(recorded: RecordedRun) -> list[str]:
    return [note for note in judge(recorded).notes if note.startswith("Inferred from latencies")]


def test_unknown_leaves_are_inferred_and_labelled() -> None:
    (note,) = inferred(without_leaves(Cluster(nodes=names(8), leaf_of=leaves(8, 4), near_s=10e-6, far_s=15e-6)))
    assert "2 groups of nodes probably share one each (n[1-4]; n[5-8])" in note
    assert "Nothing is judged by it" in note


def test_known_leaves_and_equal_latencies_need_no_guess() -> None:
    known = Cluster(nodes=names(8), leaf_of=leaves(8, 4), near_s=10e-6, far_s=15e-6)
    assert inferred(sail(known)) == []
    assert inferred(without_leaves(Cluster(nodes=names(8)))) == []


def test_nodes_that_share_a_kernel_show_nothing_of_switches() -> None:
    recorded = without_leaves(Cluster(nodes=names(8), leaf_of=leaves(8, 4), near_s=10e-6, far_s=15e-6))
    facts = {name: msgspec.structs.replace(each, boot_id="one") for name, each in recorded.facts.items()}
    assert inferred(msgspec.structs.replace(recorded, facts=facts)) == []
