"""seatrial lab simulate: faults planted in a simulated fabric, and what `seatrial check` names there."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.options import DURATION, PATH, RANK_COUNTS, share_of, time_text
from seatrial.cli.outcome import OutputForms, output_options, print_files, width_and_colour, write_files
from seatrial.cli.parameters import Text, Word, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SHARED
from seatrial.commands.check import view as check_view
from seatrial.driver import progress as driver_progress
from seatrial.files.owners import temporary_folder
from seatrial.lab.simulator import disturbances
from seatrial.lab.simulator import faults as simulator_faults
from seatrial.lab.simulator import topology as simulator_topology
from seatrial.lab.simulator import trial as simulator_trial
from seatrial.lab.simulator import view as simulator_view
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.settings import CHECK_BUDGET_S
from seatrial.pairs.survey import DesignChoice
from seatrial.render import text as render_text
from seatrial.render.report import Report

if TYPE_CHECKING:
    from seatrial.commands.check.run import CheckOutcome

MOST_JOBS = 1000
MOST_FAULTS = 1000


def noise_share(text: str, what: str) -> float:
    """A share as of other options, or none at all. Raises UsageError."""
    return 0.0 if text.strip() in ("0", "0%") else share_of(text, what)


NOISE = Text(noise_share)


@click.command()
@option(
    "--topology SHAPE|FILE",
    required=True,
    help="fat-tree:NODES, fat-tree3:NODES, dragonfly:NODES, or a file with the output of ibnetdiscover.",
)
@option(
    "--fault KIND:SHARE",
    multiple=True,
    help="node, link, uplink, spine or pair, and the share that is left: link:0.5. May be repeated.",
)
@option(
    "--faults N",
    type=click.IntRange(min=0, max=MOST_FAULTS),
    default=0,
    help="Plant this many faults of random kinds that lose 5 to 50 %.",
)
@option(
    "--seed N",
    type=click.IntRange(min=0),
    default=0,
    help="Seed; faults, pairs to measure and disturbances have independent streams.",
)
@option("--repeat N", type=click.IntRange(min=1), default=1, help="Number of trials, each with the next seed.")
@option("--routed", is_flag=True, help="Let the check know the cables and routes, as check --fabric does.")
@option(
    "--noise SHARE", type=NOISE, default="0.08%", help="Noise of a pair from run to run, robust standard deviation."
)
@option(
    "--pair-noise SHARE",
    type=NOISE,
    default="0.05%",
    help="Spread of the offset that each pair keeps for the whole run.",
)
@option("--drift SHARE", type=NOISE, default="0.1%", help="Spread of the slow drift of the whole fabric.")
@option(
    "--jobs N",
    type=click.IntRange(min=0, max=MOST_JOBS),
    default=0,
    help="Background jobs that load cables part of the time.",
)
@option("--shared-nodes", is_flag=True, help="Background jobs also load the ports of the checked nodes.")
@option(
    "--design",
    type=Word(DesignChoice),
    default=DesignChoice.SPARSE.value,
    help="Which pairs are measured, as in check --design.",
)
@option(
    "--ranks-per-node LIST",
    "ranks",
    type=RANK_COUNTS,
    default="",
    help="Measure at several ranks per node, which share its port, as in check --ranks-per-node: 1,2,4,8.",
)
@option("--budget TIME", type=DURATION, default=time_text(CHECK_BUDGET_S), help="Time budget of the check.")
@option("--archive DIR", type=PATH, help="Folder in which the runs are kept; without it they are deleted.")
@output_options("html", "plot")
@SHARED["run"]()
def simulate(
    topology: str,
    fault: tuple[str, ...],
    faults: int,
    seed: int,
    repeat: int,
    routed: bool,
    design: DesignChoice,
    ranks: tuple[int, ...] | None,
    budget: float,
    archive: Path | None,
    run: str,
    output: OutputForms,
    **given: Any,
) -> int:
    """Plant faults in a simulated fabric, let `seatrial check` measure it, and score its findings. Needs no root.

    The driver, the judgement and the archive are those of `seatrial check`; only the measurements are made up.
    """

    for form, path in asdict(output.files).items():
        if repeat > 1 and path is not None:
            raise UsageError(f"--{form} cannot show {repeat} trials.", f"Leave out --repeat or --{form}.")
    if run and archive is None:
        raise UsageError(f"--run {run!r} names a run that is deleted.", "Add --archive DIR, or leave out --run.")
    settings = simulator_trial.TrialSettings(
        specs=tuple(simulator_faults.parse_fault(text) for text in fault),
        random_faults=faults,
        routed=routed,
        design=design.value,
        budget_s=budget,
        ranks_per_node=ranks,
        conditions=disturbances.SimulatedConditions(**given),
        command=tuple(sys.argv[1:]),
    )
    fabric = simulator_trial.SimulatedFabric(simulator_topology.read_topology(topology))
    trials = []
    with temporary_folder() as passing:
        folder = archive.absolute() if archive else passing
        for number in range(seed, seed + repeat):
            name = f"{run}-{number}" if run and repeat > 1 else run
            planted = fabric.plant(settings, number)
            with progress_on() if repeat == 1 else nullcontext(driver_progress.Silent()) as progress:
                trial, outcome = simulator_trial.run_trial(
                    fabric, settings, planted, seed=number, archive=folder, run=name, progress=progress
                )
            trials.append(trial)
            if repeat == 1:
                _report(outcome, output)
            if not output.as_json:
                line = simulator_view.trial_text(trial) if repeat == 1 else simulator_view.trial_line(trial) + "\n"
                print(line, end="", flush=True)
    code = ExitCode.PASS if all(one.score.right for one in trials) else ExitCode.FINDINGS
    if output.as_json:
        JSON_OUTPUT.print_report(
            Report(payload=lambda: simulator_view.simulation_fields(topology, trials), exit_code=code)
        )
        return code
    if len(trials) > 1:
        print(simulator_view.totals_text(simulator_trial.totals(trials)), end="")
    if archive is not None:
        print(f"Archive: {archive}")
    return code


def _report(outcome: "CheckOutcome", output: OutputForms) -> None:
    """Print the report of the check, unless an object is printed, and write its page."""
    recorded = outcome.recorded
    report = check_view.check_report(recorded.info, outcome.judgement, recorded.facts)
    if not output.as_json:
        width, colour = width_and_colour()
        print(render_text.as_text(report, width=width, colour=colour, plain=not colour))
    written, failures = write_files(report, output.files)
    if not output.as_json:
        print_files(written)
    if failures:
        raise failures[0]
