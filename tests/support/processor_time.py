"""Limits of processor time that hold on busy machines, too: threads that share a core lengthen each other's time."""

import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

YARDSTICK_S = 0.045
"""What the yardstick takes on an idle core of the machine on which the limits were set."""


def _yardstick_s() -> float:
    """How long a fixed piece of work takes at the moment."""
    began = time.process_time()
    sum(len(str(number)) for number in range(150_000))
    return time.process_time() - began


def _spent_s() -> float:
    """Processor time of this process and of all programs that it started and that have ended."""
    subprocess.run(["/bin/true"], check=True)  # a start collects what earlier tests left: it would be counted later
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@contextmanager
def within(most_s: float) -> Iterator[None]:
    """Fail if the work takes more than it may on an idle core: `most_s`, times what the yardstick takes longer."""
    before_s = _yardstick_s()
    began_s = _spent_s()
    yield
    taken_s = _spent_s() - began_s
    slowness = max(before_s, _yardstick_s(), YARDSTICK_S) / YARDSTICK_S
    assert taken_s < most_s * slowness, (
        f"{taken_s:.2f} s of processor time; {slowness:.1f} times {most_s:g} s are allowed"
    )
