"""Which Slurm and which MPI a node has, from what their commands say of themselves."""

import re

from seatrial.facts.frame import Frame

SLURM_COMMANDS = ("sinfo --version", "srun --version", "slurmd -V")
MPI_COMMANDS = ("mpirun --version", "ompi_info --version", "mpichversion", "mpiexec --version")
SLURM = re.compile(r"slurm\S* +(\S+)")
MPI_WORDS = (
    (re.compile(r"mpi(?:run|exec) \(Open MPI\) (\S+)"), "Open MPI"),
    (re.compile(r"Open MPI v(\S+)"), "Open MPI"),
    (re.compile(r"MPICH Version:\s*(\S+)"), "MPICH"),
    (re.compile(r"MVAPICH\S*(?: MPI)? Version\s*:\s*(\S+)", re.IGNORECASE), "MVAPICH"),
    (re.compile(r"Intel\(R\) MPI Library .*Version (\S+)"), "Intel MPI"),
    (re.compile(r"\s+Version:\s+(\S+)"), "Hydra"),
)


def slurm_version(frame: Frame) -> str:
    """The version number ("22.05.8"), or "" where no command tells it; Debian calls the program slurm-wlm."""
    for command in SLURM_COMMANDS:
        for line in _answer(frame, command):
            if match := SLURM.fullmatch(line.strip()):
                return match[1]
    return ""


def mpi_versions(frame: Frame) -> tuple[str, ...]:
    """Each MPI once ("Open MPI 4.1.4"), in the order the commands name them; one that we do not know, word for word."""
    found: dict[str, None] = {}
    for command in MPI_COMMANDS:
        lines = _answer(frame, command)
        version = next(filter(None, map(_known, lines)), lines[0].strip()[:80] if lines else "")
        if version:
            found[version] = None
    return tuple(found)


def why_no_slurm(frame: Frame) -> str:
    """What each command that could have told it did instead."""
    return "; ".join(_failure(frame, command) for command in SLURM_COMMANDS)


def why_no_mpi(frame: Frame) -> str:
    """What each command that could have told it did instead."""
    return "; ".join(_failure(frame, command) for command in MPI_COMMANDS)


def _answer(frame: Frame, command: str) -> tuple[str, ...]:
    output = frame.commands.get(command)
    return output.lines if output is not None and output.status == 0 else ()


def _known(line: str) -> str:
    for pattern, name in MPI_WORDS:
        if match := pattern.match(line):
            return f"{name} {match[1]}"
    return ""


def _failure(frame: Frame, command: str) -> str:
    output = frame.commands.get(command)
    if output is None:
        return frame.reason(command)
    if output.status == 124:
        return f"{command}: no answer in 5 s"
    said = output.lines[-1].strip() if output.lines else "nothing"
    return f"{command}: exit status {output.status}, said {said[:120]!r}"
