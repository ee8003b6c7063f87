"""seatrial jobs: what accounting knows about nodes, upgrades and families of jobs.

Nothing is measured. Exit code 1: a node makes jobs slow or fail, or jobs became slower; 2: too little to compare.
"""

import re
from datetime import UTC, date, datetime
from typing import Any

import click

from seatrial.cli.options import PATH, SHARE
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import Text, option, partition_names
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand
from seatrial.commands.jobs import run as jobs_run
from seatrial.commands.jobs import view as jobs_view
from seatrial.model.errors import UsageError


def day_of(text: str, what: str) -> date | None:
    """`2026-11-02`; None for an empty text. Raises UsageError."""
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError as error:
        raise UsageError(f"{what} {text!r} is not a date.", "Write 2026-11-02.") from error
    if day and day.year not in YEARS:
        raise UsageError(f"{what} {text!r} is not a date of any computer.", "Write 2026-11-02.")
    return day


YEARS = range(1970, 9000)
DAY = Text(day_of, empty=True)


def pattern_of(text: str, what: str) -> re.Pattern[str]:
    """A regular expression. Raises UsageError for one that cannot be read, or that finds nothing at all everywhere."""
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{what} {text!r} is not a regular expression: {error}.", EXAMPLE) from error
    if pattern.search(""):
        raise UsageError(f"{what} {text!r} matches an empty text.", EXAMPLE)
    return pattern


EXAMPLE = "Write what differs between jobs of one family: seed_[a-z]+."


@click.command(cls=SiteCommand)
@option(
    "--from FILE",
    "source",
    type=PATH,
    help="In place of Slurm: output of sacct -P or --json, a database of slurm2sql, or CSV with named columns.",
)
@option("--since DATE", type=DAY, help="First day.  [default: two weeks ago; of a file all]")
@option("--until DATE", type=DAY, help="Last day.  [default: today]")
@option("--partition NAME", "-p", "chosen", type=Text(names=partition_names), default="", help="Only its jobs.")
@option(
    "--changed DATE",
    type=DAY,
    help="Compare each family before this day and from it on.  [default: a day that the jobs show]",
)
@option("--effect SHARE", type=SHARE, default="2%", help="Smallest share of run time that matters.")
@option(
    "--family-pattern PATTERN",
    type=Text(pattern_of),
    multiple=True,
    help="What names and submit lines of one family differ in besides numbers and folders: seed_[a-z]+. May be "
    "repeated.",
)
@option("--families", is_flag=True, help="List the families, and the rule that makes them.")
@option("--family NAME", help="Show one family: what share ended, and how its run times are distributed.")
@option("--job ID", help="Show how a job compares with its family.")
@option("--scrub", is_flag=True, help="Replace the names of users, jobs, partitions and nodes.")
@output_options("html", "markdown", "junit", "plot")
def jobs(until: date | None, chosen: str, families: bool, output: OutputForms, **given: Any) -> int:
    """Say from accounting which nodes make jobs slow or fail, and whether jobs became slower at a date."""
    if given["family"] and given["job"]:
        raise UsageError("--family and --job do not go together.", "Give one of them.")
    wanted = jobs_run.JobsWanted(
        until=until or datetime.now(UTC).date(),
        partition=chosen,  # its name keeps out the partition that a site measures in
        patterns=given.pop("family_pattern"),
        **given,
    )
    with progress_on() as progress:
        outcome = jobs_run.read_jobs(wanted, progress, say)
    return output.show(jobs_view.jobs_report(outcome, listed=families))
