"""seatrial compare: what changed between two sets of runs, or how many runs it takes to show a change.

Exit code 1 means that something became slower, so that a script can stop an upgrade. Runs come from the archive; with
--toggle a benchmark is measured first, under two settings in turn; --restore takes back what that left changed. With
--plan nothing is compared, and exit code 2 means that there are too few runs. With --side-by-side any number of
configurations are compared, also files of other tools.
"""

import enum
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from seatrial.cli.options import BETTER, RUN, SHARE, archive_option, seconds
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import Text, argument, option, refuse_options_of_other_modes
from seatrial.cli.progress import progress_on
from seatrial.cli.site import HOSTS, JOB, SiteCommand, site_options
from seatrial.commands.compare import configurations, side_by_side_view
from seatrial.commands.compare import prove as compare_prove
from seatrial.commands.compare import run as compare_run
from seatrial.commands.compare import toggle as compare_toggle
from seatrial.commands.compare import view as compare_view
from seatrial.commands.plan import view as plan_view
from seatrial.driver import node_selection, restoration
from seatrial.importers import configuration_tables
from seatrial.judgement import side_by_side as side_by_side_judge
from seatrial.judgement.comparison import proof, records
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.hca import data_bits_per_s
from seatrial.model.imported import SENSES
from seatrial.model.settings import PRACTICAL, SiteSettings
from seatrial.model.unit_text import rate_of
from seatrial.model.words import count
from seatrial.render.escape import clean
from seatrial.render.report import Report

RUNS = "a run, `last`, a folder, several joined by commas, dates (2026-11-01..2026-11-10), or a baseline"
"""What both arguments may be."""


def limit_of(text: str, what: str) -> tuple[str, float]:
    """`FDR dual=FDR+FDR` to its label and bytes per second: numbers, or ports of four lanes by the name of their speed.

    Raises UsageError.
    """
    label, _, rate = text.rpartition("=")
    total = 0.0
    for part in rate.split("+"):
        bits = data_bits_per_s(LANES, part.strip().upper())
        bytes_per_s = rate_of(part) if bits is None else bits / 8
        if bytes_per_s is None:
            raise UsageError(f"{what} {text!r} is not a rate.", "Write 12.5e9, 12.5GB/s, 100Gbit/s, FDR or FDR+FDR.")
        total += bytes_per_s
    return label.strip(), total


class CompareMode(enum.StrEnum):
    """What is done with runs; the value is how messages name it."""

    COMPARE = "two sets of runs"
    TOGGLE = "--toggle"
    PROVE = "--prove"
    RESTORE = "--restore"
    PLAN = "--plan"
    SIDE_BY_SIDE = "--side-by-side"


SIDE = (CompareMode.SIDE_BY_SIDE,)
side_option = partial(option, modes=SIDE)
plan_option = partial(option, modes=(CompareMode.PLAN,))
proof_option = partial(option, modes=(CompareMode.PROVE,))
COMPARED = (CompareMode.COMPARE, CompareMode.TOGGLE, CompareMode.PROVE)
FORMS = ("html", "markdown", "plot")
LANES = 4
"""Lanes of a port that is named by its speed alone, such as FDR."""
PROOF = ("launcher", *HOSTS, "partition", *JOB)
"""How a proof reaches nodes."""


