"""What of a node a container has to see, known only where it is started."""

from collections.abc import Sequence

from seatrial.launch.environments.kind import SHELL

TEXT = r"""
seatrial_flag=$1
seatrial_program=$2
seatrial_verb=$3
shift 3
case ${PMIX_SERVER_TMPDIR:-} in
    /*) [ -d "$PMIX_SERVER_TMPDIR" ] && set -- "$seatrial_flag${PMIX_SERVER_TMPDIR%/}" "$@" ;;
esac
exec "$seatrial_program" "$seatrial_verb" "$@"
"""
"""Slurm's PMIx keeps what the ranks of a node share in its spool: without it they do not find their server's data."""


def on_node(flag: str, program: str, verb: str, rest: Sequence[str]) -> list[str]:
    """`program verb rest...`, with an option `flag` right behind the verb for each folder that is there.

    `flag`: ends where the folder's path begins, as in `--bind=`.
    """
    return [SHELL, "-c", TEXT, "seatrial-container", flag, program, verb, *rest]
