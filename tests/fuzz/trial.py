"""One input for one reader: a value or an error with a sentence, in time and within memory."""

import random
import resource
import signal
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from seatrial.model.errors import SeatrialError
from tests.fuzz.mutations import OWN, garbage, grown, mutated, seeds, seeds_of
from tests.fuzz.readers import Reader

LONGEST_S = 1.0
"""Processor time of one input."""
HANG_S = 5.0
MOST_BYTES = 200 << 20
"""By which the memory of the process may grow for one input."""
STATM = Path("/proc/self/statm")


class Hang(BaseException):
    """A reader that did not come to an end. No `except Exception` of the product takes it."""


class Failure(NamedTuple):
    """What one reader did with one input."""

    reader: str
    seed: str
    content: bytes
    reason: str


def content_of(reader: str, seed: str) -> bytes:
    """The input that belongs to a seed, for the reader of that name."""
    chance = random.Random(seed)
    draw = chance.random()
    if draw < 0.1:
        return garbage(chance)
    content = chance.choice(seeds_of(reader) if chance.random() < OWN else seeds())
    return grown(content, chance) if draw < 0.3 else mutated(content, chance)


def limit_memory() -> None:
    """Let this process grow by `MOST_BYTES` from now on."""
    most = int(STATM.read_text().split()[0]) * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def tried(reader: Reader, seed: str, content: bytes, hang_s: float = HANG_S) -> Failure | None:
    """The failure of a reader; None if it gave a value or an error with a sentence, in time."""
    before = signal.signal(signal.SIGVTALRM, _hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, hang_s)
    began = time.process_time()
    reason = ""
    sentences: tuple[type[BaseException], ...] = (SeatrialError, *reader.also)
    try:
        reader.read(content)
    except sentences:
        pass
    except Hang:
        reason = f"no end after {hang_s:g} s"
    except Exception:
        reason = traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    took_s = time.process_time() - began
    if not reason and took_s > LONGEST_S:
        reason = f"{took_s:.1f} s of processor time for {len(content)} bytes"
    return Failure(reader.name, seed, content, reason) if reason else None


def _hang(*_: object) -> None:
    raise Hang
