"""A part that comes and goes takes all its pairs with it; other jobs' traffic takes those that share its way."""

import math

from seatrial.commands.check.second_look import Outcome, SecondLook, Verified

GOOD, BAD = 48.5, 34.0
CONTROLS = {("c1", "c2"): [GOOD] * 12, ("c3", "c4"): [GOOD + 0.02] * 12, ("c5", "c6"): [GOOD - 0.02] * 12}


def outcome(*runs: list[float]) -> Outcome:
    return verified(*runs).outcome


def verified(*runs: list[float]) -> Verified:
    pairs = {(f"a{number}", f"b{number}"): own for number, own in enumerate(runs)}
    look = SecondLook(
        {**pairs, **CONTROLS},
        lambda _, run: math.log(run / GOOD),
        set(pairs),
        effect=-math.log1p(-0.03),
        scatter=0.001,
    )
    return look.of(pairs)


def test_a_flapping_part_is_unstable() -> None:
    flapping = [BAD, BAD, GOOD, GOOD, BAD, GOOD]
    assert outcome(flapping, flapping) is Outcome.UNSTABLE
    assert outcome(flapping, flapping, flapping[::-1], [BAD, *[GOOD] * 5]) is Outcome.UNSTABLE


def test_a_part_of_which_half_of_the_pairs_were_never_bad_is_not_unstable() -> None:
    """From a simulated fabric with background jobs: two of four pairs of a good cable met other traffic."""
    calm = [GOOD] * 6
    one = [GOOD, BAD, GOOD, GOOD, BAD, *[GOOD] * 7]
    other = [BAD, BAD, *[GOOD] * 9, BAD]
    assert outcome(calm, calm, one, other) is Outcome.MIXED


def test_a_single_pair_cannot_clear_itself() -> None:
    assert outcome([BAD, BAD, BAD, GOOD, GOOD, GOOD]) is Outcome.UNSTABLE


def test_a_slow_cable_with_traffic_beside_it_is_at_fault_after_several_looks() -> None:
    """From a simulated fabric with background jobs: a cable at 94 %, of which traffic takes more now and then."""
    slow = 45.6
    runs = [slow, slow, 14.3, slow, 19.4, slow]
    assert verified(runs, runs).if_shared is Outcome.OPEN
    assert verified(runs * 2, runs * 2).if_shared is Outcome.CONFIRMED


def test_a_good_cable_with_traffic_beside_it_is_not_at_fault_after_several_looks() -> None:
    runs = [BAD, BAD, 19.4, BAD, BAD, 19.4, GOOD, BAD, BAD, BAD, GOOD, BAD]
    assert verified(runs, runs).if_shared is not Outcome.CONFIRMED
    good_once = [BAD, 19.4, BAD, GOOD, 19.4, BAD, 19.4, BAD, BAD, BAD, 19.4, BAD]
    assert verified(good_once).if_shared is Outcome.OPEN
    several_levels = [BAD, 19.4, 14.3, 40.2, 14.3, 19.4] * 2
    assert verified(several_levels, several_levels).if_shared is Outcome.OPEN


def test_one_disturbed_run_in_six_of_many_does_not_make_a_node_unstable() -> None:
    """From a lab on two loaded cores: 2 of 12 runs were 14 % low."""
    assert outcome([GOOD] * 5 + [BAD] + [GOOD] * 5 + [BAD]) is Outcome.OPEN
    assert outcome([GOOD, BAD, GOOD, GOOD] * 3) is Outcome.UNSTABLE


def test_a_control_alone_in_a_run_does_not_hide_the_noise() -> None:
    """It is as good as itself: of a control that was measured longer than the others, only the first runs count."""
    part = {("a", "b"): [GOOD * factor for factor in (0.85, 1.1, 1.1) * 12]}
    noisy = [GOOD * factor for factor in (1.0, 1.1, 0.9, 1.05, 0.95, 1.0)]
    controls = {("c1", "c2"): noisy * 6, ("c3", "c4"): noisy[::-1], ("c5", "c6"): noisy[2:] + noisy[:2]}
    look = SecondLook(
        {**part, **controls}, lambda _, run: math.log(run / GOOD), set(part), effect=-math.log1p(-0.03), scatter=0.001
    )
    assert look.of(part).outcome is not Outcome.UNSTABLE
