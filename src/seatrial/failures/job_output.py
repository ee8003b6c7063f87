"""Why a job failed, from its output file: a known cause, a rank that died, or the complaint of a program."""

import itertools
import re
import signal
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.failures.cause import (
    FailureCause,
    Speaker,
    Statement,
    cause_of_complaint,
    shortened,
    statements,
    strongest,
)
from seatrial.failures.documents import document_form, without_citations
from seatrial.failures.last_words import (
    FRAME,
    GIVES_UP,
    SUCCEEDED,
    WARNING,
    WARNS,
    Complaint,
    RankEnd,
    first_end,
    last_complaints,
    last_words,
    telling_complaints,
    without_consequences,
)
from seatrial.failures.output_order import OutputOrder
from seatrial.failures.printed_text import boxes, errors, origins, plain, without_warnings
from seatrial.failures.rank_deaths import OOM_KILL, TIME_LIMIT, Ranks, read_loss
from seatrial.failures.start_failure import COMPLAINS, causes_of_job, spoken, stronger_line, words_above
from seatrial.model.loss import Loss, LossCause

LAUNCHERS = r"slurmstepd(?:-[\w.-]+)?|srun|sbatch|mpirun|mpiexec|prterun|slurm_script"
PROGRAMS = re.compile(
    rf"(?m)^ {{0,8}}(?:\d+: *)?(?:(?:{LAUNCHERS}): (?:error|fatal): .*|Traceback \(most recent call last\):"
    r"|(?:forrtl: (?!severe|error|warning).*\n)?forrtl: (?:severe|error).*|Fortran runtime error: .*"
    r"|terminate called after throwing.*|INTEL MKL (?:FATAL )?ERROR: .*|MPT ERROR: .*"
    r"|(?:/\S+|bash|sh): line \d+: (?!warning: ).*"
    r"|[^\n:]{1,200}: (?:command not found|Permission denied|No such file or directory)"
    r"|[^\n]{1,400}: Assertion [`'][^\n]{1,400}' failed\.?[^\n]{0,80}|(?:FATAL|ERROR) {0,3}: {2,4}\S.*"
    r"|\S{0,200}Assertion failure at .*|HDF5-DIAG: Error detected .*"
    r"|\[\d+\]PETSC ERROR: (?!-|#\d|\w+\(\) line \d).*"
    r")$"
)
"""Lines with which launchers, shells and run-time libraries complain. A program's own word `error` says nothing."""
BANNERS = re.compile(
    r"(?m)^(?:-+ FATAL CALLED -+\n.*\n.*"
    r"|(?: {0,40}--> FOAM FATAL (?:IO )?ERROR.*|Fatal error: {0,9}"
    r"| {0,40}Error in routine \S{1,200} \(\d{1,9}\): {0,9}| {0,9}lib-\d{4} : UNRECOVERABLE library error {0,9})\n.*"
    r"|-+ Processor \d{1,9} Exiting: Called CmiAbort -+ {0,9}\n.*| {0,9}from \S{1,80} : error # {1,12}\d{1,9}\n.*"
    r"|Error(?: in .{1,400} :)?:? .*(?=(?:\n.*){0,6}\nExecution halted)"
    r"|fatal Fortran runtime error\(.*|(?:PG)?FIO-F-\d{1,4}/.*|[ \t]{0,9}Warning! \*{3}HDF5 \w+ version mismatched.*)$"
)
"""How simulation codes (WRF, OpenFOAM, GROMACS, NAMD, Quantum ESPRESSO), R and run-time libraries say that they end."""
EXCEPTIONS = re.compile(
    r"(?m)^(?:(?:\d+\.\d+s: )?flux-[\w-]+(?:\[\d+\])?: (?:ERROR|FATAL): .*|ERROR: \w+(?:Error|Exception)\b.*"
    r"|(?:FATAL ERROR|Fatal error|Error termination)\b[^:\n]{0,200}: {0,4}+(?![-+.\d]|none\b|\n).*"
    r"|(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception): (?![-+.\d]).*)$"
)
"""What Flux, Julia, Python and other programs say as they end, and log of errors that they overcome."""
ENDED = re.compile(
    r"\b(?:0|no) (?:failed|failures?|errors?)\b|noticed that process rank|Primary job"
    r"|non-zero (?:exit|status)|exiting improperly|MPI_ABORT was invoked"
)
"""What the boxes of a launcher say after a rank has ended, and a program that counts no failure."""
COMPLAINTS = re.compile(rf"{COMPLAINS.pattern}|\b(?:please|you can|try)\b", re.IGNORECASE)
"""A box may give advice without any word of failure."""
LAUNCH = re.compile(r"launch (?:for \S{1,40} )?failed")
STACK = "error stack:"
CALL = re.compile(r"(?:\w[\w ]{0,80}\(\d{1,6}\)|\(unknown\)\(\))[. ]{0,80}: {0,9}(?P<words>.{0,4000})")
CANCELLATION = re.compile(r"\bCANCELLED AT\b")
SLURM_LINE = re.compile(r"slurmstepd\S*: |srun: |\s*$")
OF_SLURM = (Speaker.SLURM, Speaker.NODE)
"""Whoever ends a job for its time or memory says so, too."""
TRACEBACK = "Traceback "
STATUS = re.compile(r"\bexit(?:ed|s)?(?: with)?[ _-]?(?:code|status|value)\b\D{0,20}[1-9]", re.IGNORECASE)
CAPITALS = re.compile(r"\W{0,12}(?:ERROR|FATAL)\b")
LEAST_QUIET = 2
"""Lines without a complaint after the last one, from which on a program is believed to have gone on."""
CALLS = re.compile(r"(?:\n {1,8}\S[^\n]{0,1000}){1,200}")
DEEPEST = re.compile(r"\n {1,8}(#\d{3,6}: \S[^\n]{0,1000})")
"""What HDF5 lists below the name of a failure, the deepest call last."""
SYSTEM = re.compile(rf"\berrno\W{{1,3}}[1-9]\d{{0,2}}\b|(?:: |\] |\()(?:{'|'.join(map(re.escape, errors()))})\b")
"""How programs print an error of the system."""
WHAT = re.compile(r"\n{1,2} +((?:what\(\)|nested task error): [^\n]{1,400})")
"""The message of an exception of C++ or Julia, below its name."""
CRASH = re.compile(r"\bSIG(?:SEGV|FPE|BUS|ILL)\b|[Ss]egmentation fault|forrtl: severe \((?:154|170|174)\)")
"""How reports of a crash look, before which a program may have said why."""
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ)
"""Signals that end a program whatever it said before."""
NO_CAUSE = "Read the lines above it in the output; `seatrial doctor` tries whether a launch works there at all."
LOGIN = "Load its module in the job script, whose first line is #!/bin/bash -l where modules come with a login shell."
CRASHED = "Look at the program: a core file, a debugger, or its last lines of output."
CHOSEN = """The program ended itself: do what its last lines ask for (input, number of ranks, a file, a limit), or \
search its documentation for their words."""
BUS_ERROR = """Memory that it had mapped is not there: most often /dev/shm is full (df -h /dev/shm; in a container \
--shm-size or --ipc=host), or a file was cut while it was read. Else look at the program."""
LIMITED = "It reached a limit of the shell: `ulimit -a` in the job script shows it (file size -f, CPU time -t)."
KILLED = "The program did not end itself: most often the kernel did for memory (dmesg; sacct -o MaxRSS), or Slurm."
MEMORY = "Ask for more memory (--mem), start fewer ranks on a node, or choose a smaller case."
TIME = "Give the job more time (--time), or make it smaller."
CANCELLED = "Somebody or something cancelled it: scancel, a dependency, or preemption. sacct -j JOB says by whom."
LOST = "`scontrol show node` says what Slurm knows of it; `seatrial check NODE` says whether it may return."


class JobFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, in a sentence without its capital; what to do; and the line that says it."""

    meaning: str
    remedy: str
    quote: str = ""
    overcome: bool = False
    """No line reports an end, and more output follows that does not complain."""


def explain_output(text: str) -> JobFailure | None:
    """The most specific cause that the text states; None where nothing in it complains, and for documents."""
    seen = "" if document_form(text) else without_citations(plain(text))
    telling = plain(without_warnings(seen))
    loss = read_loss(seen, Ranks())
    end = first_end(loss, seen)
    crashed = end is not None and not end.chosen
    table = [cause for cause in causes_of_job(telling) if not (crashed and cause.speaker is Speaker.ENVIRONMENT)]
    printed = origins(text)
    stated = statements(table, telling, printed)
    order = OutputOrder(seen, telling, printed, loss)
    if (lasting := order.without_passed(stated)) != telling:
        telling = lasting
        stated = statements(table, telling, printed)
    best = strongest(stated)
    ended = _ended(loss, seen)
    if loss.cause is LossCause.CANCELLED and (end or (best is not None and LAUNCH.search(best.quote))):
        ended = None  # the program itself, or srun, took the step back
    restated = (
        ended is not None
        and loss.cause is not LossCause.CANCELLED
        and best is not None
        and (order.passed(best) or (best.cause.speaker in OF_SLURM and not best.cause.lasting))
    )
    last = loss.cause is LossCause.CANCELLED and best is not None and _ends_with(best, telling)
    if best is not None and (last or not best.cause.unspecific) and not restated:
        meaning = f"{best.meaning.rstrip('.')}.{words_above(telling, stated, best)}".rstrip(".")
        failure = JobFailure(meaning=f"{meaning}.", remedy=best.cause.remedy, quote=best.quote)
        return failure if ended or loss.deaths or end else _unreported(failure, telling, best, order)
    if ended is not None:
        return msgspec.structs.replace(ended, quote=best.quote) if restated and best else ended
    own = without_consequences(telling)
    if end is not None and crashed:
        return _crash(end, telling, order)
    if best is not None and any(any(_kinds(one)) and order.precedes(one.line, best) for one in _errors(own, order)):
        stating = {telling.split("\n")[number].strip() for number in best.lines}
        own = "\n".join(line for line in own.split("\n") if line.strip() not in stating)
        telling = own
    elif best is not None:
        failure = _unspecific(best, stronger_line(telling, stated, best))
        return failure if loss.deaths or end else _unreported(failure, telling, best, order)
    of_library = _said(own, spoken(own.split("\n")))
    if of_library is None and (complaint := _complaint(own)) is not None:
        complaint = _of_kind(complaint, own, order)
        return _with_end(complaint, end) if end else _judged(complaint, telling)
    if of_library is not None and end is None:
        of_library = msgspec.structs.replace(of_library, overcome=order.results_follow())
    return of_library or (_crash(end, telling, order) if end else _of_launcher(telling, seen, order))


def _of_kind(failure: JobFailure, text: str, order: OutputOrder) -> JobFailure:
    """A failure that is known by a complaint alone, with the kind of cause that the complaint states."""
    before = last_complaints(text) if CRASH.search(failure.meaning) else _errors(text, order)
    own = Complaint(line=failure.quote, words=failure.quote)
    return _of_complaints(failure, [*before, own] if CRASH.search(failure.meaning) else [own, *before], order)


def _of_complaints(failure: JobFailure, complaints: Sequence[Complaint], order: OutputOrder) -> JobFailure:
    """The failure with the kind of cause, and its remedy, that the first of these complaints states."""
    crashed = CRASH.search(failure.meaning) is not None
    for complaint in (one for one in complaints if not order.goes_on_after(one.line)):
        for line, cause in _kinds(complaint):
            if cause.crash or not crashed:
                words, rest = shortened(line).rstrip("."), failure.meaning
                rest = rest if words in rest else f"it says: {words}. {rest[:1].upper()}{rest[1:]}"
                return msgspec.structs.replace(failure, meaning=f"{cause.meaning}: {rest}", remedy=cause.remedy)
    return failure


def _kinds(complaint: Complaint) -> Iterator[tuple[str, FailureCause]]:
    """The lines of a complaint, and those around an error, that state a kind of cause."""
    for line in (complaint.words, *(complaint.around if complaint.of_error else ())):
        if (cause := cause_of_complaint(line)) is not None:
            yield line, cause


def _with_end(failure: JobFailure, end: RankEnd) -> JobFailure:
    who = f"{end.meaning[:1].upper()}{end.meaning[1:]}"
    return msgspec.structs.replace(failure, meaning=f"{failure.meaning} {who}.")


def _ends_with(stated: Statement, telling: str) -> bool:
    """Whether nothing but Slurm wrote lines between the statement and the cancellation of the step."""
    after = telling.split("\n")[stated.last + 1 :]
    end = next((number for number, line in enumerate(after) if CANCELLATION.search(line)), None)
    return end is not None and all(SLURM_LINE.match(line) for line in after[:end])


def _unreported(failure: JobFailure, text: str, best: Statement, order: OutputOrder) -> JobFailure:
    """The known cause that a text without a report of an end states, marked if the program went on after it."""
    if not STATUS.search(text) and order.went_on(best):
        return msgspec.structs.replace(failure, overcome=True)
    return _judged(failure, text) if WARNING.match(text.split("\n")[best.first]) else failure


def _judged(failure: JobFailure, text: str) -> JobFailure:
    """The failure of a text without a report of an end, marked if the program went on after its last complaint."""
    lines = [line for line in text.split("\n") if line.strip() and not FRAME.match(line.strip())]
    last = failure.quote.rpartition(" what(): ")[2]
    complaints = [number for number, line in enumerate(lines) if COMPLAINS.search(line) or last in shortened(line)]
    after = lines[complaints[-1] :] if complaints else []
    quiet = len(after) > LEAST_QUIET and not any(GIVES_UP.search(line) for line in after)
    overcome = (quiet or any(SUCCEEDED.search(line) for line in after[1:])) and not STATUS.search(text)
    return msgspec.structs.replace(failure, overcome=overcome)


def _crash(end: RankEnd, telling: str, order: OutputOrder) -> JobFailure:
    """How the first rank ended, and what was last said before it."""
    of_dead = order.of_dead(telling)
    quote = last_words(of_dead)
    says = f" It last said: {quote.rstrip('.')}." if quote else ""
    remedies: dict[int | None, str] = {None: CHOSEN, signal.SIGKILL: KILLED, signal.SIGBUS: BUS_ERROR}
    remedies |= dict.fromkeys((signal.SIGXFSZ, signal.SIGXCPU), LIMITED)
    remedy = remedies.get(end.signal, CRASHED)
    failure = JobFailure(meaning=f"{end.meaning}.{says}", remedy=remedy, quote=quote)
    if end.signal in FROM_OUTSIDE:
        return failure
    last = "" if end.signal else quote  # before a crash the last line may be any progress
    others = (Complaint(line=line, words=line) for line in (order.not_a_number, end.meaning, last))
    return _of_complaints(failure, [*last_complaints(of_dead), *others], order)


def _unspecific(best: Statement, line: str) -> JobFailure:
    """The cause, after the complaint that came before it and may be why."""
    before = f"it says: {line} / after that " if line else ""
    return JobFailure(meaning=f"{before}{best.meaning}", remedy=best.cause.remedy, quote=line or best.quote)


def _said(text: str, lines: Sequence[str]) -> JobFailure | None:
    """The first of the complaints of MPI, its libraries, an adapter or a launcher, for which no cause is known."""
    words = shortened(_last_of_stack(text, lines[0])) if lines else ""
    return JobFailure(meaning=f"it says: {words.rstrip('.')}.", remedy=NO_CAUSE, quote=words) if lines else None


def _of_launcher(text: str, seen: str, order: OutputOrder) -> JobFailure | None:
    """What a launcher says in its boxes or lines, a program as it ends, or the system; no rank's end is reported."""
    if (box := _said(text, [box for box in boxes(seen) if COMPLAINTS.search(box) and not ENDED.search(box)])) is None:
        lines = text.split("\n")
        of_system = [line for line in lines if SYSTEM.search(line) and not WARNS.search(line)]
        if (line := _complaint(text, BANNERS)) is not None:
            return _of_kind(line, text, order)
        line = _complaint(text, EXCEPTIONS) or _said(text, spoken(lines) or of_system) or _complaint(text)
        return _judged(_of_kind(line, text, order), text) if line else _error(text, order)
    return box


