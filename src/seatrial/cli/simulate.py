"""seatrial lab simulate: faults planted in a fabric of numbers, and what is named there."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.options import Archive, AsJson, Html, RunName, archive_folder, run_name, seconds, time_text
from seatrial.experiment.settings import CHECK_BUDGET_S
from seatrial.model.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from seatrial.lab.simulator.outcome import Outcome
    from seatrial.model.fabric_map import FabricMap


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
    seed: Annotated[
        int, typer.Option(help="Where the faults are, which pairs are measured, and the noise.", min=0)
    ] = 0,
    rounds: Annotated[int, typer.Option(help="Rounds before the adaptive pairs.", min=1, max=64)] = 6,
    design: Annotated[
        str,
        typer.Option(
            help="shifts or matchings.  [default: what needs fewer pieces; with --check: those of check, sparse]",
            metavar="NAME",
        ),
    ] = "",
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Measure whole rounds at once, with contention; slow pairs again without.")
    ] = False,
    repeat: Annotated[int, typer.Option(help="Trials, each with the next seed.", min=1)] = 1,
    check: Annotated[
        bool, typer.Option("--check", help="Run `seatrial check` itself on the simulated fabric, into the archive.")
    ] = False,
    routed: Annotated[
        bool, typer.Option("--routed", help="With --check: let it know the cables and routes, as --fabric does.")
    ] = False,
    budget: Annotated[str, typer.Option(help="With --check: the time it plans for.", metavar="TIME")] = time_text(
        CHECK_BUDGET_S
    ),
    archive: Archive = None,
    html: Html = None,
    run: RunName = "",
    as_json: AsJson = False,
) -> int:
    """Plant faults in a simulated fabric, measure, locate and prove, and score what was named. Needs no root.

    With --check the real driver does it, and the report and the exit code are those of `seatrial check`.
    """
    if check:
        for option, given in (("--rounds", rounds != 6), ("--at-once", at_once), ("--repeat", repeat != 1)):
            if given:
                raise UsageError(f"{option} does not go with --check.", "The check plans its own rounds.")
        return _checked(
            topology, fault or [], seed, design=design, routed=routed, budget=budget, archive=archive, run=run,
            html=html, as_json=as_json,
        )  # fmt: skip
    for option, value in (("--archive", archive), ("--html", html), ("--run", run), ("--routed", routed or "")):
        if value:
            raise UsageError(f"{option} is for --check.", "Add --check, or leave it out.")
    from seatrial.lab.simulator.faults import parse_fault
    from seatrial.lab.simulator.outcome import totals
    from seatrial.lab.simulator.plan import DESIGNS
    from seatrial.lab.simulator.telling import as_line, as_text, totals_text
    from seatrial.lab.simulator.trial import Bench, run_trial

    if design and design not in DESIGNS:
        raise UsageError(f"--design {design!r} is none.", f"Give one of {', '.join(DESIGNS)}.")
    specs = [parse_fault(text) for text in fault or []]
    bench = Bench(_map(topology))
    if len(bench.routes.adapters) < 2:
        raise UsageError(f"--topology {topology} has no two adapters on switches.", "Give a larger fabric.")
    outcomes = []
    for number in range(repeat):
        outcomes.append(run_trial(bench, specs, seed=seed + number, rounds=rounds, design=design, at_once=at_once))
        if not as_json:
            print(as_text(outcomes[-1]) if repeat == 1 else as_line(outcomes[-1]) + "\n", end="")
    right = all(one.score.right for one in outcomes)
    if as_json:
        _print_json(topology, outcomes, right)
    elif repeat > 1:
        print(totals_text(totals(outcomes)))
    return ExitCode.PASS if right else ExitCode.FINDINGS


def _checked(
    topology: str,
    faults: Sequence[str],
    seed: int,
    *,
    design: str,
    routed: bool,
    budget: str,
    archive: Path | None,
    run: str,
    html: Path | None,
    as_json: bool,
) -> int:
    """The real driver over the fabric of numbers; the truth goes to standard error, the check's report to the other."""
    import random
    import sys

    from seatrial.cli.outcome import show
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.check import run_check
    from seatrial.experiment.settings import CheckSettings
    from seatrial.fabric.routes import Routes
    from seatrial.lab.simulator.faults import draw_faults, parse_fault
    from seatrial.lab.simulator.launcher import SimulatedLauncher
    from seatrial.lab.simulator.parts import Parts

    specs = [parse_fault(text) for text in faults]
    routes = Routes(_map(topology))
    planted = draw_faults(Parts(routes), specs, random.Random(seed))
    settings = CheckSettings(
        archive=archive_folder(archive),
        budget_s=seconds(budget, "--budget"),
        design=design or "sparse",
        run=run_name(run),
        seed=seed,
        command=tuple(sys.argv[1:]),
    )
    for one in planted:
        print(f"seatrial: planted: {one.part.text}, {100 * one.share:.1f} % left", file=sys.stderr)
    launcher = SimulatedLauncher(routes, planted, seed)
    with progress_on(sys.stderr) as progress:
        outcome = run_check(settings, progress, launcher, launcher.wiring() if routed else None)
    return show(outcome.folder, outcome.recorded, outcome.judgement, as_json=as_json, html=html)


def _map(topology: str) -> "FabricMap":
    from seatrial.archive.inputs import MAP_BYTES, BadInput, argument_text
    from seatrial.fabric.ibnetdiscover import parse_fabric
    from seatrial.lab.simulator.topology import SHAPES, parse_topology

    if topology.partition(":")[0] in SHAPES:
        return parse_topology(topology)
    try:
        return parse_fabric(argument_text(Path(topology), MAP_BYTES))
    except BadInput as error:
        raise UsageError(
            f"--topology {topology}: {error.what}",
            f"Give a file of ibnetdiscover, or {', '.join(f'{one}:NODES' for one in SHAPES)}.",
        ) from None


def _print_json(topology: str, outcomes: "Sequence[Outcome]", right: bool) -> None:
    from seatrial.lab.simulator.outcome import totals
    from seatrial.lab.simulator.telling import as_data
    from seatrial.report.json_text import json_text

    data = {
        "format": 1,
        "right": right,
        "topology": topology,
        "totals": totals(outcomes),
        "trials": [as_data(one) for one in outcomes],
    }
    print(json_text(data), end="")
