"""What was named against what was planted."""

import msgspec
import pytest

from seatrial.lab.trial.score import Expected, ReportedFinding, ReportedInterval, score

N3 = ReportedFinding(kind="slow-link", subject="node:n3")
LEAF1 = ReportedFinding(kind="slow-uplink", subject="uplink:leaf1", ambiguous_with=("uplink:leaf2",))


def expected(kind: str, *subjects: str) -> Expected:
    return Expected(kinds=(kind,), subjects=subjects)


def test_nothing_expected_and_nothing_named_is_right() -> None:
    assert score([], []).right


def test_the_named_culprit_is_a_hit() -> None:
    result = score([expected("slow-link", "node:n3")], [N3])
    assert (len(result.hits), result.misses, result.false_names) == (1, (), ())


def test_the_wrong_kind_is_a_miss_and_a_false_name() -> None:
    result = score([expected("packet-loss", "node:n3")], [N3])
    assert (result.hits, len(result.misses), result.false_names) == ((), 1, (N3,))


def test_any_alternative_suffices_and_so_does_an_ambiguity() -> None:
    assert score([expected("slow-uplink", "uplink:leaf1", "uplink:leaf2")], [LEAF1]).right
    assert score([expected("slow-uplink", "uplink:leaf2")], [LEAF1]).right


def test_naming_the_same_twice_is_a_false_name() -> None:
    assert score([expected("slow-link", "node:n3")], [N3, N3]).false_names == (N3,)


def test_what_is_allowed_counts_neither_way() -> None:
    allowed = [expected("slow-link", "node:n3")]
    assert score([], [N3], allowed).right
    assert score([], [], allowed).right


def test_findings_do_not_take_each_others_place() -> None:
    one = ReportedFinding(kind="slow-link", subject="node:n1", ambiguous_with=("node:n2",))
    two = ReportedFinding(kind="slow-link", subject="node:n2")
    wants = [expected("slow-link", "node:n1", "node:n2"), expected("slow-link", "node:n2")]
    for findings in ([one, two], [two, one]):
        assert score(wants, findings).right


def test_a_direction_that_is_asked_for_must_be_the_one_named() -> None:
    wants = [Expected(kinds=("slow-link",), subjects=("node:n2",), direction="out")]
    out, both = (ReportedFinding(kind="slow-link", subject="node:n2", direction=way) for way in ("out", "both"))
    assert score(wants, [out]).right
    assert score(wants, [both]).false_names == (both,)


def test_any_of_several_kinds_suffices() -> None:
    wants = [Expected(kinds=("unstable-link", "slow-link"), subjects=("node:n3",))]
    assert score(wants, [N3]).right
    assert not score(wants, [ReportedFinding(kind="slow-pair", subject="node:n3")]).right


@pytest.mark.parametrize(
    ("low", "high", "right"),
    [(92.9, 93.1, True), (93.05, 93.2, True), (93.2, 93.4, False), (90.0, 92.8, False), (50.0, 100.0, True)],
)
def test_the_interval_must_contain_the_true_share_of_the_peers(low: float, high: float, right: bool) -> None:
    """93.05 lies within what the shaper itself is wrong by."""
    wants = [Expected(kinds=("slow-link",), subjects=("node:n3",), of_peers=0.93)]
    finding = ReportedFinding(
        kind="slow-link", subject="node:n3", measured=ReportedInterval(low=low, high=high), peers=100.0
    )
    result = score(wants, [finding])
    assert (len(result.hits), result.misses, result.false_names) == (1, (), ())
    assert result.right is right
    assert right or f"measured {low:.2f}%" in result.wrong_intervals[0]


def test_the_share_that_a_finding_states_goes_before_its_numbers() -> None:
    wants = [Expected(kinds=("slow-link",), subjects=("node:n3",), of_peers=0.93)]
    numbers = ReportedFinding(
        kind="slow-link", subject="node:n3", measured=ReportedInterval(low=50, high=60), peers=100.0
    )
    assert not score(wants, [numbers]).right
    assert score(wants, [msgspec.structs.replace(numbers, of_peers=ReportedInterval(low=0.92, high=0.94))]).right


@pytest.mark.parametrize("peers", [None, 0.0])
def test_a_finding_without_an_interval_does_not_contain_it(peers: float | None) -> None:
    wants = [Expected(kinds=("slow-link",), subjects=("node:n3",), of_peers=0.93)]
    finding = ReportedFinding(
        kind="slow-link", subject="node:n3", measured=ReportedInterval(low=1, high=2), peers=peers
    )
    assert "no interval" in score(wants, [finding]).wrong_intervals[0]
