"""How a long job reports its progress; the command line draws it."""


class Progress:
    """Called by the driver, drawn by the command line."""

    def stage(self, text: str) -> None:
        """A new stage began; `text` says which, and to whom or what."""

    def rounds(self, more: int) -> None:
        """This many more rounds will follow."""

    def advance(self, rounds: int = 1) -> None:
        """This many rounds are done, or no longer needed."""

    def until(self, deadline_s: float) -> None:
        """No round begins after this time of `monotonic_s`."""


class Silent(Progress):
    """Says nothing."""


SILENT = Silent()
