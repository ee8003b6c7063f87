"""What was named against what was planted."""

from seatrial.lab.score import Expected, Finding, score

N3 = Finding(kind="slow-link", subject="node:n3")
LEAF1 = Finding(kind="slow-uplink", subject="uplink:leaf1", ambiguous_with=("uplink:leaf2",))


def expected(kind: str, *subjects: str) -> Expected:
    return Expected(kind=kind, subjects=subjects)


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
    one = Finding(kind="slow-link", subject="node:n1", ambiguous_with=("node:n2",))
    two = Finding(kind="slow-link", subject="node:n2")
    wants = [expected("slow-link", "node:n1", "node:n2"), expected("slow-link", "node:n2")]
    for findings in ([one, two], [two, one]):
        assert score(wants, findings).right


def test_a_direction_that_is_asked_for_must_be_the_one_named() -> None:
    wants = [Expected(kind="slow-link", subjects=("node:n2",), direction="out")]
    out, both = (Finding(kind="slow-link", subject="node:n2", direction=way) for way in ("out", "both"))
    assert score(wants, [out]).right
    assert score(wants, [both]).false_names == (both,)
