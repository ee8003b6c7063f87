"""Masks against cores: who has too few, and the order in which cores are best given."""

from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from seatrial.archive.journal import Entry, RoundStarted, SessionStarted, StartFailed, decode, encode
from seatrial.archive.reader import ranks_of, starts_of
from seatrial.launch.replay import ReplayLauncher
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.verdict import FindingKind
from seatrial.model.words import ranges
from seatrial.node.hwloc_machine import facts_from_xml
from seatrial.node.rank_places import (
    Distance,
    adapters_of,
    crowds,
    distance,
    good_order,
    greatest_matching,
    rank_places,
)
from seatrial.rules.base import Readings, one_place_per_host
from seatrial.rules.catalogue import fact_findings
from tests.support.builders import Cluster, info_of
from tests.support.facts_examples import processor, server
from tests.support.machine_forms import hwloc_xml
from tests.support.machines import machine
from tests.support.rule_cases import placed, ranks_on, smt

"""Two sockets of eight cores, two threads each; mlx5_0 hangs on the second."""

WANTS = st.lists(st.frozensets(st.integers(0, 4), min_size=1), max_size=5)


@given(WANTS)
def test_a_crowd_is_there_exactly_where_not_everyone_can_have_one(wants: list[frozenset[int]]) -> None:
    possible = len(wants) <= 5 and any(
        all(thing in want for thing, want in zip(order, wants, strict=False)) for order in permutations(range(5))
    )
    found = crowds(wants)
    assert (not found) == possible
    for crowd in found:
        assert len(crowd.have) < len(crowd.members)
        assert all(wants[member] <= set(crowd.have) for member in crowd.members)


@given(WANTS)
def test_a_matching_gives_nobody_two_and_nothing_twice(wants: list[frozenset[int]]) -> None:
    owner = greatest_matching(wants)
    assert len(set(owner.values())) == len(owner)
    assert all(thing in wants[member] for thing, member in owner.items())


def test_a_hundred_ranks_on_one_core_are_one_crowd() -> None:
    (crowd,) = crowds([frozenset({0})] * 100)
    assert (len(crowd.members), crowd.have) == (100, (0,))
    assert [one.members for one in crowds([frozenset({0})] * 2 + [frozenset({1})] * 2)] == [(0, 1), (2, 3)]


def test_numbers_are_written_as_the_kernel_writes_them() -> None:
    assert ranges((8, 0, 1, 2, 3, 3)) == "0-3,8"
    assert ranges(()) == ""


def test_ranks_from_the_probes_records() -> None:
    records: list[dict[str, Any]] = [
        {"host": "n1", "cpus": "0-2,8", "cpu": 2, "pid": 7},
        {"host": "n1", "cpus": "", "cpu": -1},
        {"cpus": 3},
    ]
    first, second, third = rank_places(("n1:0", "n1:1", "n1:2"), records, ("n1", "n2"))
    assert (first.node, first.cpus, first.cpu, first.pid) == ("n1", (0, 1, 2, 8), 2, 7)
    assert (second.cpus, second.cpu, third.cpus, third.host) == ((), None, (), "")
    (local,) = rank_places(("me:0",), [{"cpus": "0"}], ("me:0", "me:1"))
    assert local.node == "me:0"


def test_near_cores_come_first_one_processor_of_each() -> None:
    facts = server(topology=smt(), processor=processor(allowed=tuple(range(32))))
    ranks = ranks_on("n1", *[(0,)] * 10)
    assert good_order(facts, ranks) == (*((number,) for number in range(8, 16)), (0,), (1,))
    assert good_order(facts, ranks_on("n1", *[(0,)] * 17)) is None
    assert good_order(facts, ranks_on("n1", (0,), (0,)), 4) == ((8, 9, 10, 11), (12, 13, 14, 15))
    assert good_order(facts, ranks_on("n1", (0,), (0,), (0,)), 5) == (
        (8, 9, 10, 11, 12),
        (0, 1, 2, 3, 4),
        (13, 14, 15, 5, 6),
    )


