"""seatrial report: judge an archived run again and show it."""

from pathlib import Path
from typing import Annotated

import typer

from seatrial.archive import reader
from seatrial.cli.curve import show_curve, show_rails
from seatrial.cli.options import Archive, AsJson, Html, archive_folder
from seatrial.cli.outcome import show
from seatrial.cli.placement import show_placement
from seatrial.cli.saturate import show_saturation
from seatrial.cli.transports import show_transports
from seatrial.commands.check import judge as check_judge
from seatrial.commands.curve import judge as curve_judge
from seatrial.commands.curve.rails import judge as rails_judge
from seatrial.commands.placement import judge as placement_judge
from seatrial.commands.saturate import judge as saturate_judge
from seatrial.commands.transports import run as transports_run
from seatrial.model.run import RunKind, run_kind


def report(
    run: Annotated[str, typer.Argument(help="A run's name, the beginning of one, its folder, or `last`.")] = "last",
    archive: Archive = None,
    as_json: AsJson = False,
    html: Html = None,
) -> int:
    """Print a run's verdicts and findings, or write them as a page; exits as the command that measured did."""
    return show_run(reader.find_run(archive_folder(archive), run), as_json=as_json, html=html)


def show_run(folder: Path, *, as_json: bool, html: Path | None) -> int:
    """Judge the run in `folder` as what it is, print it, and return the exit code."""
    recorded = reader.read_run(folder)
    info = recorded.info
    kind = None if recorded.damage else run_kind(info)
    if kind is RunKind.CURVE:
        return show_curve(folder, info, curve_judge.judge_curve(recorded), as_json=as_json, html=html)
    if kind is RunKind.RAILS:
        return show_rails(folder, info, rails_judge.judge_rails(recorded), as_json=as_json, html=html)
    if kind is RunKind.PLACEMENT:
        return show_placement(folder, info, placement_judge.judge_placement(recorded), as_json=as_json, html=html)
    if kind is RunKind.TRANSPORTS:
        return show_transports(folder, info, transports_run.judged_again(folder).found, as_json=as_json, html=html)
    if kind is RunKind.SATURATE:
        return show_saturation(folder, info, saturate_judge.judge_saturation(recorded), as_json=as_json, html=html)

    return show(folder, recorded, check_judge.judge(recorded), as_json=as_json, html=html)