@click.command(cls=SiteCommand)
@argument(
    "first",
    type=RUN,
    default="",
    help=f"Before: {RUNS}; with --toggle the benchmark's words; with --plan a kind of run or a metric.",
    metavar="[A]",
)
@argument("second", type=RUN, default="", help="After: the same.", metavar="[B]")
@argument("rest", nargs=-1, help="More words of a benchmark.", metavar="[WORD]...")
@option(
    "--effect SHARE",
    type=SHARE,
    default=f"{PRACTICAL:.0%}",
    help="Practical threshold: a smaller change does not matter.",
    modes=(*COMPARED, *SIDE),
)
@option(
    "--across CONDITION",
    multiple=True,
    help="Permit that this condition differs: mpi-library. May be repeated.",
    modes=COMPARED,
)
@option(
    "--toggle CMD_A CMD_B",
    nargs=2,
    help="Measure now, in the order A B B A: two commands that set and unset a change.",
    modes=(CompareMode.TOGGLE,),
)
@proof_option(
    "--prove", is_flag=True, help="Take the likely cause back for some runs, measure, and restore it; as root."
)
@proof_option("--dry-run", is_flag=True, help="With --prove: say what would be changed, and change nothing.")
@option(
    "--restore",
    is_flag=True,
    help="Restore settings that a killed --toggle or --prove left changed.",
    modes=(CompareMode.RESTORE,),
)
@plan_option(
    "--plan",
    is_flag=True,
    help="Say how many runs, nodes and node-hours it takes to show a change in A, from the variance of the runs.",
)
@plan_option(
    "--detect SHARE", type=SHARE, default=f"{PRACTICAL:.0%}", help="With --plan: the change that is to be shown."
)
@plan_option(
    "--runs RUNS", help="With --plan: runs to learn from.  [default: all like the newest of the most usual command]"
)
@option(
    "--blocks N",
    type=click.IntRange(min=1),
    help="With --toggle and --prove: blocks of four runs.  [default: 3; with --prove what decides, at most 10]",
    modes=(CompareMode.TOGGLE, CompareMode.PROVE),
)
@option(
    "--better WHICH",
    type=BETTER,
    help="With --toggle and --side-by-side: which numbers are good.  [default: higher, of tables by name and unit]",
    modes=(CompareMode.TOGGLE, *SIDE),
)
@side_option(
    "--side-by-side", is_flag=True, help="Compare any number of configurations: runs, outputs of benchmarks, tables."
)
@side_option(
    "--label NAME",
    "labels",
    multiple=True,
    help="With --side-by-side: name of each file or run, in their order; the same one for repetitions.  "
    "[default: by names of files, columns and runs]",
)
@side_option(
    "--limit [LABEL=]RATE",
    "limits",
    type=Text(limit_of),
    multiple=True,
    help="With --side-by-side: most bytes per second of a configuration, or of all: QDR=QDR, dual=FDR+FDR, 12.5e9.",
)
@side_option(
    "--column NAME",
    "columns",
    multiple=True,
    help="With --side-by-side: column of values of a table.  [default: all columns of numbers]",
)
@side_option(
    "--by COLUMN",
    multiple=True,
    help="With --side-by-side: column of a table that names configurations.  [default: those of words]",
)
@side_option(
    "--over COLUMN",
    help="With --side-by-side: column of a table that a curve runs over.  [default: the first of sizes, nodes, ranks]",
)
@side_option("--per COLUMN", help="With --side-by-side: column of a table by which values are divided: dollar, watt.")
@archive_option
@output_options(
    *FORMS, modes={"json": (*COMPARED, *SIDE, CompareMode.PLAN), **dict.fromkeys(FORMS, (*COMPARED, *SIDE))}
)
@site_options(only=PROOF, modes=dict.fromkeys(PROOF, (CompareMode.PROVE,)))
def compare(
    site: SiteSettings,
    first: str,
    second: str,
    rest: tuple[str, ...],
    effect: float,
    across: tuple[str, ...],
    toggle: tuple[str, str] | None,
    prove: bool,
    dry_run: bool,
    restore: bool,
    plan: bool,
    detect: float,
    runs: str,
    blocks: int | None,
    better: str | None,
    side_by_side: bool,
    labels: tuple[str, ...],
    limits: tuple[tuple[str, float], ...],
    archive: Path,
    output: OutputForms,
    **table: Any,
) -> int:
    """Say what became slower, faster or stayed the same between two sets of runs, and which facts changed with it."""
    words = (*filter(None, (first, second)), *rest)
    asked = {CompareMode.PLAN: plan, CompareMode.RESTORE: restore, CompareMode.TOGGLE: toggle is not None,
             CompareMode.PROVE: prove, CompareMode.SIDE_BY_SIDE: side_by_side}  # fmt: skip
    refuse_options_of_other_modes(next((mode for mode, given in asked.items() if given), CompareMode.COMPARE))
    if side_by_side:
        of_table = configuration_tables.TableWords(better=better or "", **table)
        wanted = configurations.ConfigurationOptions(words=words, labels=labels, table=of_table, archive=archive)
        return output.show(_side_by_side(wanted, limits, effect))
    if plan:
        if len(words) != 1:
            raise UsageError("--plan takes one kind of run or one metric.", "Write compare --plan check.")
        return output.show(plan_view.plan_report(plan_view.plan(archive, first, detect, say, runs)))
    if restore:
        return _restored(words)
    if toggle is not None:
        change = compare_toggle.toggle_of(*toggle, words, blocks or proof.FEWEST_BLOCKS, SENSES[better or "higher"])
        return _toggled(archive, change, time_of_run(words), effect, across, output)
    if len(words) != 2 and not (prove and len(words) > 2):
        raise UsageError(f"{count(len(words), 'set')} of runs are named; compare takes two.", "Write compare A B.")
    comparison = compare_run.run_comparison(archive, first, second, threshold=effect, across=across)
    if prove:
        request = compare_prove.ProofRequest(
            archive=archive,
            first=first,
            second=second,
            benchmark=words[2:],
            run_s=time_of_run(words[2:]),
            blocks=blocks or 0,
            dry_run=dry_run,
            site=site,
        )
        return _proved(request, comparison, output)
    return output.show(compare_view.comparison_report(comparison))


