"""A word from outside that we have no name for: kept as it was, never guessed at, never a crash."""

import msgspec


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """The word itself, as it was read."""

    word: str

    def __str__(self) -> str:
        """As people read it."""
        return f"unknown {self.word!r}"
