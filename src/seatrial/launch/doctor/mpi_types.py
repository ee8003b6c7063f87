"""Which --mpi srun offers; pure."""

import re

from seatrial.launch.slurm_text import config_value

ASIDE = {"cray_shasta", "openmpi"}
"""cray_shasta is for one vendor's MPI on its own machines, openmpi means none on all Slurms since 2012."""


def parse_mpi_list(text: str) -> tuple[str, ...]:
    """From `srun --mpi=list`: a title, then a word a line; Slurm before 22.05 puts `srun: ` before each."""
    words = []
    for line in text.splitlines():
        word = line.strip().removeprefix("srun: ").strip()
        if re.fullmatch(r"[\w-]+", word) and word not in ASIDE:
            words.append(word)
    return tuple(dict.fromkeys(words))


def default_type(config: str) -> str:
    """The site's MpiDefault in `scontrol show config`; `none` where it says nothing."""
    return config_value(config, "MpiDefault") or "none"
