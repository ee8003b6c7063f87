"""The command `seatrial`: its parts."""

import click

from seatrial import __version__
from seatrial.cli.parameters import LazyGroup, archive_folder
from seatrial.model.errors import SeatrialError

ASKED = "_SEATRIAL_COMPLETE"
"""Set by the script of a shell that asks for completions."""
SUMMARIES = {
    "check": "Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault.",
    "report": "Print a run's verdicts and findings, or write them into files; exit code as of the command that "
    "measured.",
    "compare": "Say what became slower, faster or stayed the same between two sets of runs, and which facts changed "
    "with it.",
    "history": "Print a metric over the runs of the archive, where it changed, and which facts changed at that time.",
    "import": "Write values that were measured elsewhere into the archive, for compare, history and judge.",
    "baseline": "Keep runs under a name, with which later runs are compared.",
    "facts": "Print what nodes are; with --drift, --since or --with-login what differs (exit 1 if there are findings).",
    "limits": "Print the limit of every path inside the nodes and between them, and which term binds.",
    "judge": "Judge what another tool measured: a table of pairs, a benchmark's output, values of nodes or over time.",
    "link": "Measure a pair of nodes over message sizes, or by --rails, --ranks-per-node or --transports.",
    "placement": "Start a launch line with the probe in place of its program: where its ranks are, and what would be "
    "better.",
    "swap": "Find a faulty part by exchanging parts: which one it is, and which exchange reveals most.",
    "nodes": "Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes; or --for some "
    "time.",
    "bench": "Run a benchmark, a scaling series or a site's list of benchmarks, and judge the outputs.",
    "doctor": "Try a launch step by step, cheapest first, and name what blocks it and what to do about it.",
    "jobs": "Say from accounting which nodes make jobs slow or fail, and whether jobs became slower at a date.",
    "requalify": "Check nodes after a restart, a repair or a switch of mode, and resume them, keep them out, or leave "
    "them.",
    "status": "Say how the nodes are after all runs: what is open and since when, and what to do next.",
    "site": "Write the archive as pages: the index with a map of the nodes, and a page for each node and each run.",
    "metrics": "Write how nodes are, and what Slurm does, as numbers for Prometheus or Graphite.",
    "qualify": "Measure a few idle nodes for a minute, those of which least is known, and say which nodes are bad.",
    "fabric": "The InfiniBand fabric: its map, and what is wrong with its cables.",
    "runs": "List, show, export, import, recover and collect archived runs.",
    "lab": "A virtual cluster on this machine, planted faults, and trials of `check` against them.",
    "completion": "Print a script that lets the shell complete commands, options, nodes, partitions and runs.",
}
"""What help says of each command, repeated here so that --help loads no command."""
HEADINGS = {
    "Is the cluster healthy, and who is at fault?": ("check", "nodes", "fabric", "doctor"),
    "What do links, launches and benchmarks reach?": ("link", "limits", "placement", "bench"),
    "What do facts and numbers say?": ("facts", "judge"),
    "What changed?": ("compare", "history", "baseline"),
    "In operation": ("status", "site", "qualify", "requalify", "jobs", "metrics"),
    "Which runs are there?": ("report", "runs", "import"),
    "Rarely": ("swap", "lab", "completion"),
}
"""The questions that help puts above the commands, in their order."""


@click.group(
    cls=LazyGroup,
    summaries=SUMMARIES,
    headings=HEADINGS,
    modules={"import": "import_values", "status": "operation", "metrics": "operation", "site": "static_site"},
    context_settings={"help_option_names": ["--help", "-h"]},
    invoke_without_command=True,
)
@click.version_option(
    __version__, "--version", "-V", message="%(prog)s %(version)s", help="Print the version and exit."
)
@click.pass_context
def seatrial(ctx: click.Context) -> int:
    """Measure a cluster through its own Slurm and MPI, judge every number, name what is at fault."""
    if ctx.invoked_subcommand is not None:
        return 0
    try:
        begun = any(archive_folder().iterdir())
    except (OSError, SeatrialError):
        begun = False
    status = seatrial.get_command(ctx, "status") if begun else None
    if status is None:
        raise click.UsageError(ctx.get_help())
    with status.make_context("status", [], parent=ctx) as inner:
        return int(status.invoke(inner))
