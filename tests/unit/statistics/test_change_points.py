"""Changes of series: found where planted, and not found in noise, spikes, drift and rounding."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.pair_table import Reals
from seatrial.statistics.change_points import FEWEST, find_changes, find_level_left
from seatrial.statistics.scan import SHORTEST, Stretches, critical_statistic, largest_p, tail_factor


def noise(count: int, seed: int, autocorrelation: float = 0.0, level: float = 100.0) -> Reals:
    """Normal noise of deviation 1 about a level."""
    generator = np.random.default_rng(seed)
    steps = generator.normal(size=count + 100)
    values = steps.copy()
    for place in range(1, count + 100):
        values[place] = autocorrelation * values[place - 1] + steps[place]
    return np.asarray(level + values[100:] * (1 - autocorrelation**2) ** 0.5)


def places(values: Reals) -> list[int]:
    return [one.index for one in find_changes(values).changes]


class TestPlantedChanges:
    @pytest.mark.parametrize("seed", range(5))
    def test_a_change_of_level_is_found_with_its_size(self, seed: int) -> None:
        values = noise(200, seed)
        values[120:] *= 0.97
        found = find_changes(values)
        assert len(found.changes) == 1
        change = found.changes[0]
        assert change.low_index <= 120 <= change.high_index
        assert change.ratio_low is not None
        assert change.ratio_high is not None
        assert change.ratio_low < 0.97 < change.ratio_high
        assert change.ratio_high - change.ratio_low < 0.015
        assert change.p_value < 1e-6
        assert not found.trend

    def test_an_episode_is_found_with_both_ends(self) -> None:
        values = noise(100, 1)
        values[40:60] += 2.5
        assert places(values) == pytest.approx([40, 60], abs=2)

    def test_a_series_without_any_noise_changes_where_it_steps(self) -> None:
        found = find_changes([5.0] * 50 + [6.0] * 50)
        assert [(one.index, one.ratio, one.p_value) for one in found.changes] == [(50, 1.2, 0.0)]

    def test_a_change_of_the_slope_is_one_place(self) -> None:
        values = noise(200, 2)
        values[100:] += 0.2 * np.arange(100)
        found = find_changes(values)
        assert found.trend
        assert len(found.changes) == 1
        assert found.changes[0].index == pytest.approx(100, abs=15)
        assert found.changes[0].slope_after == pytest.approx(0.2, abs=0.03)

    def test_the_detectable_change_is_nearly_always_found(self) -> None:
        hits = 0
        for seed in range(30):
            values = noise(100, seed)
            size = find_changes(values).detectable
            assert size is not None
            hits += bool(places(values + size * (np.arange(100) >= 50)))
        assert hits >= 25

    def test_units_do_not_matter(self) -> None:
        values = noise(100, 3)
        values[50:] += 3
        plain, scaled = find_changes(values), find_changes(1e9 * values)
        assert [one.index for one in plain.changes] == [one.index for one in scaled.changes]
        assert scaled.changes[0].ratio == pytest.approx(plain.changes[0].ratio)


class TestNothingToFind:
    @pytest.mark.parametrize("autocorrelation", [0.0, 0.5, 0.8])
    def test_correlated_noise_keeps_the_error_rate(self, autocorrelation: float) -> None:
        """At 1 % more than 5 of 150 would happen in fewer than 1 of 200 such tests; the seeds are fixed."""
        alarms = sum(bool(places(noise(100, seed, autocorrelation))) for seed in range(150))
        assert alarms <= 5

    def test_single_wild_values_are_listed_and_no_change(self) -> None:
        values = noise(200, 4)
        values[100], values[101] = 500.0, 0.0
        found = find_changes(values)
        assert found.changes == ()
        assert found.spikes == (100, 101)

    def test_one_wild_value_in_a_constant_series(self) -> None:
        found = find_changes([5.0] * 500 + [6.0] + [5.0] * 499)
        assert (found.changes, found.spikes) == ((), (500,))

    def test_rare_rounding_steps_are_noise(self) -> None:
        alarms = 0
        for seed in range(40):
            alarms += bool(places(np.round(np.random.default_rng(seed).normal(100, 0.3, 300))))
        assert alarms <= 1

    def test_heavy_tails(self) -> None:
        alarms = sum(bool(places(np.random.default_rng(seed).standard_t(3, 300))) for seed in range(40))
        assert alarms <= 1

    def test_a_steady_drift_is_one_line(self) -> None:
        found = find_changes(noise(200, 5) + 0.05 * np.arange(200))
        assert (found.changes, found.trend, len(found.pieces)) == ((), True, 1)

    @pytest.mark.parametrize("count", [0, 1, FEWEST - 1])
    def test_too_few_values(self, count: int) -> None:
        found = find_changes([1.0, 9.0] * (count // 2) + [1.0] * (count % 2))
        assert (found.changes, found.detectable) == ((), None)

    def test_the_fewest_values_are_enough(self) -> None:
        assert find_changes([*[5.0] * (FEWEST - SHORTEST), *[7.0] * SHORTEST]).detectable == 0
        assert find_changes([7.0] * FEWEST).changes == ()


@given(st.lists(st.floats(-1e6, 1e6), max_size=80))
def test_pieces_are_the_series_whatever_its_values(values: list[float]) -> None:
    found = find_changes(values)
    edges = [0, *(one.index for one in found.changes), len(values)]
    assert [(one.first, one.end) for one in found.pieces] == (list(itertools.pairwise(edges)) if values else [])
    assert all(end - first >= SHORTEST for first, end in itertools.pairwise(edges)) or not found.changes
    assert all(0 <= one.p_value <= found.error_rate for one in found.changes)


class TestScan:
    @pytest.mark.parametrize("lines", [False, True])
    def test_squares_are_those_of_a_least_squares_fit(self, lines: bool) -> None:
        values = np.random.default_rng(1).normal(size=40)
        stretches = Stretches(values, lines=lines)
        fitted = np.polyval(np.polyfit(np.arange(20), values[10:30], int(lines)), np.arange(20))
        assert stretches.squares(10, 30) == pytest.approx(float(((values[10:30] - fitted) ** 2).sum()))
        assert stretches.residuals(10, 30) == pytest.approx(values[10:30] - fitted)

    @pytest.mark.parametrize("lines", [False, True])
    def test_the_best_split_is_the_best_of_all(self, lines: bool) -> None:
        values = np.random.default_rng(2).normal(size=60)
        stretches = Stretches(values, lines=lines)
        gains = {
            place: stretches.squares(5, 55) - stretches.squares(5, place) - stretches.squares(place, 55)
            for place in range(5 + SHORTEST, 55 - SHORTEST + 1)
        }
        gain, place = stretches.best_split(5, 55)
        assert place == max(gains, key=lambda one: gains[one])
        assert gain == pytest.approx(gains[place])

    def test_the_p_value_is_that_of_the_largest_of_all_places(self) -> None:
        """Miller and Siegmund's approximation beside 2,000 simulated series of 100 values."""
        generator = np.random.default_rng(3)
        largest = []
        for _ in range(2000):
            values = generator.normal(size=100)
            largest.append(Stretches(values - values.mean(), lines=False).best_split(0, 100)[0])
        for level in (0.1, 0.01):
            assert np.mean(np.array(largest) > critical_statistic(level, 1, 100)) == pytest.approx(level, rel=0.5)

    def test_the_critical_statistic_inverts_the_p_value(self) -> None:
        assert largest_p(critical_statistic(0.005, 2, 300), 2, 300) == pytest.approx(0.005, rel=1e-3)
        assert critical_statistic(0.005, 1, 2 * SHORTEST) == float("inf")

    def test_a_few_wild_values_count_for_less(self) -> None:
        assert tail_factor(3.0, 1e-6, 1.0) == 1.0
        assert tail_factor(3.0, 0.1, 1.0) > 0.9
        assert tail_factor(10.0, 5.0, 1.0) < 0.15
        assert tail_factor(1.0, 1.0, 0.0) == 1.0


