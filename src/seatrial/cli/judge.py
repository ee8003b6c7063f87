"""seatrial judge: what other tools measured, recognised and judged."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from msgspec.structs import replace

from seatrial.benchmarks.declaration import AUTO
from seatrial.cli import report as run_report
from seatrial.cli.options import NAMED_VALUE, PATH, RUN, SHARE, archive_option, file_or_live, part_of, size_bytes
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import Option, Text, Word, argument, option, refuse_options_of_other_modes
from seatrial.commands.judge import fleet as fleet_run
from seatrial.commands.judge import recognition, single_file
from seatrial.commands.judge import sources as judge_sources
from seatrial.commands.judge.kinds import WORDS, JudgeOptions, Kind
from seatrial.commands.judge.pairs import run as pairs_run
from seatrial.commands.scale import comparison as scale_comparison
from seatrial.commands.scale import files as scale_files
from seatrial.commands.scale import view as scale_view
from seatrial.model.errors import UsageError
from seatrial.render.report import Lines, Report


def option_of(*kinds: Kind) -> Callable[..., Callable[..., Any]]:
    """Declares an option that goes with these kinds only; its help begins with their names."""

    def declare(*names: str, help: str, **settings: Any) -> Callable[..., Any]:
        told = f"{', '.join(kinds)}: {help}"
        return option(*names, help=told, modes=[kind.option for kind in kinds], **settings)

    return declare


@click.command()
@argument(
    "files",
    type=PATH,
    nargs=-1,
    help="What another tool printed or wrote: a file, several, or a folder of files.",
    metavar="[FILE]...",
)
@option(
    "--as KIND",
    "kind",
    type=Word(Kind),
    default=None,
    help="What FILE is: pairs, output, fleet, series, scaling or run.  [default: by its contents]",
)
@option_of(Kind.FLEET, Kind.SERIES)("--runs RUNS", help="Instead of files: runs of the archive, as compare takes them.")
@option_of(Kind.PAIRS, Kind.FLEET, Kind.SERIES)(
    "--effect SHARE",
    type=SHARE,
    help="Smallest loss of bandwidth, of a node or change that matters: 0.4%.  "
    "[default: by the scatter of pairs, 2 % of nodes, any change]",
)
@option_of(Kind.PAIRS)(
    "--latency-effect SHARE",
    type=SHARE,
    help="Smallest excess of latency to report.  [default: 9 % to 10 % or 0.3 µs, by scatter]",
)
@option_of(Kind.PAIRS)("--format NAME", "form", default=AUTO, help="Format of the table; auto recognises it.")
@option_of(Kind.PAIRS)(
    "--topology FILE",
    type=PATH,
    help="Leaf switches: topology.conf or topology.yaml of Slurm, or ibnetdiscover's output.",
)
@option_of(Kind.PAIRS)(
    "--routes FILE",
    type=Text(file_or_live),
    default="",
    help="The fabric's forwarding tables: output of dump_fts, or live.",
)
@option_of(Kind.OUTPUT, Kind.SCALING)(
    "--benchmark NAME", default=AUTO, help="Which benchmark the output is of: a name, or the TOML file of your own."
)
@option_of(Kind.OUTPUT)(
    "--limit METRIC=VALUE",
    type=NAMED_VALUE,
    multiple=True,
    help="Most (of times: least) that a metric can be, in base units.",
)
@option_of(Kind.OUTPUT)(
    "--expect NAME=VALUE",
    type=NAMED_VALUE,
    multiple=True,
    help="What was requested: ranks=64, nodes=2, iterations=100.",
)
@option_of(Kind.OUTPUT)(
    "--largest SIZE",
    type=Text(size_bytes),
    default=0,
    show_default=False,
    help="Largest message of an OSU or NetPIPE run that was started with -m or -u.",
)
@option_of(Kind.FLEET, Kind.SERIES)(
    "--column NAME",
    multiple=True,
    help="Column of the values; of STREAM Copy, Scale, Add or Triad. May be repeated for series.",
)
@option_of(Kind.FLEET, Kind.SERIES)(
    "--better WHICH",
    type=click.Choice(("higher", "lower", "unknown")),
    default="unknown",
    help="Which values are good: higher or lower. Unknown: by the metric of nodes; no series is SLOW then.",
)
@option_of(Kind.FLEET, Kind.SCALING)(
    "--by COLUMN",
    multiple=True,
    help="Column of a condition, or that divides a table into curves; may be repeated.  [default: by contents]",
)
@option_of(Kind.FLEET)(
    "--part COLUMN", multiple=True, help="Column of a part of a node: a GPU, a socket.  [default: by contents]"
)
@option_of(Kind.OUTPUT, Kind.FLEET)(
    "--facts RUN|PATH[:NODES]",
    type=RUN,
    help="Facts of the nodes: a recording, or a run of the archive; of some nodes of it: cluster.tar.gz:n[1-2].  "
    "[default: those of --runs]",
)
@option_of(Kind.SERIES)(
    "--error-rate SHARE", type=SHARE, default="1%", help="Share of unchanged series that may be reported as changed."
)
@option_of(Kind.SCALING)("--metric NAME", help="Which number makes the curve.  [default: the benchmark's main one]")
@option_of(Kind.SCALING)(
    "--over NAME", help="What the curve runs over: nodes, ranks, a column.  [default: the first known]"
)
@option_of(Kind.SCALING)(
    "--sizes LIST", help="Nodes or ranks of the outputs in their order, if they do not show them: 1,2,4."
)
@option_of(Kind.SCALING)(
    "--beside A,B", help="Compare two curves: of files with these words in their paths, or of tables with these names."
)
@option_of(Kind.SCALING)("--weak", is_flag=True, help="Weak scaling: the work grows with the size.")
@option_of(Kind.SCALING)(
    "--own-rates FILE", type=PATH, help="CSV of node,value: what each node delivers alone, in the metric of the curve."
)
@option_of(Kind.SCALING)(
    "--memory RUN",
    type=RUN,
    help="Run of `seatrial nodes` on the machine of the curve: whether memory is why more cores do not pay.",
)
@archive_option
@output_options("html", "markdown", "junit", "plot")
def judge(files: tuple[Path, ...], kind: Kind | None, output: OutputForms, **given: Any) -> int:
    """Judge what another tool measured: a table of pairs, a benchmark's output, values of nodes or over time."""
    wanted = JudgeOptions(**part_of(given, JudgeOptions))
    if bool(files) == bool(wanted.runs):
        raise UsageError("Either files or --runs must be given.", "Give one of them.")
    sources = judge_sources.Sources(files, say)
    taken = kind or recognition.kind_of(sources, accepting_kinds())
    refuse_options_of_other_modes(taken.option)
    made = curves_of(sources, given) if taken is Kind.SCALING else report_of(taken, sources, wanted)
    return output.show(made if kind else with_kind(made, taken))


