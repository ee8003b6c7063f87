"""Slurm's state in counts: nodes, jobs, its scheduler, and what accounts have used; parsed from its commands, pure.

Sources of the words: sinfo(1), squeue(1), sdiag(1), sshare(1) of Slurm 22.05 to 26.05.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from seatrial.model.errors import UsageError
from seatrial.model.settings import SlurmRequest
from seatrial.model.words import count
from seatrial.node.frame import natural_number
from seatrial.slurm import text as slurm_text
from seatrial.slurm.text import FLAGS, NodeLine

TOKEN = re.compile(r"[&|,()]|[^&|,()\s]+")
FEATURE = re.compile(r"[^\[\]*&|,()]+")


class WantedNodes(NamedTuple):
    """What the user wants measured."""

    nodes: tuple[str, ...] = ()
    """Names of nodes; none: all that fit."""
    partition: str = ""
    reserved: Collection[str] = ()
    """The nodes of the reservation, where there is one."""
    request: SlurmRequest = SlurmRequest()


def select(
    lines: Sequence[NodeLine], features: Mapping[str, Container[str]], wanted: WantedNodes
) -> tuple[NodeLine, ...]:
    """The lines of the wanted nodes, whatever their state. Raises UsageError for names that do not exist or fit."""
    partitions = sorted({line.partition for line in lines})
    if wanted.partition and wanted.partition not in partitions:
        raise UsageError(
            f"There is no partition {wanted.partition!r} on this cluster.", f"It has {', '.join(partitions)}."
        )
    _refuse_strange(wanted.nodes, lines)
    _refuse_strange(wanted.request.exclude, lines, "--exclude: ")
    mine = slurm_text.partition_lines(lines, wanted.partition)
    if wanted.nodes:
        mine = _named(lines, mine, wanted)
    elif wanted.reserved:
        mine = tuple(line for line in mine if line.node in wanted.reserved)
    mine = tuple(line for line in mine if line.node not in wanted.request.exclude)
    return _constrained(mine, features, wanted)


def _refuse_strange(names: Sequence[str], lines: Sequence[NodeLine], option: str = "") -> None:
    strange = slurm_text.unknown_names(names, (line.node for line in lines))
    if strange:
        raise UsageError(f"{option}Slurm knows no node {strange[0]!r}.", "sinfo --Node lists those that it knows.")


def _named(lines: Sequence[NodeLine], mine: Sequence[NodeLine], wanted: WantedNodes) -> tuple[NodeLine, ...]:
    elsewhere = slurm_text.unknown_names(wanted.nodes, (line.node for line in mine)) if wanted.partition else []
    if elsewhere:
        theirs = sorted({line.partition for line in lines if line.node == elsewhere[0]})
        raise UsageError(
            f"Node {elsewhere[0]} is not in the partition {wanted.partition}.", f"It is in {', '.join(theirs)}."
        )
    by_name = {line.node: line for line in (*lines, *mine)}
    return tuple(by_name[name] for name in wanted.nodes)


def _constrained(
    mine: Sequence[NodeLine], features: Mapping[str, Container[str]], wanted: WantedNodes
) -> tuple[NodeLine, ...]:
    constraint = wanted.request.constraint
    if not constraint:
        return tuple(mine)
    fitting = tuple(line for line in mine if satisfies(constraint, features.get(line.node, ())))
    missing = [line.node for line in mine if line not in fitting] if wanted.nodes else []
    if missing or (mine and not fitting):
        who = f"Node {missing[0]} does not satisfy" if missing else f"None of {count(len(mine), 'node')} satisfies"
        raise UsageError(f"{who} --constraint {constraint}.", "sinfo --format='%N %f' lists the features.")
    return fitting


def satisfies(constraint: str, features: Container[str]) -> bool:
    """Whether a node with these features satisfies a constraint of Slurm's: names, & or a comma, |, parentheses.

    Slurm evaluates from left to right; & does not bind more tightly than |. Raises UsageError for what Slurm judges
    by a whole set of nodes ([a|b] and a*2), and for what it would refuse.
    """
    tokens = TOKEN.findall(constraint)
    value, left = _expression(tokens, features, constraint)
    if left:
        raise _invalid(constraint)
    return value


def _expression(tokens: Sequence[str], features: Container[str], whole: str) -> tuple[bool, Sequence[str]]:
    """The value of what begins here, and the tokens after it."""
    value, tokens = _term(tokens, features, whole)
    while tokens and tokens[0] in ("&", ",", "|"):
        operator = tokens[0]
        other, tokens = _term(tokens[1:], features, whole)
        value = (value or other) if operator == "|" else (value and other)
    return value, tokens


def _term(tokens: Sequence[str], features: Container[str], whole: str) -> tuple[bool, Sequence[str]]:
    if not tokens:
        raise _invalid(whole)
    if tokens[0] == "(":
        value, left = _expression(tokens[1:], features, whole)
        if not left or left[0] != ")":
            raise _invalid(whole)
        return value, left[1:]
    if not FEATURE.fullmatch(tokens[0]):
        raise _invalid(whole)
    return tokens[0] in features, tokens[1:]


def _invalid(constraint: str) -> UsageError:
    return UsageError(
        f"--constraint {constraint!r} cannot be used to select nodes.",
        "Combine features with &, | and parentheses: 'hdr&(rome|milan)'. Counts (a*2) and alternatives of a whole job "
        "([a|b]) are not supported; name the nodes by --nodes.",
    )


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
FIELD, NUMBER = r"[^|\n]*", r" *([0-9]{1,18})\+? *"
CPUS = "/".join([r" *([0-9]{1,9})", "[0-9]+", "[0-9]+", r"([0-9]{1,9}) *"])
NODE = re.compile(rf"^ *([^| \n]+) *\|({FIELD})\|({FIELD})\|{CPUS}\|(?:{NUMBER}|{FIELD})\|(?:{NUMBER}|{FIELD})\|", re.M)
JOB = re.compile(rf"^{FIELD}\|( *\w[^|\n]*\|{FIELD})\|{NUMBER}\|{NUMBER}\|(?:{NUMBER}|{FIELD})\|({FIELD}\|.*)$", re.M)
"""Lines of the two commands above. Expressions read 100,000 lines of a large site in a tenth of a second."""
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


class JobGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs, or tasks of arrays, that are alike in all but size and time. `state` in lower case."""

    state: str
    partitions: tuple[str, ...]
    """A pending job may name several."""
    user: str
    account: str
    jobs: int
    cpus: int
    nodes: int
    submitted_s: tuple[int, ...]
    """Seconds since 1970 of each; 0: not said."""


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
    matches = NODE.findall(text)
    for node, state, partition, cpus_allocated, cpus, memory, memory_allocated in matches:
        before = nodes.get(node)
        name = partition.strip().rstrip("*")
        nodes[node] = NodeCount(
            node=node,
            state=tuple(state.strip().lower().rstrip("".join(FLAGS)).split("+")),
            partitions=(*(before.partitions if before else ()), *((name,) if name else ())),
            cpus=int(cpus),
            cpus_allocated=int(cpus_allocated),
            memory_bytes=int(memory or 0) << 20,
            memory_allocated_bytes=int(memory_allocated or 0) << 20,
        )
    return tuple(nodes.values()), sum(1 for _ in _lines(text)) - len(matches)


