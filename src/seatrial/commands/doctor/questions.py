"""What the doctor asks Slurm and this machine before anything is started."""

import os
import socket
from collections.abc import Mapping

import msgspec

from seatrial.process.process import Completed, run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, asked_settled
from seatrial.slurm.text import MPI_TYPES, default_type, parse_mpi_list

CLIENT = ("srun", "--version")
NODES = ("scontrol", "--oneliner", "show", "node")
PARTITIONS = ("scontrol", "--all", "--oneliner", "show", "partition")
"""Includes partitions that Slurm hides from users who may not use them."""
RUNNING = ("squeue", "--noheader", "--states=R", "--format=%i")
GROUPS = ("id", "-Gn")


class SlurmAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The unmodified output of Slurm's commands."""

    sinfo: Completed
    client: str
    config: str
    nodes: str
    partitions: str
    mpi_types: str
    running_jobs: int


def ask_slurm() -> SlurmAnswers:
    """Runs one command after the other; where sinfo gets no answer, the others are not run, and stay empty."""
    sinfo = asked_settled(slurm_argv.SINFO)
    if not sinfo.ok:
        return SlurmAnswers(sinfo=sinfo, client="", config="", nodes="", partitions="", mpi_types="", running_jobs=0)
    listed = run(MPI_TYPES, timeout_s=COMMAND_TIMEOUT_S)
    return SlurmAnswers(
        sinfo=sinfo,
        client=version_line(_said(CLIENT)),
        config=_said(slurm_argv.CONFIG),
        nodes=_said(NODES),
        partitions=_said(PARTITIONS),
        mpi_types=listed.stdout + listed.stderr,  # on standard error before 22.05
        running_jobs=sum(line[:1].isdecimal() for line in _said(RUNNING).splitlines()),
    )


def version_line(said: str) -> str:
    """`slurm-wlm 22.05.8`, whatever a site's wrapper around the command says besides; all of it where it is another."""
    lines = [line.strip() for line in said.splitlines()]
    return next((line for line in lines if line.lower().startswith("slurm")), said.strip())


def versions_of(nodes: str) -> Mapping[str, str]:
    """Node -> version of its slurmd, from `scontrol --oneliner show node`; a node that never answered has none."""
    found = {}
    for line in nodes.splitlines():
        words = dict(word.partition("=")[::2] for word in line.split() if "=" in word)
        if words.get("NodeName"):
            found[words["NodeName"]] = words.get("Version", "")
    return found


def config_of(answers: SlurmAnswers, key: str) -> str:
    """One value of the controller's configuration; empty if it is not set."""
    return text.config_value(answers.config, key)


def default_mpi(answers: SlurmAnswers) -> str:
    """The type of --mpi that srun takes here if none is given."""
    return os.environ.get("SLURM_MPI_TYPE") or default_type(answers.config)


def offered_mpi(answers: SlurmAnswers) -> tuple[str, ...]:
    """The types that srun lists."""
    return parse_mpi_list(answers.mpi_types)


def groups() -> frozenset[str]:
    """Names of the user's groups."""
    return frozenset(_said(GROUPS).split())


def user_id() -> int:
    """The number of the user."""
    return os.getuid()


def host_name() -> str:
    """What this machine calls itself, without its domain."""
    return socket.gethostname().partition(".")[0]


def environ() -> Mapping[str, str]:
    """This process's environment."""
    return dict(os.environ)


def _said(argv: tuple[str, ...]) -> str:
    return run(argv, timeout_s=COMMAND_TIMEOUT_S).stdout
