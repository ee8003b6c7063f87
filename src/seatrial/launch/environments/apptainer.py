"""Apptainer, and Singularity, as it was called."""

from collections.abc import Sequence

from seatrial.launch.environments.containers import on_node
from seatrial.launch.environments.kind import Kind, Where, Words, Wrap

KEEPING = "Take --cleanenv and --containall out of the SPEC, and see that APPTAINER_CLEANENV is not set."


def wrapped_by(program: str) -> Wrap:
    """`exec` of that program, which sees the folders."""

    def wrap(words: Words, folders: Words, argv: Sequence[str]) -> list[str]:
        bound = [part for folder in folders for part in ("--bind", folder)]
        return on_node("--bind=", program, "exec", [*bound, *words, *argv])

    return wrap


APPTAINER = Kind(
    name="apptainer", form="IMAGE", where=Where.INSIDE, wrap=wrapped_by("apptainer"), takes_options=True,
    name_last=True, keeping=KEEPING,
)  # fmt: skip
SINGULARITY = Kind(
    name="singularity", form="IMAGE", where=Where.INSIDE, wrap=wrapped_by("singularity"), takes_options=True,
    name_last=True, keeping=KEEPING,
)  # fmt: skip
