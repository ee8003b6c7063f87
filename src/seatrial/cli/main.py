"""The command `seatrial`: its parts."""

import click

from seatrial import __version__
from seatrial.cli.groups import LazyGroup

ASKED = "_SEATRIAL_COMPLETE"
"""Set by the script of a shell that asks for completions."""
SUMMARIES = {
    "check": "Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault.",
    "report": "Print a run's verdicts and findings, or write them into files; exit code as of the command that "
    "measured.",
    "compare": "Say what became slower, faster or stayed the same between two sets of runs, and which facts changed "
    "with it.",
    "plan": "Say how many runs, nodes and node-hours it takes to show a change, from the variance of the runs "
    "there are.",
    "history": "Print a metric over the runs of the archive, where it changed, and which facts changed at that time.",
    "import": "Write values that were measured elsewhere into the archive, for compare, history, plan and judge.",
    "baseline": "Keep runs under a name, with which later runs are compared.",
    "facts": "Print what nodes are; with --drift, --since or --with-login what differs, and exit 1 where there are "
    "findings.",
    "limits": "Print the limit of every path inside the nodes and between them, and which term binds.",
    "judge": "Judge what another tool measured: a table of pairs, a benchmark's output, values of nodes or over time.",
    "curve": "Measure a pair over message sizes: pieces of the latency, protocol switches, plateau against the limit.",
    "saturate": "Let 1, 2, 4, ... ranks of one node send to another node at once: how many drive the port.",
    "transports": "Find out which transport carries the data: take each away, slow it, force it, and see what changes.",
    "placement": "Start a launch line with the probe in place of its program: where its ranks are, and what would be "
    "better.",
    "swap": "Find a faulty part by exchanging parts: which one it is, and which exchange reveals most.",
    "nodes": "Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes.",
    "soak": "Keep all nodes busy for some minutes, and name what fails or becomes slower under load.",
    "run": "Run a benchmark on the nodes, judge its output by evidence of work and gates, and keep it.",
    "acceptance": "Run a site's list of benchmarks and compare them with thresholds.",
    "scale": "Run a benchmark at several sizes and judge the curve: efficiency, and whether all did the same work.",
    "benchmarks": "Known benchmarks: metrics, evidence of work, gates.",
    "gather": "Record raw facts of the nodes, for `--from` and to share with others.",
    "doctor": "Try a launch step by step, cheapest first, and name what blocks it and what to do about it.",
    "fabric": "The InfiniBand fabric: its map, and what is wrong with its cables.",
    "runs": "List, show, export, recover and collect archived runs.",
    "lab": "A virtual cluster on this machine, planted faults, and trials of `check` against them.",
    "completion": "Print a script that lets the shell complete commands, options, nodes, partitions and runs.",
}
"""What help says of each command, repeated here so that --help loads no command."""


@click.group(
    cls=LazyGroup,
    summaries=SUMMARIES,
    modules={"benchmarks": "judge", "import": "import_values", "plan": "history"},
    context_settings={"help_option_names": ["--help", "-h"]},
)
@click.version_option(
    __version__, "--version", "-V", message="%(prog)s %(version)s", help="Print the version and exit."
)
def seatrial() -> None:
    """Measure a cluster through its own Slurm and MPI, judge every number, name what is at fault."""
