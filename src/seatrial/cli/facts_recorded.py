"""seatrial facts --output FILE: a recording of the machine or cluster that it runs on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from seatrial.cli.node_sources import refuse_for_this_machine, refuse_hosts, say_silent
from seatrial.cli.progress import progress_on
from seatrial.commands.facts import record as facts_record
from seatrial.driver import site as driver_site
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.words import count

if TYPE_CHECKING:
    from seatrial.model.settings import SiteSettings


def record_facts(
    output: Path, nodes: tuple[str, ...], source: Path | None, site: "SiteSettings", *, scrub: bool
) -> int:
    """Record raw facts, and print of how many nodes. Raises UsageError for options that do not fit together."""
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
    settings = facts_record.GatherSettings(output=output, site=site, scrub=scrub, source=source)
    with progress_on(sys.stderr) as progress:
        gathered = facts_record.gather(settings, progress)
    say_silent(gathered.silent)
    print(f"{count(len(gathered.nodes), 'node')} in {output}")
    return ExitCode.INCOMPLETE if gathered.silent else ExitCode.PASS
