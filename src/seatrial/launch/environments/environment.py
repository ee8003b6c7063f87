"""An environment as a user named it, ready to be wrapped around an argv; pure."""

from collections.abc import Sequence

import msgspec

from seatrial.launch.environments.kind import Kind, Where


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One kind with its words. Without a kind it wraps nothing."""

    spec: str = ""
    """As given."""
    kind: Kind | None = None
    words: tuple[str, ...] = ()
    where: Where = Where.INSIDE
    folders: tuple[str, ...] = ()
    """Absolute; what must be seen inside, where a kind hides the file system."""

    def __bool__(self) -> bool:
        """Whether there is anything to enter."""
        return self.kind is not None

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """`argv` as it runs inside; each of its words arrives there as it is."""
        return self.kind.wrap(self.words, self.folders, argv) if self.kind else list(argv)

    def around_program(self, argv: Sequence[str]) -> list[str]:
        """What srun or mpirun starts on each node."""
        return self.wrap(argv) if self.where is Where.INSIDE else list(argv)

    def around_launcher(self, argv: Sequence[str]) -> list[str]:
        """The command that starts srun or mpirun."""
        return self.wrap(argv) if self.where is Where.OUTSIDE else list(argv)

    def seeing(self, *folders: str) -> "Environment":
        """The same, in which these folders are seen, too."""
        return msgspec.structs.replace(self, folders=tuple(dict.fromkeys((*self.folders, *folders))))


NO_ENVIRONMENT = Environment()
