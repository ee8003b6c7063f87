"""Slurm's state in counts: nodes, jobs, its scheduler, and what accounts have used; parsed from its commands, pure.

Sources of the words: sinfo(1), squeue(1), sdiag(1), sshare(1) of Slurm 22.05 to 26.05.
"""

import re
from collections.abc import Iterator

import msgspec

from seatrial.slurm.text import FLAGS

NODES = (
    "sinfo", "--all", "--noheader", "--Node",
    "--Format=NodeHost:64|,StateComplete:64|,Partition:64|,CPUsState:32|,Memory:16|,AllocMem:16|",
)  # fmt: skip
JOBS = ("squeue", "--all", "--array", "--noheader", "--format=%i|%T|%P|%C|%D|%V|%u|%a")
"""The names of users and accounts last, since nobody knows what is in them."""
EPOCH = {"SLURM_TIME_FORMAT": "%s"}
SCHEDULER = ("sdiag",)
SHARES = ("sshare", "--all", "--parsable2", "--noheader", "--format=Account,User,RawUsage,GrpTRESMins")
CPU_LIMIT = re.compile(r"(?:^|,)cpu=(\d{1,15})(?:,|$)")
CALLS = "Remote Procedure Call"
UNNAMED = ("", "(null)")


class NodeCount(msgspec.Struct, frozen=True, kw_only=True):
    """One node. Memory in bytes."""

    node: str
    state: tuple[str, ...]
    """sinfo's words in lower case, the base state first: `idle`, `drain`."""
    partitions: tuple[str, ...]
    cpus: int
    cpus_allocated: int
    memory_bytes: int
    memory_allocated_bytes: int


class JobCount(msgspec.Struct, frozen=True, kw_only=True):
    """One line of squeue: a job, or one task of an array. `state` in lower case."""

    state: str
    partitions: tuple[str, ...]
    """A pending job may name several."""
    user: str
    account: str
    cpus: int
    nodes: int
    submitted_s: float
    """Seconds since 1970."""


class AccountUse(msgspec.Struct, frozen=True, kw_only=True):
    """What an account, or a user in it, has used, in seconds of billed resources, decayed as the site wants it."""

    account: str
    user: str
    used_s: float
    limit_s: float | None
    """The limit of the account: GrpTRESMins of processors."""


def parse_nodes(text: str) -> tuple[tuple[NodeCount, ...], int]:
    """The nodes in the order of sinfo, and the number of lines that could not be read."""
    nodes: dict[str, NodeCount] = {}
    unread = 0
    for line in _lines(text):
        fields = [field.strip() for field in line.split("|")]
        cpus = _numbers(fields[3], "/", 4) if len(fields) >= 6 else None
        if cpus is None or not fields[0]:
            unread += 1
            continue
        before = nodes.get(fields[0])
        partition = fields[2].rstrip("*")
        nodes[fields[0]] = NodeCount(
            node=fields[0],
            state=tuple(fields[1].lower().rstrip("".join(FLAGS)).split("+")),
            partitions=(*(before.partitions if before else ()), *((partition,) if partition else ())),
            cpus=cpus[3],
            cpus_allocated=cpus[0],
            memory_bytes=_megabytes(fields[4]),
            memory_allocated_bytes=_megabytes(fields[5]),
        )
    return tuple(nodes.values()), unread


def parse_jobs(text: str) -> tuple[tuple[JobCount, ...], int]:
    """The jobs, and the number of lines that could not be read."""
    jobs, unread = [], 0
    for line in _lines(text):
        fields = line.split("|", 7)
        numbers = [_number(field) for field in fields[3:5]] if len(fields) == 8 else []
        if not numbers or None in numbers or not fields[1].strip():
            unread += 1
            continue
        user, account = (name.strip() for name in fields[6:8])
        submitted = _number(fields[5])
        jobs.append(
            JobCount(
                state=fields[1].strip().lower(),
                partitions=tuple(filter(None, fields[2].split(","))),
                user=user,
                account="" if account in UNNAMED else account,
                cpus=numbers[0] or 0,
                nodes=numbers[1] or 0,
                submitted_s=float(submitted or 0),
            )
        )
    return tuple(jobs), unread


def parse_scheduler(text: str) -> dict[tuple[str, str], int]:
    """Numbers of sdiag by heading and word: `("Backfilling stats", "Mean cycle")`; before all headings it is empty."""
    numbers: dict[tuple[str, str], int] = {}
    heading = ""
    for line in text.split("\n"):
        if line.startswith(CALLS):
            break
        word, _, value = line.partition(":")
        number = _number((value.split() or [""])[0])
        if line[:1].isspace():
            if number is not None:
                numbers[heading, word.strip()] = number
        elif number is not None:
            numbers["", word] = number
        elif not value.strip():
            heading = word.partition(" (")[0]
    return numbers


def parse_shares(text: str) -> tuple[tuple[AccountUse, ...], int]:
    """What accounts and users have used, and the number of lines that could not be read."""
    uses, unread = [], 0
    for line in _lines(text):
        fields = line.split("|")
        used = _number(fields[2]) if len(fields) >= 4 else None
        if used is None or not fields[0].strip():
            unread += 1
            continue
        limit = CPU_LIMIT.search(fields[3])
        uses.append(
            AccountUse(
                account=fields[0].strip(),
                user=fields[1].strip(),
                used_s=float(used),
                limit_s=60.0 * int(limit.group(1)) if limit else None,
            )
        )
    return tuple(uses), unread


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.strip())


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _numbers(text: str, between: str, many: int) -> list[int] | None:
    numbers = [_number(part) for part in text.split(between)]
    return [number or 0 for number in numbers] if len(numbers) == many and None not in numbers else None


def _megabytes(text: str) -> int:
    return (_number(text.rstrip("+")) or 0) << 20
