"""seatrial compare: what changed between two sets of runs, or how many runs it takes to show a change.

Exit code 1 means that something became slower, so that a script can stop an upgrade. Runs come from the archive; with
--toggle a benchmark is measured first, under two settings in turn; --restore takes back what that left changed. With
--plan nothing is compared, and exit code 2 means that there are too few runs.
"""

import enum
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from seatrial.cli.options import BETTER, RUN, SHARE, archive_option, seconds
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import argument, option, refuse_options_of_other_modes
from seatrial.cli.progress import progress_on
from seatrial.cli.site import HOSTS, JOB, SiteCommand, site_options
from seatrial.commands.compare import prove as compare_prove
from seatrial.commands.compare import run as compare_run
from seatrial.commands.compare import toggle as compare_toggle
from seatrial.commands.compare import view as compare_view
from seatrial.commands.plan import run as plan_run
from seatrial.commands.plan import view as plan_view
from seatrial.driver import node_selection, restoration
from seatrial.judgement.comparison import records
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.imported import SENSES
from seatrial.model.settings import PRACTICAL, SiteSettings
from seatrial.model.words import count
from seatrial.render.escape import clean

RUNS = "a run, `last`, a folder, several joined by commas, dates (2026-11-01..2026-11-10), or a baseline"
"""What both arguments may be."""


class Mode(enum.StrEnum):
    """What is done with runs; the value is how messages name it."""

    COMPARE = "two sets of runs"
    TOGGLE = "--toggle"
    PROVE = "--prove"
    RESTORE = "--restore"
    PLAN = "--plan"


COMPARED = (Mode.COMPARE, Mode.TOGGLE, Mode.PROVE)
FORMS = ("html", "markdown")
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
    "--effect",
    type=SHARE,
    default=f"{PRACTICAL:.0%}",
    help="Practical threshold: a smaller change does not matter.",
    metavar="SHARE",
    modes=COMPARED,
)
@option(
    "--across",
    multiple=True,
    help="Permit that this condition differs: mpi-library. May be repeated.",
    metavar="CONDITION",
    modes=COMPARED,
)
@option(
    "--toggle",
    nargs=2,
    help="Measure now, in the order A B B A: two commands that set and unset a change.",
    metavar="CMD_A CMD_B",
    modes=(Mode.TOGGLE,),
)
@option(
    "--prove",
    is_flag=True,
    help="Take the likely cause back for some runs, measure, and restore it; as root.",
    modes=(Mode.PROVE,),
)
@option(
    "--dry-run",
    is_flag=True,
    help="With --prove: say what would be changed, and change nothing.",
    modes=(Mode.PROVE,),
)
@option(
    "--restore",
    is_flag=True,
    help="Restore settings that a killed --toggle or --prove left changed.",
    modes=(Mode.RESTORE,),
)
@option(
    "--plan",
    is_flag=True,
    help="Say how many runs, nodes and node-hours it takes to show a change in A, from the variance of the runs.",
    modes=(Mode.PLAN,),
)
@option(
    "--detect",
    type=SHARE,
    default=f"{PRACTICAL:.0%}",
    help="With --plan: the change that is to be shown.",
    metavar="SHARE",
    modes=(Mode.PLAN,),
)
@option(
    "--runs",
    help="With --plan: runs to learn from.  [default: all that were measured like the newest]",
    metavar="RUNS",
    modes=(Mode.PLAN,),
)
@option(
    "--blocks",
    type=click.IntRange(min=1),
    default=3,
    help="With --toggle and --prove: blocks of four runs.",
    metavar="N",
    modes=(Mode.TOGGLE, Mode.PROVE),
)
@option(
    "--better",
    type=BETTER,
    default="higher",
    help="With --toggle: which numbers of an unknown benchmark are good.",
    metavar="WHICH",
    modes=(Mode.TOGGLE,),
)
@archive_option
@output_options(*FORMS, modes={"json": (*COMPARED, Mode.PLAN), **dict.fromkeys(FORMS, COMPARED)})
@site_options(only=PROOF, modes=dict.fromkeys(PROOF, (Mode.PROVE,)))
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
    blocks: int,
    better: str,
    archive: Path,
    output: OutputForms,
) -> int:
    """Say what became slower, faster or stayed the same between two sets of runs, and which facts changed with it."""
    words = (*filter(None, (first, second)), *rest)
    asked = {Mode.PLAN: plan, Mode.RESTORE: restore, Mode.TOGGLE: toggle is not None, Mode.PROVE: prove}
    refuse_options_of_other_modes(next((mode for mode, given in asked.items() if given), Mode.COMPARE))
    if plan:
        if len(words) != 1:
            raise UsageError("--plan takes one kind of run or one metric.", "Write compare --plan check.")
        return output.show(plan_view.plan_report(plan_run.plan(archive, first, detect, say, runs)))
    if restore:
        return _restored(words)
    if toggle is not None:
        wanted = compare_toggle.toggle_of(*toggle, words, blocks, SENSES[better])
        return _toggled(archive, wanted, time_of_run(words), effect, across, output)
    if len(words) != 2 and not (prove and len(words) > 2):
        raise UsageError(f"{count(len(words), 'set')} of runs are named; compare takes two.", "Write compare A B.")
    comparison = compare_run.run_comparison(archive, first, second, threshold=effect, across=across)
    if prove:
        request = compare_prove.Request(
            archive=archive,
            first=first,
            second=second,
            benchmark=words[2:],
            run_s=time_of_run(words[2:]),
            blocks=blocks,
            dry_run=dry_run,
            site=site,
        )
        return _proved(request, comparison, output)
    return output.show(compare_view.comparison_report(comparison))


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


def _proved(request: "compare_prove.Request", comparison: "records.Comparison", output: OutputForms) -> int:
    """Take suspects back. A setting that was not restored is never a success."""
    with progress_on(sys.stderr) as progress:
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
    with progress_on(sys.stderr) as progress:
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
