"""How a long job reports its progress; the command line draws it."""

from typing import Protocol


class Progress(Protocol):
    """Called by the driver, drawn by the command line."""

    def stage(self, text: str) -> None:
        """A new stage began; `text` says which, and to whom or what."""

    def rounds(self, more: int) -> None:
        """This many more rounds will follow."""

    def advance(self, rounds: int = 1) -> None:
        """This many rounds are done, or no longer needed."""


class Silent:
    """Says nothing."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def rounds(self, more: int) -> None:
        """Nothing."""

    def advance(self, rounds: int = 1) -> None:
        """Nothing."""
