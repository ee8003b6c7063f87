"""Columns of accounting: what they are called, what they hold, and what their words and numbers mean."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement

COLUMN_NAMES = {
    "job": ("jobid", "jobidraw", "jobnumber", "id"),
    "user": ("user", "owner", "username", "account"),
    "name": ("jobname", "name"),
    "submit_line": ("submitline", "command"),
    "partition": ("partition", "queue", "qname"),
    "nodes": ("nodelist", "exechost", "exechosts", "hostname", "hosts", "nodes"),
    "size": ("nnodes", "allocnodes", "nodesreq", "reqnodes", "numnodes"),
    "processors": ("reqcpus", "ncpus", "processorsreq", "slots", "cpus"),
    "submitted": ("submit", "submittime", "qsubtime"),
    "started": ("start", "starttime"),
    "ended": ("end", "endtime", "finishtime"),
    "elapsed": ("elapsedraw", "elapsed", "runtime", "ruwallclock", "wallclock", "walltime", "resourcesused.walltime"),
    "suspended": ("suspended",),
    "limit": ("timelimit", "wallclockreq", "resourcelist.walltime"),
    "state": ("state", "status", "stat", "jobstate"),
    "exit_code": ("exitcoderaw", "exitcode", "exitstatus"),
}
"""What each column is called, in lower case without underscores; the first that the header has is taken. Besides those
of Slurm: the names of Grid Engine's qacct, PBS and LSF."""
NEEDED = ("job", "elapsed")
MOST_ABOVE = 5
"""Lines of a terminal above the names of the columns."""
STATES = {"DONE": "COMPLETED", "FINISHED": "COMPLETED", "SUCCESS": "COMPLETED", "EXIT": "FAILED", "ERROR": "FAILED"}
"""Words of other schedulers for Slurm's states."""
ENDED = "F"
"""State of PBS for a job that ended: its exit status says how."""
STEP = re.compile(r"\.(?:batch|extern|interactive|[0-9]+)$")
"""What sacct adds to a job's number for a step; PBS adds the name of a server."""
PLACES = re.compile(r"/[0-9*,]+(?:\+|$)")
"""Processors in PBS's list of hosts: n1/0*16+n2/0*16."""
FREE_TEXTS = ("jobname", "name", "submitline", "comment", "admincomment", "systemcomment", "workdir", "constraints")
"""Columns that users fill, and that may hold the separator and line breaks; constraints hold the separator."""
JOB = re.compile(r"[0-9]{1,18}(?:_(?:[0-9]{1,18}|\[[^\]]*+\]?+[^.+]*+))?(?:\+[0-9]{1,9})?(?:\.[\w+-]+)?")
SPAN = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})(?:\.[0-9]{1,9})?")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-.*|[0-9]{9,12}|Unknown|None|")
LIMIT = re.compile(r"(?:[0-9]{1,9}-)?[0-9]{2,9}:[0-9]{2}:[0-9]{2}|[0-9]{1,12}|[A-Za-z_]*")
FORMS = {
    "user": re.compile(r"[^\s/=,]*"),
    "size": re.compile(r"[0-9]*"),
    "processors": re.compile(r"[0-9]*"),
    "submitted": TIME,
    "started": TIME,
    "ended": TIME,
    "suspended": LIMIT,
    "limit": LIMIT,
    "exit_code": re.compile(r"[0-9]{1,9}:[0-9]{1,9}|"),
    "nodes": re.compile(r"[A-Za-z0-9._,\[\]-]*|None assigned|\(null\)"),
}
"""What columns look like that no text of a user fills."""
NO_SPAN = "00:00:00"
PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
NO_LIMIT = ("UNLIMITED", "Partition_Limit", "365-00:00:00", "31536000", "31536000.0")
"""A job without a limit; Slurm's backfill records a year for those that it starts."""
MOST_KEPT = 1 << 16
"""Texts of each column whose meaning is kept, since most of them come again."""
UNKNOWN_NODES = ("", "none assigned", "unknown", "(null)")


def header_at(beginning: bytes) -> int:
    """Return where the names of the columns begin: below the prompt that asked for them, which may name them, too."""
    lines = beginning.splitlines(keepends=True)[: MOST_ABOVE + 1]
    words = ({*re.split(r"[|,;\s\"]+", line.decode(errors="replace").lower().replace("_", ""))} for line in lines)
    naming = [all(not own.isdisjoint(COLUMN_NAMES[field]) for field in NEEDED) for own in words] + [False]
    above = next((place for place, names in enumerate(naming) if names and not naming[place + 1]), 0)
    return sum(map(len, lines[:above]))


@lru_cache(MOST_KEPT)
def node_names(text: str) -> str:
    """Names of nodes; empty for a number and for words that say that nothing is known."""
    if text.lower() in UNKNOWN_NODES or text.isdigit():
        return ""
    return PLACES.sub(",", text).rstrip(",") if "/" in text else text


@lru_cache(MOST_KEPT)
def limit_text(text: str) -> str:
    """A time limit as it is written; empty for none."""
    return "" if text in NO_LIMIT else text


@lru_cache(MOST_KEPT)
def state_word(text: str, exit_code: str) -> str:
    """The state in Slurm's words; of a scheduler that has none, what the exit status says."""
    state = text.partition(" ")[0].upper()
    if state and state != ENDED:
        return STATES.get(state, state)
    return "COMPLETED" if exit_code.partition(":")[0] == "0" and not signal_of(exit_code) else "FAILED"


@lru_cache(MOST_KEPT)
def signal_of(exit_code: str) -> int:
    """`0:11` -> 11, and so `139:0`: a shell adds 128 to the signal that ended its program (POSIX, 2.8.2)."""
    if exit_code == SUCCESS:
        return 0
    code, _, signal = exit_code.partition(":")
    return whole(signal) or max(whole(code) - SHELL_SIGNALS, 0)


SHELL_SIGNALS = 128
SUCCESS = "0:0"


@lru_cache(MOST_KEPT)
def span_s(text: str) -> float | None:
    """`1-02:03:04`, `03:04` or `184` in seconds; None for anything else."""
    if text == NO_SPAN:
        return 0.0
    if PLAIN.fullmatch(text):
        return float(text)
    match = SPAN.fullmatch(text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


@lru_cache(MOST_KEPT)
def whole(text: str) -> int:
    """The number; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0


MOST_DIGITS = 9


Way = tuple[tuple[int, int], ...]
"""Places of texts in ascending order, and how many separators each has."""


def ways_to_join(free: tuple[int, ...], more: int) -> Iterable[Way]:
    """The texts that may have that many separators: one text first, then two, then more."""
    return _all_ways(free, more) if more <= MOST_TRIED else _few_ways(free, more)


@cache
def _all_ways(free: tuple[int, ...], more: int) -> list[Way]:
    ways = combinations_with_replacement(free, more)
    return sorted((tuple(sorted(Counter(places).items())) for places in ways), key=len)


def _few_ways(free: tuple[int, ...], more: int) -> Iterator[Way]:
    yield from (((place, more),) for place in reversed(free))
    for early, late in combinations(sorted(free), 2):
        yield from (((early, first), (late, more - first)) for first in range(1, more))


MOST_TRIED, MOST_JOINED = 6, 200
"""Separators that are looked for in all texts; those of longer scripts are in one or two. No script has more."""
