"""Standard output for programs: one JSON object or one line of a plugin, whatever becomes of the command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from seatrial.driver import clock
from seatrial.render import envelope, json, nagios

if TYPE_CHECKING:
    from seatrial.render.report import Report

OPTION, NAGIOS = "--json", "--nagios"


class JsonOutput:
    """What the command line that is being carried out prints for programs: at most one object."""

    def __init__(self) -> None:
        self.begin(())

    def begin(self, arguments: Sequence[str]) -> None:
        """Prepare for the next command line."""
        self.wanted = is_wanted(arguments)
        self.nagios = is_wanted(arguments, NAGIOS)
        self.printed = False
        """Whether what a program reads was printed."""

    def print_text(self, text: str) -> None:
        """What a program reads in a form of its own."""
        self.printed = True
        print(text, end="")

    def print_report(self, report: "Report", error: "envelope.Failure | None" = None) -> None:
        """The object of a report. `error`: what could not be written beside it."""
        context = click.get_current_context(silent=True)
        command = context.command_path.partition(" ")[2] if context else ""
        text = json.json_text(envelope.envelope(report, command=command, time=clock.now_text(), error=error))
        self.print_text(text)

    def print_nagios(self, report: "Report") -> int:
        """The line of a report; the exit code of the plugin."""
        state, line = nagios.as_nagios(report)
        self.printed = True
        print(line)
        return int(state)

    def print_error(self, error: "envelope.Failure") -> int:
        """What a command that ended early prints for programs, where its result is not printed yet; its exit code."""
        if self.nagios:
            if not self.printed:
                print(nagios.unknown(error.sentence))
            return int(nagios.State.UNKNOWN)
        if self.wanted and not self.printed:  # a second object would spoil the first
            print(json.json_text(envelope.error_envelope(error, time=clock.now_text())), end="")
        return error.exit_code


def is_wanted(arguments: Sequence[str], option: str = OPTION) -> bool:
    """Whether the command line has the option; words after `--` are those of another command."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return option in own


JSON_OUTPUT = JsonOutput()
