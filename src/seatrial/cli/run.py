"""seatrial run: a benchmark, its output judged and kept."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.benchmarks import benchmark_and_text
from seatrial.cli.options import AsJson, Html, Junit, Markdown, parse_nodes, time_text
from seatrial.cli.outcome import Files, show
from seatrial.cli.parse import limits_of, named_values
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.run import dry_run as run_dry_run
from seatrial.commands.run import run as run_run
from seatrial.commands.run import view as run_view
from seatrial.model.settings import RUN_BUDGET_S, RunSettings

SHARED = Shared(without=("replay", "round_timeout", "seed", "verify"), defaults={"budget": time_text(RUN_BUDGET_S)})

SetParameter = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter; `benchmarks show` lists them. May be repeated.", metavar="NAME=VALUE"),
]
Program = Annotated[str, typer.Option(help="The benchmark's program.  [default: the first on PATH]", metavar="FILE")]
Case = Annotated[Path | None, typer.Option(help="Folder with the input of the benchmark; it is copied.", metavar="DIR")]
Scratch = Annotated[
    Path | None, typer.Option(help="Where it runs; all nodes must see it.  [default: in the archive]", metavar="DIR")
]


def run(
    context: typer.Context,
    benchmark: Annotated[
        str, typer.Argument(help="The name of a benchmark, or the TOML file of your own.", metavar="BENCHMARK")
    ],
    nodes: Annotated[str, typer.Option(help="On these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    node_count: Annotated[
        int,
        typer.Option(
            help="On this many of them.  [default: all named ones, else as the benchmark declares]",
            min=0,
            metavar="N",
            show_default=False,
        ),
    ] = 0,
    ranks: Annotated[
        int,
        typer.Option(
            help="Ranks on all nodes together.  [default: as the benchmark declares, else one for each core]",
            min=0,
            metavar="N",
            show_default=False,
        ),
    ] = 0,
    parameter: SetParameter = None,
    program: Program = "",
    case: Case = None,
    scratch: Scratch = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the scratch folder as it is at the end.")] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", help="Most (of times: least) that a metric can be.", metavar="METRIC=VALUE"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print nodes, programs and inputs; start nothing.")
    ] = False,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
) -> int:
    """Run a benchmark on the nodes, judge its output by evidence of work and gates, and keep it."""
    site = replace(settings_of(context), nodes=parse_nodes(nodes))
    declared, text = benchmark_and_text(benchmark)
    settings = RunSettings(
        site=site,
        benchmark=benchmark,
        definition=text,
        program=program,
        node_count=node_count,
        ranks=ranks,
        parameters=named_values(parameter or (), "--set"),
        limits=limits_of(declared, limit or ()),
        case=case.absolute() if case else None,
        scratch=scratch.absolute() if scratch else None,
        keep=keep,
    )
    files = Files(html=html, markdown=markdown, junit=junit)
    with progress_on(sys.stderr) as progress:
        if dry_run:
            shown = run_dry_run.preview(settings, declared, progress)
            return show(run_dry_run.preview_report(shown), as_json=as_json, files=files)
        outcome = run_run.run_benchmark(settings, declared, progress)
    report = run_view.run_report(outcome.recorded.info, outcome.result)
    return show(report, outcome.folder, as_json=as_json, files=files)
