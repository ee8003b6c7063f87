"""Changes of a run's parts, from its measurements: contention is none, and the sentences say what and since when."""

import dataclasses
import random
from collections.abc import Callable

import msgspec
import pytest

from seatrial.commands.check.part_changes import change_statement, changes_of, flapping_as_one
from seatrial.model.measurement import Measurement, Phase, Round
from seatrial.model.pair_faults import Change, ChangeKind
from seatrial.model.subject import Direction, node, uplink
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.pairs.survey import BANDWIDTH
from tests.support.builders import Cluster, names, slow_part, survey_rounds

Shares = Callable[[float], float]


def bandwidth_rounds(cluster: Cluster, pairs_at_once: int) -> list[Round]:
    rounds = survey_rounds(cluster, pairs_at_once)
    return [msgspec.structs.replace(one, shape=BANDWIDTH) for one in rounds if one.shape.message_bytes > 8]


def measured(
    nodes: int,
    share: Shares,
    *,
    rounds: list[Round] | None = None,
    name: str = "n3",
    at_once: int = 1,
    seed: int = 1,
    wait: float = 0.0,
) -> list[Measurement]:
    """What a survey delivers, each round 0.2 s after the last, while the link of a node carries `share` at a time."""
    healthy = Cluster(nodes=names(nodes), seed=seed, waits=dict.fromkeys(names(nodes), wait))
    draw = random.Random(seed)
    delivered = []
    for number, one in enumerate(rounds or bandwidth_rounds(healthy, at_once)):
        parts = slow_part("node", name, share(0.2 * number))
        cluster = dataclasses.replace(healthy, parts=parts)
        delivered += [msgspec.structs.replace(got, at_s=0.2 * number) for got in cluster.measure(one, draw)]
    return delivered


def alone(pairs: list[tuple[str, str]], phase: Phase) -> list[Round]:
    return [Round(phase=phase, repetition=again, shape=BANDWIDTH, pairs=(one,)) for again in range(6) for one in pairs]


def test_a_link_that_drops_during_the_check_is_named_with_its_time() -> None:
    (change,) = changes_of(measured(4, lambda time_s: 0.5 if time_s >= 4.0 else 1.0), {})
    assert (change.subject, change.direction, change.kind) == (node("n3"), Direction.BOTH, ChangeKind.DROP)
    assert change.since_low_s <= 4.1 <= change.since_high_s
    assert change.loss_after == pytest.approx(0.5, abs=0.02)
    said = change_statement(change)
    assert said.startswith("The link of node n3 carries 50 % of the usual bandwidth since ")
    assert said.endswith("s) after the start of the run, and 100 % before.")


def test_a_drop_that_waits_for_a_processor_explain_is_no_change_however_long_all_ranks_wait() -> None:
    """From a lab beside two others: all ranks waited half of the time and more, and n3 lost 10 % for four seconds."""

    def dropped(wait: float) -> list[Change]:
        return [*changes_of(measured(4, lambda time_s: 0.9 if time_s >= 2.4 else 1.0, wait=wait), {})]

    assert [change.subject for change in dropped(0.02)] == [node("n3")]
    assert dropped(0.55) == []


def test_a_healthy_run_has_no_change_and_one_without_times_is_not_judged() -> None:
    assert changes_of(measured(6, lambda _: 1.0), {}) == ()
    without = [msgspec.structs.replace(one, at_s=None) for one in measured(4, lambda t: 0.5 if t >= 4.0 else 1.0)]
    assert changes_of(without, {}) == ()
    assert changes_of([], {}) == ()


def test_a_pair_in_the_others_way_during_the_survey_is_no_recovery_when_alone() -> None:
    crowd = measured(8, lambda _: 0.5, at_once=4)
    pairs = [("n3", "n1"), ("n2", "n3"), ("n3", "n5"), ("n4", "n3"), ("n1", "n2"), ("n5", "n6"), ("n7", "n8")]
    later = measured(8, lambda _: 1.0, rounds=alone(pairs, Phase.RETEST), seed=2)
    late = [msgspec.structs.replace(one, at_s=(one.at_s or 0.0) + 60.0) for one in later]
    assert changes_of([*crowd, *late], {}) == ()


