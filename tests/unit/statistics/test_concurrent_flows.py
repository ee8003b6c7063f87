"""What flows carry together while all of them run, however they share."""

import pytest

from seatrial.statistics.concurrent_flows import ConcurrentFlow, together


def flow(*times_s: float, warmup: int = 1) -> ConcurrentFlow:
    return ConcurrentFlow(window_bytes=100.0, warmup_s=times_s[:warmup], timed_s=times_s[warmup:])


def test_one_flow_is_its_timed_windows() -> None:
    assert together([flow(7.0, 2.0, 2.0)]) == pytest.approx(50)


def test_equal_flows_add_up() -> None:
    assert together([flow(2.0, 2.0, 2.0), flow(2.0, 2.0, 2.0)]) == pytest.approx(100)


def test_the_tail_of_a_slow_flow_that_has_the_link_to_itself_does_not_count() -> None:
    """A link of 100: three quarters and one quarter of it, until the first flow is through after 5.33 s."""
    fast, slow = 100 / 75, 100 / 25
    first_end = 4 * fast
    left = 400 - 25 * first_end
    begun = 25 * first_end % 100
    second = [slow, (first_end - slow) + (100 - begun) / 100, 1.0, 1.0]
    assert sum(second) == pytest.approx(first_end + left / 100)
    flows = [flow(fast, fast, fast, fast), flow(*second)]
    assert together(flows) == pytest.approx(100)
    last = max(sum(flow.warmup_s) + sum(flow.timed_s) for flow in flows)
    assert 800 / last == pytest.approx(100)
    each = sum(300 / sum(flow.timed_s) for flow in flows)
    assert each > 125


def test_a_flow_limited_elsewhere_counts_with_what_it_carried() -> None:
    assert together([flow(1.0, 1.0, 1.0, 1.0), flow(10.0, 10.0, 10.0, 10.0)]) == pytest.approx(110)


def test_a_slow_warm_up_of_one_flow_is_no_reason_to_give_up() -> None:
    assert together([flow(1.0, 1.0, 1.0), flow(30.0, 1.0, 1.0)]) == pytest.approx(100 + 100 / 30)


def test_without_warm_up_it_begins_with_the_round() -> None:
    assert together([flow(1.0, 1.0, warmup=0), flow(2.0, 2.0, warmup=0)]) == pytest.approx(150)


@pytest.mark.parametrize("flows", [[], [flow(1.0)], [flow(0.0, 0.0, 0.0)]])
def test_nothing_has_no_aggregate(flows: list[ConcurrentFlow]) -> None:
    with pytest.raises(ValueError, match="no aggregate"):
        together(flows)
