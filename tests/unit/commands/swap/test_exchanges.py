"""Which exchange is recommended: as few as the best sequence of all takes, and with intermittent faults."""

import itertools
import math
import random

import numpy as np
import pytest

from seatrial.commands.swap import exchanges
from seatrial.commands.swap.exchanges import carried_out, possible, ranked
from seatrial.commands.swap.hypotheses import Cause, Hypothesis, hypotheses, weigh
from seatrial.commands.swap.judge import judge
from seatrial.model.part_swap import SwapHistory, SwapStep
from seatrial.model.verdict import Verdict
from tests.support import swap_search


def measured(history: SwapHistory, results: dict[str, bool]) -> SwapHistory:
    return swap_search.with_step(history, SwapStep(places=history.steps[-1].places, results=results))


def exchanged(history: SwapHistory, *good: bool) -> SwapHistory:
    """The first exchange carried out again and again, with these results in the first place; the second one is good."""
    exchange = next(each for each in possible(history) if each.kinds)
    for result in good:
        after = carried_out(history, history.steps[-1], exchange)
        step = SwapStep(places=after.places, results={"node-0": result, "node-1": True})
        history = swap_search.with_step(history, step)
    return history


def one_bad(places: int, movable: int) -> SwapHistory:
    """The first place is bad, the others are good, and measurements never err."""
    history = swap_search.search(places, movable, miss=0.0, false_alarm=0.0)
    return measured(history, {f"node-{place}": place > 0 for place in range(places)})


@pytest.mark.parametrize(("movable", "exchanges"), [(1, 1), (2, 2), (3, 2)])
def test_as_few_exchanges_as_any_sequence_takes(movable: int, exchanges: int) -> None:
    history = one_bad(2, movable)
    assert swap_search.fewest(history) == exchanges
    assert swap_search.recommended(history) == exchanges


def test_a_third_place_does_not_mislead() -> None:
    assert swap_search.recommended(one_bad(3, 2)) == swap_search.fewest(one_bad(3, 2)) == 2


def test_the_first_exchange_halves_the_suspects() -> None:
    best = ranked(one_bad(2, 3), weigh(one_bad(2, 3)))[0]
    assert len(best.kinds) == 2


def test_what_would_reveal_nothing_has_no_information() -> None:
    again = next(each for each in ranked(one_bad(2, 2), weigh(one_bad(2, 2))) if not each.kinds)
    assert again.information_bits == pytest.approx(0.0, abs=1e-9)


def all_links(places: int) -> SwapHistory:
    """Links between all places, those of the first bad: the results of n places have n (n - 1) / 2 parts."""
    links = {f"node-{a}+node-{b}": a > 0 for a, b in itertools.combinations(range(places), 2)}
    return measured(swap_search.search(places, 1, miss=0.2, false_alarm=0.05), links)


@pytest.mark.parametrize(("places", "exact"), [(4, True), (5, False)])  # 6 and 10 links: 64 and 1024 results
def test_beyond_a_bound_the_information_is_less_than_that_of_all_results(
    monkeypatch: pytest.MonkeyPatch, places: int, exact: bool
) -> None:
    history = all_links(places)
    bounded = {each.words: each.information_bits for each in ranked(history, weigh(history))}
    monkeypatch.setattr(exchanges, "MOST_RESULTS", 2 ** len(history.steps[-1].results))
    whole = {each.words: each.information_bits for each in ranked(history, weigh(history))}
    assert bounded == pytest.approx(whole, rel=0.01, abs=1e-4)
    assert (bounded == whole) is exact
    assert all(bits <= whole[words] + 1e-9 for words, bits in bounded.items())


def test_two_results_reveal_the_entropy_of_results_less_that_of_errors() -> None:
    """One part at fault in either of two places, with probability 1/2 each; a result errs in 1 of 4 cases."""
    bad = np.array([[0.75, 0.25], [0.25, 0.75]])
    results = {"both": 2 * 0.75 * 0.25 / 2, "one": (0.75**2 + 0.25**2) / 2}
    entropy_bits = -2 * sum(chance * math.log2(chance) for chance in results.values())
    errors_bits = -2 * sum(chance * math.log2(chance) for chance in (0.25, 0.75))
    assert exchanges._information_bits(np.array([0.5, 0.5]), bad) == pytest.approx(entropy_bits - errors_bits)


def test_links_between_all_of_eight_places_are_ranked() -> None:
    """28 links have 268 million results."""
    best = ranked(all_links(8), weigh(all_links(8)))[0]
    assert best.kinds and best.first == "node-0" and best.information_bits > 0.5


@pytest.mark.parametrize("miss", [0.05, 0.4])
def test_intermittent_faults_are_found(miss: float) -> None:
    """docs/swap.md has the figures of 200 searches each."""
    drawn = random.Random(3)
    history = swap_search.search(2, 3, miss=miss, false_alarm=0.01)
    parts = [each for each in hypotheses(history) if each.cause is Cause.PART]
    played = [swap_search.play(history, drawn.choice(parts), drawn) for _ in range(10)]
    assert sum(named for named, _, _ in played) >= 9


def pair_fault(history: SwapHistory) -> Hypothesis:
    wanted = {("node", "node-0"), ("kind0", "kind0-0")}
    return next(each for each in hypotheses(history) if each.cause is Cause.PAIR and set(each.parts) == wanted)


def test_a_pair_is_named_when_it_is_bad_again_where_it_was() -> None:
    history = measured(swap_search.search(2, 1, miss=0.05, false_alarm=0.01), {"node-0": False, "node-1": True})
    history = exchanged(history, True, False, True, False)
    assert judge(history).named[0].hypothesis == pair_fault(history)
    assert judge(history).verdict is Verdict.SLOW


def test_a_contact_that_moving_mended_is_a_note() -> None:
    history = measured(swap_search.search(2, 1, miss=0.05, false_alarm=0.01), {"node-0": False, "node-1": True})
    history = exchanged(history, True, True, True, True)
    assert judge(history).named[0].hypothesis.cause is Cause.SEAT
    assert judge(history).verdict is Verdict.NOTE


def test_what_is_bad_everywhere_is_outside_of_the_parts() -> None:
    history = measured(
        swap_search.search(3, 2, miss=0.05, false_alarm=0.01), dict.fromkeys(map("node-{}".format, range(3)), False)
    )
    assert judge(history).named[0].hypothesis.cause is Cause.OUTSIDE


def test_healthy_parts_are_not_blamed() -> None:
    history = swap_search.search(2, 2, miss=0.05, false_alarm=0.01)
    for _ in range(3):
        history = measured(history, {"node-0": True, "node-1": True})
    assert judge(history).verdict is Verdict.PASS


def test_probabilities_add_up_to_one() -> None:
    assert sum(one.probability for one in weigh(one_bad(3, 2))) == pytest.approx(1.0)
