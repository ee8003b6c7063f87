"""seatrial doctor: what stands in the way of a launch."""

import sys
from typing import Annotated

import typer

from seatrial.cli.options import (
    AsJson,
    EnvironmentSpec,
    LauncherName,
    Mpicc,
    MpiType,
    Partition,
    Probe,
    ProbeDir,
    Wait,
    Wrap,
    archive_folder,
    seconds,
    width_and_colour,
)


def doctor(
    nodes: Annotated[str, typer.Option(help="Only these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    partition: Partition = "",
    launcher: LauncherName = "auto",
    mpi: MpiType = "",
    mpicc: Mpicc = "",
    probe: Probe = None,
    probe_dir: ProbeDir = None,
    environment: EnvironmentSpec = "",
    wrap: Wrap = "auto",
    wait: Wait = "60s",
    as_json: AsJson = False,
) -> int:
    """Try a launch step by step, cheapest first, and name what stands in the way, with what to do about it."""
    from seatrial.cli.check import parse_nodes
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.doctor import examine
    from seatrial.experiment.settings import CheckSettings
    from seatrial.report.launching_text import examination_as_json, examination_as_text

    settings = CheckSettings(
        archive=archive_folder(None),
        launcher=launcher,
        nodes=parse_nodes(nodes),
        partition=partition,
        wait_s=seconds(wait, "--wait"),
        mpi=mpi,
        mpicc=mpicc,
        probe=probe,
        probe_dir=probe_dir,
        environment=environment,
        wrap=wrap,
    )
    with progress_on(sys.stderr) as progress:
        found = examine(settings, progress)
    if as_json:
        print(examination_as_json(found), end="")
    else:
        width, colour = width_and_colour()
        print(examination_as_text(found, width=width, colour=colour), end="")
    return int(found.exit_code)
