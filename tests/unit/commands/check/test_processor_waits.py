"""Runs that are slow because a rank waited for a processor say nothing of the link."""

import math
import random

from seatrial.commands.check.processor_waits import ERROR_RATE, Waits, excused_by_waiting
from seatrial.commands.check.second_look import Outcome, SecondLook

BAD_BELOW = math.log(0.9)
# Bandwidth over the peers', and the longer wait of both ranks: a lab on two cores beside a program that takes one.
BESIDE_A_HOG = [
    (0.89, 0.86), (0.88, 0.98), (0.99, 0.58), (0.96, 0.92), (0.89, 0.94), (0.96, 0.75), (0.94, 0.83), (1.0, 0.52),
    (0.89, 1.0), (1.0, 0.53), (0.86, 0.89), (1.0, 0.8), (0.81, 0.86), (0.99, 0.82), (0.99, 0.61), (0.89, 0.82),
]  # fmt: skip


def in_logs(runs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(math.log(share), waited) for share, waited in runs]


def test_waiting_explains_the_runs_in_which_a_rank_waited_longest() -> None:
    waits = excused_by_waiting(in_logs(BESIDE_A_HOG), BAD_BELOW)
    assert waits == Waits(bad=0.89, good=0.75)


def test_a_link_that_comes_and_goes_is_not_excused_by_waits_of_other_runs() -> None:
    rng = random.Random(5)
    excused = 0
    for _ in range(2000):
        runs = [(share, rng.uniform(0.1, 0.9)) for share in [0.85] * 6 + [1.0] * 6]
        excused += excused_by_waiting(in_logs(runs), BAD_BELOW) is not None
    assert excused <= 2000 * ERROR_RATE


def test_short_waits_do_not_explain_a_large_loss() -> None:
    runs = [(0.5, 0.3)] * 8 + [(1.0, 0.1)] * 8
    assert excused_by_waiting(in_logs(runs), BAD_BELOW) is None
    assert excused_by_waiting(in_logs([(0.85, 0.3)] * 8 + [(1.0, 0.1)] * 8), BAD_BELOW) == Waits(bad=0.3, good=0.1)


def test_few_runs_and_unknown_waits_excuse_nothing() -> None:
    assert excused_by_waiting(in_logs([(0.8, 0.9), (0.8, 0.9), *[(1.0, 0.1)] * 4]), BAD_BELOW) is None
    assert excused_by_waiting(in_logs([(0.8, 0.0)] * 8 + [(1.0, 0.0)] * 8), BAD_BELOW) is None
    assert excused_by_waiting(in_logs([(0.8, 0.9)] * 8), BAD_BELOW) is None
    assert excused_by_waiting([], BAD_BELOW) is None


def test_a_part_is_undecided_where_waiting_explains_it_and_unstable_where_not() -> None:
    pairs = {(f"a{number}", f"b{number}"): [0.8, 1.0] * 6 for number in range(2)}
    controls = {(f"c{number}", f"d{number}"): [1.0 + number / 1000] * 12 for number in range(3)}

    def of(bad: float, good: float) -> SecondLook:
        waited = {pair: [bad, good] * 6 for pair in pairs}
        return SecondLook({**pairs, **controls}, lambda _, run: math.log(run), set(pairs), 0.03, 0.001, None, waited)

    busy = of(0.9, 0.5).of(pairs)
    assert (busy.outcome, busy.waits) == (Outcome.OPEN, Waits(bad=0.9, good=0.5))
    for bad, good in ((0.5, 0.5), (0.5, 0.9), (0.55, 0.5)):
        assert of(bad, good).of(pairs).outcome is Outcome.UNSTABLE