def test_cores_that_the_job_does_not_have_are_not_advised() -> None:
    facts = server(processor=processor(allowed=(4, 5, 12)))
    assert good_order(facts, ranks_on("n1", (4,), (5,), (12,))) == ((12,), (4,), (5,))


def test_without_facts_processors_are_cores() -> None:
    assert good_order(None, ranks_on("n1", (0, 1), (0, 1))) == ((0,), (1,))


def test_ranks_far_from_the_adapter_are_named_while_near_cores_are_free() -> None:
    near = ((8,), (9,))
    (finding,) = fact_findings(placed(near, ((8,), (0,))))
    assert finding.kind is FindingKind.NIC_FAR_FROM_RANKS
    assert "rank 3 may run on socket 0 only, and mlx5_0 on socket 1, where 7 cores are free" in finding.statement
    full = tuple((number,) for number in range(16))
    assert fact_findings(placed(full, full)) == []


def test_places_of_one_host_are_judged_as_one() -> None:
    readings = placed(((0,),), ((0,),))
    same = {
        name: msgspec.structs.replace(known, hostname="me", boot_id="one") for name, known in readings.facts.items()
    }
    merged = one_place_per_host(msgspec.structs.replace(readings, facts=same, after={}))
    assert {node: len(ranks) for node, ranks in merged.ranks.items()} == {"n1": 4}
    assert {one.kind for one in fact_findings(merged)} >= {FindingKind.RANKS_SHARE_CORE}


GENERATED = "2 sockets x 8 cores x 2 threads, HCA mlx5_0 4xEDR gen3 x16 on socket 1"


def test_a_server_of_two_sockets() -> None:
    facts = facts_from_xml(hwloc_xml(machine(GENERATED)), "n1")
    adapters = adapters_of(facts)
    assert adapters.packages == {"mlx5_0": 1}
    far = [core for core in facts.topology.cores if distance(core, adapters) is Distance.OTHER]
    assert len(far) == 8
    order = good_order(facts, ranks_on("n1", *[far[0].processors] * 8))
    assert order is not None
    packages = {core.package for core in facts.topology.cores for group in order if set(group) & set(core.processors)}
    assert packages == {1}
    wrong = {"n1": ranks_on("n1", *[core.processors for core in far[:2]])}
    (finding,) = [
        one
        for one in fact_findings(Readings(facts={"n1": facts}, ranks=wrong))
        if one.kind is FindingKind.NIC_FAR_FROM_RANKS
    ]
    assert "ranks 0-1 may run on socket 0 only, and mlx5_0 on socket 1, where 8 cores are free" in finding.statement


def test_launches_and_their_ranks_are_read_back_from_the_journal() -> None:
    shape = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=1, iterations=1)
    asked = Round(phase=Phase.VARIANT, repetition=0, shape=shape, pairs=(("n1", "n2"),), variant="advised")
    ranks = ({"host": "n1", "cpus": "0"}, {"host": "n2", "cpus": "1"})
    entries: list[Entry] = [
        SessionStarted(session=1, nodes=("n1", "n2"), header={}, ranks=ranks),
        SessionStarted(session=2, nodes=("n1", "n2"), header={}),
        SessionStarted(session=3, nodes=("n1:0", "n2:0"), header={}, ranks=ranks),
        RoundStarted(number=1, session=3, at_s=0.0, round=asked),
    ]
    first, third = starts_of(entries, ("n1", "n2"))
    assert (first.session, first.variant, third.session, third.variant) == (1, "", 3, "advised")
    assert [(rank.node, rank.cpus) for rank in third.ranks] == [("n1", (0,)), ("n2", (1,))]
    assert ranks_of(entries)["n2"] == ranks[1]
    failed = StartFailed(variant="advised", failure="no")
    (*came_up, last) = starts_of(decode(map(encode, [*entries, failed])), ("n1", "n2"))
    assert (len(came_up), last.variant, last.failure, last.ranks) == (2, "advised", "no", ())
    launcher = ReplayLauncher(info_of(Cluster(nodes=("n1", "n2"))), {}, {}, entries)
    assert launcher.start(("n2", "n1"), Path()).ranks == (ranks[1], ranks[0])
    assert launcher.start(("n3",), Path()).ranks == ()