def _errors(text: str, order: OutputOrder) -> list[Complaint]:
    """The last complaints that are errors in the words of a program, and that it did not get over.

    If it says that it ends early, all of them are.
    """
    last = [one for one in last_complaints(text) if not order.goes_on_after(one.line)]
    return last if any(GIVES_UP.search(one.line) for one in last) else [one for one in last if one.of_error]


def _error(text: str, order: OutputOrder) -> JobFailure | None:
    """What a program calls an error in its last lines, unless it succeeded nevertheless."""
    errors = _errors(text, order)
    sure = any(CAPITALS.match(one.line) or GIVES_UP.search(one.line) or any(_kinds(one)) for one in errors)
    after = text.rpartition(errors[-1].line)[2] if sure else ""
    if not sure or SUCCEEDED.search(after):
        return None
    words = shortened(" / ".join(dict.fromkeys(one.words for one in telling_complaints(errors))))
    overcome = bool(after.strip()) and not any(GIVES_UP.search(one.line) for one in errors)
    failure = JobFailure(meaning=f"it says: {words.rstrip('.')}.", remedy=NO_CAUSE, quote=words, overcome=overcome)
    return _of_kind(failure, text, order)


def _last_of_stack(text: str, line: str) -> str:
    """The last line of the stack that MPICH prints below `line`, which says what went wrong; else that line."""
    if not line.rstrip().endswith(STACK):
        return line
    below = text[text.index(line) + len(line) :].lstrip("\n").split("\n")
    calls = (CALL.match(one) for one in below)
    stack = [call for call in itertools.takewhile(bool, calls) if call and call["words"]]
    return stack[-1].string if stack else line