def parse_jobs(text: str) -> tuple[tuple[JobGroup, ...], int]:
    """The jobs, and the number of lines that could not be read."""
    groups: dict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
    unread = sum(1 for _ in _lines(text))
    for kind, cpus, nodes, submitted, names in map(re.Match.groups, JOB.finditer(text)):
        groups[kind, names].append((int(cpus), int(nodes), int(submitted or 0)))
        unread -= 1
    return tuple(_group(*key, jobs) for key, jobs in groups.items()), unread


def _group(kind: str, names: str, jobs: Sequence[tuple[int, int, int]]) -> JobGroup:
    state, _, partitions = kind.partition("|")
    user, account = (name.strip() for name in names.split("|", 1))
    cpus, nodes, submitted_s = zip(*jobs, strict=True)
    return JobGroup(
        state=state.strip().lower(),
        partitions=tuple(filter(None, partitions.split(","))),
        user=user,
        account="" if account in UNNAMED else account,
        jobs=len(jobs),
        cpus=sum(cpus),
        nodes=sum(nodes),
        submitted_s=submitted_s,
    )


def parse_scheduler(text: str) -> dict[tuple[str, str], int]:
    """Numbers of sdiag by heading and word: `("Backfilling stats", "Mean cycle")`; before all headings it is empty."""
    numbers: dict[tuple[str, str], int] = {}
    heading = ""
    for line in text.split("\n"):
        if line.startswith(CALLS):
            break
        word, _, value = line.partition(":")
        number = natural_number((value.split() or [""])[0])
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
        used = natural_number(fields[2].strip()) if len(fields) >= 4 else None
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
