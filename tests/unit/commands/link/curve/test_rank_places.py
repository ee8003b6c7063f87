"""Where the two ranks of a curve ran, and where the MPI's own launcher would have put them."""

from typing import Any

import pytest
from msgspec.structs import replace

from seatrial.commands.link.curve.rank_places import CurvePlaces, curve_places
from seatrial.commands.link.curve.view import ranks
from seatrial.model.measurement import DefaultStart, ProbeStart
from seatrial.model.run import RecordedRun
from seatrial.node.node import parse_facts
from seatrial.node.rank_places import rank_places
from tests.support.builders import Cluster, info_of, names

PAIR = ("n1", "n2")


def said(*masks: str) -> tuple[dict[str, Any], ...]:
    return tuple({"host": f"n{rank + 1}", "cpus": mask, "cpu": 0, "pid": 1} for rank, mask in enumerate(masks))


def run_with(masks: tuple[str, ...], default: DefaultStart | None = None, *, boot_id: str = "") -> RecordedRun:
    cluster = Cluster(nodes=names(2), boot_id=boot_id)
    return RecordedRun(
        info=info_of(cluster),
        planned=(PAIR,),
        facts={node: parse_facts(cluster.facts_text(node)) for node in PAIR},
        facts_after={},
        measurements=(),
        starts=(ProbeStart(session=1, ranks=rank_places(PAIR, said(*masks), PAIR)),),
        default_start=default,
    )


def found(masks: tuple[str, ...], default: DefaultStart | None = None, *, boot_id: str = "") -> CurvePlaces:
    places = curve_places(run_with(masks, default, boot_id=boot_id), PAIR)
    assert places is not None
    return places


def by_mpirun(*masks: str) -> DefaultStart:
    return DefaultStart(line="mpirun -n 2", nodes=PAIR, ranks=said(*masks))


def test_ranks_of_two_machines_share_nothing() -> None:
    places = found(("0", "0"), by_mpirun("0", "0"))
    assert not places.one_machine
    assert not places.measured.share
    assert not places.differ
    assert ranks(places) == "n1 on CPU 0, n2 on CPU 0, started by srun. mpirun -n 2 would put them there, too"


def test_virtual_nodes_of_one_machine_whose_default_is_one_core() -> None:
    places = found(("0", "1"), by_mpirun("0", "0"), boot_id="the-same")
    assert places.one_machine
    assert (places.measured.share, places.default and places.default.share) == (False, True)
    assert places.differ
    text = ranks(places)
    assert "both nodes are one machine" in text
    assert "mpirun -n 2 puts n1 on CPU 0, n2 on CPU 0, where they share a core" in text


def test_ranks_that_share_a_core_are_said_where_they_were_measured() -> None:
    text = ranks(found(("0", "0"), boot_id="the-same"))
    assert text == (
        "n1 on CPU 0, n2 on CPU 0, started by srun; both nodes are one machine; they share a core, so each waits for "
        "the other"
    )


def test_a_default_that_does_not_start_is_said_and_is_no_difference() -> None:
    places = found(("0", "0"), DefaultStart(line="mpirun -n 2", failure="no slots"))
    assert not places.differ
    assert ranks(places).endswith("Where mpirun -n 2 puts ranks is not known: it did not start")


def test_ranks_that_say_nothing_give_nothing() -> None:
    assert curve_places(replace(run_with(("0", "0")), starts=()), PAIR) is None
    assert curve_places(run_with(("", "0")), PAIR) is None
    unsaid = found(("0", "0"), by_mpirun("0", "nonsense"))
    assert unsaid.default is not None
    assert unsaid.default.failure


@pytest.mark.parametrize("value", ["x", -1, 1e99, None, float("nan"), True])
def test_a_clock_that_says_nonsense_is_unknown(value: object) -> None:
    record = {"cpus": "0", "clock_resolution_s": value, "clock_overhead_s": 2e-8}
    (rank,) = rank_places(("n1",), ({**record},), PAIR)
    assert rank.clock_resolution_s is None
    assert rank.clock_overhead_s == 2e-8
