"""How a program ended, and what was said before that: a launcher's reports of ends are consequences."""

import re
import signal
from itertools import pairwise

import msgspec

from seatrial.failures.cause import shortened
from seatrial.failures.rank_deaths import ABORTED, KILL, SIGNALS, TASKS
from seatrial.failures.start_failure import COMPLAINS, MOST_LINES, spoken
from seatrial.model.loss import Loss, LossCause, RankDeath

CONSEQUENCE = re.compile(
    r"\s{0,40}(?:(?:slurmstepd\S{0,255}|srun): +(?:error: +)?(?:\S+: tasks? |\*\*\* |launch/slurm: |Terminating "
    r"|Job step aborted|Force Terminated|First task exited|Failed to send MESSAGE_TASK"
    r"|Timed out waiting for job step|mpi/\w+: +_errhandler: )"
    r"|(?:mpirun|mpiexec|prterun)\S{0,20} (?:noticed|has exited|detected)\b|\[(?:mpiexec|proxy:[\d:]+)@|Primary job "
    r"|a non-zero exit code|the job to be|= |\*\*\* (?:STEP|JOB|Process|on |reported|MPI_|and potentially|End of )"
    r"|(?:YOUR )?APPLICATION TERMINATED WITH |This typically refers to a problem with your|Please see the FAQ page"
    r"|MPT ERROR: Rank \d{1,9}\(g:\d{1,9}\) received signal|(?:-1:)?MPT ERROR: MPI_COMM_WORLD rank \d{1,9} has term"
    r"|(?:-1:)?\s{0,9}aborting job$|MPT: Received signal"
    r"|\[\d{1,9}\]PETSC ERROR: (?:-|Caught signal|Try option|or (?:see|try) |configure |to get more|likely )"
    r"|\[[\w.-]+(?::\d+)+\] (?:Signal|Caught signal|\*\*\* (?:Process|End of))|signal \d{1,2} \(\w"
    r"|Backtrace for this error|NOTE: invoking MPI_ABORT"
    r"|You may or may not see output|exactly when Open MPI kills|with errorcode \d|Proc: \[\[|Errorcode: \d"
    r"|.{0,400}(?:failed \(exitcode: |Sending process \d{1,9} closing signal|errors\.ChildFailedError)"
    r"|\S+ more process(?:es)? ha(?:s|ve) sent help|forrtl: error \(78\)|\[\w+\.?\] PLE \d"
    r"|\S+: rank \d{1,9} (?:died from|exited with) "
    r"|ERROR: +One or more process \(first noticed|\[[\w.-]+:mpispawn_\d+\]|flux-job: task\(s\) exited with"
    r"|.{0,400}\b(?:application called MPI_Abort\(|MPI_ABORT was invoked|PMI\w{0,9}_Abort\(|_base_help_aggregate))"
)
"""Lines in which a launcher or MPI reports that ranks have ended, or that it ends the others."""
EDGE = "-=* \t"
"""Characters of an empty line, or of the edge of a box."""
HEAD = re.compile(r":$| : error # +\d+$")
"""How a complaint ends whose words are in the next line."""
FRAMED = re.compile(r"^[|*](?: {1,200}\S{0,20}(?= {3}))? {1,200}(\S.{0,200}?) {1,200}[|*]$")
"""A line within a frame, and beside a picture, as VASP and CP2K print."""
EXCEPTION = re.compile(r"\w(?:Error|Exception)\b|\bsevere \(|\bSIG[A-Z]{3,5}\b|[Ss]egmentation fault")
FRAME = re.compile(
    r"#?\d{1,4}:? +(?:/|0x|#)|(?:\[\d{1,9}\] )?#\d{1,4} +\S|at [\w.$/]{1,200}\(|=+ +backtrace"
    r"|\S{1,200} +[0-9A-F]{16} +\S|Image +PC +Routine\b|\[[\w.-]+:\d+\] \[ ?\d+\] "
    r"|From .{0,400}\bFoam::|in file \S+ at line \d|FOAM (?:parallel run )?(?:exiting|aborting)"
    r"|Stacktrace:$|\[\d{1,4}\] [\w.!#]{1,200}\(|@ \S|in expression starting at "
)
"""A line of a list of calls."""
ABORTS = (
    re.compile(r"application called MPI_Abort\([^,\n]{1,80}, (?P<code>-?\d{1,9})\)(?: - process (?P<rank>\d{1,9}))?"),
    re.compile(
        r"MPI_ABORT was invoked on rank (?P<rank>\d{1,9})\b.{0,80}(?:\s{1,80}Proc: \S{1,80})?"
        r"(?:\s{1,80}(?:with errorcode|Errorcode:) (?P<code>-?\d{1,9}))?"
    ),
    re.compile(r"\bABORT from MPI rank (?P<rank>\d{1,9})\b(?P<code>(?!))?"),
    re.compile(r"plexec One of MPI processes was aborted\.\(rank=(?P<rank>\d{1,9})\)(?P<code>(?!))?"),
)
"""How MPICH, Open MPI, MVAPICH and Fujitsu's MPI report that a rank called MPI_Abort."""
TORCHRUN = re.compile(r"failed \(exitcode: (-?[1-9]\d{0,3})\) local_rank: (\d{1,9})")
"""What torchrun reports of the worker that ended first; a signal is a negative code."""
PRIMARY_JOB = re.compile(
    r"Primary job {1,9}terminated normally, but \d{1,9} process(?:es)? returned\s{1,9}a non-zero exit"
)
"""What Open MPI reports of a rank that ended by its own choice, without its number."""
IN_SHELL = re.compile(
    r"(?m)^[ \t]{0,8}(?:\S{0,400}: line \d{1,9}: +\d{1,9}|(?:\[\d{1,9}\] )?signal \(\d{1,2}[\d.-]{0,9}\):) ("
    + "|".join(re.escape(str(name)) for name in SIGNALS)
    + r")\b"
)
"""How a shell reports that a signal ended a program of its script, and Julia that one ends itself."""
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
"""Signals that no scheduler sends."""
STEP_ENDED = "*** STEP "
JOB_ENDED = "*** JOB "
LATEST = 40
"""Lines at the end of an output among which the last words of a program are looked for."""


class RankEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the first rank ended. `signal`: the one that ended it, None where it ended by its own choice."""

    meaning: str
    """A sentence without its capital and full stop."""
    signal: int | None = None

    @property
    def chosen(self) -> bool:
        """Whether the program, or a library in it, chose to end, so that the cause is what it said before."""
        return self.signal in (None, signal.SIGABRT)


def first_end(loss: Loss, text: str) -> RankEnd | None:
    """How the first rank ended; None where plain text has no report of it."""
    death = next((death for death in loss.deaths if death.first), None)
    if death is None and loss.cause is LossCause.CANCELLED and STEP_ENDED in text and JOB_ENDED not in text:
        death = next((death for death in loss.deaths if death.signal in CRASHES), None)
    aborted = next(filter(None, (abort.search(text) for abort in ABORTS)), None)
    reported = TASKS.search(text)
    killed_after = aborted and reported and aborted.start() < reported.start() and death and death.signal == KILL
    if death is not None and not killed_after:
        return RankEnd(meaning=_death(death), signal=death.signal)
    if aborted is not None:
        return _aborted(aborted["rank"], aborted["code"])
    torchrun = TORCHRUN.search(text)
    if torchrun is not None:
        code, rank = int(torchrun[1]), torchrun[2]
        return _torch_end(rank, code)
    if PRIMARY_JOB.search(text):
        return RankEnd(meaning="a rank ended with a non-zero exit code")
    shell = IN_SHELL.search(text)
    if shell is None or ABORTED.search(text):
        return None
    number = SIGNALS[shell[1]]
    return RankEnd(meaning=f"a program of the script was ended by {_signal(number)}", signal=number)


def without_consequences(text: str) -> str:
    """Plain text without the lines in which a launcher reports how ranks ended."""
    return "\n".join(line for line in text.split("\n") if not reports_end(line))


def last_words(text: str) -> str:
    """What MPI or its libraries complained of before a rank ended; else the last complaints of the program, or line."""
    lines = [FRAMED.sub(r"\1", line.strip()) for line in text.split("\n") if line.strip(EDGE)]
    own = [line for line in lines if not reports_end(line) and not FRAME.match(line)]
    before = next((number for number, line in enumerate(lines) if reports_end(line)), 0)
    latest: list[str] = []
    for line, after in pairwise((*own[-LATEST:], "")):
        complains = COMPLAINS.search(line) or EXCEPTION.search(line)
        if complains and not (latest and latest[-1].endswith(f": {line}")):
            latest.append(f"{line} {after}" if HEAD.search(line) else line)
    words = spoken(own)[:MOST_LINES] or latest[-MOST_LINES:] or [line for line in lines[:before] if line in own][-1:]
    return shortened(" / ".join(dict.fromkeys(words)))


def reports_end(line: str) -> bool:
    """Whether it is a report of the end of ranks, or of a program of a script."""
    return bool(CONSEQUENCE.match(line) or IN_SHELL.match(line))


def _aborted(rank: str | None, code: str | None) -> RankEnd:
    who = "a rank" if rank is None else f"rank {rank}"
    return RankEnd(meaning=f"{who} called MPI_Abort" + (f" with code {code}" if code else ""))


def _torch_end(local_rank: str, code: int) -> RankEnd:
    who = f"local rank {local_rank}"
    if code < 0:
        return RankEnd(meaning=f"{who} was ended by {_signal(-code)}", signal=-code)
    return RankEnd(meaning=f"{who} ended with exit code {code}")


def _death(death: RankDeath) -> str:
    who = "a rank" if death.rank is None else f"rank {death.rank}"
    where = f" on {death.node}" if death.node else ""
    if death.signal is not None:
        return f"{who}{where} was ended by {_signal(death.signal)}"
    return f"{who}{where} ended" + (f" with exit code {death.exit_code}" if death.exit_code is not None else "")


def _signal(number: int) -> str:
    names = {int(known): known.name for known in signal.Signals}
    return f"signal {number}" + (f" ({names[number]})" if number in names else "")
