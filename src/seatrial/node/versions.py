"""Which Slurm and which MPI a node has, from what their commands say of themselves."""

import re

from seatrial.node.frame import Frame, answer, why_no_answer

SLURM_CLIENTS = ("sinfo --version", "srun --version")
SLURM_DAEMON = "slurmd -V"
SLURM = re.compile(r"slurm\S* +(\S+)")


def slurm_version(frame: Frame, commands: tuple[str, ...]) -> str:
    """The version number ("22.05.8"), or "" where no command tells it; Debian calls the program slurm-wlm."""
    for command in commands:
        for line in answer(frame, command):
            if match := SLURM.fullmatch(line.strip()):
                return match[1]
    return ""


def why_no_slurm(frame: Frame, commands: tuple[str, ...]) -> str:
    """What each command that could have told it did instead."""
    return "; ".join(why_no_answer(frame, command) for command in commands)
