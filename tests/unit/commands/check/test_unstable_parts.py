"""A part that comes and goes takes all its pairs with it; other jobs' traffic takes those that share its way."""

import math
from collections.abc import Iterator

import pytest

from seatrial.commands.check.retest_verdicts import _beside_others, _Proofs
from seatrial.commands.check.second_look import RetestOutcome, SecondLook, Verified
from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import Blamed
from seatrial.locate.references import References
from seatrial.model.fabric import Component, Fabric
from seatrial.model.subject import Direction
from tests.support.builders import by_run

GOOD, BAD = 48.5, 34.0
CONTROLS = {("c1", "c2"): [GOOD] * 12, ("c3", "c4"): [GOOD + 0.02] * 12, ("c5", "c6"): [GOOD - 0.02] * 12}


def outcome(*runs: list[float]) -> RetestOutcome:
    return verified(*runs).outcome


def verified(*runs: list[float], controls: dict[Pair, list[float]] = CONTROLS) -> Verified:
    pairs = {(f"a{number}", f"b{number}"): own for number, own in enumerate(runs)}
    look = SecondLook(
        by_run({**pairs, **controls}),
        lambda _, run: math.log(run / GOOD),
        set(pairs),
        effect=-math.log1p(-0.03),
        scatter=0.001,
    )
    return look.of(pairs)


def test_a_flapping_part_is_unstable() -> None:
    flapping = [BAD, BAD, GOOD, GOOD, BAD, GOOD]
    assert outcome(flapping, flapping) is RetestOutcome.UNSTABLE
    assert outcome(flapping, flapping, flapping[::-1], [BAD, *[GOOD] * 5]) is RetestOutcome.UNSTABLE


def test_a_part_of_which_half_of_the_pairs_were_never_bad_is_not_unstable() -> None:
    """From a simulated fabric with background jobs: two of four pairs of a good cable met other traffic."""
    calm = [GOOD] * 6
    one = [GOOD, BAD, GOOD, GOOD, BAD, *[GOOD] * 7]
    other = [BAD, BAD, *[GOOD] * 9, BAD]
    assert outcome(calm, calm, one, other) is RetestOutcome.MIXED


def test_a_single_pair_cannot_clear_itself() -> None:
    assert outcome([BAD, BAD, BAD, GOOD, GOOD, GOOD]) is RetestOutcome.UNSTABLE


def test_a_slow_cable_with_traffic_beside_it_is_at_fault_after_several_looks() -> None:
    """From a simulated fabric with background jobs: a cable at 94 %, of which traffic takes more now and then."""
    slow = 45.6
    runs = [slow, slow, 14.3, slow, 19.4, slow]
    assert not verified(runs, runs).steady
    assert verified(runs * 2, runs * 2).steady
    assert outcome(runs * 2, runs * 2) is RetestOutcome.CONFIRMED


def test_a_good_cable_with_traffic_beside_it_is_not_at_fault_after_several_looks() -> None:
    runs = [BAD, BAD, 19.4, BAD, BAD, 19.4, GOOD, BAD, BAD, BAD, GOOD, BAD]
    assert not verified(runs, runs).steady
    good_once = [BAD, 19.4, BAD, GOOD, 19.4, BAD, 19.4, BAD, BAD, BAD, 19.4, BAD]
    assert not verified(good_once).steady
    several_levels = [BAD, 19.4, 14.3, 40.2, 14.3, 19.4] * 2
    assert not verified(several_levels, several_levels).steady


def test_one_disturbed_run_in_six_of_many_does_not_make_a_node_unstable() -> None:
    """From a lab on two loaded cores: 2 of 12 runs were 14 % low."""
    assert outcome([GOOD] * 5 + [BAD] + [GOOD] * 5 + [BAD]) is RetestOutcome.OPEN
    assert outcome([GOOD, BAD, GOOD, GOOD] * 3) is RetestOutcome.UNSTABLE


def test_a_control_alone_in_a_run_does_not_hide_the_noise() -> None:
    """It is as good as itself: of a control that was measured longer than the others, only the first runs count."""
    part = {("a", "b"): [GOOD * factor for factor in (0.85, 1.1, 1.1) * 12]}
    noisy = [GOOD * factor for factor in (1.0, 1.1, 0.9, 1.05, 0.95, 1.0)]
    controls = {("c1", "c2"): noisy * 6, ("c3", "c4"): noisy[::-1], ("c5", "c6"): noisy[2:] + noisy[:2]}
    look = SecondLook(
        by_run({**part, **controls}),
        lambda _, run: math.log(run / GOOD),
        set(part),
        effect=-math.log1p(-0.03),
        scatter=0.001,
    )
    assert look.of(part).outcome is not RetestOutcome.UNSTABLE


