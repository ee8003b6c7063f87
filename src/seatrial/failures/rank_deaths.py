"""Which rank of an MPI program died, from the output of its launcher.

Launchers end all ranks once one has died. What they report before that is the cause, what they report after it may be
a consequence, and a consequence makes no node suspect.
"""

import itertools
import re
import signal
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.failures.printed_text import plain
from seatrial.model.loss import Loss, LossCause, RankDeath
from seatrial.model.node_list import expand

TASKS = re.compile(r"srun: error: ([\w.,\[\]-]+): tasks? ([\d,-]+): ([^\n]+)")
NUMBER = re.compile(r"\d{1,9}")
NODE_FAILURE = re.compile(
    r"(?:srun: error: Node failure on |Killing JobId=\S{1,40} on failed node |"
    r"Nodes (?=\S{1,4000} not responding, setting DOWN))([\w.,\[\]-]+)"
)
"""The word of srun, and of the log of slurmctld, on nodes that were lost."""
OOM_KILL = re.compile(
    r"slurmstepd(?:-(?P<node>[\w.-]{1,255}))?: error: [^\n]{0,400}"
    r"(?:[Dd]etected \d{1,9} oom[_-]kill event|oom-kill|[Ee]xceeded (?:job |step )?memory limit(?! at some point))"
    r"|Job has gone over cgroup memory limit of \d|(?m:^)(?:TERM_MEMLIMIT: |=>> PBS: job killed: \w{0,9}mem \d"
    r"|(?:\[(?P<nid>NID \d{1,9})\] )?[^\n]{0,80}\bApid \d{1,18}: OOM killer terminated this process)"
)
"""How Slurm, HTCondor, LSF, PBS and ALPS report that a job used too much memory."""
ABORTED = re.compile(r"srun: Job step aborted|\*\*\* (?:STEP|JOB) [^\n]{0,400} CANCELLED")
BY_SLURM = "srun: Job step aborted"
ENDING = re.compile(rf"_step_signal: Terminating|srun: Terminating job step|{ABORTED.pattern}")
EXIT_CODE = re.compile(r"Exited with exit code (\d{1,9})\b")
OUT_OF_MEMORY = "out of memory"
NOTICED = re.compile(
    r"noticed that process rank (\d{1,9}) with PID \d+ on node (\S+) exited on\s{1,80}signal (\d{1,9})"
)
FIRST_EXIT = re.compile(r"Process name: \[\[[^\]]{1,80}\],\s{0,80}(\d{1,9})\]\s{1,80}Exit code:\s{1,80}(\d{1,9})")
DAEMON_LOST = re.compile(
    r"lost communication with a remote daemon[\s\S]{0,400}?Remote daemon\s{0,80}:\s{0,80}\S{1,80} on node (\S{1,255})"
)
BAD_TERMINATION = re.compile(
    r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\s*\n"
    r"(?:=\s+(?:RANK (\d{1,9}) )?PID (\d{1,9}) RUNNING AT (\S+)\s*\n)?"
    r"=\s+(EXIT CODE|EXIT STATUS|KILLED BY SIGNAL): (\d{1,9})"
)
EXIT_STRING = re.compile(r"APPLICATION TERMINATED WITH THE EXIT STRING: [^\n]{0,400}\(signal (\d{1,9})\)")
OWN_HANDLER = re.compile(r"(?m)^\[([\w.-]+):(\d{1,9})\] Signal: [^\n]{0,400}\((\d{1,9})\)")
UCX_HANDLER = re.compile(r"(?m)^\[([\w.-]+):(\d{1,9}):\d+:\d+\] Caught signal (\d{1,9})")
RANK_ENDS = (
    re.compile(
        r"(?m)^\[(?P<host>[\w.-]+):mpi_rank_(?P<rank>\d{1,9})\]\[error_sighandler\] "
        r"[^\n]{0,400}\(signal (?P<signal>\d{1,9})\)"
    ),
    re.compile(
        r"(?m)^\[(?P<host>[\w.-]+):mpispawn_\d{1,9}\]\[child_handler\] MPI process \(rank: (?P<rank>\d{1,9}), "
        r"pid: \d{1,9}\) (?:exited with status (?P<code>\d{1,9})|terminated with signal (?P<signal>\d{1,9}))"
    ),
    re.compile(
        r"MPT ERROR: Rank (?P<rank>\d{1,9})\(g:\d{1,9}\) received signal \w{1,20}\((?P<signal>\d{1,9})\)"
        r"(?:\.\s{1,80}Process ID: \d{1,9}, Host: (?P<host>[\w.-]{1,255}))?"
    ),
    re.compile(
        r"MPT ERROR: MPI_COMM_WORLD rank (?P<rank>\d{1,9}) has terminated without calling MPI_Finalize\(\)"
        r"[\s\S]{0,200}?MPT: Received signal (?P<signal>\d{1,9})"
    ),
    re.compile(
        r"(?m)^(?P<host>[A-Za-z][\w.-]*): rank (?P<rank>\d{1,9}) "
        r"(?:died from signal (?P<signal>\d{1,9})|exited with code (?P<code>\d{1,9}))"
    ),
    re.compile(
        r"One or more process \(first noticed rank (?P<rank>\d{1,9})\) terminated with signal (?P<signal>\d{1,9})"
    ),
    re.compile(r"(?m)^\[(?P<rank>\d{1,9})\]PETSC ERROR: Caught signal number (?!15\b)(?P<signal>\d{1,9})"),
)
"""How MVAPICH2, MPT, PALS, JSM and PETSc report the end of a rank."""
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
"""The address of a host, which has no domain."""
SIGNALS = {signal.strsignal(number): int(number) for number in signal.valid_signals()}
KILL, TERM = int(signal.SIGKILL), int(signal.SIGTERM)
SHELL_SIGNALS = range(129, 129 + 31)
"""Exit codes with which a shell around the program reports that a signal ended it."""
TIME_LIMIT = re.compile(
    r"CANCELLED (?:AT \S{1,40} )?DUE TO TIME LIMIT|(?m:^)(?:=>> PBS: job killed: (?:walltime|cput) \d|TERM_RUNLIMIT: "
    r"|Job exceeded its walltime limit|MOAB_INFO: {1,9}job exceeded wallclock limit"
    r"|job \d[\d.]{0,18} exceeded hard wallclock time)"
)
"""How Slurm, PBS, LSF, Moab and Grid Engine report that a job reached its time limit."""
NODE_FAIL = re.compile(r"CANCELLED (?:AT \S{1,40} )?DUE TO NODE FAILURE")


