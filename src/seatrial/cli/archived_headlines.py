"""What reports say of archived runs: kept when a run is closed, and made for a list or a view where it is not kept."""

import contextlib
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from seatrial.archive import headlines, listing
from seatrial.archive.headlines import StoredHeadline
from seatrial.cli import report
from seatrial.cli.outcome import keep_report
from seatrial.files.owners import is_own
from seatrial.model.errors import SeatrialError
from seatrial.process.time_limit import TimeUp, timed

if TYPE_CHECKING:
    from seatrial.render.report import Report

ALL_S, OTHERS_S = 60.0, 1.0
"""Seconds that a list spends on judging this user's runs, and on those of others, whose owners did not do it."""
RUN_S = 20.0
"""Seconds for one run."""
LEAST_S = 0.01


class Unjudged(SeatrialError):
    """A run could not be judged for a list."""


def judged(rows: Sequence[listing.RunRow]) -> list[listing.RunRow]:
    """The rows; those of closed runs have the first line of their report, or why there is none."""
    left_s = {True: ALL_S, False: OTHERS_S}
    made = []
    for row in rows:
        if row.state != listing.CLOSED:
            made.append(row)
            continue
        folder = Path(row.folder)
        began = time.monotonic()
        owned = True
        try:
            line = headlines.read_headline(folder)
            if line is None:
                owned = is_own(folder)
                line = judge(folder, min(left_s[owned], RUN_S))
        except Unjudged as error:
            made.append(msgspec.structs.replace(row, unjudged=str(error)))
        else:
            made.append(
                msgspec.structs.replace(row, verdict=line.verdict, headline=line.headline, exit_code=line.exit_code)
            )
        left_s[owned] -= time.monotonic() - began
    return made


def judge(folder: Path, limit_s: float) -> StoredHeadline:
    """Judge a run, and keep the first line of its report. Raises Unjudged, whatever is wrong with the run."""
    if limit_s < LEAST_S:
        raise Unjudged(
            "It has no headline, and judging the others took all the time that a list has.", _by_hand(folder)
        )
    made = report_within(folder, limit_s)
    return StoredHeadline(seatrial="", verdict=made.word, headline=made.headline, exit_code=int(made.exit_code))


def report_within(folder: Path, limit_s: float = RUN_S) -> "Report":
    """The report of a run, whose first line is kept. Raises Unjudged, whatever is wrong with the run."""
    try:
        with timed(limit_s):
            made = report.report_of(folder)
    except TimeUp as error:
        what = f"It has no headline, and judging it takes more than {limit_s:.1f} s."
        raise Unjudged(what, _by_hand(folder)) from error
    except SeatrialError as error:
        raise Unjudged(error.what, error.remedy) from error
    except Exception as error:
        what = f"It cannot be judged ({type(error).__name__}: {error})."
        raise Unjudged(what, "This is a bug of seatrial; please report it.") from error
    keep_report(folder, made)
    return made


def _by_hand(folder: Path) -> str:
    return f"`seatrial report {shlex.quote(folder.name)}` judges it."


def keep_all(folders: Iterable[Path], limit_s: float = ALL_S, clock: Callable[[], float] = time.monotonic) -> None:
    """Keep the headlines of runs that were closed just now, so that no reader need judge them."""
    until_s = clock() + limit_s
    for folder in [*folders]:
        with contextlib.suppress(Unjudged, KeyboardInterrupt):
            if headlines.read_headline(folder) is None:
                judge(folder, min(until_s - clock(), RUN_S))