def _side_by_side(
    wanted: "configurations.ConfigurationOptions", limits: Sequence[tuple[str, float]], effect: float
) -> Report:
    """The report on configurations beside each other. Raises UsageError."""
    read = configurations.read_configurations(wanted, say)
    of_label = configurations.limits_of(read, limits)
    judged = side_by_side_judge.judge_side_by_side(read.measured, of_label, effect)
    if not judged:
        raise UsageError("No two configurations have the same figure at the same size.", "Compare others.")
    main_first = sorted(judged, key=lambda each: (not each.figure.name.startswith(read.main), -len(each.curves)))
    return side_by_side_view.side_by_side_report(main_first, effect, read.notes)


def time_of_run(words: Sequence[str]) -> float:
    """Seconds for which the nodes are needed for one run of a benchmark: as its --budget says, else an hour."""
    for word, following in zip(words, (*words, "")[1:], strict=True):
        name, equals, value = word.partition("=")
        if name == "--budget":
            return node_selection.allocation_s(seconds(value if equals else following, name))
    return compare_toggle.UNKNOWN_RUN_S


def _restored(words: Sequence[str]) -> int:
    """Restore what is left, or what is noted under one name. Raises UsageError."""
    if len(words) > 1:
        raise UsageError("--restore takes at most the name of one change.", "Write compare --restore.")
    restored = restoration.restore_left(*words)
    for line in restored.lines:
        print(clean(line))
    return int(ExitCode.INCOMPLETE if restored.failed else ExitCode.PASS)


def _proved(request: "compare_prove.ProofRequest", comparison: "records.Comparison", output: OutputForms) -> int:
    """Take suspects back. A setting that was not restored is never a success."""
    with progress_on() as progress:
        proved = compare_prove.run_proof(request, comparison, progress, say)
    code = output.show(compare_view.comparison_report(proved.comparison))
    return _with_warning(proved.unrestored, code)


def _with_warning(unrestored: str, code: int) -> int:
    if not unrestored:
        return code
    say(unrestored)
    return max(code, int(ExitCode.INCOMPLETE))


def _toggled(
    archive: Path,
    toggle: "compare_toggle.Toggle",
    run_s: float,
    threshold: float,
    across: Sequence[str],
    output: OutputForms,
) -> int:
    """Measure both settings, and compare them. A setting that was not restored is never a success."""
    with progress_on() as progress:
        toggled = compare_toggle.toggle_settings(archive, toggle, run_s, progress)
    comparison = compare_run.run_comparison(
        archive,
        ",".join(toggled.first),
        ",".join(toggled.second),
        threshold=threshold,
        across=across,
        names=toggle.texts,
    )
    code = output.show(compare_view.comparison_report(comparison))
    return _with_warning(toggled.unrestored, code)
