"""seatrial gather: a recording of the machine or cluster that it runs on."""

import sys
from pathlib import Path

import click
from msgspec.structs import replace

from seatrial.cli.node_sources import from_option, refuse_for_this_machine, refuse_hosts, say_silent
from seatrial.cli.options import NODES, PATH
from seatrial.cli.parameters import argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import HOSTS, QUEUE, SiteCommand, site_options
from seatrial.commands.gather import run as gather_run
from seatrial.driver import clock as driver_clock
from seatrial.driver import site as driver_site
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.settings import SiteSettings
from seatrial.model.words import count


@click.command(cls=SiteCommand)
@argument(
    "nodes",
    type=NODES,
    default="",
    help="n[1-4] or n1,n3.  [default: all hosts or idle nodes, or this machine]",
    metavar="[NODES]",
)
@from_option
@option(
    "--output",
    type=PATH,
    help="File name that ends in .tar.gz, or a folder.  [default: made from the time]",
    metavar="PATH",
)
@option("--scrub", is_flag=True, help="Replace names of hosts, servers and users.")
@site_options(only=("launcher", *HOSTS, *QUEUE))
def gather(site: SiteSettings, nodes: tuple[str, ...], source: Path | None, output: Path | None, scrub: bool) -> int:
    """Record raw facts of the nodes, for `--from` and to share with others."""
    if site.launcher not in driver_site.LAUNCHERS:
        raise UsageError(f"--launcher {site.launcher} is not one of {', '.join(driver_site.LAUNCHERS)}.")
    site = replace(site, nodes=nodes)
    if site.launcher == "local":
        if site.nodes or site.partition or site.hosts:
            raise UsageError(
                "--launcher local records this machine alone.", "Leave NODES, --hosts and --partition out."
            )
        refuse_for_this_machine(site)
    if source is not None:
        refuse_for_this_machine(site)
        refuse_hosts(site, "--from reads a recording, not hosts over ssh.")
    target = output or Path(f"{driver_clock.new_run_name('gather')}.tar.gz")
    settings = gather_run.GatherSettings(output=target, site=site, scrub=scrub, source=source)
    with progress_on(sys.stderr) as progress:
        gathered = gather_run.gather(settings, progress)
    say_silent(gathered.silent)
    print(f"{count(len(gathered.nodes), 'node')} in {target}")
    return ExitCode.INCOMPLETE if gathered.silent else ExitCode.PASS
