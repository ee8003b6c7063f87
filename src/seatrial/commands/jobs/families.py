"""Families of jobs: those of one user that are alike in name, submit line, partition, size and time limit."""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from seatrial.importers.accounting import AccountedJob
from seatrial.process.time_limit import PARSE_S, SharedTime

NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
HEX = re.compile(
    r"(?<![0-9A-Za-z])(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*(?![0-9A-Za-z])"
)
"""A hash, a UUID, or what makes a name unique, as in those of our own jobs: eight digits or more."""
LONGEST_LABEL = 32
"""Characters of a family's name that a table has room for."""


class JobFamily(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that are alike. `label` is unique among the families of a report."""

    label: str
    user: str
    name: str
    partition: str
    size: int
    jobs: int


ZEROS = str.maketrans("123456789", "000000000")
"""Texts that differ in their numbers are few texts then, of which each is put into its normal form once."""


def normalised(text: str) -> str:
    """The text with # for numbers, those of dates and hexadecimal ones included, and without what is before the last /
    of a word.
    """
    words = text.split()
    if "/" in text:
        words = [word.rpartition("/")[2] for word in words]
    return NUMBERS.sub("#", HEX.sub("#", " ".join(words)))


Key = tuple[str, str, str, str, int, int, str]


class Grouping:
    """The families of jobs, which are numbered as they appear.

    `patterns`: what names and submit lines of one family differ in, besides numbers and folders.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = patterns
        self._patterns_time = SharedTime("Applying --family-pattern", PARSE_S)
        self._number_of: dict[Key, int] = {}
        self._known: dict[Key, int] = {}
        """The number of each family by texts with zeros for digits."""
        self._jobs: list[int] = []

    def number(self, job: AccountedJob) -> int:
        """The number of the job's family. Raises UsageError where patterns take too long."""
        name, line = job.name, job.submit_line
        if self._patterns:
            with self._patterns_time.taken():
                for pattern in self._patterns:
                    name, line = pattern.sub("#", name), pattern.sub("#", line)
        others = job.partition, job.size, job.processors, job.limit
        key = (job.user, name.translate(ZEROS), line.translate(ZEROS), *others)
        number = self._known.get(key)
        if number is None:
            normal = (job.user, normalised(name), normalised(line), *others)
            number = self._known[key] = self._number_of.setdefault(normal, len(self._number_of))
            if number == len(self._jobs):
                self._jobs.append(0)
        self._jobs[number] += 1
        return number

    def families(self, names: "Names") -> tuple[JobFamily, ...]:
        """All of them by number. `names`: how users and jobs are printed."""
        parts = [
            (names.user(user), names.name(name), names.partition(partition), size)
            for user, name, _, partition, size, *_ in self._number_of
        ]
        return tuple(
            JobFamily(label=label, user=user, name=name, partition=partition, size=size, jobs=jobs)
            for label, (user, name, partition, size), jobs in zip(_labels(parts), parts, self._jobs, strict=True)
        )


def _labels(parts: Sequence[tuple[str, str, str, int]]) -> list[str]:
    """user/name; with size and a number where several families would have the same."""
    short = [f"{user}/{name}"[:LONGEST_LABEL] for user, name, *_ in parts]
    times = Counter(short)
    sized = [f"{label} {part[3]}n" if times[label] > 1 else label for label, part in zip(short, parts, strict=True)]
    seen: dict[str, int] = {}
    unique = []
    for label in sized:
        seen[label] = seen.get(label, 0) + 1
        unique.append(label if seen[label] == 1 else f"{label} #{seen[label]}")
    return unique


class Names:
    """Names as they are printed: as they are."""

    def user(self, name: str) -> str:
        """The printed name of a user."""
        return name

    def name(self, name: str) -> str:
        """The printed name of a job."""
        return name

    def partition(self, name: str) -> str:
        """The printed name of a partition."""
        return name

    def node(self, name: str) -> str:
        """The printed name of a node."""
        return name


class JobStandIns(Names):
    """Names that stand for others: the same name always gets the same one."""

    def __init__(self) -> None:
        self._taken: dict[str, dict[str, str]] = {}

    def _stand_in(self, kind: str, name: str) -> str:
        taken = self._taken.setdefault(kind, {})
        return taken.setdefault(name, f"{kind}{len(taken) + 1}") if name else ""

    def user(self, name: str) -> str:
        """user1, user2, ..."""
        return self._stand_in("user", name)

    def name(self, name: str) -> str:
        """job1, job2, ..."""
        return self._stand_in("job", name)

    def partition(self, name: str) -> str:
        """partition1, ..."""
        return self._stand_in("partition", name)

    def node(self, name: str) -> str:
        """node1, ..."""
        return self._stand_in("node", name)