def _ended(loss: Loss, text: str) -> JobFailure | None:
    """What ended the job as a whole, where its scheduler says so."""
    where = f" on {', '.join(loss.suspects)}" if loss.suspects else ""
    match loss.cause:
        case LossCause.NODE_FAILURE:
            return JobFailure(meaning=f"{', '.join(loss.suspects) or 'a node'} failed while the job ran.", remedy=LOST)
        case LossCause.TIME_LIMIT:
            return JobFailure(meaning="the job reached its time limit.", remedy=TIME, quote=_line_of(TIME_LIMIT, text))
        case LossCause.CANCELLED:
            return JobFailure(meaning="the job was cancelled.", remedy=CANCELLED)
        case LossCause.OUT_OF_MEMORY:
            return JobFailure(meaning=f"memory ran out{where}.", remedy=MEMORY, quote=_line_of(OOM_KILL, text))
    return None


def _line_of(expression: re.Pattern[str], text: str) -> str:
    """The first line that matches, shortened; empty if none does."""
    return next((shortened(line) for line in text.split("\n") if expression.search(line)), "")


def _complaint(text: str, complains: re.Pattern[str] = PROGRAMS) -> JobFailure | None:
    """The first line with which a launcher, a shell or a library complains; of a traceback its last line."""
    complaint = complains.search(text)
    if complaint is None:
        return None
    line = complaint.group()
    if line.rstrip().endswith(":") and not line.startswith(TRACEBACK):
        line = f"{line} {text[complaint.end() :].lstrip().partition(chr(10))[0]}"
    if (what := WHAT.match(text, complaint.end())) is not None:
        line = f"{line} {what[1]}"
    if (calls := CALLS.match(text, complaint.end())) is not None and (deepest := DEEPEST.findall(calls.group())):
        line = deepest[-1]
    if line.startswith(TRACEBACK):
        rest = [words for words in text[complaint.end() :].splitlines() if words.strip() and words[0] != " "]
        line = rest[0] if rest else line
    remedy = LOGIN if line.endswith(": command not found") else NO_CAUSE
    return JobFailure(meaning=f"it says: {shortened(line).rstrip('.')}.", remedy=remedy, quote=shortened(line))
