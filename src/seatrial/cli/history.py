"""seatrial history: a metric over the runs of an archive, where it changed, and which facts changed then.

Nothing is measured here: runs come from the archive. Exit code 1 means that a metric is now worse than it was, 2 that
nothing could be decided.
The names of metrics and subjects are those that `seatrial compare` prints, so that a line of its report can be copied
into this command.
"""

from typing import Annotated

import typer

from seatrial.cli.options import Archive, AsJson, archive_folder
from seatrial.cli.outcome import say, show
from seatrial.commands.history import run as history_run
from seatrial.commands.history import view as history_view
from seatrial.model.errors import UsageError
from seatrial.model.subject import FABRIC, Subject, SubjectKind


def history(
    metric: Annotated[
        str, typer.Argument(help="Metric, or the beginning of its name: bandwidth, 'latency 8 B'.", metavar="METRIC")
    ],
    subject: Annotated[
        str, typer.Option(help="A node (n3) or a pair ('n1>n2').  [default: all pairs together]", metavar="NAME")
    ] = "",
    runs: Annotated[
        str,
        typer.Option(
            help="Runs, as compare takes them.  [default: all that were measured like the newest]", metavar="RUNS"
        ),
    ] = "",
    archive: Archive = None,
    as_json: AsJson = False,
) -> int:
    """Print a metric over the runs of the archive, where it changed, and which facts changed at that time."""
    chosen = parse_subject(subject)
    histories = history_run.read_history(archive_folder(archive), metric, chosen, say, runs)
    return show(history_view.history_report(histories), as_json=as_json)


def parse_subject(text: str) -> Subject:
    """`n3`, `n1>n2`, or `node:n3`; empty: all pairs together. Raises UsageError."""
    if not text:
        return FABRIC
    if ":" in text and text.split(":", maxsplit=1)[0] in tuple(SubjectKind):
        try:
            return Subject.parse(text)
        except ValueError as error:
            raise UsageError(f"--subject: {error}.") from error
    return Subject(kind=SubjectKind.PAIR if ">" in text else SubjectKind.NODE, name=text)
