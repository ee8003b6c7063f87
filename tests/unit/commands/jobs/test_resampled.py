"""Histories made of recorded jobs: one seed of what `make job-histories` does with many."""

import pytest

from tests.support.resampled_histories import Resampled, recorded_families, resampled
from tests.support.resampled_trials import Trial, trial


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.series) if kind is Trial.HEALTHY else kind for kind in Trial]
)
def test_what_is_planted_is_named_and_nothing_else(kind: Trial) -> None:
    outcome = trial(kind, seed=12)
    assert outcome.right, outcome.text


def test_the_recorded_families_are_those_of_a_cluster() -> None:
    families = recorded_families()
    assert (len(families), sum(len(burst) for family in families for burst in family.bursts)) == (23, 889)
    assert {family.size for family in families} >= {1, 2, 16, 36}
    assert max(family.width for family in families) > 2


def test_a_seed_is_one_history() -> None:
    small = Resampled(seed=3, days=4, changed=2, planted=(1.3, 4.0))
    assert resampled(small) == resampled(small)
    assert sorted(resampled(small).planted.values()) == [1.3, 4.0]
