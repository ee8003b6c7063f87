"""A program for nodes that share no folder with this machine: copied to them by sbcast, and removed from them."""

import secrets
from collections.abc import Sequence
from pathlib import Path

from seatrial.process.process import run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text as slurm_text

FOLDER = "/tmp"  # noqa: S108 - every node has it; the name in it cannot be guessed, and is not overwritten
TIMEOUT_S = 60.0
REMOVAL_S = 15.0
"""Time limit at the end of a command, which waits for it."""
MISSING = "missing"


class ProgramCopy:
    """A program on all nodes of a job; `path`: where it is there."""

    def __init__(self, job: str, nodes: Sequence[str], path: str, arguments: Sequence[str]) -> None:
        self.path = path
        self._job, self._nodes, self._arguments = job, tuple(nodes), tuple(arguments)

    def remove(self) -> None:
        """A node that does not answer keeps it until its /tmp is emptied."""
        run(slurm_argv.remove_step(self._job, self._nodes, self.path, self._arguments), timeout_s=REMOVAL_S)


def copied(
    job: str, nodes: Sequence[str], of_job: Sequence[str], program: Path, arguments: Sequence[str] = ()
) -> ProgramCopy | None:
    """The copy on all nodes of the job; None where one of `nodes` has the program, or it cannot be copied.

    If only some nodes lack it, a folder that they should share is missing there, which is theirs to repair.
    """
    asked = run(slurm_argv.presence_step(job, nodes, str(program), arguments), timeout_s=TIMEOUT_S)
    if len(slurm_text.unlabelled(asked.stdout, MISSING)) < len(nodes):
        return None
    target = f"{FOLDER}/{program.name}-{secrets.token_hex(8)}"
    copy = ProgramCopy(job, of_job, target, arguments)
    if run(slurm_argv.broadcast(job, str(program), target), timeout_s=TIMEOUT_S).ok:
        return copy
    copy.remove()
    return None
