"""How a program ended, and what was said before that: a launcher's reports of ends are consequences."""

import itertools
import re
import signal
from collections.abc import Sequence

import msgspec

from seatrial.failures.cause import shortened
from seatrial.failures.rank_deaths import ABORTED, KILL, SIGNALS, TASKS
from seatrial.failures.start_failure import COMPLAINS, MOST_LINES, speaker_of, spoken
from seatrial.model.loss import Loss, LossCause, RankDeath

CONSEQUENCE = re.compile(
    r"\s{0,40}(?:(?:slurmstepd\S{0,255}|srun): +(?:error: +)?(?:\S+: tasks? |\*\*\* |launch/slurm: |Terminating "
    r"|Job step aborted|Force Terminated|First task exited|Failed to send MESSAGE_TASK"
    r"|Timed out waiting for job step|mpi/\w+: +_errhandler: )"
    r"|(?:mpirun|mpiexec|prterun)\S{0,20} (?:noticed|has exited|detected)\b|\[(?:mpiexec|proxy:[\d:]+)@|Primary job "
    r"|a non-zero exit code|the job to be|= |\*\*\* (?:STEP|JOB|Process|on |reported|MPI_|and potentially|End of )"
    r"|(?:YOUR )?APPLICATION TERMINATED WITH |This typically refers to a problem with your|Please see the FAQ page"
    r"|MPT ERROR: Rank \d{1,9}\(g:\d{1,9}\) (?:received signal|is aborting with error code)"
    r"|(?:-1:)?MPT ERROR: MPI_COMM_WORLD rank \d{1,9} has term"
    r"|(?:-1:)?\s{0,9}aborting job:?$|MPT: Received signal"
    r"|\[\d{1,9}\]PETSC ERROR: (?:-|Caught signal|Try option|or (?:see|try) |configure |to get more|likely )"
    r"|\[[\w.-]+(?::\d+)+\] (?:Signal|Caught signal|\*\*\* (?:Process|End of))|signal \d{1,2} \(\w"
    r"|Backtrace for this error|NOTE: invoking MPI_ABORT"
    r"|You may or may not see output|exactly when Open MPI kills|with errorcode \d|Proc: \[\[|Errorcode: \d"
    r"|.{0,400}(?:failed \(exitcode: |Sending process \d{1,9} closing signal|errors\.ChildFailedError)"
    r"|\S+ more process(?:es)? ha(?:s|ve) sent help|forrtl: error \(78\)|\[\w+\.?\] PLE \d"
    r"|\S+: rank \d{1,9} (?:died from|exited with) "
    r"|ERROR: +One or more process \(first noticed|\[[\w.-]+:mpispawn_\d+\]|flux-job: task\(s\) exited with"
    r"|.{0,400}\b(?:application called MPI_Abort\(|MPI_ABORT was invoked|PMI\w{0,9}_Abort\(|_base_help_aggregate"
    r"|PMIX ERROR: (?:PMIX_)?(?:ERR_)?LOST[_-]CONNECTION))"
)
"""Lines in which a launcher or MPI reports that ranks have ended, or that it ends the others."""
EDGE = "-=* \t"
"""Characters of an empty line, or of the edge of a box."""
HEAD = re.compile(r":$| : error # +\d+$|^\W{0,8}[A-Z]{4,}\W{0,4}$")
"""How a complaint ends whose words are in the next line."""
BREAKS_OFF, GOES_ON = re.compile(r"[A-Za-z,(]$"), re.compile(r"[a-z]+(?:[ ,.;:)-]|$)")
"""How a line ends that the next one continues, and how that begins."""
ERROR = re.compile(
    r"(?:\W{0,12}|\W{0,4}[\[(][^\])\n]{1,60}[\])]:? {0,4}\W{0,12}|[\w./-]{1,60}: {1,4}|[\d:.,TZ -]{8,40} )"
    r"(?:\[?(?:FATAL|ERROR|SEVERE|CRITICAL|ABORT|STOP)\b"
    r"(?!\s{0,4}[=:]?\s{0,4}[-+.\deE]{0,24}\s{0,4}$|[ _]?(?i:norm|estimate|bars?|rate|tol))"
    r"|(?:\w+ )?(?:[Ee]rror|[Ff]atal|[Aa]bort)(?: in \S[^\n:]{0,80}| #?\d{1,6})?(?: ?[:!]|\]:?| - )"
    r"(?! {0,4}(?:[-+.\d]|no\b|none\b))|[Ee]rror #?\d{1,6} \()"
)
"""How a program begins a line that says why it ends: with ERROR in capitals, or Error and a colon."""
GIVES_UP = re.compile(
    r"(?i)\b(?:exit(?:ed|ing|s) (?:with (?:an )?errors?|prematurely)"
    r"|(?:refuse to|can ?not|unable to) (?:continue|proceed)|giving up"
    r"|(?:error|abnormal) (?:termination|end)|terminated abnormally"
    r"|(?:program|run|job|execution|analysis|simulation|calculation)\b.{0,20}(?<!\d )(?<!no )"
    r"\b(?:aborted|stopped|terminated|failed|stops|aborts|exited)|(?:terminated|stopped|aborted) (?:due to|because|by)"
    r"|not (?:be )?(?:completed?|finished?)|stopping|aborting|could not be started)\b"
    r"|^\W{0,4}(?:error stop\b|stop [1-9])"
)
"""What a program says when it ends early."""
SUCCEEDED = re.compile(
    r"(?i)(?<!not )\b(?:success(?:ful(?:ly)?)?|(?:normal|good) termination"
    r"|(?:terminat|end|complet|finish)ed normally"
    r"|(?:job|run|simulation|calculation|program|computation|training|analysis|all)\W{1,3}(?:is |was |has )?"
    r"(?:done|completed?|finished))\b|^\W*(?:info\W{1,3})?(?:done|finished|completed?)(?:[,.;:!]|\W*$)"
)
"""What a program says when it ends as it should."""
WARNS = re.compile(r"\b(?i:warn(?:ing)?)\b")
WARNING = re.compile(rf"\W{{0,8}}(?:\S{{1,40}} )?{WARNS.pattern}")
"""How a line begins with which a program goes on."""
SLURM = ("srun: ", "sbatch: ", "salloc: ")
MOST_BELOW, MOST_ABOVE = 8, 3
"""Lines below and above a complaint, up to an empty one, that may say more of it."""
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
    re.compile(r"MPT ERROR: Rank (?P<rank>\d{1,9})\(g:\d{1,9}\) is aborting with error code (?P<code>-?\d{1,9})"),
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
    r"|(?m:^)(Killed|Segmentation fault|Bus error)(?: \(core dumped\))?$"
)
"""How a shell reports that a signal ended a program of its script, or of one line, and Julia that one ends itself."""
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
    shell = None if ABORTED.search(text) else IN_SHELL.search(text)
    before = shell and (not reported or shell.start() < reported.start()) and death and death.signal is None
    if shell and before:  # the code is the one of a script around the program
        return _of_shell(shell)
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
    return _of_shell(shell) if shell else None


