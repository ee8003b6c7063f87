"""seatrial report: judge an archived run again and show it."""

from pathlib import Path
from typing import Annotated

import typer

from seatrial.cli.options import Archive, AsJson, archive_folder


def report(
    run: Annotated[str, typer.Argument(help="A run's name, the beginning of one, its folder, or `last`.")] = "last",
    archive: Archive = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained page.", metavar="FILE")] = None,
) -> int:
    """Print a run's verdicts and findings, or write them as a page; exits as the check did."""
    from seatrial.archive.reader import find_run, read_run
    from seatrial.cli.outcome import show
    from seatrial.diagnosis.judge import judge

    folder = find_run(archive_folder(archive), run)
    recorded = read_run(folder)
    design = recorded.info.design.name if recorded.info.design else ""
    if design == "curve":
        from seatrial.cli.curve import show_curve
        from seatrial.diagnosis.curve import judge_curve

        return show_curve(folder, recorded.info, judge_curve(recorded), as_json=as_json, html=html)
    if design == "rails":
        from seatrial.cli.curve import show_rails
        from seatrial.diagnosis.rails import judge_rails

        return show_rails(folder, recorded.info, judge_rails(recorded), as_json=as_json, html=html)
    if design == "placement":
        from seatrial.cli.placement import show_placement
        from seatrial.diagnosis.placement.judge import judge_placement

        return show_placement(folder, recorded.info, judge_placement(recorded), as_json=as_json, html=html)
    if design == "transports":
        from seatrial.cli.transports import show_transports
        from seatrial.experiment.transports import judged_again

        return show_transports(folder, recorded.info, judged_again(folder).found, as_json=as_json, html=html)
    if design == "saturation":
        from seatrial.cli.saturate import show_saturation
        from seatrial.diagnosis.saturation import judge_saturation

        return show_saturation(folder, recorded.info, judge_saturation(recorded), as_json=as_json, html=html)
    return show(folder, recorded, judge(recorded), as_json=as_json, html=html)
