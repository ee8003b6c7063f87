"""Why an MPI program did not start, from what its launcher wrote to standard error."""

import re
from collections.abc import Sequence

import msgspec

from seatrial.failures.cause import first_match
from seatrial.failures.job_refusals import REFUSALS
from seatrial.failures.open_mpi import LAST, MPI
from seatrial.failures.plain_text import plain, without_warnings
from seatrial.failures.pmi import HYDRA, PMI, UNREACHABLE
from seatrial.failures.programs import LIBRARIES, PROGRAMS
from seatrial.failures.slurm_commands import SLURM
from seatrial.failures.transports import DEVICES, TRANSPORTS

SURE = (*PMI, *MPI, *HYDRA, *TRANSPORTS, *PROGRAMS, *LIBRARIES, *SLURM, *UNREACHABLE)
CAUSES = (*SURE, *DEVICES, *LAST)
"""The first match counts, so specific causes come first."""
ASKS = re.compile(r"Unable to allocate resources: |Job submit/allocate failed: ")
"""From a launch line that allocates its nodes itself."""
NOISE = re.compile(
    r"Terminated$|Killed$|_step_signal: Terminating|forcing job termination|Force Terminated|Job step aborted"
    r"|CANCELLED AT|PMIX ERROR: ERROR in file \S+gds_ds12_lock|^[-*\s]*$|^\*\*\*"
)
"""PMIx prints its line to ordinary users at every start, good or bad."""
MOST_LINES = 3
SAID_NOTHING = "it said nothing"


class StartFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a program did not start. Of an unknown cause `meaning` quotes the output, and there is no remedy."""

    meaning: str
    remedy: str = ""
    transient: bool = True
    """Another start may succeed."""
    other_mpi_type: bool = False
    """The remedy proposes another `srun --mpi`."""
    silent: bool = False
    """The output contains nothing but noise."""


def explain(text: str, nodes: Sequence[str] = ()) -> StartFailure:
    """The first cause that matches the output, else the lines of the output that matter.

    `nodes`: the node of each task, if known; a node is then named where srun names its task alone.
    """
    text = plain(text)
    text = text.partition(f"{ENTERED}\n")[2] or text
    text = re.sub(r"\btask (\d+)(?= launch failed)", lambda task: _placed(task, nodes), text)
    telling = without_warnings(text)
    match = first_match((*REFUSALS, *CAUSES) if ASKS.search(telling) else CAUSES, plain(telling))
    if match is None:
        quoted = _quoted(telling)
        if quoted:
            return StartFailure(meaning=quoted)
        match = first_match(CAUSES, plain(text))
    if match is None:
        quoted = _quoted(text)
        return StartFailure(meaning=quoted or SAID_NOTHING, silent=not quoted)
    meaning, cause = match
    return StartFailure(
        meaning=meaning, remedy=cause.remedy, transient=cause.transient, other_mpi_type=cause.other_mpi_type
    )


def _quoted(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not NOISE.search(line.strip()) and line != ENTERED]
    return " / ".join(list(dict.fromkeys(lines))[:MOST_LINES])


def _placed(task: re.Match[str], nodes: Sequence[str]) -> str:
    number = int(task.group(1))
    return f"{task.group()} (on {nodes[number]})" if number < len(nodes) else task.group()


ENTERED = "seatrial: entered"
"""Our shell scripts print it to standard error after login scripts: what comes before is not about the start."""
