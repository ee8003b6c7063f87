"""How every run ends: whatever happens in it, all is given back, the run is closed, and what was delivered is kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from seatrial.archive.writer import RunWriter, ended
from seatrial.driver.clock import now_text
from seatrial.driver.measurer import Measurer
from seatrial.driver.session_losses import TooManyLost
from seatrial.driver.start_failure import ToldByFacts
from seatrial.launch.contract import Launcher
from seatrial.model.errors import SeatrialError
from seatrial.model.run import Ending, RunInfo

INTERRUPTED = "Interrupted: what had been measured was kept, the rest was not measured."


class UnderWay(Protocol):
    """A run that has begun."""

    measurer: Measurer

    def finish(self, ending: Ending, reason: str) -> Path:
        """Give everything back, close the run, and return its folder."""


def carried_out(trial: UnderWay, work: Callable[[], str]) -> Path:
    """Do the work, whose answer is a remark for the report or empty, and finish the run; its folder.

    An error is raised again only where nothing was measured and no finding says what is wrong; else it is the reason
    of the run's ending.
    """
    ending, reason = Ending.FAILED, ""
    failure: SeatrialError | None = None
    try:
        reason = work()
        ending = Ending.COMPLETE
    except KeyboardInterrupt:
        ending, reason = Ending.INTERRUPTED, INTERRUPTED
    except SeatrialError as error:
        failure, reason = error, str(error)
    finally:
        folder = trial.finish(ending, reason)
    if failure is not None and not trial.measurer.measurements and not isinstance(failure, (ToldByFacts, TooManyLost)):
        raise failure
    return folder


def closed(
    launcher: Launcher,
    writer: RunWriter,
    measurer: Measurer,
    info: Callable[[], RunInfo],
    ending: Ending,
    reason: str,
) -> Path:
    """Give everything back, close the run with what `info` then says of it, and return its folder."""
    try:
        measurer.close(kill=ending is not Ending.COMPLETE)
    finally:
        launcher.close()
    said = " ".join((reason, *measurer.remarks[:3])).strip()
    return writer.close(ended(info(), ending, now_text(), said))
