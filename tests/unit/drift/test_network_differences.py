"""Differences between nodes, and between two readings."""

from seatrial.drift.peer_groups import MtuDifference, TcpSegments, mtu_differences, tcp_resent_between
from seatrial.model.facts import NetworkInterface, NodeFacts


def node(name: str, mtu: int | None, speed: float | None = 1e9) -> NodeFacts:
    eth0 = NetworkInterface(name="eth0", link_type=1, state="up", speed_bits_per_s=speed, mtu_bytes=mtu)
    return NodeFacts(hostname=name, complete=True, interfaces=(eth0,))


def cluster(*mtus: int | None, speed: float | None = 1e9) -> dict[str, NodeFacts]:
    return {f"n{number}": node(f"n{number}", mtu, speed) for number, mtu in enumerate(mtus, start=1)}


def test_one_of_four_differs() -> None:
    expected = MtuDifference(node="n3", interface="eth0", mtu_bytes=1500, usual_mtu_bytes=9000)
    assert mtu_differences(cluster(9000, 9000, 1500, 9000)) == (expected,)
    assert mtu_differences(cluster(9000, 9000, 1500, 9000, speed=None)) == (expected,)


def test_alike_nodes_do_not_differ() -> None:
    assert mtu_differences(cluster(1500, 1500, 1500)) == ()
    assert mtu_differences(cluster(1500)) == ()
    assert mtu_differences({}) == ()


def test_without_a_strict_majority_every_node_is_named() -> None:
    differences = mtu_differences(cluster(1500, 9000, 1500, 9000))
    assert [(each.node, each.mtu_bytes, each.usual_mtu_bytes) for each in differences] == [
        ("n1", 1500, None), ("n2", 9000, None), ("n3", 1500, None), ("n4", 9000, None),
    ]  # fmt: skip


def test_unknown_mtus_neither_vote_nor_differ() -> None:
    assert [each.node for each in mtu_differences(cluster(9000, 9000, 1500, None, None))] == ["n3"]


def counted(sent: int | None, resent: int | None, boot: str = "b") -> NodeFacts:
    return NodeFacts(hostname="n1", complete=True, boot_id=boot, tcp_segments_sent=sent, tcp_segments_resent=resent)


def test_segments_between_two_readings() -> None:
    assert tcp_resent_between(counted(100, 1), counted(350, 4)) == TcpSegments(sent=250, resent=3)
    assert tcp_resent_between(counted(100, 1), counted(100, 1)) == TcpSegments(sent=0, resent=0)


def test_no_answer_where_a_reading_cannot_be_compared() -> None:
    assert tcp_resent_between(counted(None, 1), counted(350, 4)) is None
    assert tcp_resent_between(counted(100, 1), counted(350, None)) is None
    assert tcp_resent_between(counted(100, 5), counted(350, 4)) is None
    assert tcp_resent_between(counted(100, 1), counted(350, 4, boot="other")) is None
