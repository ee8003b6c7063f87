"""Why an MPI program did not start, from what its launcher wrote to standard error; pure."""

import re
from collections.abc import Sequence

from seatrial.failures.cause import first_cause
from seatrial.failures.devices import DEVICES
from seatrial.failures.job_refusals import REFUSALS
from seatrial.failures.libraries import LIBRARIES
from seatrial.failures.mpi_summary import LAST
from seatrial.failures.open_mpi import MPI
from seatrial.failures.plain_text import plain, without_warnings
from seatrial.failures.pmi import PMI
from seatrial.failures.programs import PROGRAMS
from seatrial.failures.slurm_commands import SLURM
from seatrial.failures.transports import TRANSPORTS
from seatrial.launch.line_options import HYDRA

SURE = (*PMI, *MPI, *HYDRA, *TRANSPORTS, *PROGRAMS, *LIBRARIES, *SLURM)
CAUSES = (*SURE, *DEVICES, *LAST)
"""The first that fits is named, so those that tell more come first."""
GUESSES = frozenset(cause.remedy for cause in (*DEVICES, *LAST)) - {cause.remedy for cause in SURE}
"""The advice for what may pass by itself, since MPI did not quite say what was wrong."""
ASKS = re.compile(r"Unable to allocate resources: |Job submit/allocate failed: ")
"""By a launch line that gets hold of its nodes itself."""
NOISE = re.compile(
    r"Terminated$|Killed$|_step_signal: Terminating|forcing job termination|Force Terminated|Job step aborted"
    r"|CANCELLED AT|PMIX ERROR: ERROR in file \S+gds_ds12_lock|^[-*\s]*$|^\*\*\*"
)
"""The line of PMIx is said to ordinary users at every start, good or bad."""
MOST_LINES = 3
SAID_NOTHING = "it said nothing"


def explain(text: str, nodes: Sequence[str] = ()) -> tuple[str, str]:
    """What it means and what to do; for a failure that is not known the telling lines themselves, and no advice.

    `nodes`: that of each task, where they are known; a node is then named where srun names its task alone.
    """
    text = plain(text)
    text = text.partition(f"{ENTERED}\n")[2] or text
    text = re.sub(r"\btask (\d+)(?= launch failed)", lambda task: _placed(task, nodes), text)
    telling = without_warnings(text)
    known = first_cause((*REFUSALS, *CAUSES) if ASKS.search(telling) else CAUSES, telling)
    if known is not None:
        return known
    quoted = _quoted(telling)
    return (quoted, "") if quoted else first_cause(CAUSES, text) or (_quoted(text) or SAID_NOTHING, "")


def _quoted(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not NOISE.search(line.strip()) and line != ENTERED]
    return " / ".join(list(dict.fromkeys(lines))[:MOST_LINES])


def _placed(task: re.Match[str], nodes: Sequence[str]) -> str:
    number = int(task.group(1))
    return f"{task.group()} (on {nodes[number]})" if number < len(nodes) else task.group()


ENTERED = "seatrial: entered"
"""Said on standard error by those of our shell texts in which others talk: what came before was their greeting."""
