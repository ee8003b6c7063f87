"""The probe's language, and what is not of it."""

import json
from typing import Any

import msgspec
import pytest

from seatrial.launch.probe_text import (
    STOP,
    check_header,
    group_command,
    group_measurement,
    measure_command,
    measurement,
    nodes_by_rank,
    parse_record,
)
from seatrial.model.errors import LaunchError
from seatrial.model.measurement import Corruption, GroupRound, Kernel, Needs, Phase, Round, Shape, Verification
from seatrial.pairs.survey import BANDWIDTH

NODES = ("n1", "n2", "n3")
ROUND = Round(phase=Phase.RETEST, repetition=4, shape=BANDWIDTH, pairs=(("n1", "n3"), ("n2", "n1")))
SAMPLE: dict[str, Any] = {
    "record": "sample", "id": 7, "kernel": "oneway", "source": 0, "target": 2, "times_s": [0.1, 0.2],
    "warmup_times_s": [0.3], "verified": 2, "errors": 0, "of_tomorrow": [1],
}  # fmt: skip


def test_the_command_of_a_round() -> None:
    line = measure_command(7, ROUND, {name: rank for rank, name in enumerate(NODES)})
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "command": "measure", "id": 7, "kernel": "oneway", "pairs": [0, 2, 1, 0], "message_bytes": 1 << 20,
        "window": 4, "warmup": 1, "iterations": 3, "verify": "none",
    }  # fmt: skip
    everything = msgspec.structs.replace(ROUND, verify=Verification.ALL)
    assert json.loads(measure_command(7, everything, RANK_OF))["verify"] == "all"
    assert json.loads(STOP) == {"command": "stop"}


def test_a_sample_becomes_a_measurement_of_its_round() -> None:
    one = measurement(SAMPLE, ROUND, NODES)
    assert one.pair == ("n1", "n3")
    assert (one.phase, one.repetition, one.shape, one.pairs_at_once) == (Phase.RETEST, 4, BANDWIDTH, 2)
    assert (one.times_s, one.warmup_times_s) == ((0.1, 0.2), (0.3,))
    assert (one.verified, one.errors, one.corruptions) == (2, 0, ())
    assert one.waited_s == ()
    assert measurement(SAMPLE | {"waited_s": [0.01, 0.0]}, ROUND, NODES).waited_s == (0.01, 0.0)


def test_wrong_bytes_are_put_down_to_sender_and_receiver() -> None:
    one = measurement(SAMPLE | {"errors": 7, "errors_by_rank": [4, 3], "first_errors": [0, 99]}, ROUND, NODES)
    assert one.errors == 7
    assert one.corruptions == (
        Corruption(source="n3", target="n1", wrong_bytes=4, first_byte=0),
        Corruption(source="n1", target="n3", wrong_bytes=3, first_byte=99),
    )
    one = measurement(SAMPLE | {"errors": 3, "errors_by_rank": [0, 3], "first_errors": [-1, 99]}, ROUND, NODES)
    assert one.corruptions == (Corruption(source="n1", target="n3", wrong_bytes=3, first_byte=99),)


@pytest.mark.parametrize(
    "change",
    [{"source": 9}, {"source": -3}, {"source": 2, "target": 0}, {"target": 1}, {"source": "0"}, {"times_s": None},
     {"times_s": ["x"]}, {"errors": "none"}, {"source": None}, {"verified": True}, {"errors": 1},
     {"errors": 1, "errors_by_rank": [1], "first_errors": [0]},
     {"errors": 1, "errors_by_rank": [-1, 2], "first_errors": [0, 0]},
     {"waited_s": [0.1]}, {"waited_s": [0.1, -1]}, {"waited_s": "long"}],
)  # fmt: skip
def test_a_sample_that_was_not_asked_for_or_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        measurement({**SAMPLE, **change}, ROUND, NODES)


RANK_OF = {name: rank for rank, name in enumerate(NODES)}


def kernel_of(needs: Needs) -> Kernel:
    """A kernel with these needs, whether or not the probe has one."""
    kernel = str.__new__(Kernel, "work")
    kernel._value_, kernel.needs = "work", needs
    return kernel


def groups_of(needs: Needs, *groups: tuple[str, ...]) -> GroupRound:
    shape = Shape(kernel=kernel_of(needs), message_bytes=0, window=1, warmup=2, iterations=3)
    return GroupRound(phase=Phase.SURVEY, repetition=4, shape=shape, groups=groups, variant="v")


@pytest.mark.parametrize(
    ("wanted", "ranks"),
    [
        (groups_of(Needs.GROUP, ("n3", "n1"), ("n2",)), {"ranks": [2, 0, 1], "group_sizes": [2, 1]}),
        (groups_of(Needs.SINGLE, ("n3",), ("n1",)), {"ranks": [2, 0]}),
        (groups_of(Needs.ALL, NODES), {}),
    ],
)
def test_the_command_of_a_round_of_groups(wanted: GroupRound, ranks: dict[str, Any]) -> None:
    assert json.loads(group_command(8, wanted, RANK_OF)) == {
        "command": "measure", "id": 8, "kernel": "work", **ranks, "message_bytes": 0, "window": 1, "warmup": 2,
        "iterations": 3, "verify": "none",
    }  # fmt: skip


