"""Slurm, modules system, MPI and transport libraries, from a frame."""

import re

from seatrial.model.system import SoftwareFacts
from seatrial.node.frame import Frame, answer, why_no_answer
from seatrial.node.mpi import (
    FABRIC_PROVIDERS,
    FABRIC_VERSION,
    OMPI_COMPONENTS,
    UCX_DEVICES,
    UCX_VERSION,
    read_libraries,
    read_mpi_files,
    read_mpi_settings,
    why_no_files,
    why_no_mpi,
    why_no_settings,
)

SLURM_CLIENTS = ("sinfo --version", "srun --version")
SLURM_DAEMON = "slurmd -V"
SLURM = re.compile(r"slurm\S* +(\S+)")


def slurm_version(frame: Frame, commands: tuple[str, ...]) -> str:
    """The version number ("22.05.8"), or "" where no command prints it; Debian calls the program slurm-wlm."""
    for command in commands:
        for line in answer(frame, command):
            if match := SLURM.fullmatch(line.strip()):
                return match[1]
    return ""


def why_no_slurm(frame: Frame, commands: tuple[str, ...]) -> str:
    """Why none of the commands gave it."""
    return "; ".join(why_no_answer(frame, command) for command in commands)


LMOD = "LMOD_VERSION"
MODULES = re.compile(r".*\bModules Release (\S+).*")
TELL_MORE = (OMPI_COMPONENTS, UCX_VERSION, UCX_DEVICES, FABRIC_VERSION, FABRIC_PROVIDERS)


def read_software(frame: Frame) -> tuple[SoftwareFacts, dict[str, str]]:
    """The software of a frame.

    Second: name of a fact ("software.slurm_client") -> why it is not known; "software.libraries" also names the
    commands that did not list what is compiled in.
    """
    facts = SoftwareFacts(
        slurm_client=slurm_version(frame, SLURM_CLIENTS),
        slurm_daemon=slurm_version(frame, (SLURM_DAEMON,)),
        libraries=read_libraries(frame),
        mpi_settings=read_mpi_settings(frame),
        mpi_files=read_mpi_files(frame),
        modules_system=_modules_system(frame),
    )
    silent = "; ".join(why_no_answer(frame, command) for command in TELL_MORE if not answer(frame, command))
    reasons = {
        "slurm_client": why_no_slurm(frame, SLURM_CLIENTS) if not facts.slurm_client else "",
        "slurm_daemon": why_no_slurm(frame, (SLURM_DAEMON,)) if not facts.slurm_daemon else "",
        "libraries": silent if facts.libraries else f"{why_no_mpi(frame)}; {silent}",
        "mpi_settings": why_no_settings(frame) if not facts.mpi_settings else "",
        "mpi_files": why_no_files(frame) if not facts.mpi_files else "",
        "modules_system": frame.reason(LMOD) if not facts.modules_system else "",
    }
    return facts, {f"software.{name}": why for name, why in reasons.items() if why}


def _modules_system(frame: Frame) -> str:
    """Lmod has its version in $LMOD_VERSION, Environment Modules through $MODULES_CMD --version."""
    if lmod := frame.values.get(LMOD, "").strip():
        return f"Lmod {lmod}"
    for command in frame.commands:
        for line in answer(frame, command) if "modulecmd" in command else ():
            if match := MODULES.fullmatch(line):
                return f"Environment Modules {match[1]}"
    return ""
