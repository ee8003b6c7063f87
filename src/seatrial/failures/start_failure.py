"""Why an MPI program did not start, a host refused a login, or an environment failed, from standard error.

`causes/ssh.toml` has the sentences of OpenSSH 9.2 (ssh.c, sshconnect.c, packet.c) and of PAM modules on compute nodes.
"""

import re
from collections.abc import Sequence

import msgspec

from seatrial.failures.cause import (
    FailureCause,
    Speaker,
    Statement,
    causes,
    first_cause,
    shortened,
    statements,
    strongest,
)
from seatrial.failures.printed_text import HARMLESS, plain, without_colours, without_warnings

TABLES = ("programs", "devices", "kernel", "transports", "pmi", "ssh", "launchers", "slurm")
OF_JOBS = ("files", "runtimes")
"""Tables of what jobs do beside starting a program on nodes."""
REFUSALS = "refusals"
ASKS = re.compile(
    r"(?:Unable to allocate resources|Job submit/allocate failed|Batch job submission failed): "
    r"|\bs(?:alloc|batch): error: "
)
"""Slurm's answer to a request for nodes, as by a launch line that allocates its nodes itself."""
NOISE = re.compile(
    r"Terminated$|Killed$|_step_signal: Terminating|forcing job termination|Force Terminated|Job step aborted"
    r"|CANCELLED AT|PMIX ERROR: ERROR in file \S{0,400}gds_ds12_lock|^[-*=\s]*$|^\*\*\*|^=+ backtrace|^ *\d+ +(?:/|0x)"
)
"""PMIx prints its line to ordinary users at every start, good or bad."""
OWN_WORDS = re.compile(r"^(?:srun|salloc|sbatch): error: (\S{0,40}[^\W\d_][^\n]{0,400} [^\n]{0,400})$")
"""A sentence: Slurm's names of limits are single words."""
MOST_LINES = 3
SAID_NOTHING = "it said nothing"
ENTERED = "seatrial: entered"
"""Our shell scripts print it to standard error after login scripts: what comes before is not about the start."""
COMPLAINS = re.compile(
    r"\b(?:err|error|fatal|fail|fails|failed|failure|abort|aborted|aborting|cannot|can't|couldn't|could not|unable"
    r"|invalid|denied|refused|timed out|time-?out|not found|not supported|no such|unreachable|exceeded|lost"
    r"|mismatch|mismatched|unrecognized)\b|[a-z]_ERR_",
    re.IGNORECASE,
)
LINES_OF = (
    (
        Speaker.DRIVER,
        re.compile(r"\b(?:ibv|mlx5dv)_\w|\bmlx[45]_core\b|\bcxi\d|\bhfi1?_|PSM[23]? |prov_err|^[\w.-]+:rank\d+[:.]"),
    ),
    (
        Speaker.TRANSPORT,
        re.compile(r"UCX +(?:ERROR|FATAL|Fatal)|ib_mlx5_log\.c|libfabric:\S{0,200}<(?:warn|critical)>|NCCL WARN "),
    ),
    (Speaker.PMI, re.compile(r"PMIX? ERROR|PMGR_COLLECTIVE ERROR|\bPMI[2xX]?_|mpi/pmix")),
    (
        Speaker.MPI,
        re.compile(
            r"(?:MPICH|MPT|INTERNAL) ERROR|Fatal error in |MPI_ERR|\b(?:pml|btl|mtl|osc|coll)_\w+\.[ch]:"
            r"|^Assertion failed in file "
        ),
    ),
    (Speaker.LAUNCHER, re.compile(r"(?:ORTE|PRTE|PRRTE)[ _]ERROR(?:_LOG)?: |^\[(?:mpiexec|proxy:)")),
    (Speaker.STEP, re.compile(r"^slurm(?:step|ctl|db)?d\S{0,255}: (?:error|fatal): (?!\*\*\* )")),
)
"""How lines of a speaker look, if no cause is known for them; in the order of `Speaker`."""
SSH_REMEDY = "`ssh -o BatchMode=yes HOST true` must work for each host without a question."
LONGEST_REPLY = 160
LABEL = re.compile(r"^ *(\d{1,9}): ?(.*)$", re.MULTILINE)
"""The prefix that `srun --label` puts before each line of a task."""
LONGEST = 300
LONGEST_LINE = 4096


class StartFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a program did not start. Of an unknown cause `meaning` quotes the output, and there is no remedy."""

    meaning: str
    """The cause, with the line that states it."""
    remedy: str = ""
    transient: bool = True
    """Another start may succeed."""
    other_mpi_type: bool = False
    """The remedy proposes another `srun --mpi`."""
    absent_probe: bool = False
    """Nodes may not have the probe where it was built."""
    silent: bool = False
    """The output contains nothing but noise."""


def known_causes() -> tuple[FailureCause, ...]:
    """All causes of a failed start."""
    return causes(*TABLES)


def causes_of(telling: str) -> tuple[FailureCause, ...]:
    """The causes of a failed start; those of a refused request as well if the plain text has the answer to one."""
    return causes(REFUSALS, *TABLES) if ASKS.search(telling) else known_causes()


def causes_of_job(telling: str) -> tuple[FailureCause, ...]:
    """The causes of a failed job: also what it did before its programs, with modules and by ssh."""
    before = (cause for cause in causes("environments") if not cause.unspecific)
    return (*before, *causes_of(telling), *causes(*OF_JOBS))


def explain(text: str, nodes: Sequence[str] = ()) -> StartFailure:
    """What the output states most specifically, by the first of its speakers; else the lines that complain.

    `nodes`: the node of each task, if known; a node is then named where srun names its task alone.
    """
    text = plain(text)
    text = text.partition(f"{ENTERED}\n")[2] or text
    text = re.sub(r"\btask (\d{1,9})(?= launch failed)", lambda task: _placed(task, nodes), text)
    telling = plain(without_warnings(text))
    table = causes_of(telling)
    stated = statements(table, telling)
    best = strongest(stated)
    if best is None or best.cause.unspecific:  # then a line that successful starts print as well may be the cause
        whole = strongest(statements(table, text))
        best = whole if best is None or (whole is not None and not whole.cause.unspecific) else best
    if best is not None:
        line = stronger_line(telling, stated, best)
        return _of(best, f"{line} / after that " if line else "")
    for output, chat in ((telling, False), (text, True)):
        quoted = _quoted(output, chat=chat)
        if quoted:
            return StartFailure(meaning=quoted)
    return StartFailure(meaning=SAID_NOTHING, silent=True)


def why_refused(output: str) -> tuple[str, str] | None:
    """Meaning with its quote, and remedy, of what salloc or sbatch wrote; None if no cause is known.

    What a rule of the site printed above Slurm's own words is quoted as well.
    """
    text = plain(without_warnings(plain(output)))
    stated = statements(causes(REFUSALS, *TABLES), text)
    best = strongest(stated) or strongest(statements(causes(REFUSALS, *TABLES), plain(output)))
    if best is None:
        return None
    return f"{quoted_meaning(best)}{words_above(text, stated, best)}", best.cause.remedy


def words_above(text: str, stated: Sequence[Statement], best: Statement) -> str:
    """What a rule of the site printed above the refusal `best` of Slurm, as a sentence; empty if it printed nothing."""
    lines = text.split("\n")
    if best not in stated or not ASKS.search(lines[best.last]):
        return ""
    explained = {number for statement in stated for number in range(statement.first, statement.last + 1)}
    above = [
        match.group(1)
        for number, line in enumerate(lines[: best.first])
        if number not in explained and (match := OWN_WORDS.match(line)) is not None
    ]
    return f" Above it: {shortened(' '.join(above[:MOST_LINES]))}" if above else ""


def quoted_meaning(statement: Statement) -> str:
    """The meaning of a statement with the line that makes it, unless the meaning contains that already."""
    return statement.meaning if statement.quoted else f"{statement.meaning} It says: {statement.quote}"


def _of(statement: Statement, before: str = "") -> StartFailure:
    return StartFailure(
        meaning=before + quoted_meaning(statement),
        remedy=statement.cause.remedy,
        transient=statement.cause.transient,
        other_mpi_type=statement.cause.other_mpi_type,
        absent_probe=statement.cause.absent_probe,
    )


def stronger_line(text: str, stated: Sequence[Statement], best: Statement) -> str:
    """The first complaint of a speaker before `best` for which no cause is known; empty where there is none.

    What is specific needs no other line.
    """
    if not best.cause.unspecific:
        return ""
    stated_lines = {number for one in stated for number in (*range(one.first, one.last + 1), *one.lines)}
    lines = text.split("\n")
    least = best.cause.speaker.rank + (speaker_of(lines[best.first]) is None)  # a box is about what its library printed
    for number, line in enumerate(lines):
        speaker = speaker_of(line)
        if speaker is None or number in stated_lines or HARMLESS.search(line):
            continue
        if speaker.rank < least and COMPLAINS.search(line):
            return shortened(line)
    return ""


def speaker_of(line: str) -> Speaker | None:
    """The speaker whose lines look like this; None for a line of nobody known."""
    return next((speaker for speaker, looks in LINES_OF if looks.search(line)), None)


def _quoted(text: str, *, chat: bool) -> str:
    """The lines of the strongest speaker that complain, else all lines but noise; at most MOST_LINES, in order."""
    lines = [line.strip() for line in text.splitlines() if not NOISE.search(line.strip()) and line != ENTERED]
    lines = list(dict.fromkeys(lines))
    complaints = [] if chat else [line for line in lines if COMPLAINS.search(line)]
    return " / ".join(([*dict.fromkeys([*spoken(complaints), *complaints])] or lines)[:MOST_LINES])


def spoken(lines: Sequence[str]) -> list[str]:
    """The lines in which the strongest of the known speakers complains; empty if none of them does."""
    complaints = [(speaker, line) for line in lines if COMPLAINS.search(line) and (speaker := speaker_of(line))]
    first = min((speaker.rank for speaker, _ in complaints), default=0)
    return [line for speaker, line in complaints if speaker.rank == first]


def _placed(task: re.Match[str], nodes: Sequence[str]) -> str:
    number = int(task.group(1))
    return f"{task.group()} (on {nodes[number]})" if number < len(nodes) else task.group()


def why_unreachable(host: str, text: str, *, timed_out: bool, limit_s: float) -> str:
    """A sentence without its capital and full stop: why `host` did not answer over ssh, and what to do."""
    match = first_cause(causes("ssh"), text)
    if match:
        meaning, remedy = match
        reason = f"{meaning.rstrip('.')}; {remedy[:1].lower()}{remedy[1:]}"
        return reason.replace("the nodes", "the host").replace("HOST", host).rstrip(".")
    if timed_out:
        return f"it did not answer over ssh within {limit_s:.0f} s"
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    return f"ssh failed ({lines[-1][:LONGEST_REPLY]})" if lines else "ssh ended without an answer"


def why_not_entered(text: str) -> tuple[str, str] | None:
    """Meaning, without its full stop, and remedy; None where nothing in `text` is known.

    `text`: standard error, with or without `srun --label`; of several tasks the first counts.
    """
    stated = strongest(statements(causes("environments"), _in_one_line(without_colours(text))))
    if stated is not None:
        return stated.meaning[:LONGEST], stated.cause.remedy
    program = first_cause(causes("programs"), text)
    return (program[0].rstrip("."), program[1]) if program is not None else None


def _in_one_line(text: str) -> str:
    tasks = [task for task, _ in LABEL.findall(text)]
    first = [rest for task, rest in LABEL.findall(text) if task == tasks[0]] if tasks else text.splitlines()
    return " ".join(" ".join(first)[:LONGEST_LINE].split())
