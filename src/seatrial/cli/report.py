"""seatrial report: judge an archived run again and show it."""

from pathlib import Path
from typing import Annotated

import typer

from seatrial.cli.options import Archive, AsJson, Html, archive_folder


def report(
    run: Annotated[str, typer.Argument(help="A run's name, the beginning of one, its folder, or `last`.")] = "last",
    archive: Archive = None,
    as_json: AsJson = False,
    html: Html = None,
) -> int:
    """Print a run's verdicts and findings, or write them as a page; exits as the command that measured did."""
    from seatrial.archive.reader import find_run

    return show_run(find_run(archive_folder(archive), run), as_json=as_json, html=html)


def show_run(folder: Path, *, as_json: bool, html: Path | None) -> int:
    """Judge the run in `folder` as what it is, print it, and return the exit code."""
    from seatrial.archive.reader import read_run
    from seatrial.model.run import RunKind, run_kind

    recorded = read_run(folder)
    info = recorded.info
    kind = None if recorded.damage else run_kind(info)
    if kind is RunKind.CURVE:
        from seatrial.cli.curve import show_curve
        from seatrial.commands.curve.judge import judge_curve

        return show_curve(folder, info, judge_curve(recorded), as_json=as_json, html=html)
    if kind is RunKind.RAILS:
        from seatrial.cli.curve import show_rails
        from seatrial.commands.curve.rails.judge import judge_rails

        return show_rails(folder, info, judge_rails(recorded), as_json=as_json, html=html)
    if kind is RunKind.PLACEMENT:
        from seatrial.cli.placement import show_placement
        from seatrial.commands.placement.judge import judge_placement

        return show_placement(folder, info, judge_placement(recorded), as_json=as_json, html=html)
    if kind is RunKind.TRANSPORTS:
        from seatrial.cli.transports import show_transports
        from seatrial.commands.transports.run import judged_again

        return show_transports(folder, info, judged_again(folder).found, as_json=as_json, html=html)
    if kind is RunKind.SATURATE:
        from seatrial.cli.saturate import show_saturation
        from seatrial.commands.saturate.judge import judge_saturation

        return show_saturation(folder, info, judge_saturation(recorded), as_json=as_json, html=html)
    from seatrial.cli.outcome import show
    from seatrial.commands.check.judge import judge

    return show(folder, recorded, judge(recorded), as_json=as_json, html=html)
