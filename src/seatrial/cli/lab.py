"""seatrial lab: the virtual cluster, its faults, and trials of this program's own findings."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from seatrial.cli.options import DURATION, PATH
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import CommandGroup, Word, argument, option
from seatrial.cli.simulate import simulate
from seatrial.lab.cluster import daemons, host_argv, planting, processes, state, stop
from seatrial.lab.cluster import plan as cluster_plan
from seatrial.lab.cluster import start as cluster_start
from seatrial.lab.faults import base as faults_base
from seatrial.lab.trial import disturbances
from seatrial.lab.trial import scenario as trial_scenario
from seatrial.lab.trial import trial as trial_trial
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.subject import Direction
from seatrial.model.words import count
from seatrial.render.json import filled
from seatrial.render.report import Block, Lines, Paragraph, Report


@click.group(cls=CommandGroup)
def lab() -> None:
    """A virtual cluster on this machine, planted faults, and trials of `check` against them."""


@lab.group(cls=CommandGroup)
def fault() -> None:
    """Plant faults in a lab, list them, clear them."""


lab.add_command(simulate)
name_option = option("--name LAB", default="lab", help="Which lab.")


@lab.command()
@option("--node-count N", "-N", "nodes", type=int, required=True, help="Number of nodes.")
@name_option
@option("--leaves N", type=int, help="Number of leaf switches below the spine.  [default: 2, or 1 for one node]")
@option("--rate RATE", default="1gbit", help="Design rate of each node's link, as in 600mbit.")
@option("--uplink-rate RATE", default=None, help="Design rate of each trunk between leaf and spine.  [default: --rate]")
@option("--mtu BYTES", type=int, default=1500, help="MTU of every interface, in bytes.")
@option("--rails N", type=int, default=1, help="Networks to which every node is connected: 1 or 2.")
@option("--share DIR", type=PATH, multiple=True, help="A folder under /tmp that the nodes must see; may be repeated.")
@option("--mpi-settings CHOICE", default="tcp", help="tcp: make Open MPI use TCP; none: leave the choice to it.")
@option("--suspend-after TIME", type=DURATION, help="Slurm suspends nodes after this time idle.  [default: never]")
@option(
    "--second-rate RATE",
    default=None,
    help="Design rate of the second half of the nodes, as in 500mbit.  [default: --rate]",
)
@option("--modes", is_flag=True, help="Nodes have a memory mode, which Slurm switches by a restart: flat or cache.")
@option("--accounts", is_flag=True, help="Enforce accounts and QOS by slurmdbd; nodes have a GRES.")
@option("--ssh", is_flag=True, help="Also start an sshd on every node, for launching without Slurm.")
def up(name: str, share: tuple[Path, ...], suspend_after: float | None, **given: Any) -> int:
    """Start a lab; returns when every node is idle."""
    shared = _existing(share)
    folders = tuple(sorted({*cluster_start.needed_folders(), *shared}))
    plan = cluster_plan.make_plan(name=name, folders=folders, suspend_after_s=round(suspend_after or 0), **given)
    began = time.monotonic()
    cluster_start.raise_lab(plan)
    print(
        f"Lab {name}: {count(plan.nodes, 'node')} on {count(plan.leaves, 'leaf', 'leaves')}, "
        f"{cluster_plan.rate_text(plan.rate_bit_per_s)} "
        f"links{_rails(plan)}, "
        f"up in {time.monotonic() - began:.1f} s. Try: seatrial lab run --name {name} -- sinfo"
    )
    return ExitCode.PASS


def _rails(plan: "cluster_plan.LabPlan") -> str:
    return f" on {plan.rails} rails" if plan.rails > 1 else ""


def _existing(folders: Sequence[Path]) -> list[str]:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--share {folder} is not a folder.", "Give one that exists.")
    return [str(folder.absolute()) for folder in folders]


@lab.command()
@name_option
@option("--all", "every", is_flag=True, help="Every lab on this machine.")
def down(name: str, every: bool) -> int:
    """Remove a lab, running or incomplete: processes, namespaces, mounts, files. A missing lab is not an error."""
    processes.require_root()
    cluster_plan.check_name(name)
    for one in state.lab_names() if every else [name]:
        there = stop.exists(one)
        stop.raze(one)
        print(f"Lab {one}: {'removed' if there else 'nothing there'}.")
    return ExitCode.PASS


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@argument("command", nargs=-1, required=True, help="What to run, after --.", metavar="-- COMMAND...")
@name_option
@option("--on HOST", default="login", help="On which host: login or a node.")
def run(command: tuple[str, ...], name: str, on: str) -> None:
    """Run a command as a user of the cluster would, on the login node or on a node, in this same folder."""
    processes.require_lab()
    argv = host_argv.as_user(state.standing(name).plan, command, host=on)
    os.execvp(argv[0], argv)  # noqa: S606


@lab.command()
@output_options()
def status(output: OutputForms) -> int:
    """Show the running labs: nodes with their Slurm states, design rates, planted faults."""
    processes.require_root()
    labs = daemons.all_labs()
    lines = [line for lab_status in labs for line in _status_lines(lab_status)]
    lines = lines or ["No lab is running. Start one with: seatrial lab up --node-count 4"]
    return output.tell(Report(payload=lambda: daemons.LabStatusFields(labs=tuple(labs))), lines)


def _status_lines(status: "daemons.LabStatus") -> list[str]:
    if status.plan is None or not status.standing:
        return [f"Lab {status.name}: incomplete. Remove it with: seatrial lab down --name {status.name}"]
    plan = status.plan
    lines = [
        f"Lab {status.name}: {count(plan.nodes, 'node')}, "
        f"links {cluster_plan.rate_text(plan.rate_bit_per_s)}{_rails(plan)}, "
        f"trunks {cluster_plan.rate_text(plan.uplink_rate_bit_per_s)}, MTU {plan.mtu}"
    ]
    for leaf in plan.leaf_names:
        states = ", ".join(f"{node} {status.node_states.get(node, 'unknown')}" for node in plan.members(leaf))
        lines.append(f"  {leaf}: {states}")
    faults = [f"  fault {one.text}" for one in status.planted]
    return lines + faults


@fault.command("add")
@argument("kind", help="Which kind; `fault list` shows them.")
@argument("subject", help="Target node or leaf switch: n3, leaf2.")
@name_option
@option("--percent P", type=float, help="Share of the design rate that is left, or of frames lost.")
@option("--rate RATE", default=None, help="Rate that is left, as in 600mbit.")
@option("--direction D", type=Word(Direction), help="Seen from the node: out, in or both.")
@option("--mtu BYTES", type=int, help="MTU in bytes.")
@option("--rail NAME", default=None, help="Which of the node's links: eth0 or eth1.  [default: eth0]")
@option("--after TIME", type=DURATION, help="Wait this long before the fault begins.")
@option(
    "--every TIME",
    type=DURATION,
    help="Let it flap: on for this long, then off for as long, until Ctrl-C, fault clear or lab down.",
)
def fault_add(
    kind: str, subject: str, name: str, rate: str | None, after: float | None, every: float | None, **given: Any
) -> int:
    """Plant one fault in a lab."""
    rate_bit_per_s = None if rate is None else cluster_plan.parse_rate(rate)
    parameters = faults_base.Parameters(rate_bit_per_s=rate_bit_per_s, **given)
    after_s, every_s = after or 0.0, every or 0.0
    faults_base.check_timing(planting.fault_named(kind), after_s=after_s, every_s=every_s)
    planting.planned(name, kind, subject, parameters, every_s)
    time.sleep(after_s)
    planted = planting.plant(name, kind, subject, parameters, every_s)
    try:
        print(f"Lab {name}: planted {planted.text}", flush=True)
        if not every_s:
            return ExitCode.PASS
        disturbances.flap(every_s, lambda on: planting.switch(name, planted, on), threading.Event().wait)
    except KeyboardInterrupt:
        planting.clear(name, planted.subject, planted.kind)
    print(f"Lab {name}: cleared {planted.kind} on {planted.subject}")
    return ExitCode.PASS


@fault.command("clear")
@argument("subject", default=None, help="Only faults of this node or leaf.")
@option("--kind KIND", default=None, help="Only faults of this kind.")
@name_option
def fault_clear(subject: str | None, kind: str | None, name: str) -> int:
    """Clear planted faults, by default all of them; the design state is restored when this returns."""
    cleared = planting.clear(name, planting.bare(subject) if subject else None, kind)
    for one in cleared:
        print(f"Lab {name}: cleared {one.kind} on {one.subject}")
    if not cleared:
        print(f"Lab {name}: no such fault was planted.")
    return ExitCode.PASS


@fault.command("list")
@output_options()
def fault_list(output: OutputForms) -> int:
    """List the kinds of faults, and those planted now."""
    planted = {name: found.planted for name in state.lab_names() if (found := state.read(name))}
    made = Report(
        payload=lambda: filled(daemons.FaultListFields, kinds=planting.FAULTS, planted=planted),
        terminal=lambda _: _fault_blocks(planted),
    )
    return output.show(made)


def _fault_blocks(planted: "Mapping[str, Sequence[faults_base.Planted]]") -> Iterator[Block]:
    for place, one in enumerate(planting.FAULTS):
        options = [" | ".join(f"--{name}" for name in group) for group in one.needs]
        words = [one.kind, one.takes.upper(), *options, *(f"[--{name}]" for name in one.may)]
        yield Paragraph(text=" ".join(words), tight=place > 0)
        yield Lines(rows=(("", one.description),), indent=2, tight=True)
    for name, faults in planted.items():
        for fault in faults:
            yield Paragraph(text=f"Planted in {name}: {fault.text}", tight=True)


@lab.command()
@argument("files", type=PATH, nargs=-1, required=True, help="Scenario files.", metavar="FILE...")
@option("--repeat N", type=click.IntRange(min=1), default=1, help="Number of runs of each scenario.")
@option("--keep DIR", type=PATH, help="Folder for the archives of runs with a wrong result.")
@output_options()
def trial(files: tuple[Path, ...], repeat: int, keep: Path | None, output: OutputForms) -> int:
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
    return output.show(trial_trial.trial_report(results))