def test_the_best_pair_of_each_run_shows_a_slow_cable_beside_traffic_elsewhere_on_the_ways() -> None:
    """From a simulated fabric with background jobs: a cable at 80 %, whose pairs met other traffic at other times."""
    one = [12.9, 38.8, 38.8, 12.9, 38.8, 24.2] * 2
    other = [38.8, 24.3, 12.9, 38.8, 12.9, 38.7] * 2
    assert verified(one, other).steady
    assert outcome(one, other) is RetestOutcome.CONFIRMED
    assert not verified(one[:6], other[:6]).steady
    assert not verified(one, [*other[:-1], GOOD]).steady


# What disturbs the controls may disturb the suspects or not.

DISTURBED = {pair: [BAD, GOOD, GOOD, BAD, BAD, GOOD] for pair in CONTROLS}


def test_a_part_is_not_good_because_traffic_slowed_the_controls() -> None:
    """From a simulated fabric with background jobs: a node at 91 % was cleared, as fast as controls were on average."""
    slow = [44.3] * 6
    assert verified(slow, slow, controls=DISTURBED).outcome is RetestOutcome.OPEN
    assert verified(slow[:3], slow[:3], controls=DISTURBED).outcome is RetestOutcome.OPEN
    again = {pair: runs * 2 for pair, runs in DISTURBED.items()}
    assert verified(slow * 2, slow * 2, controls=again).outcome is RetestOutcome.CONFIRMED
    assert verified(slow * 2, slow * 2, controls=again).runs == 6


def test_what_slowed_the_controls_neither_clears_nor_convicts_what_it_may_have_slowed_as_well() -> None:
    together = [BAD, GOOD, GOOD, BAD, BAD, GOOD]
    assert verified(together, together, controls=DISTURBED).outcome is RetestOutcome.REFUTED
    assert verified(together, together, controls=DISTURBED).runs == 3
    assert verified([GOOD] * 6, controls=DISTURBED).outcome is RetestOutcome.REFUTED
    assert verified([GOOD] * 6, controls=DISTURBED).runs == 6


def test_what_is_slower_than_disturbed_controls_is_slow() -> None:
    worse = [BAD * 0.9, 44.3, 44.3, BAD * 0.9, BAD * 0.9, 44.3]
    assert verified(worse, worse, controls=DISTURBED).outcome is RetestOutcome.CONFIRMED
    assert verified(worse, worse, controls=DISTURBED).runs == 6


PAIR = ("a0", "b0")


def judged(
    runs: list[float], pair: Pair, *parts: Component, unknown_waits: bool = False, far: list[float] | None = None
) -> RetestOutcome:
    """What becomes of a suspect with these runs of its pair, and of a pair across leaves."""
    known = {pair: runs, **({("n1", "n4"): far} if far else {})}
    look = SecondLook(by_run({**known, **CONTROLS}), lambda _, run: math.log(run / GOOD), set(known), 0.03, 0.001)
    references = References(limits={}, fabric=LEAVES, bandwidth=None, speed={})
    proofs = _Proofs({}, look, references, unknown_waits)
    group = Blamed(frozenset(parts), frozenset(known))
    return proofs._outcome(group, proofs.seen(group))