def _of_shell(report: re.Match[str]) -> RankEnd:
    number = SIGNALS[report[1] or report[2]]
    return RankEnd(meaning=f"a program of the script was ended by {_signal(number)}", signal=number)


def without_consequences(text: str) -> str:
    """Plain text without the lines in which a launcher reports how ranks ended."""
    return "\n".join(line for line in text.split("\n") if not reports_end(line))


class Complaint(msgspec.Struct, frozen=True, kw_only=True):
    """A line with which a program complains."""

    line: str
    """The line as it was printed, without a frame."""
    words: str
    """The line and what continues it."""
    around: tuple[str, ...] = ()
    """The next lines, which may say more of it, and then those above it."""

    @property
    def of_error(self) -> bool:
        """Whether the program says itself that this is why it ends."""
        of_program = speaker_of(self.line) is None and not self.line.startswith(SLURM)
        return of_program and bool(ERROR.match(self.words) or GIVES_UP.search(self.line))


def last_words(text: str) -> str:
    """What MPI or its libraries complained of before a rank ended; else the last complaints of the program, or line."""
    lines = [*filter(None, _words(text))]
    before = next((number for number, line in enumerate(lines) if reports_end(line)), 0)
    own = _own(lines)
    words = spoken(own)[:MOST_LINES] or [one.words for one in telling_complaints(last_complaints(text))]
    words = words or [line for line in lines[:before] if line in own][-1:]
    return shortened(" / ".join(dict.fromkeys(words)))


def last_complaints(text: str) -> list[Complaint]:
    """The complaints of a program among its last lines."""
    own = _own(_words(text))
    latest: list[Complaint] = []
    for number, line in enumerate(own[-LATEST:], max(0, len(own) - LATEST)):
        if complains_of(line) and not (latest and latest[-1].words.endswith(f" {line}")):
            words, after = line, own[number + 1 : number + 1 + MOST_BELOW]
            for more in after:
                goes_on = BREAKS_OFF.search(words) and GOES_ON.match(more) and not complains_of(more)
                if not more or not (HEAD.search(words) or goes_on):
                    break
                words = f"{words} {more}"
            above = own[max(0, number - MOST_ABOVE) : number][::-1]
            around = (*itertools.takewhile(bool, after), *itertools.takewhile(bool, above))
            latest.append(Complaint(line=line, words=words, around=around))
    return latest


def complains_of(line: str) -> bool:
    """Whether a line may be a complaint of a program, or says that it ends early."""
    return any(look.search(line) for look in (COMPLAINS, EXCEPTION, GIVES_UP)) or ERROR.match(line) is not None


def telling_complaints(complaints: Sequence[Complaint]) -> Sequence[Complaint]:
    """The first that the program calls errors, else the last; those that only say that it ends if nothing else does."""
    errors = [one for one in complaints if ERROR.match(one.words) and not WARNING.match(one.line)]
    others = [one for one in complaints if not GIVES_UP.search(one.line)]
    return errors[:MOST_LINES] or (others or complaints)[-MOST_LINES:]


def _words(text: str) -> list[str]:
    """The lines without frames; those without any word are empty."""
    lines = (FRAMED.sub(r"\1", line.strip()) for line in text.split("\n"))
    return [line if any(map(str.isalnum, line)) else "" for line in lines]


def _own(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not reports_end(line) and not FRAME.match(line)]


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