def test_a_link_that_is_bad_alone_and_was_good_among_others_dropped() -> None:
    crowd = measured(8, lambda _: 1.0, at_once=4)
    pairs = [("n3", "n1"), ("n2", "n3"), ("n3", "n5"), ("n4", "n3"), ("n1", "n2"), ("n5", "n6"), ("n7", "n8")]
    later = measured(8, lambda _: 0.5, rounds=alone(pairs, Phase.RETEST), seed=2)
    late = [msgspec.structs.replace(one, at_s=(one.at_s or 0.0) + 60.0) for one in later]
    (change,) = changes_of([*crowd, *late], {})
    assert (change.subject, change.kind) == (node("n3"), ChangeKind.DROP)
    assert change.since_high_s >= 60.0


def test_a_recovery_within_the_survey_is_named() -> None:
    (change,) = changes_of(measured(6, lambda time_s: 0.5 if time_s < 5.0 else 1.0), {})
    assert change.kind is ChangeKind.RECOVERY
    assert change_statement(change).startswith("The link of node n3 carried 50 % of the usual bandwidth until ")


def test_the_effect_that_was_asked_for_counts() -> None:
    delivered = measured(8, lambda time_s: 0.98 if time_s >= 12.0 else 1.0)
    assert changes_of(delivered, {}) == ()
    assert [one.subject for one in changes_of(delivered, {}, 0.01)] == [node("n3")]


CHANGE = Change(
    subject=node("n3"), direction=Direction.BOTH, kind=ChangeKind.FLAPPING, p=1e-6, since_s=1.1, since_low_s=1.0,
    since_high_s=1.2, loss_before=0.0, loss_after=0.9, pairs=(("n3", "n1"), ("n2", "n3")), bad_values=9,
    good_values=9, spells=3, period_s=2.04,
)  # fmt: skip


def test_the_sentence_of_a_part_that_comes_and_goes() -> None:
    assert change_statement(CHANGE) == (
        "The link of node n3 varies between 100 % and 10 % of the usual bandwidth, about every 2.0 s: 9 of 18 "
        "values low, first after 1.2 s."
    )
    rare = msgspec.structs.replace(CHANGE, period_s=None, direction=Direction.OUT, ambiguous_with=(uplink("leaf1"),))
    assert change_statement(rare) == (
        "The link of node n3 or the uplink of leaf1, outwards, varies between 100 % and 10 % of the usual bandwidth, "
        "without a visible period: 9 of 18 values low, first after 1.2 s."
    )


def finding(direction: Direction, kind: FindingKind = FindingKind.SLOW_LINK, name: str = "n3") -> Finding:
    verdict = Verdict.SLOW if kind is FindingKind.SLOW_LINK else Verdict.UNSTABLE
    pair = {Direction.OUT: f"{name}>n1", Direction.IN: f"n1>{name}"}.get(direction, "")
    return Finding(
        kind=kind, subject=node(name), verdict=verdict, statement="", remedy="", direction=direction, pairs=(pair,)
    )


def test_both_directions_of_a_flapping_part_are_one_unstable_finding() -> None:
    other = finding(Direction.OUT, name="n2")
    two = [finding(Direction.IN), other, finding(Direction.OUT, FindingKind.UNSTABLE_LINK)]
    merged, kept = flapping_as_one(two, [CHANGE])
    assert (merged.kind, merged.verdict, merged.direction) == (
        FindingKind.UNSTABLE_LINK, Verdict.UNSTABLE, Direction.BOTH,
    )  # fmt: skip
    assert merged.pairs == ("n1>n3", "n3>n1")
    assert kept is other


def test_findings_on_a_part_that_does_not_flap_or_in_one_direction_stay() -> None:
    both = [finding(Direction.IN), finding(Direction.OUT, FindingKind.UNSTABLE_LINK)]
    dropped = msgspec.structs.replace(CHANGE, kind=ChangeKind.DROP)
    assert flapping_as_one(both, [dropped]) == both
    assert flapping_as_one(both[:1], [CHANGE]) == both[:1]
    late = [finding(Direction.IN, FindingKind.HIGH_LATENCY), finding(Direction.OUT)]
    assert flapping_as_one(late, [CHANGE]) == late
