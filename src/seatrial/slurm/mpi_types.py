"""The types of `srun --mpi`: which there are, and which one the site uses by default; pure."""

import re

from seatrial.slurm.text import config_value

MPI_TYPES = ("srun", "--mpi=list")
CRAY = "cray_shasta"
ASIDE = {CRAY, "openmpi", "lam", "mvapich", "mpichgm", "mpichmx", "mpich1_p4", "mpich1_shmem"}
"""cray_shasta is for one vendor's MPI on its own machines, openmpi means none on all Slurms since 2012, and the others
are for MPIs of before 2010, which Slurm listed until 19.05."""


def parse_mpi_list(text: str) -> tuple[str, ...]:
    """From `srun --mpi=list`: a title, then a word a line.

    Slurm before 22.05 puts `srun: ` before each, the oldest ones `mpi/`, too; later ones name the versions of pmix in a
    line of its own, which say nothing that the word pmix does not.
    """
    words = []
    for line in text.splitlines():
        word = line.strip().removeprefix("srun: ").strip().removeprefix("mpi/")
        if re.fullmatch(r"[\w-]+", word) and word not in ASIDE:
            words.append(word)
    return tuple(dict.fromkeys(words))


def default_type(config: str) -> str:
    """The site's MpiDefault in `scontrol show config`; `none` if it is not set."""
    named = config_value(config, "MpiDefault").removeprefix("mpi/")
    return named if named not in ("", "(null)") else "none"


JOINS_NONE = "none"
"""Joins no ranks. An MPI that starts without a type has worked by the site's own."""


def other_types(listed: str, config: str) -> tuple[str, tuple[str, ...]]:
    """The site's own type, and the others that may work: from the list and from `scontrol show config`.

    Cray MPICH is started by cray_shasta alone, and no other MPI is: it is the last that is tried.
    """
    usual = default_type(config)
    names = [*parse_mpi_list(listed), *([CRAY] if CRAY in listed.split() else [])]
    return usual, tuple(name for name in names if name not in (usual, JOINS_NONE))
