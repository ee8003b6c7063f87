"""The nodes that facts, limits and gather are about, and where their facts come from."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.check import parse_nodes
from seatrial.cli.options import seconds
from seatrial.model.errors import UsageError

if TYPE_CHECKING:
    from seatrial.experiment.facts_reading import FactsRead

Nodes = Annotated[str, typer.Argument(help="n[1-4] or n1,n3, through Slurm.  [default: this machine]", metavar="NODES")]
From = Annotated[
    Path | None,
    typer.Option("--from", help="A recorded machine or cluster instead: see docs/recordings.md.", metavar="PATH"),
]


def read_facts(nodes: str, source: Path | None, partition: str, wait: str) -> "FactsRead":
    """The facts that the options ask for; of a recording, those of the nodes that are named.

    Raises UsageError for options that do not fit together and nodes that a recording does not have.
    """
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.facts_reading import only, read_cluster, read_here, read_recording

    wait_s = seconds(wait, "--wait")
    wanted = parse_nodes(nodes, "NODES")
    if source is not None:
        with progress_on(sys.stderr) as progress:
            read = read_recording(source, progress)
        return only(read, wanted, source) if wanted else read
    if partition and not wanted:
        raise UsageError("--partition is for nodes that Slurm grants.", "Name NODES, or leave it out.")
    if not wanted:
        return read_here()
    with progress_on(sys.stderr) as progress:
        return read_cluster(wanted, partition=partition, wait_s=wait_s, progress=progress)


def say_silent(silent: Mapping[str, str]) -> None:
    """Say on standard error which nodes gave no facts, and why."""
    from seatrial.report.order import natural_sorted
    from seatrial.report.outside import clean

    for node in natural_sorted(silent):
        print(clean(f"seatrial: {node} gave no facts: {silent[node]}"), file=sys.stderr)
