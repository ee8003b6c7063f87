"""A part that comes and goes takes all its pairs with it; other jobs' traffic takes those that share its way."""

import math

from seatrial.commands.check.retest_verdicts import Outcome, SecondLook

GOOD, BAD = 48.5, 34.0
CONTROLS = {("c1", "c2"): [GOOD] * 12, ("c3", "c4"): [GOOD + 0.02] * 12, ("c5", "c6"): [GOOD - 0.02] * 12}


def outcome(*runs: list[float]) -> Outcome:
    pairs = {(f"a{number}", f"b{number}"): own for number, own in enumerate(runs)}
    look = SecondLook(
        {**pairs, **CONTROLS},
        lambda _, run: math.log(run / GOOD),
        set(pairs),
        effect=-math.log1p(-0.03),
        scatter=0.001,
    )
    return look.of(pairs).outcome


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
