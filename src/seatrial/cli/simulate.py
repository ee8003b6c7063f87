"""seatrial lab simulate: faults planted in a simulated fabric, and what `seatrial check` names there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.archive import inputs
from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.options import AsJson, Html, RunName, run_name, seconds, share_of, time_text, width_and_colour
from seatrial.cli.outcome import write_file
from seatrial.cli.progress import progress_on
from seatrial.commands.check import view as check_view
from seatrial.driver import progress as driver_progress
from seatrial.fabric import ibnetdiscover
from seatrial.files.home_folders import temporary_folder
from seatrial.lab.simulator import disturbances
from seatrial.lab.simulator import faults as simulator_faults
from seatrial.lab.simulator import topology as simulator_topology
from seatrial.lab.simulator import totals as simulator_totals
from seatrial.lab.simulator import trial as simulator_trial
from seatrial.lab.simulator import view as simulator_view
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.settings import CHECK_BUDGET_S
from seatrial.pairs.survey import DesignChoice
from seatrial.render import html as render_html
from seatrial.render import text as render_text
from seatrial.render.report import Report

if TYPE_CHECKING:
    from seatrial.commands.check.run import CheckOutcome
    from seatrial.lab.simulator.disturbances import Conditions
    from seatrial.lab.simulator.trial import SimulatedFabric, Trial, TrialSettings
    from seatrial.model.fabric_map import FabricMap

MOST_JOBS = 1000
MOST_FAULTS = 1000


def simulate(
    topology: Annotated[
        str,
        typer.Option(
            help="fat-tree:NODES, fat-tree3:NODES, dragonfly:NODES, or a file with the output of ibnetdiscover.",
            metavar="SHAPE|FILE",
        ),
    ],
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="node, link, uplink, spine or pair, and the share that is left: link:0.5. May be repeated.",
            metavar="KIND:SHARE",
        ),
    ] = None,
    faults: Annotated[
        int, typer.Option(help="Plant this many faults of random kinds that lose 5 to 50 %.", min=0, max=MOST_FAULTS)
    ] = 0,
    seed: Annotated[
        int, typer.Option(help="Seed; faults, pairs to measure and disturbances have independent streams.", min=0)
    ] = 0,
    repeat: Annotated[int, typer.Option(help="Number of trials, each with the next seed.", min=1)] = 1,
    routed: Annotated[
        bool, typer.Option("--routed", help="Let the check know the cables and routes, as check --fabric does.")
    ] = False,
    noise: Annotated[
        str, typer.Option(help="Noise of a pair from run to run, robust standard deviation.", metavar="SHARE")
    ] = "0.08%",
    pair_noise: Annotated[
        str, typer.Option(help="Spread of the offset that each pair keeps for the whole run.", metavar="SHARE")
    ] = "0.05%",
    drift: Annotated[str, typer.Option(help="Spread of the slow drift of the whole fabric.", metavar="SHARE")] = "0.1%",
    jobs: Annotated[
        int, typer.Option(help="Background jobs that load cables part of the time.", min=0, max=MOST_JOBS)
    ] = 0,
    shared_nodes: Annotated[
        bool, typer.Option("--shared-nodes", help="Background jobs also load the ports of the checked nodes.")
    ] = False,
    design: Annotated[
        DesignChoice, typer.Option(help="Which pairs are measured, as in check --design.")
    ] = DesignChoice.SPARSE,
    budget: Annotated[str, typer.Option(help="Time budget of the check.", metavar="TIME")] = time_text(CHECK_BUDGET_S),
    archive: Annotated[
        Path | None,
        typer.Option(help="Folder in which the runs are kept; without it they are deleted.", metavar="DIR"),
    ] = None,
    html: Html = None,
    run: RunName = "",
    as_json: AsJson = False,
) -> int:
    """Plant faults in a simulated fabric, let `seatrial check` measure it, and score its findings. Needs no root.

    The driver, the judgement and the archive are those of `seatrial check`; only the measurements are made up.
    """

    if repeat > 1 and html is not None:
        raise UsageError(f"--html cannot show {repeat} trials.", "Leave out --repeat or --html.")
    if run and archive is None:
        raise UsageError(f"--run {run!r} names a run that is deleted.", "Add --archive DIR, or leave out --run.")
    settings = simulator_trial.TrialSettings(
        specs=tuple(simulator_faults.parse_fault(text) for text in fault or []),
        random_faults=faults,
        routed=routed,
        design=design.value,
        budget_s=seconds(budget, "--budget"),
        conditions=_conditions(noise, pair_noise, drift, jobs, shared_nodes=shared_nodes),
        command=tuple(sys.argv[1:]),
    )
    name = run_name(run)
    fabric = simulator_trial.SimulatedFabric(_map(topology))
    with _folder(archive) as folder:
        trials = [
            _trial(fabric, settings, seed + number, folder, _numbered(name, seed + number, repeat), html,
                   alone=repeat == 1, quiet=as_json)
            for number in range(repeat)
        ]  # fmt: skip
    code = ExitCode.PASS if all(one.score.right for one in trials) else ExitCode.FINDINGS
    if as_json:
        JSON_OUTPUT.print_report(Report(payload=lambda: simulator_view.as_data(topology, trials), exit_code=code))
    else:
        _conclude(trials, archive)
    return code


def _trial(
    fabric: "SimulatedFabric",
    settings: "TrialSettings",
    seed: int,
    folder: Path,
    run: str,
    html: Path | None,
    *,
    alone: bool,
    quiet: bool,
) -> "Trial":
    """One trial; prints the report of the check where it is the only one, else a line, and neither with `quiet`."""

    planted = fabric.plant(settings, seed)
    if alone:
        with progress_on(sys.stderr) as progress:
            trial, outcome = simulator_trial.run_trial(
                fabric, settings, planted, seed=seed, archive=folder, run=run, progress=progress
            )
        _report(outcome, html, quiet=quiet)
    else:
        trial, _ = simulator_trial.run_trial(
            fabric, settings, planted, seed=seed, archive=folder, run=run, progress=driver_progress.Silent()
        )
    if not quiet:
        print(
            simulator_view.trial_text(trial) if alone else simulator_view.trial_line(trial) + "\n", end="", flush=True
        )
    return trial


def _report(outcome: "CheckOutcome", html: Path | None, *, quiet: bool) -> None:
    recorded = outcome.recorded
    report = check_view.check_report(recorded.info, outcome.judgement, recorded.facts)
    if not quiet:
        width, colour = width_and_colour()
        print(render_text.as_text(report, width=width, colour=colour))
    if html is not None:
        write_file(html, render_html.as_html(report))


def _conclude(trials: "list[Trial]", archive: Path | None) -> None:
    """The result of all trials, and where they are kept."""

    if len(trials) > 1:
        print(simulator_view.totals_text(simulator_totals.totals(trials)), end="")
    if archive is not None:
        print(f"Archive: {archive}")


def _conditions(noise: str, pair_noise: str, drift: str, jobs: int, *, shared_nodes: bool) -> "Conditions":

    return disturbances.Conditions(
        noise=_share(noise, "--noise"),
        pair_noise=_share(pair_noise, "--pair-noise"),
        drift=_share(drift, "--drift"),
        jobs=jobs,
        shared_nodes=shared_nodes,
    )


def _share(text: str, option: str) -> float:
    return 0.0 if text.strip() in ("0", "0%") else share_of(text, option)


def _numbered(name: str, seed: int, repeat: int) -> str:
    """The name of one run; with the seed where there are several."""
    return f"{name}-{seed}" if name and repeat > 1 else name


@contextmanager
def _folder(archive: Path | None) -> Iterator[Path]:
    """Where runs are written: as given, else a temporary folder."""
    if archive is not None:
        yield archive.absolute()
        return
    with temporary_folder() as folder:
        yield folder


def _map(topology: str) -> "FabricMap":

    if topology.partition(":")[0] in simulator_topology.SHAPES:
        return simulator_topology.parse_topology(topology)
    try:
        return ibnetdiscover.parse_fabric(inputs.argument_text(Path(topology), inputs.MAP_BYTES))
    except inputs.BadInput as error:
        raise UsageError(
            f"--topology {topology}: {error.what}",
            f"Give a file of ibnetdiscover, or {', '.join(f'{one}:NODES' for one in simulator_topology.SHAPES)}.",
        ) from None