def report_of(kind: Kind, sources: "judge_sources.Sources", wanted: JudgeOptions) -> Report:
    """What is judged as that kind. Raises UsageError."""
    match kind:
        case Kind.PAIRS:
            made = pairs_run.pairs_judged(sources, wanted)
        case Kind.OUTPUT:
            made = single_file.output_judged(sources, wanted)
        case Kind.FLEET:
            made = fleet_run.fleet_judged(sources, wanted)
        case Kind.SERIES:
            made = single_file.series_judged(sources, wanted)
        case Kind.RUN:
            return run_report.report_of(sources.only("A run of the archive is judged by itself."))
    return replace(made, kind=WORDS[kind].json)


def curves_of(sources: "judge_sources.Sources", given: Mapping[str, Any]) -> Report:
    """The curves of files, or two of them side by side. Raises UsageError."""
    read = scale_files.ScaleFiles(
        paths=sources.files,
        text_of=sources.text,
        **{**part_of(given, scale_files.ScaleFiles), "by": ",".join(given["by"])},
    )
    memory = scale_files.measured_memory(given["archive"], given["memory"]) if given["memory"] else None
    if not given["beside"]:
        judged = scale_files.judged_curves(read)
        made = scale_view.scale_report(scale_files.with_memory(judged, memory) if memory else judged)
    else:
        both = scale_files.two_curves(read, given["beside"])
        made = scale_view.scale_report(both, both=scale_comparison.beside(*both))
    return replace(made, kind=WORDS[Kind.SCALING].json)


def with_kind(report: Report, kind: Kind) -> Report:
    """The report with a line that says what its files were taken for."""
    line = Lines(rows=(("taken as", f"{WORDS[kind].title} (--as changes that)"),), tight=True, indent=0)
    return replace(report, terminal=lambda width: (line, *report.terminal(width)), page=lambda: (line, *report.page()))


def accepting_kinds() -> list[Kind]:
    """The kinds with which all options of the command line go."""
    context = click.get_current_context()
    modes = [
        param.modes
        for param in context.command.params
        if isinstance(param, Option)
        and param.modes
        and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]
    return [kind for kind in Kind if all(kind.option in one for one in modes)]
