"""Why an MPI program did not start, from what its launcher wrote to standard error; pure."""

import re

import msgspec

NO_PMI = (
    "the launcher and this MPI do not know each other, so its ranks found nobody to join.",
    "Under Slurm choose another --mpi (srun --mpi=list shows which: pmix, pmi2); without it use the mpirun of the same "
    "MPI as mpicc.",
)


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One known way to fail: what it looks like, what it means (`\\1` from the look), what to do."""

    look: str
    meaning: str
    remedy: str


CAUSES = (
    Cause(look=r"OMPI was not built with SLURM's PMI support|PMI_Init.*failed", meaning=NO_PMI[0], remedy=NO_PMI[1]),
    Cause(
        look=r"Invalid MPI type '([^']*)'",
        meaning=r"Slurm knows no MPI type '\1'.",
        remedy="srun --mpi=list shows those it knows.",
    ),
    Cause(
        look=r"execve\(\): ([^:]*): No such file or directory|error: .*?(/\S*seatrial-probe)[^\n]*No such file",
        meaning=r"the nodes do not see the probe \1.",
        remedy="Name a folder that all nodes share with --probe-dir.",
    ),
    Cause(
        look=r"execve\(\): ([^:]*): Permission denied",
        meaning=r"the nodes may not run the probe \1.",
        remedy="Name a folder that is not mounted noexec with --probe-dir.",
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:]*):",
        meaning=r"the nodes miss the library \1.",
        remedy="Load the same MPI module on the nodes as where the probe was built.",
    ),
)
NOISE = re.compile(
    r"Terminated$|Killed$|forcing job termination|Force Terminated|Job step aborted|CANCELLED AT|^[-*\s]*$|^\*\*\*"
)
MOST_LINES = 3


def explain(text: str) -> tuple[str, str]:
    """What it means and what to do; for a failure that is not known the telling lines themselves, and no advice."""
    for cause in CAUSES:
        match = re.search(cause.look, text)
        if match:
            shown = next((group for group in match.groups() if group), "")
            return cause.meaning.replace(r"\1", shown), cause.remedy
    lines = [line.strip() for line in text.splitlines() if not NOISE.search(line.strip())]
    return " / ".join(dict.fromkeys(lines[:MOST_LINES])) or "it said nothing", ""
