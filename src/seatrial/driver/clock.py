"""The clock that times a run, the time of day, and names made from it."""

import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime

from seatrial.model.words import utc_text

clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.monotonic)
"""What `monotonic_s` reads; tests set it to move time themselves."""


def monotonic_s() -> float:
    """Seconds on a clock that never goes back; budgets and the times of rounds count on it."""
    return clock.get()()


def now_text(timespec: str = "seconds") -> str:
    """Now in UTC, ISO 8601. `timespec`: `seconds` or `milliseconds`, as in `datetime.isoformat`."""
    return utc_text(datetime.now(UTC), timespec)


def new_run_name(what: str) -> str:
    """A name that sorts by time and that no other run has: 20261121T193000Z-check-1f3a."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{what}-{secrets.token_hex(2)}"
