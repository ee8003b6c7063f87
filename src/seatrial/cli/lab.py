"""seatrial lab: the virtual cluster, its faults, and trials of this program's own findings."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.options import AsJson, seconds
from seatrial.cli.outcome import show
from seatrial.cli.simulate import simulate
from seatrial.lab.cluster import daemons, host_argv, planting, processes, state, stop
from seatrial.lab.cluster import plan as cluster_plan
from seatrial.lab.cluster import start as cluster_start
from seatrial.lab.faults import base as faults_base
from seatrial.lab.faults import catalogue
from seatrial.lab.trial import disturbances
from seatrial.lab.trial import scenario as trial_scenario
from seatrial.lab.trial import trial as trial_trial
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.subject import Direction
from seatrial.model.words import count
from seatrial.render.json import filled
from seatrial.render.report import Block, Lines, Paragraph, Report

if TYPE_CHECKING:
    from seatrial.lab.cluster.daemons import LabStatus
    from seatrial.lab.cluster.plan import LabPlan
    from seatrial.lab.faults.base import Planted
    from seatrial.lab.trial.trial import ScenarioCounts

app = typer.Typer(
    help="A virtual cluster on this machine, planted faults, and trials of `check` against them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
fault_app = typer.Typer(
    help="Plant faults in a lab, list them, clear them.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(fault_app, name="fault")
app.command("simulate")(simulate)

Name = Annotated[str, typer.Option(help="Which lab.", metavar="LAB")]


@app.command()
def up(
    nodes: Annotated[int, typer.Option(help="Number of nodes.")],
    name: Name = "lab",
    leaves: Annotated[
        int | None, typer.Option(help="Number of leaf switches below the spine.  [default: 2, or 1 for one node]")
    ] = None,
    rate: Annotated[str, typer.Option(help="Design rate of each node's link, as in 600mbit.")] = "1gbit",
    uplink_rate: Annotated[
        str | None, typer.Option(help="Design rate of each trunk between leaf and spine.  [default: --rate]")
    ] = None,
    mtu: Annotated[int, typer.Option(help="MTU of every interface, in bytes.")] = 1500,
    rails: Annotated[int, typer.Option(help="Networks to which every node is connected: 1 or 2.")] = 1,
    share: Annotated[
        list[Path] | None, typer.Option(help="A folder under /tmp that the nodes must see; may be repeated.")
    ] = None,
    mpi_settings: Annotated[
        str,
        typer.Option(help="tcp: make Open MPI use TCP; none: leave the choice to it.", metavar="CHOICE"),
    ] = "tcp",
    suspend_after: Annotated[
        str, typer.Option(help="Slurm suspends nodes after this time idle.  [default: never]", metavar="TIME")
    ] = "",
    second_rate: Annotated[
        str | None,
        typer.Option(help="Design rate of the second half of the nodes, as in 500mbit.  [default: --rate]"),
    ] = None,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="Enforce accounts and QOS by slurmdbd; nodes have a GRES.")
    ] = False,
    ssh: Annotated[
        bool, typer.Option("--ssh", help="Also start an sshd on every node, for launching without Slurm.")
    ] = False,
) -> int:
    """Start a lab; returns when every node is idle."""

    shared = _existing(share or [])
    folders = tuple(sorted({*cluster_start.needed_folders(), *shared}))
    plan = cluster_plan.make_plan(
        name=name,
        nodes=nodes,
        leaves=leaves,
        rate=rate,
        uplink_rate=uplink_rate,
        mtu=mtu,
        folders=folders,
        mpi_settings=mpi_settings,
        rails=rails,
        suspend_after_s=round(seconds(suspend_after, "--suspend-after")) if suspend_after else 0,
        ssh=ssh,
        accounts=accounts,
        second_rate=second_rate,
    )
    began = time.monotonic()
    cluster_start.raise_lab(plan)
    print(
        f"Lab {name}: {count(nodes, 'node')} on {count(plan.leaves, 'leaf', 'leaves')}, "
        f"{cluster_plan.rate_text(plan.rate_bit_per_s)} "
        f"links{_rails(plan)}, "
        f"up in {time.monotonic() - began:.1f} s. Try: seatrial lab run --name {name} -- sinfo"
    )
    return ExitCode.PASS


def _rails(plan: "LabPlan") -> str:
    return f" on {plan.rails} rails" if plan.rails > 1 else ""


def _existing(folders: list[Path]) -> list[str]:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--share {folder} is not a folder.", "Give one that exists.")
    return [str(folder.absolute()) for folder in folders]


@app.command()
def down(
    name: Name = "lab",
    every: Annotated[bool, typer.Option("--all", help="Every lab on this machine.")] = False,
) -> int:
    """Remove a lab, running or incomplete: processes, namespaces, mounts, files. A missing lab is not an error."""

    processes.require_root()
    cluster_plan.check_name(name)
    for one in state.lab_names() if every else [name]:
        there = stop.exists(one)
        stop.raze(one)
        print(f"Lab {one}: {'removed' if there else 'nothing there'}.")
    return ExitCode.PASS


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="What to run, after --.", metavar="-- COMMAND...")],
    name: Name = "lab",
    on: Annotated[str, typer.Option(help="On which host: login or a node.", metavar="HOST")] = "login",
) -> None:
    """Run a command as a user of the cluster would, on the login node or on a node, in this same folder."""

    processes.require_lab()
    argv = host_argv.as_user(state.standing(name).plan, command, host=on)
    os.execvp(argv[0], argv)  # noqa: S606


@app.command()
def status(as_json: AsJson = False) -> int:
    """Show the running labs: nodes with their Slurm states, design rates, planted faults."""

    processes.require_root()
    labs = daemons.all_labs()
    if as_json:
        JSON_OUTPUT.print_report(Report(payload=lambda: daemons.LabStatusFields(labs=tuple(labs))))
        return ExitCode.PASS
    if not labs:
        print("No lab is running. Start one with: seatrial lab up --nodes 4")
    for lab in labs:
        for line in _status_lines(lab):
            print(line)
    return ExitCode.PASS


def _status_lines(lab: "LabStatus") -> list[str]:

    if lab.plan is None or not lab.standing:
        return [f"Lab {lab.name}: incomplete. Remove it with: seatrial lab down --name {lab.name}"]
    plan = lab.plan
    lines = [
        f"Lab {lab.name}: {count(plan.nodes, 'node')}, "
        f"links {cluster_plan.rate_text(plan.rate_bit_per_s)}{_rails(plan)}, "
        f"trunks {cluster_plan.rate_text(plan.uplink_rate_bit_per_s)}, MTU {plan.mtu}"
    ]
    for leaf in plan.leaf_names:
        states = ", ".join(f"{node} {lab.node_states.get(node, 'unknown')}" for node in plan.members(leaf))
        lines.append(f"  {leaf}: {states}")
    faults = [f"  fault {one.text}" for one in lab.planted]
    return lines + faults


@fault_app.command("add")
def fault_add(
    kind: Annotated[str, typer.Argument(help="Which kind; `fault list` shows them.")],
    subject: Annotated[str, typer.Argument(help="Target node or leaf switch: n3, leaf2.")],
    name: Name = "lab",
    percent: Annotated[
        float | None, typer.Option(help="Share of the design rate that is left, or of frames lost.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Rate that is left, as in 600mbit.")] = None,
    direction: Annotated[str | None, typer.Option(help="Seen from the node: out, in or both.")] = None,
    mtu: Annotated[int | None, typer.Option(help="MTU in bytes.")] = None,
    rail: Annotated[
        str | None, typer.Option(help="Which of the node's links: eth0 or eth1.  [default: eth0]", metavar="NAME")
    ] = None,
    after: Annotated[str, typer.Option(help="Wait this long before the fault begins.", metavar="TIME")] = "",
    every: Annotated[
        str,
        typer.Option(
            help="Let it flap: on for this long, then off for as long, until Ctrl-C, fault clear or lab down.",
            metavar="TIME",
        ),
    ] = "",
) -> int:
    """Plant one fault in a lab."""

    if direction is not None and direction not in list(Direction):
        raise UsageError(f"--direction {direction!r} is not a direction.", f"Give one of {', '.join(Direction)}.")
    parameters = faults_base.Parameters(
        percent=percent,
        rate_bit_per_s=None if rate is None else cluster_plan.parse_rate(rate),
        direction=None if direction is None else Direction(direction),
        mtu=mtu,
        rail=rail,
    )
    after_s = seconds(after, "--after") if after else 0.0
    every_s = seconds(every, "--every") if every else 0.0
    faults_base.check_timing(catalogue.fault_named(kind), after_s=after_s, every_s=every_s)
    planting.planned(name, kind, subject, parameters, every_s)
    time.sleep(after_s)
    planted = planting.plant(name, kind, subject, parameters, every_s)
    print(f"Lab {name}: planted {planted.text}", flush=True)
    if every_s:
        _flap(name, planted)
    return ExitCode.PASS


def _flap(name: str, planted: "Planted") -> None:
    """Let a planted fault flap in the foreground; an interrupt clears it."""

    try:
        disturbances.flap(planted.every_s, lambda on: planting.switch(name, planted, on), threading.Event().wait)
    except KeyboardInterrupt:
        planting.clear(name, planted.subject, planted.kind)
    print(f"Lab {name}: cleared {planted.kind} on {planted.subject}")


@fault_app.command("clear")
def fault_clear(
    subject: Annotated[str | None, typer.Argument(help="Only faults of this node or leaf.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only faults of this kind.")] = None,
    name: Name = "lab",
) -> int:
    """Clear planted faults, by default all of them; the design state is restored when this returns."""

    cleared = planting.clear(name, planting.bare(subject) if subject else None, kind)
    for one in cleared:
        print(f"Lab {name}: cleared {one.kind} on {one.subject}")
    if not cleared:
        print(f"Lab {name}: no such fault was planted.")
    return ExitCode.PASS


@fault_app.command("list")
def fault_list(as_json: AsJson = False) -> int:
    """List the kinds of faults, and those planted now."""

    planted = {name: found.planted for name in state.lab_names() if (found := state.read(name))}
    made = Report(
        payload=lambda: filled(daemons.FaultListFields, kinds=catalogue.FAULTS, planted=planted),
        terminal=lambda _: _fault_blocks(planted),
    )
    return show(made, as_json=as_json)


def _fault_blocks(planted: "Mapping[str, Sequence[Planted]]") -> Iterator[Block]:
    for place, one in enumerate(catalogue.FAULTS):
        options = [" | ".join(f"--{name}" for name in group) for group in one.needs]
        words = [one.kind, one.takes.upper(), *options, *(f"[--{name}]" for name in one.may)]
        yield Paragraph(text=" ".join(words), tight=place > 0)
        yield Lines(rows=(("", one.description),), indent=2, tight=True)
    for name, faults in planted.items():
        for fault in faults:
            yield Paragraph(text=f"Planted in {name}: {fault.text}", tight=True)


@app.command()
def trial(
    files: Annotated[list[Path], typer.Argument(help="Scenario files.", metavar="FILE...")],
    repeat: Annotated[int, typer.Option(help="Number of runs of each scenario.", min=1)] = 1,
    keep: Annotated[
        Path | None, typer.Option(help="Folder for the archives of runs with a wrong result.", metavar="DIR")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Start a lab for each scenario, plant its faults, run `check`, and score what it named."""

    scenarios = [trial_scenario.read_scenario(path) for path in files]
    processes.require_lab()
    stage = trial_trial.real_stage(keep)
    results = []
    for scenario in scenarios:

        def said(number: int, result: trial_trial.ScenarioRun, name: str = scenario.name) -> None:
            words = "; ".join(trial_trial.complaints(result)) or "right"
            kept = f", kept in {result.kept}" if result.kept else ""
            print(f"{name} run {number}: {words} ({result.seconds:.0f} s{kept})", file=sys.stderr, flush=True)

        results.append(trial_trial.run_scenario(scenario, repeat, stage, said))
    right = all(result.right for result in results)
    code = ExitCode.PASS if right else ExitCode.FINDINGS
    if as_json:
        JSON_OUTPUT.print_report(Report(payload=lambda: trial_trial.trial_fields(results), exit_code=code))
    else:
        _print_table({one.name: one.counts for one in results})
    return code


def _print_table(rows: "dict[str, ScenarioCounts]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    table.add_column("scenario", no_wrap=True)
    for column in next(iter(rows.values())).__struct_fields__:
        table.add_column(column.replace("_", " "), justify="right")
    for name, counts in rows.items():
        table.add_row(name, *(f"{count:.0f}" for count in structs.astuple(counts)))
    Console().print(table)
