"""seatrial gather: a recording of the machine or cluster that it runs on."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from seatrial.cli.nodes import say_silent
from seatrial.cli.options import LauncherName, Partition, Wait, seconds
from seatrial.model.errors import ExitCode, UsageError


def gather(
    nodes: Annotated[
        str, typer.Argument(help="n[1-4] or n1,n3.  [default: all idle nodes, or this machine]", metavar="NODES")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(help="Name that ends in .tar.gz, or of a folder.  [default: made from the time]", metavar="PATH"),
    ] = None,
    scrub: Annotated[bool, typer.Option("--scrub", help="Replace names of hosts, servers and users.")] = False,
    launcher: LauncherName = "auto",
    partition: Partition = "",
    wait: Wait = "10m",
) -> int:
    """Record raw facts of the nodes, for `--from` and for others to look at."""
    from seatrial.cli.check import parse_nodes
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.clock import new_run_name
    from seatrial.experiment.gathering import GatherSettings
    from seatrial.experiment.gathering import gather as record
    from seatrial.experiment.site import LAUNCHERS
    from seatrial.report.headline import count

    if launcher not in LAUNCHERS:
        raise UsageError(f"--launcher {launcher} is none of {', '.join(LAUNCHERS)}.")
    wanted = parse_nodes(nodes, "NODES")
    if launcher == "local" and (wanted or partition):
        raise UsageError("--launcher local records this machine alone.", "Leave NODES and --partition out.")
    target = output or Path(f"{new_run_name('gather')}.tar.gz")
    settings = GatherSettings(
        output=target, nodes=wanted, launcher=launcher, partition=partition, wait_s=seconds(wait, "--wait"), scrub=scrub
    )
    with progress_on(sys.stderr) as progress:
        gathered = record(settings, progress)
    say_silent(gathered.silent)
    print(f"{count(len(gathered.nodes), 'node')} in {target}")
    return ExitCode.INCOMPLETE if gathered.silent else ExitCode.PASS
