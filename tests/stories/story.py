"""A story: what its people type, line by line, and how the first line that they see begins."""

import enum
import re

import msgspec


class Place(enum.StrEnum):
    """Where a line is typed."""

    LOGIN = "login"
    MACHINE = "machine"
    """The machine that carries the lab: changes of the cluster, and a reader elsewhere."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a shell."""

    line: str
    """Lines that measure what the last one judges stand before it, and send their own output to a file."""
    first: str = ""
    """Pattern of the whole first line of standard output; empty: nothing is said, or nothing is pinned."""
    shows: tuple[str, ...] = ()
    """Patterns of what stands below it."""
    code: int = 0
    place: Place = Place.LOGIN
    counts: bool = True
    """Whether its time is the product's own."""

    def complaint(self, code: int, output: str) -> str:
        """What is not as pinned; empty where everything is."""
        first = output.partition("\n")[0]
        if code != self.code:
            return f"exit code {code} instead of {self.code}, and {first!r}"
        if self.first and re.fullmatch(self.first, first) is None:
            return f"{first!r} instead of {self.first!r}"
        missing = [pattern for pattern in self.shows if re.search(pattern, output, re.MULTILINE) is None]
        return f"nothing like {missing[0]!r}" if missing else ""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """One of the field reports. `lab`: options of `seatrial lab up`; `stands_in`: what is not the real thing here."""

    name: str
    steps: tuple[Step, ...]
    lab: str = "--node-count 4"
    stands_in: str = ""


def typed(line: str, first: str, *shows: str, code: int = 0) -> Step:
    """A line on the login node whose first line is pinned."""
    return Step(line=line, first=first, shows=shows, code=code)


def there(line: str, first: str, *shows: str, code: int = 0) -> Step:
    """The same on another machine, which has only the files of the story."""
    return Step(line=line, first=first, shows=shows, code=code, place=Place.MACHINE)


def site(line: str) -> Step:
    """What happens to the cluster: a line on the machine that carries it."""
    return Step(line=line, place=Place.MACHINE, counts=False)


def users(line: str, code: int = 0) -> Step:
    """What somebody does on the login node without the product, as preparation."""
    return Step(line=line, code=code, counts=False)


def material(line: str) -> Step:
    """A run that judges nothing by itself: what the story says of it is a later line's."""
    return Step(line=f"{line} > material.txt; [ $? -le 2 ]")
