"""A program of the site's own that ends with exec "$@"."""

from collections.abc import Sequence

from seatrial.launch.environments.kind import Kind, Where, Words


def wrap(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """The program, its own arguments, then argv."""
    return [*words, *argv]


SCRIPT = Kind(
    name="script",
    form="/PATH/PROGRAM [ARGUMENT...]",
    where=Where.INSIDE,
    wrap=wrap,
    takes_options=True,
    keeping="The script has to leave them alone: no env -i, or one that passes SLURM_* and PMI* on.",
)
