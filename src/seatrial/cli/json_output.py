"""Standard output for programs: one JSON object for each command line with --json, whatever becomes of the command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatrial.driver import clock
from seatrial.render import envelope, json

if TYPE_CHECKING:
    from seatrial.render.envelope import Failure
    from seatrial.render.report import Report

OPTION = "--json"


class JsonOutput:
    """What the command line that is being carried out prints for programs: at most one object."""

    def __init__(self) -> None:
        self.begin(())

    def begin(self, arguments: Sequence[str]) -> None:
        """For the next command line."""
        self.wanted = is_wanted(arguments)
        self.command = ""
        """As it is typed, such as `fabric check`; empty until it is known."""
        self._printed = False

    def print_report(self, report: "Report", error: "Failure | None" = None) -> None:
        """The object of a report. `error`: what could not be written beside it."""
        text = json.json_text(envelope.envelope(report, command=self.command, time=clock.now_text(), error=error))
        self._printed = True
        print(text, end="")

    def print_error(self, error: "Failure") -> None:
        """The object of a command that ended early. A second object would spoil a result that is printed already."""
        if self.wanted and not self._printed:
            print(json.json_text(envelope.error_envelope(error, time=clock.now_text())), end="")


def is_wanted(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON; words after `--` are those of another command."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return OPTION in own


JSON_OUTPUT = JsonOutput()
