"""seatrial facts: what nodes are, which facts differ, and recordings of them."""

import enum
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace

from seatrial.cli.node_sources import read_facts, refuse_for_this_machine, refuse_hosts, say_silent
from seatrial.cli.options import NODES, PATH, RUN, ask_for_paths, path_option
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument, option, refuse_options_of_other_modes
from seatrial.cli.progress import progress_on
from seatrial.cli.site import HOSTS, QUEUE, SiteCommand, refuse_idle_only, site_options
from seatrial.commands.facts import detached as facts_detached
from seatrial.commands.facts import drift as facts_drift
from seatrial.commands.facts import drift_view
from seatrial.commands.facts import record as facts_record
from seatrial.commands.facts import view as facts_view
from seatrial.driver import facts_reading
from seatrial.driver import site as driver_site
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.node_list import node_list
from seatrial.model.settings import SiteSettings
from seatrial.model.words import by_text, count


def leave_to_the_queue(nodes: tuple[str, ...], site: "SiteSettings", output: OutputForms) -> int:
    """Submit the jobs and print how to collect them. Raises UsageError for options that do not fit together."""
    refuse_idle_only(site)
    refuse_hosts(site, "--detach submits Slurm jobs, and --hosts are read over ssh.")
    if not nodes:
        raise UsageError("--detach submits a Slurm job for each node.", "Name NODES: n[1-4] or n1,n3.")
    with progress_on() as progress:
        submitted = facts_detached.submit_facts(replace(site, nodes=nodes), progress)
    lines = [
        f"{count(len(submitted.nodes), 'job')} called {submitted.name}; each reads one node, as soon as the node has a "
        "free core.",
        *_lines("left out", submitted.left_out),
        f"`seatrial runs collect {submitted.run}` shows the progress.",
    ]
    return output.tell(facts_detached.submitted_report(submitted), lines)


def tell_facts(found: "facts_detached.FactsCollected", output: OutputForms) -> int:
    """Print the progress; 0 once every node is read."""
    asked = len(found.read) + len(found.waiting) + len(found.failed) + len(found.left_out)
    lines = [f"{found.run}: {len(found.read)} of {asked} nodes read.", *_lines("waits", found.waiting)]
    lines += [*_lines("failed", found.failed), *_lines("left out", found.left_out)]
    if found.waiting and found.cancel:
        lines.append(f"To cancel the remaining jobs: {found.cancel}")
    if found.read:
        lines.append(f"To show the facts read so far: seatrial facts --from {shlex.quote(str(found.folder))} --drift")
    return output.tell(facts_detached.collected_report(found), lines)


def _lines(what: str, why: Mapping[str, str]) -> list[str]:
    """`waits     n[3-5]: PENDING (Resources)`: each reason once, with the nodes that have it."""
    return [f"  {what:9} {node_list(nodes)}: {reason}" for reason, nodes in by_text(why.items()).items()]


class FactsMode(enum.StrEnum):
    """What is done with the facts; the value is how messages name it."""

    REPORT = "a report of the facts"
    DETACH = "--detach"
    RECORD = "--output"


report_option = partial(option, modes=(FactsMode.REPORT,))
recording_option = partial(option, modes=(FactsMode.RECORD,))
FORMS = ("html", "junit", "plot", "nagios")


@click.command(cls=SiteCommand)
@argument(
    "nodes",
    type=NODES,
    default="",
    help="n[1-4] or n1,n3, through Slurm or over ssh.  [default: all --hosts, or this machine; with --output all idle "
    "nodes, if there is Slurm]",
    metavar="[NODES]",
)
@option(
    "--from PATH",
    "source",
    type=PATH,
    help="A recorded machine or cluster instead: see docs/recordings.md.",
    modes=(FactsMode.REPORT, FactsMode.RECORD),
)
@report_option(
    "--drift", is_flag=True, help="Show what differs between nodes that should be alike, and known problems."
)
@report_option("--since RUN|PATH", type=RUN, help="Also show what changed since a run or another recording.")
@path_option(
    "wanted_paths",
    help="Whether each node reaches this path, and if not, which entry of the automounter is the cause; implies "
    "--drift. May be repeated.",
)
@report_option("--with-login", is_flag=True, help="Also show how this machine differs from the nodes.")
@option(
    "--detach",
    is_flag=True,
    help="Submit a Slurm job for each node; collect with `runs collect`.",
    modes=(FactsMode.DETACH,),
)
@report_option("--full", is_flag=True, help="Print everything that was read, not only a summary.")
@recording_option(
    "--output FILE",
    "recording",
    type=PATH,
    help="Record raw facts instead, for --from and to share: a name that ends in .tar.gz, or a folder.",
)
@recording_option("--scrub", is_flag=True, help="With --output: replace names of hosts, servers and users.")
@output_options(
    *FORMS, modes={"json": (FactsMode.REPORT, FactsMode.DETACH), **dict.fromkeys(FORMS, (FactsMode.REPORT,))}
)
@site_options(
    only=("archive", "launcher", "run", *HOSTS, *QUEUE),
    modes={
        "archive": (FactsMode.REPORT, FactsMode.DETACH),
        "launcher": (FactsMode.RECORD,),
        "run": (FactsMode.DETACH,),
    },
)
def facts(
    site: SiteSettings,
    nodes: tuple[str, ...],
    source: Path | None,
    drift: bool,
    since: str,
    wanted_paths: tuple[str, ...],
    with_login: bool,
    detach: bool,
    full: bool,
    recording: Path | None,
    scrub: bool,
    output: OutputForms,
) -> int:
    """Print what nodes are; with --drift, --since or --with-login what differs (exit 1 if there are findings)."""
    if wanted_paths and source is not None:
        raise UsageError("--path asks live nodes, and --from reads a recording.", "Leave one of them out.")
    ask_for_paths(wanted_paths)
    refuse_options_of_other_modes(FactsMode.RECORD if recording else FactsMode.DETACH if detach else FactsMode.REPORT)
    if recording:
        return record_facts(recording, nodes, source, site, scrub=scrub)
    if detach:
        return leave_to_the_queue(nodes, site, output)
    drift = drift or output.nagios or output.files.junit is not None or bool(wanted_paths)
    if with_login and not (nodes or site.hosts) and source is None:
        raise UsageError("--with-login compares this machine with nodes.", "Name NODES, or a recording with --from.")
    earlier = facts_reading.read_earlier(since, site.archive) if since else None
    read = read_facts(nodes, source, site)
    say_silent(read.silent)
    if not (drift or since or with_login):
        exit_code = ExitCode.INCOMPLETE if facts_drift.incomplete(read) else ExitCode.PASS
        return output.show(facts_view.facts_report(read.facts, full=full, exit_code=exit_code))
    login = facts_reading.read_here() if with_login else None
    recordings = source is not None and not nodes and facts_reading.is_recording(since, site.archive)
    whole = recordings and earlier is not None and min(len(read.facts), len(earlier.facts)) > 1
    found = facts_drift.look_for_drift(read, earlier, login, whole=whole)
    return output.show(drift_view.drift_report(read.facts, found))


def record_facts(output: Path, nodes: tuple[str, ...], source: Path | None, site: SiteSettings, *, scrub: bool) -> int:
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
    with progress_on() as progress:
        gathered = facts_record.gather(settings, progress)
    say_silent(gathered.silent)
    print(f"{count(len(gathered.nodes), 'node')} in {output}")
    return ExitCode.INCOMPLETE if gathered.silent else ExitCode.PASS
