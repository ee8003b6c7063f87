"""Several ranks that send at the same time, as one measurement."""

from collections.abc import Sequence

from seatrial.model.measurement import Measurement


def together_s(measurements: Sequence[Measurement]) -> float:
    """Seconds of one window of all pairs of a round: the mean of the pair that took longest, warm-up and all.

    Over the longest, since rates of pairs added up count the time in which others had already ended (as osu_mbw_mr
    does, which divides all bytes by the longest time). With the warm-up, since the pairs set out together before it and
    not after it: a pair that came through it first would have the port to itself for a while.
    """
    whole = [(*one.warmup_times_s, *one.times_s) for one in measurements]
    return max(sum(times) / len(times) for times in whole)
