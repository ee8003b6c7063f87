"""Shell completion: the script that makes a shell ask, and the answer, both by click.

A shell asks with environment variables. The answer is only names, and nothing at all where something fails, since a
shell would print an error into the line that is being typed.
"""

import contextlib
import os
import sys

import click
from click.shell_completion import FishComplete, add_completion_class, get_completion_class, shell_complete

from seatrial.cli.main import ASKED, seatrial
from seatrial.cli.parameters import argument

SHELLS = ("bash", "zsh", "fish")


class CompleteFish(FishComplete):
    """click's script for fish, which would cut a list of nodes at its first comma."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


add_completion_class(CompleteFish)


@click.command()
@argument("shell", type=click.Choice(SHELLS), help="bash, zsh or fish.", metavar="SHELL")
def completion(shell: str) -> int:
    """Print a script that lets the shell complete commands, options, nodes, partitions and runs."""
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - click knows all three
    print(script(seatrial, {}, "seatrial", ASKED).source())
    return 0


def answer() -> None:
    """Print the possible next words for the shell that asks."""
    with contextlib.suppress(Exception):  # see above
        shell_complete(seatrial, {}, "seatrial", ASKED, os.environ[ASKED])
    with contextlib.suppress(OSError):
        sys.stdout.flush()
