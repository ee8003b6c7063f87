"""Which Slurm and which MPI a node has, from what their commands say of themselves."""

import re

from seatrial.node.frame import Frame

NO_ANSWER = 124
"""Status with which `timeout` ends a command that took longer than the collector waits."""
SLURM_CLIENTS = ("sinfo --version", "srun --version")
SLURM_DAEMON = "slurmd -V"
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


def slurm_version(frame: Frame, commands: tuple[str, ...]) -> str:
    """The version number ("22.05.8"), or "" where no command tells it; Debian calls the program slurm-wlm."""
    for command in commands:
        for line in answer(frame, command):
            if match := SLURM.fullmatch(line.strip()):
                return match[1]
    return ""


def mpi_versions(frame: Frame) -> tuple[str, ...]:
    """Each MPI once ("Open MPI 4.1.4"), in the order the commands name them; one that we do not know, word for word."""
    return tuple(f"{name} {version}" if name else version for name, version in mpi_names(frame))


def mpi_names(frame: Frame) -> tuple[tuple[str, str], ...]:
    """The same, name and version apart; the name is "" where we do not know the words, and those are the version."""
    found: dict[tuple[str, str], None] = {}
    for command in MPI_COMMANDS:
        lines = answer(frame, command)
        said = ("", lines[0].strip()[:80]) if lines else ("", "")
        name_and_version = next(filter(None, map(_known, lines)), said)
        if name_and_version[1]:
            found[name_and_version] = None
    return tuple(found)


def why_no_slurm(frame: Frame, commands: tuple[str, ...]) -> str:
    """What each command that could have told it did instead."""
    return "; ".join(why_no_answer(frame, command) for command in commands)


def why_no_mpi(frame: Frame) -> str:
    """What each command that could have told it did instead."""
    return "; ".join(why_no_answer(frame, command) for command in MPI_COMMANDS)


def answer(frame: Frame, command: str) -> tuple[str, ...]:
    """What a command printed; nothing where it was not there or failed."""
    output = frame.commands.get(command)
    return output.lines if output is not None and output.status == 0 else ()


def why_no_answer(frame: Frame, command: str) -> str:
    """What a command that told nothing did instead."""
    output = frame.commands.get(command)
    if output is None:
        return frame.reason(command)
    if output.status == NO_ANSWER:
        return f"{command}: no answer in 5 s"
    said = output.lines[-1].strip() if output.lines else "nothing"
    return f"{command}: exit status {output.status}, said {said[:120]!r}"


def _known(line: str) -> tuple[str, str] | None:
    for pattern, name in MPI_WORDS:
        if match := pattern.match(line):
            return name, match[1]
    return None