class Ranks(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of a session's ranks, as far as they started."""

    places: Sequence[str] = ()
    """Rank -> node."""
    pids: Mapping[tuple[str, int], int] = {}
    """Rank by host name and process."""
    by_daemons: bool = False
    """Whether srun started daemons of mpiexec, and these the ranks: then srun's tasks are not ranks."""


def read_loss(text: str, ranks: Ranks, *, timed_out: bool = False) -> Loss:
    """How a session ended according to `text`. `timed_out`: it did not answer; the cause if the text reports none."""
    text = plain(text)
    by_slurm, by_mpirun = tuple(_slurm_deaths(text, ranks)), tuple(_mpirun_deaths(text, ranks))
    deaths = (by_mpirun or _of_daemons(by_slurm)) if ranks.by_daemons else (by_slurm or by_mpirun)
    failures = (node for found in NODE_FAILURE.findall(text) for node in nodes_of(found))
    failed = tuple(itertools.islice(failures, MOST_NAMED))
    failed += tuple(_place_at(host, ranks) for host in DAEMON_LOST.findall(text))
    if failed or NODE_FAIL.search(text):
        return Loss(cause=LossCause.NODE_FAILURE, suspects=_unique(failed), deaths=deaths)
    if _from_outside(text, deaths):
        cause = LossCause.TIME_LIMIT if TIME_LIMIT.search(text) else LossCause.CANCELLED
        return Loss(cause=cause, deaths=deaths)
    deaths = _with_memory(text, deaths)
    suspects = _suspects(deaths)
    return Loss(cause=_cause(deaths, suspects, timed_out), suspects=suspects, deaths=deaths)


def _from_outside(text: str, deaths: Sequence[RankDeath]) -> bool:
    """Whether Slurm or a user ended the step, rather than the death of a rank.

    srun reports that it aborts the step before the ranks' ends; where the two cross on the way, the first rank that is
    seen to end was terminated (signal 15), which a death by itself hardly is.
    """
    if TIME_LIMIT.search(text):
        return True
    aborted, memory = ABORTED.search(text), OOM_KILL.search(text)
    if aborted is None or (memory is not None and memory.start() < aborted.start()):
        return False
    if not any(death.first for death in deaths):
        return True
    return BY_SLURM in text and all(death.signal == TERM for death in deaths if death.first)


class TaskEnds(msgspec.Struct, frozen=True, kw_only=True):
    """What one line of srun reports: the nodes, the tasks that ended there, and how they did."""

    nodes: tuple[str, ...]
    tasks: tuple[int, ...]
    death: RankDeath
    """The end of each, without its node and rank."""


def task_ends(text: str) -> Iterator[TaskEnds]:
    """The ends of tasks that srun reports in plain text, except those without an error."""
    ending = ENDING.search(text)
    since = ending.start() if ending else len(text)
    named = 0
    for match in TASKS.finditer(text):
        nodes, tasks = nodes_of(match.group(1)), tuple(_numbers(match.group(2)))
        named += len(nodes) + len(tasks)
        if named > MOST_NAMED:
            return
        code, number, memory = _end(match.group(3))
        if code != 0:
            death = RankDeath(signal=number, exit_code=code, out_of_memory=memory, first=match.start() < since)
            yield TaskEnds(nodes=nodes, tasks=tasks, death=death)


def _slurm_deaths(text: str, ranks: Ranks) -> Iterator[RankDeath]:
    for end in task_ends(text):
        nodes, tasks = end.nodes, end.tasks
        for place, task in enumerate(tasks or [None] * len(nodes)):
            by_task = ranks.places[task] if task is not None and task < len(ranks.places) else ""
            by_order = nodes[place] if len(nodes) == len(tasks) else ""
            node = nodes[0] if len(nodes) == 1 else by_task or by_order
            yield msgspec.structs.replace(end.death, node=node, rank=task)


def _of_daemons(deaths: Sequence[RankDeath]) -> tuple[RankDeath, ...]:
    """Daemons of mpiexec that a signal ended, their ranks with them. One that exits reports what its ranks did."""
    return tuple(msgspec.structs.replace(one, rank=None) for one in deaths if one.signal is not None)


def _end(words: str) -> tuple[int | None, int | None, bool]:
    """Exit code, signal, and whether memory ran out, from srun's message about the end of a task."""
    words = words.partition(" (core dumped)")[0].strip()
    exited = EXIT_CODE.search(words)
    if exited:
        code = int(exited.group(1))
        return (None, code - 128, False) if code in SHELL_SIGNALS else (code, None, False)
    memory = OUT_OF_MEMORY in words.lower()
    return None, KILL if memory else SIGNALS.get(words), memory


def _mpirun_deaths(text: str, ranks: Ranks) -> Iterator[RankDeath]:
    """What Open MPI, PRRTE and Hydra report: what died first; Intel MPI also names each rank that it killed then."""
    named = False
    for rank, host, number in NOTICED.findall(text):
        named = True
        yield RankDeath(node=_place_of(int(rank), host, ranks), rank=int(rank), signal=int(number))
    for rank, code in FIRST_EXIT.findall(text):
        named = True
        yield RankDeath(node=_place_of(int(rank), "", ranks), rank=int(rank), exit_code=int(code))
    ends = [{"host": "", **match.groupdict("")} for report in RANK_ENDS for match in report.finditer(text)]
    signals = {end["signal"] for end in ends}
    for end in ends:
        named = True
        number = int(end["rank"])
        yield RankDeath(
            node=_place_of(number, end["host"], ranks),
            rank=number,
            signal=int(end["signal"]) if end["signal"] else None,
            exit_code=None if end["signal"] else int(end["code"]),
            first=signals == {str(TERM)} or end["signal"] != str(TERM),
        )
    blocks = [*_bad_terminations(text)]
    others_killed = len(blocks) > 1
    for rank, pid, host, kind, value, by_signal in blocks:
        named = True
        number = int(by_signal) if by_signal else int(value) if kind == "KILLED BY SIGNAL" else None
        if number is None and int(value) in SHELL_SIGNALS:
            number = int(value) - 128
        place = int(rank) if rank else ranks.pids.get((host, int(pid or 0)))
        for rank_place in _at_the_same_proxy(place, ranks) if number is not None and not others_killed else (place,):
            yield RankDeath(
                node=_place_of(rank_place, host, ranks),
                rank=rank_place,
                signal=number,
                exit_code=int(value) if number is None else None,
                first=not (others_killed and number == KILL and any(block[4] != str(KILL) for block in blocks)),
            )
    if not named:
        for host, pid, number in OWN_HANDLER.findall(text) or UCX_HANDLER.findall(text):
            place = ranks.pids.get((host, int(pid)))
            yield RankDeath(node=_place_of(place, host, ranks), rank=place, signal=int(number))


def _bad_terminations(text: str) -> Iterator[tuple[str, ...]]:
    """The groups of each block, and the signal of the exit string after it, if there is one, or that UCX caught.

    What ranks wrote may come between the two, since Hydra prints lines of its own while it passes theirs on. Where it
    trips over the dead rank itself, it prints no exit string.
    """
    caught = {(host, pid): number for host, pid, number in UCX_HANDLER.findall(text)}
    blocks = [*BAD_TERMINATION.finditer(text)]
    ends = [*(block.start() for block in blocks[1:]), len(text)]
    for block, end in zip(blocks, ends, strict=False):
        exit_string = EXIT_STRING.search(text, block.end(), end)
        _, pid, host, *_ = words = block.groups(default="")
        yield (*words, exit_string.group(1) if exit_string else caught.get((host, pid), ""))


def _at_the_same_proxy(rank: int | None, ranks: Ranks) -> tuple[int | None, ...]:
    """The ranks of which one died by a signal if Hydra names `rank`.

    Its proxy on each host kills the other ranks there, and then reports one of all with the signals of all combined.
    """
    hosts = {other: host for (host, _), other in ranks.pids.items()}
    if rank is None or rank not in hosts:
        return (rank,)
    return tuple(sorted(other for other, host in hosts.items() if host == hosts[rank]))


def _with_memory(text: str, deaths: tuple[RankDeath, ...]) -> tuple[RankDeath, ...]:
    """The deaths; those that slurmstepd attributes to the kernel's lack of memory are marked."""
    nodes = {match["node"] or match["nid"] or "" for match in OOM_KILL.finditer(text)}
    if not nodes:
        return deaths
    hit = {one for one in deaths if one.first and (one.node in nodes or (nodes == {""} and one.signal == KILL))}
    if not hit and not any(one.first for one in deaths):
        killed = (RankDeath(node=node, signal=KILL, out_of_memory=True) for node in sorted(nodes))
        return (*killed, *deaths)
    return tuple(msgspec.structs.replace(one, out_of_memory=True) if one in hit else one for one in deaths)


def _suspects(deaths: Sequence[RankDeath]) -> tuple[str, ...]:
    """The nodes of which one is at fault; a rank that only exited may have reacted to another's death."""
    first = [death for death in deaths if death.first]
    struck = [death for death in first if death.signal is not None]
    if struck:
        killed = [death for death in struck if death.signal == KILL]
        return _known(killed or struck)
    later = [death for death in deaths if not death.first]
    politely = any(death.signal == TERM for death in later)
    odd = [death for death in later if death.signal not in (None, TERM) and (death.signal != KILL or politely)]
    return _known([*first, *odd]) if first else ()


def _known(deaths: Sequence[RankDeath]) -> tuple[str, ...]:
    """Their nodes; none if the node of one of them is unknown."""
    nodes = _unique(death.node for death in deaths)
    return () if "" in nodes else nodes


def _cause(deaths: Sequence[RankDeath], suspects: Sequence[str], timed_out: bool) -> LossCause:
    first = [death for death in deaths if death.first and (death.node in suspects or not suspects)]
    if any(death.out_of_memory for death in first):
        return LossCause.OUT_OF_MEMORY
    if any(death.signal is not None for death in first):
        return LossCause.SIGNAL
    if first:
        return LossCause.EXIT
    return LossCause.SILENT if timed_out else LossCause.UNKNOWN


def _unique(names: "Iterator[str] | Sequence[str]") -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _place_of(rank: int | None, host: str, ranks: Ranks) -> str:
    if rank is not None and rank < len(ranks.places):
        return ranks.places[rank]
    return _place_at(host, ranks)


def _place_at(host: str, ranks: Ranks) -> str:
    """The node of that host name; empty if it is none of them, or if several are on that host.

    Without places the name is all that is known of the node.
    """
    short = host if ADDRESS.fullmatch(host) else host.partition(".")[0]
    if not ranks.places:
        return short
    fits = [place for place in ranks.places if short in (place.partition(".")[0], place.rpartition(":")[0])]
    return fits[0] if len(fits) == 1 or (fits and len({fit.rpartition(":")[0] for fit in fits}) == 1) else ""


def nodes_of(text: str) -> tuple[str, ...]:
    """The nodes of a node set as srun prints it; none where it cannot be read."""
    if "[" not in text and "," not in text:
        return (text,)
    try:
        return expand(text)
    except ValueError:
        return ()


def _numbers(text: str) -> list[int]:
    """1-3,5 -> 1, 2, 3, 5; cut after MOST_NAMED."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not NUMBER.fullmatch(first) or (dash and not NUMBER.fullmatch(last)):
            continue
        numbers += range(int(first), min(int(last or first), int(first) + MOST_NAMED - len(numbers) - 1) + 1)
    return numbers


MOST_NAMED = 1 << 20
"""Nodes and ranks in all messages of a text; srun has a message for each way in which its tasks ended."""
