"""seatrial report: the verdicts and findings of a run, on the terminal or in files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from seatrial.archive import reader, run_values
from seatrial.archive.journal import ValuesImported, of_type
from seatrial.cli import json_schema
from seatrial.cli.options import archive_option, run_argument
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import option
from seatrial.commands.check import judge as check_judge
from seatrial.commands.check import view as check_view
from seatrial.commands.import_values import view as import_view
from seatrial.commands.link.curve import judge as curve_judge
from seatrial.commands.link.curve import view as curve_view
from seatrial.commands.link.curve.rails import judge as rails_judge
from seatrial.commands.link.curve.rails import view as rails_view
from seatrial.commands.link.saturate import judge as saturate_judge
from seatrial.commands.link.saturate import view as saturate_view
from seatrial.commands.link.transports import run as transports_run
from seatrial.commands.link.transports import view as transports_view
from seatrial.commands.nodes import judge as nodes_judge
from seatrial.commands.nodes import program_judge, program_view
from seatrial.commands.nodes import view as nodes_view
from seatrial.commands.placement import judge as placement_judge
from seatrial.commands.placement import view as placement_view
from seatrial.commands.run import view as run_view
from seatrial.commands.soak import judge as soak_judge
from seatrial.commands.soak import view as soak_view
from seatrial.model.errors import ExitCode
from seatrial.model.run import RunKind
from seatrial.render.json import json_text

if TYPE_CHECKING:
    from seatrial.render.report import Report

NAMED_S = 5.0
"""Seconds for reading the output of another user's run."""


@click.command()
@run_argument
@archive_option
@output_options("html", "markdown", "junit", "plot", "nagios")
@option("--schema", is_flag=True, help="Print the JSON Schema of what every command prints with --json.")
def report(run: str, archive: Path, schema: bool, output: OutputForms) -> int:
    """Print a run's verdicts and findings, or write them into files; exit code as of the command that measured."""
    if schema:
        print(json_text(json_schema.published_schema()), end="")
        return ExitCode.PASS
    folder = reader.find_run(archive, run)
    return output.show(report_of(folder), folder)


def report_of(folder: Path) -> "Report":
    """The report of the command that measured the run in `folder`; that of a check for a damaged run."""
    recorded = reader.read_run(folder)
    info = recorded.info
    match RunKind.CHECK if recorded.damage else info.kind:
        case RunKind.CURVE:
            made = curve_view.curve_report(info, curve_judge.judge_curve(recorded))
        case RunKind.RAILS:
            made = rails_view.rails_report(info, rails_judge.judge_rails(recorded))
        case RunKind.PLACEMENT:
            made = placement_view.placement_report(info, placement_judge.judge_placement(recorded))
        case RunKind.TRANSPORTS:
            made = transports_view.transports_report(info, transports_run.judged_again(folder).result)
        case RunKind.SATURATE:
            made = saturate_view.saturation_report(info, saturate_judge.judge_saturation(recorded))
        case RunKind.NODES:
            if info.program is not None:
                made = program_view.program_report(info, program_judge.judge_program(recorded), recorded.facts)
            else:
                made = nodes_view.nodes_report(info, nodes_judge.judge_nodes(recorded), recorded.facts)
        case RunKind.SOAK:
            made = soak_view.soak_report(info, soak_judge.judge_soak(recorded), recorded.facts)
        case RunKind.RUN:
            made = run_view.run_report(info, run_values.judged_benchmark(folder, NAMED_S))
        case RunKind.IMPORT:
            made = import_view.imported_run_report(info, of_type(reader.read_entries(folder), ValuesImported))
        case RunKind.CHECK:
            made = check_view.check_report(info, check_judge.judge(recorded), recorded.facts)
    return made
