"""What several flows that share a bottleneck carry together, from the times of each flow's own windows."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from seatrial.model.measurement import Measurement


class ConcurrentFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One stream of a round: windows of `window_bytes` one after the other, the first ones to warm up."""

    window_bytes: float
    warmup_s: Sequence[float]
    timed_s: Sequence[float]

    @property
    def ends(self) -> list[float]:
        """When each window ended, seconds after the first began."""
        return list(accumulate((*self.warmup_s, *self.timed_s)))

    def carried(self, ends: Sequence[float], at_s: float) -> float:
        """Bytes until `at_s`, of the current window as much as the rate of those before it permits.

        Its own rate would be wrong: it may have become faster once others had ended.
        """
        done = bisect_right(ends, at_s)
        if done == len(ends):
            return self.window_bytes * done
        begin = ends[done - 1] if done else 0.0
        each_s = begin / done if begin > 0 else ends[done]
        return self.window_bytes * (done + min((at_s - begin) / each_s, 1.0))


def together(flows: Sequence[ConcurrentFlow]) -> float:
    """Bytes per second of all flows while all of them run. Raises ValueError where there is none, or one without times.

    Flows of a round begin at the same time and carry the same number of windows, so flows that get less of a shared
    bottleneck end later and then have it to themselves. Neither all bytes over the time of the slowest flow (too low:
    at the end the bottleneck may be idle) nor the sum of each flow's own rate (too high: the slow ones become faster
    once the fast ones are through) is what the bottleneck carries. Bytes are counted from the end of the first warm-up
    to the end of the first flow, in which time all flows run, however unequally they share.
    """
    if not flows or not all(flow.timed_s for flow in flows):
        raise ValueError(f"no aggregate of {len(flows)} flows, some without times")
    ends = [flow.ends for flow in flows]
    last = min(one[-1] for one in ends)
    first = min(one[len(flow.warmup_s) - 1] if flow.warmup_s else 0.0 for flow, one in zip(flows, ends, strict=True))
    if not first < last:
        first = 0.0
    if not last > first:
        raise ValueError("no aggregate of flows that took no time")
    carried = sum(flow.carried(one, last) - flow.carried(one, first) for flow, one in zip(flows, ends, strict=True))
    return carried / (last - first)


def carried(measurements: Sequence[Measurement]) -> float:
    """Bytes per second of the pairs of one round while all of them run; see `together`."""
    flows = [
        ConcurrentFlow(window_bytes=one.shape.window_bytes, warmup_s=one.warmup_times_s, timed_s=one.times_s)
        for one in measurements
    ]
    return together(flows)


def together_s(measurements: Sequence[Measurement]) -> float:
    """Seconds of one window of all pairs of a round: the mean of the pair that took longest, warm-up and all.

    Over the longest, since rates of pairs added up count the time in which others had already ended (as osu_mbw_mr
    does, which divides all bytes by the longest time). With the warm-up, since the pairs set out together before it and
    not after it: a pair that came through it first would have the port to itself for a while.
    """
    whole = [(*one.warmup_times_s, *one.times_s) for one in measurements]
    return max(sum(times) / len(times) for times in whole)