LEAVES = Fabric(leaf_of={"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}, source="test")
N1 = Component(kind="node", name="n1", direction=Direction.OUT)
NEAR, FAR = ("n1", "n2"), ("n1", "n3")
FLAPPING, LEVELS = [BAD, GOOD] * 6, [33.9, 33.9, 19.4, 33.9, 12.1, 33.9]


def test_a_single_pair_that_met_traffic_is_not_convicted() -> None:
    """From a simulated fabric with background jobs: several jobs on one cable leave hardly a pause."""
    assert judged(LEVELS * 2, FAR) is RetestOutcome.OPEN
    assert judged([33.9] * 12, FAR) is RetestOutcome.CONFIRMED
    assert judged([33.9] * 6, FAR) is RetestOutcome.OPEN


def test_pairs_across_leaves_convict_a_node_only_on_one_level() -> None:
    """From simulated fabrics with background jobs: four healthy nodes whose pairs crossed the cables that jobs use."""
    assert judged(FLAPPING, FAR, N1) is RetestOutcome.OPEN
    assert judged([BAD, 19.4, 14.3, 40.2, 14.3, 19.4] * 2, FAR, N1) is RetestOutcome.OPEN
    assert judged([BAD] * 6, FAR, N1) is RetestOutcome.CONFIRMED
    assert judged(FLAPPING, NEAR, N1) is RetestOutcome.UNSTABLE
    assert judged(LEVELS * 2, NEAR, N1) is RetestOutcome.CONFIRMED
    assert judged([GOOD] * 12, NEAR, N1, far=[BAD] * 12) is RetestOutcome.REFUTED


def test_what_varies_while_waits_are_unknown_convicts_nobody_unless_no_run_is_good() -> None:
    """From simulated checks beside busy processors: a node was slow in five of six runs by chance."""
    once_good = [33.9, 33.9, 19.4, 33.9, 12.1, GOOD]
    assert judged(once_good, NEAR, N1) is RetestOutcome.CONFIRMED
    for runs in (once_good, LEVELS, FLAPPING):
        assert judged(runs, NEAR, N1, unknown_waits=True) is RetestOutcome.OPEN
    for runs in (LEVELS * 2, [BAD] * 6):
        assert judged(runs, NEAR, N1, unknown_waits=True) is RetestOutcome.CONFIRMED


class OneSpine:
    """Pairs from n cross its link, and those that end with s the spine."""

    def path(self, source: str, target: str) -> Iterator[Component]:
        if source == "n":
            yield NODE
        if target.startswith("s"):
            yield SPINE


NODE = Component(kind="node", name="n", direction=Direction.OUT)
SPINE = Component(kind="spine", name="spine", direction=Direction.BOTH)
ACROSS = {("x", f"s{number}"): [42.7] * 6 for number in range(8)}


def beside_the_spine(rates: dict[Pair, list[float]]) -> list[Blamed]:
    """What remains of a suspected node with these runs, beside a spine at 88 %."""
    groups = [Blamed(frozenset([SPINE]), frozenset(ACROSS)), Blamed(frozenset([NODE]), frozenset(rates))]
    suspected = {pair for group in groups for pair in group.pairs}
    runs = {**ACROSS, **rates, **CONTROLS}
    look = SecondLook(by_run(runs), lambda _, run: math.log(run / GOOD), suspected, 0.03, 0.001)
    spine, *others = _beside_others(groups, look, OneSpine(), lambda _: ())  # type: ignore[arg-type]
    assert spine == groups[0]
    return others


def test_a_node_is_not_suspected_for_pairs_that_a_slow_spine_explains() -> None:
    """From a simulated fabric: three of four pairs crossed a spine at 88 %, the fourth met traffic of other jobs."""
    explained = {("n", f"s{number}"): [42.7, 28.1, *[42.7] * 4] for number in range(3)}
    fourth = ("n", "b")
    assert beside_the_spine({**explained, fourth: [GOOD, 33.9] * 3}) == [Blamed(frozenset(), frozenset([fourth]))]
    assert beside_the_spine(explained) == []
    both = {fourth: [33.9] * 6, ("n", "c"): [33.9] * 6}
    assert beside_the_spine({**explained, **both}) == [Blamed(frozenset([NODE]), frozenset(both))]
    slower = {pair: [33.9] * 6 for pair in (*explained, fourth)}
    assert beside_the_spine(slower) == [Blamed(frozenset([NODE]), frozenset(slower))]


# A part that was good in an earlier retest, and is measured again because it fell since.


def test_runs_before_the_last_look_do_not_speak_for_a_part_that_fell_since() -> None:
    fell = {("a0", "b0"): [GOOD] * 6 + [BAD] * 6}
    for since, outcome in ((0, RetestOutcome.UNSTABLE), (6, RetestOutcome.CONFIRMED)):
        look = SecondLook(
            by_run({**fell, **CONTROLS}),
            lambda _, run: math.log(run / GOOD),
            set(fell),
            0.03,
            0.001,
            since=dict.fromkeys(fell, since),
        )
        assert look.of(fell).outcome is outcome


def test_a_part_is_compared_with_the_controls_of_its_own_minutes() -> None:
    """The machine became busy before the second retest, in which this part is measured first."""
    late = {("a0", "b0"): dict.fromkeys(range(6, 12), BAD)}
    controls = by_run({pair: [GOOD] * 6 + [BAD] * 6 for pair in CONTROLS})
    look = SecondLook({**late, **controls}, lambda _, run: math.log(run / GOOD), set(late), 0.03, 0.001)
    assert look.of(late).outcome is not RetestOutcome.CONFIRMED


@pytest.mark.parametrize(("near", "left"), [([42.7] * 6, {("x", "s0")}), ([GOOD] * 6, {("x", "s0"), ("n", "s1")})])
def test_a_spine_is_judged_without_the_pairs_of_a_node_that_is_slow_within_its_leaf(
    near: list[float], left: set[Pair]
) -> None:
    """Recorded beside programs that took the cores: the median over all its pairs was that of the slow node's."""
    across, own = {("x", "s0"): [GOOD, 33.9] * 3, ("n", "s1"): [42.7] * 6}, {("n", "a"): near, ("n", "b"): near}
    groups = [Blamed(frozenset([SPINE]), frozenset(across)), Blamed(frozenset([NODE]), frozenset({*own, ("n", "s1")}))]
    runs = {**across, **own, **CONTROLS}
    look = SecondLook(by_run(runs), lambda _, run: math.log(run / GOOD), {*across, *own}, 0.03, 0.001)
    spine, *_ = _beside_others(groups, look, OneSpine(), lambda _: [*own])  # type: ignore[arg-type]
    assert spine.pairs == left or spine == Blamed(frozenset(), frozenset(left))
