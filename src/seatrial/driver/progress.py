"""How a long job says where it is; the command line draws it."""

from typing import Protocol


class Progress(Protocol):
    """Told by the driver, drawn by somebody else."""

    def stage(self, text: str) -> None:
        """A new stage began; `text` says which, and to whom or what."""

    def rounds(self, more: int) -> None:
        """So many more rounds are to come."""

    def advance(self, rounds: int = 1) -> None:
        """So many rounds are done, or need not be done any more."""


class Silent:
    """Says nothing."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def rounds(self, more: int) -> None:
        """Nothing."""

    def advance(self, rounds: int = 1) -> None:
        """Nothing."""