@pytest.mark.parametrize(
    "wanted",
    [
        groups_of(Needs.PAIR, ("n1", "n2")),
        groups_of(Needs.SINGLE, ("n1", "n2")),
        groups_of(Needs.ALL, ("n1", "n2")),
        groups_of(Needs.ALL, ("n2", "n1", "n3")),
        groups_of(Needs.ALL, NODES, NODES),
    ],
)
def test_groups_that_a_kernel_cannot_use_are_an_error(wanted: GroupRound) -> None:
    with pytest.raises(ValueError, match="work needs"):
        group_command(8, wanted, RANK_OF)


GROUP_SAMPLE: dict[str, Any] = {
    "record": "sample",
    "ranks": [2, 0],
    "times_s": [0.1],
    "warmup_times_s": [],
    "verified": 2,
    "errors": 2,
    "errors_by_rank": [0, 2],
    "first_errors": [-1, 5],
}


def test_a_sample_of_a_group_becomes_a_measurement_of_its_round() -> None:
    one = group_measurement(GROUP_SAMPLE, groups_of(Needs.GROUP, ("n2",), ("n3", "n1")), NODES)
    assert (one.nodes, one.times_s, one.errors, one.groups_at_once) == (("n3", "n1"), (0.1,), 2, 2)
    assert one.corruptions == (Corruption(source="n3", target="n1", wrong_bytes=2, first_byte=5),)
    three = {**GROUP_SAMPLE, "ranks": [2, 0, 1], "errors_by_rank": [0, 2, 0], "first_errors": [-1, 5, -1]}
    one = group_measurement(three, groups_of(Needs.ALL, ("n3", "n1", "n2")), NODES)
    assert one.corruptions == (Corruption(source="", target="n1", wrong_bytes=2, first_byte=5),)
    assert (one.phase, one.repetition, one.variant) == (Phase.SURVEY, 4, "v")


@pytest.mark.parametrize(
    "change",
    [{"ranks": [0, 2]}, {"ranks": [2]}, {"ranks": []}, {"ranks": [2, 3]}, {"ranks": [2, -3]}, {"ranks": 2},
     {"ranks": None}, {"times_s": None}],
)  # fmt: skip
def test_a_group_that_was_not_asked_for_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        group_measurement({**GROUP_SAMPLE, **change}, groups_of(Needs.GROUP, ("n3", "n1")), NODES)


@pytest.mark.parametrize(
    "line",
    [b"", b"WARNING: There was an error initializing an OpenFabrics device.", b"[vm:123] mca: base", b"{}", b"[]",
     b"3", b'"record"', b'{"record":7}', b'{"record":"header"', b'{"record":"\xff"}', b"null", b"\x00\x01",
     b"[" * 99999],
)  # fmt: skip
def test_banter_is_no_record(line: bytes) -> None:
    assert parse_record(line) is None


def test_every_proper_prefix_of_a_record_is_none() -> None:
    line = json.dumps(SAMPLE).encode()
    assert parse_record(line) == SAMPLE
    assert all(parse_record(line[:length]) is None for length in range(len(line)))


def test_a_header_as_it_should_be() -> None:
    check_header({"record": "header", "format": 2, "ranks": 4}, 4)


def test_many_worlds_of_one_rank_are_explained() -> None:
    header = {"format": 2, "ranks": 1, "mpi_library": "Open MPI v4.1.4"}
    with pytest.raises(LaunchError, match=r"4 worlds of one rank.*Open MPI v4\.1\.4.*--mpi"):
        check_header(header, 4)


@pytest.mark.parametrize(
    ("header", "match"),
    [({"format": 1, "ranks": 4}, "format 1"), ({"ranks": 4}, "format None"), ({"format": 2, "ranks": 3}, "4 ranks.*3"),
     ({"format": 2}, "None came up"), ({"format": "2", "ranks": 4}, "format '2'")],
)  # fmt: skip
def test_another_format_or_another_world_is_refused(header: dict[str, Any], match: str) -> None:
    with pytest.raises(LaunchError, match=match):
        check_header(header, 4)


def ranks(*hosts: str) -> list[dict[str, Any]]:
    return [{"record": "rank", "rank": rank, "host": host} for rank, host in enumerate(hosts)]


@pytest.mark.parametrize(
    ("hosts", "wanted"),
    [
        (("n2", "n1"), ("n1", "n2")),
        (("n2.cluster.org", "n1.cluster.org"), ("n1", "n2")),
        (("n2", "n1"), ("n1.cluster.org", "n2.cluster.org")),
        (("n2.cluster.org", "n1.cluster.org"), ("n1.cluster.org", "n2.cluster.org")),
        (("n1.east", "n1.west"), ("n1.east", "n1.west")),
    ],
)
def test_hosts_match_with_and_without_their_domain(hosts: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    placed = nodes_by_rank(ranks(*hosts), wanted)
    assert set(placed) == set(wanted)
    assert [name.partition(".")[0] for name in placed] == [host.partition(".")[0] for host in hosts]


def test_two_ranks_on_one_node_are_refused() -> None:
    with pytest.raises(LaunchError, match=r"Two ranks came up on n1\.x"):
        nodes_by_rank(ranks("n1", "n1.x"), ("n1", "n2"))


@pytest.mark.parametrize("host", ["n3", "login", "", "n11"])
def test_a_rank_on_a_strange_host_is_refused(host: str) -> None:
    with pytest.raises(LaunchError, match=r"Rank 1 came up on .*not asked for"):
        nodes_by_rank(ranks("n1", host), ("n1", "n2"))
