"""Why an MPI program did not start, from what its launcher wrote to standard error; pure."""

import re

from seatrial.launch.causes.cause import first_cause
from seatrial.launch.causes.mpi import MPI
from seatrial.launch.causes.programs import PROGRAMS
from seatrial.launch.causes.slurm import SLURM
from seatrial.launch.causes.transports import TRANSPORTS

CAUSES = (*MPI, *TRANSPORTS, *PROGRAMS, *SLURM)
"""The first that fits is named, so those that tell more come first."""
NOISE = re.compile(
    r"Terminated$|Killed$|forcing job termination|Force Terminated|Job step aborted|CANCELLED AT|^[-*\s]*$|^\*\*\*"
)
MOST_LINES = 3


def explain(text: str) -> tuple[str, str]:
    """What it means and what to do; for a failure that is not known the telling lines themselves, and no advice."""
    known = first_cause(CAUSES, text)
    if known is not None:
        return known
    lines = [line.strip() for line in text.splitlines() if not NOISE.search(line.strip())]
    return " / ".join(dict.fromkeys(lines[:MOST_LINES])) or "it said nothing", ""
