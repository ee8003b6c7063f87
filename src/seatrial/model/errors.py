"""The exit codes and the errors that carry them."""

import enum


class ExitCode(enum.IntEnum):
    """What a command tells the shell. The numbers are a promise; see docs/exit-codes.md."""

    PASS = 0
    FINDINGS = 1
    INCOMPLETE = 2
    USAGE = 64
    INTERNAL = 70


class SeatrialError(Exception):
    """Something outside went wrong: one sentence on what was wrong, one on what to do about it."""

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".strip())
        self.what = what
        self.remedy = remedy


class UsageError(SeatrialError):
    """An argument or an input file cannot be used as given; the message shows its value."""

    exit_code = ExitCode.USAGE