class TestNewestValues:
    @pytest.mark.parametrize("count", [12, 20, 60])
    @pytest.mark.parametrize("length", range(1, SHORTEST))
    @pytest.mark.parametrize("factor", [0.5, 0.8, 1.5])
    def test_values_that_left_the_level_are_no_part_of_the_changes(
        self, count: int, length: int, factor: float
    ) -> None:
        values = noise(count, 5)
        values[-length:] *= factor
        changes, end = find_level_left(values.tolist())
        assert end is not None
        assert (end.count, changes.changes, changes.count) == (length, (), count - length)
        assert end.before == pytest.approx(100, abs=2)
        assert end.after / end.before == pytest.approx(factor, abs=0.03)

    @pytest.mark.parametrize("length", [*range(SHORTEST, 13)])
    def test_five_are_a_level(self, length: int) -> None:
        values = noise(60, 3)
        values[-length:] *= 0.5
        changes, end = find_level_left(values.tolist())
        assert ([one.index for one in changes.changes], end) == ([60 - length], None)

    def test_a_line_that_goes_on_has_not_been_left(self) -> None:
        values = noise(60, 4) + np.arange(60)
        assert find_level_left(values.tolist())[1] is None
        values[-2:] -= 30
        left = find_level_left(values.tolist())[1]
        assert left is not None
        assert (left.count, round(left.before - left.after, -1)) == (2, 30)

    @pytest.mark.parametrize(("last", "left"), [(6.0, False), (7.0, True), (0.0, True)])
    def test_equal_values_hide_a_step_of_their_last_digit(self, last: float, left: bool) -> None:
        assert (find_level_left([5.0] * 30 + [last])[1] is not None) is left

    @pytest.mark.parametrize(("newest", "left"), [([7.0], False), ([7.0, 7.0], True), ([7.0, 7.0, 7.0, 7.0], True)])
    def test_a_step_of_a_digit_that_came_once_and_stays_is_none_of_rounding(
        self, newest: list[float], left: bool
    ) -> None:
        assert (find_level_left([8.0] * 30 + newest)[1] is not None) is left
        assert find_level_left([8.0] * 4 + [8.0, 7.0] * 15 + newest)[1] is None

    def test_noise_rarely_seems_to_leave_its_level(self) -> None:
        left = sum(find_level_left(noise(40, seed).tolist())[1] is not None for seed in range(300))
        assert left <= 10  # 3 are expected; more have a probability of 0.03 %

    def test_many_series_share_the_error_rate(self) -> None:
        series = [noise(60, seed).tolist() for seed in range(64)]
        assert any(find_level_left(values)[1] for values in series)
        assert not any(find_level_left(values, together=64)[1] for values in series)
        assert find_level_left([*series[0][:-1], 92.0], together=64)[1] is not None


class TestEpisodesBesideLines:
    @pytest.mark.parametrize("bad", [2, 3])
    def test_bad_values_and_good_ones_are_no_steep_line(self, bad: int) -> None:
        values = noise(60, 4)
        values[57 - bad : 57] *= 0.9
        assert not any(abs(piece.slope) > 1 for piece in find_changes(values).pieces)

    def test_few_values_behind_a_line_are_a_level(self) -> None:
        values = noise(100, 4) + np.arange(100)
        values[-7:] -= 40
        before, after = find_changes(values).pieces
        assert (before.slope > 0.9, after.first, after.slope) == (True, 93, 0.0)
