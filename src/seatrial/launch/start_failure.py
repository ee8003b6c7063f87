"""Why an MPI program did not start, from what its launcher wrote to standard error; pure."""

import re
from collections.abc import Sequence

from seatrial.launch.causes.cause import first_cause
from seatrial.launch.causes.mpi import MPI
from seatrial.launch.causes.programs import PROGRAMS
from seatrial.launch.causes.slurm import SLURM
from seatrial.launch.causes.transports import TRANSPORTS
from seatrial.launch.environments.kind import ENTERED

CAUSES = (*MPI, *TRANSPORTS, *PROGRAMS, *SLURM)
"""The first that fits is named, so those that tell more come first."""
NOISE = re.compile(
    r"Terminated$|Killed$|_step_signal: Terminating|forcing job termination|Force Terminated|Job step aborted"
    r"|CANCELLED AT|PMIX ERROR: ERROR in file \S+gds_ds12_lock|^[-*\s]*$|^\*\*\*"
)
"""The line of PMIx is said to ordinary users at every start, good or bad."""
MOST_LINES = 3


def explain(text: str, nodes: Sequence[str] = ()) -> tuple[str, str]:
    """What it means and what to do; for a failure that is not known the telling lines themselves, and no advice.

    `nodes`: that of each task, where they are known; a node is then named where srun names its task alone.
    """
    text = re.sub(r"\btask (\d+)(?= launch failed)", lambda task: _placed(task, nodes), text)
    text = text.partition(f"{ENTERED}\n")[2] or text
    known = first_cause(CAUSES, text)
    if known is not None:
        return known
    lines = [line.strip() for line in text.splitlines() if not NOISE.search(line.strip()) and line != ENTERED]
    return " / ".join(dict.fromkeys(lines[:MOST_LINES])) or "it said nothing", ""


def _placed(task: re.Match[str], nodes: Sequence[str]) -> str:
    number = int(task.group(1))
    return f"{task.group()} (on {nodes[number]})" if number < len(nodes) else task.group()
