"""seatrial history: what the runs of an archive show of a metric.

Nothing is measured here. Exit code 1 means that a metric is now worse than it was, 2 that nothing could be decided.
The names of metrics and subjects are those that `seatrial compare` prints, so that a line of its report can be copied
into `history`.
"""

from pathlib import Path

import click

from seatrial.cli.options import archive_option
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import Text, argument, option
from seatrial.commands.history import run as history_run
from seatrial.commands.history import view as history_view
from seatrial.model.errors import UsageError
from seatrial.model.subject import FABRIC, Subject, SubjectKind


def parse_subject(text: str, what: str) -> Subject:
    """`n3`, `n1>n2`, or `node:n3`; empty: all pairs together. Raises UsageError."""
    if not text:
        return FABRIC
    if ":" in text and text.split(":", maxsplit=1)[0] in tuple(SubjectKind):
        try:
            return Subject.parse(text)
        except ValueError as error:
            raise UsageError(f"{what}: {error}.") from error
    return Subject(kind=SubjectKind.PAIR if ">" in text else SubjectKind.NODE, name=text)


@click.command()
@argument("metric", help="Metric, or the beginning of its name: bandwidth, 'latency 8 B'.", metavar="METRIC")
@option(
    "--subject NAME",
    type=Text(parse_subject),
    default="",
    help="A node (n3) or a pair ('n1>n2').  [default: all pairs together]",
)
@option("--runs RUNS", help="Runs, as compare takes them.  [default: all; see history.md]")
@archive_option
@output_options("plot")
def history(metric: str, subject: Subject, runs: str, archive: Path, output: OutputForms) -> int:
    """Print a metric over the runs of the archive, where it changed, and which facts changed at that time."""
    histories = history_run.read_history(archive, metric, subject, say, runs)
    return output.show(history_view.history_report(histories))
