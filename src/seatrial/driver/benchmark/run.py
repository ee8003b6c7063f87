"""Runs a benchmark: nodes, plan, inputs, its programs one after the other, and what they printed into the archive."""

import contextlib
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import BenchmarkPlanned, StepEnded
from seatrial.archive.run_sets import StoredSet
from seatrial.archive.writer import ArchiveError, RunWriter
from seatrial.benchmarks.declaration import Benchmark, Launch, completed
from seatrial.driver.benchmark.nodes import by_places, chosen_nodes, request_of, site_of
from seatrial.driver.benchmark.scratch import (
    MOST_BYTES,
    Scratch,
    case_hash,
    copy_case,
    free_bytes,
    read_case,
    write_files,
)
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s
from seatrial.driver.past import find_past, last_alike, read_past
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, Run, describe, find_hosts, open_run
from seatrial.files.inputs import read_beginning, read_end
from seatrial.judgement.benchmark_result import RunResult, judge_run
from seatrial.launch.contract import Launcher, StartManner, StartsPrograms
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, StepResult
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.measurement import node_of
from seatrial.model.past import Past
from seatrial.model.run import Design, RecordedRun
from seatrial.model.settings import RunSettings
from seatrial.model.words import count
from seatrial.process.file_output import Command, run_into
from seatrial.process.time_limit import PARSE_S, limited

LOOK_S = 60.0
PATHS = (
    'for name do command -v "$name" || continue; case $(command -v "$name") in /*) exit 0;; esac; IFS=:; '
    'for at in $PATH; do [ -f "$at/$name" ] && [ -x "$at/$name" ] && echo "$at/$name" && exit 0; done; unset IFS; '
    "done; echo seatrial-none"
)
"""A command of a node's shell that prints the path of the first of the programs that the node has.

Of what is built into the shell, such as ulimit, it prints the name, and the path of a program of that name, if any.
"""
PROGRAM = re.compile(r"[A-Za-z][\w.-]{0,60}")


def run_benchmark(settings: RunSettings, benchmark: Benchmark, progress: Progress = SILENT) -> MeasuredRun[RunResult]:
    """Carry out `seatrial bench run`. Whatever ends it, the run is closed and keeps what was printed.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the nodes are
    asked for.
    """
    launch = launch_of(benchmark, settings)
    site = site_of(settings, launch)
    launcher, hosts = find_hosts(site, progress)
    nodes = chosen_nodes(settings, launch, hosts)
    past = find_past(settings, describe(settings, launcher, hosts, nodes))
    opening = open_run(settings, site, launcher, hosts, nodes, fewest=len(nodes))
    frame = opening.frame(progress, fewest=len(nodes))
    work = BenchmarkRun(settings, launch, launcher, frame, opening.writer, past)
    folder = frame.carry_out(lambda: work.carry_out(opening.nodes, hosts.asleep))
    recorded = work.recorded()
    return MeasuredRun(folder=folder, recorded=recorded, result=judged(recorded, benchmark))


def judged(recorded: RecordedRun, benchmark: Benchmark) -> RunResult:
    """The judgement of a run of this user. Raises UsageError where the patterns of the benchmark take too long."""
    with limited(PARSE_S, f"Reading the output of {recorded.info.run}"):
        return judge_run(recorded, benchmark)


def launch_of(benchmark: Benchmark, settings: RunSettings) -> Launch:
    """How it is run. Raises UsageError for one that is only read, and for a case that is missing or not used."""
    launch = benchmark.launch
    if launch is None:
        raise UsageError(
            f"{benchmark.name} has no command: its outputs are only read.",
            "Start it yourself and give its output to `seatrial judge`, or write a file with [run] (docs/run.md).",
        )
    if launch.case and settings.case is None:
        raise UsageError(f"{benchmark.name} needs a case.", "Name its folder with --case.")
    if settings.case is not None and not launch.case:
        raise UsageError(f"--case {settings.case}: {benchmark.name} takes no case.", "Leave it out.")
    return launch


def programs_of(launch: Launch, settings: RunSettings) -> tuple[str, ...]:
    """Names of the main program, the first of which is taken. Raises UsageError for an unknown parameter."""
    if not launch.program_parameter:
        return launch.programs
    name = completed(settings.parameters, launch.parameters)[launch.program_parameter]
    if not PROGRAM.fullmatch(name):
        raise UsageError(f"--set {launch.program_parameter}={name} is not the name of a program.", "Correct it.")
    return (name,)


def newest(folder: Path, pattern: str) -> Path | None:
    """The file that was written last of those that match, of several at once the last by name; None: there is none."""
    written: list[tuple[int, Path]] = []
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):  # a process that the program left may remove its files
            status = path.stat()
            written += [(status.st_mtime_ns, path)] if stat.S_ISREG(status.st_mode) else []
    return max(written)[1] if written else None


class BenchmarkRun:
    """The work inside a run."""

    def __init__(
        self,
        settings: RunSettings,
        launch: Launch,
        launcher: Launcher,
        frame: Run,
        writer: RunWriter,
        past: StoredSet | None,
    ) -> None:
        self._settings = settings
        self._launch = launch
        self._launcher = launcher
        self._frame = frame
        self._writer = writer
        self._past = past
        self._plan: BenchmarkPlan | None = None
        self._steps: list[StepResult] = []

    def carry_out(self, nodes: Sequence[str], asleep: Sequence[str]) -> str:
        """Get the nodes, make the plan, run its programs; a remark for the report, or nothing."""
        frame, budget_s = self._frame, self._frame.settings.budget_s
        case = read_case(self._settings.case)
        granted = frame.get_nodes(nodes, allocation_s(budget_s / 2), asleep)
        scratch = Scratch(self._settings, self._writer.info.run)
        try:
            self._run_plan(granted, scratch, case)
        finally:
            remark = scratch.close()
        frame.progress.stage("Reading the facts again")
        frame.facts_after = frame.read_facts(granted, layout.AFTER, "did not answer after the benchmark")
        self._keep_past(granted)
        return remark

    def _keep_past(self, nodes: Sequence[str]) -> None:
        """Keep in the run what it is compared with: the named runs, else the last one that was made alike."""
        info, facts = self._frame.recorded().info, self._frame.facts
        if self._past is not None:
            past: Past | None = read_past(self._past, nodes, facts, self._frame.measurer.remarks.append)
        else:
            past = last_alike(self._settings.site.archive, info)
        self._writer.describe(msgspec.structs.replace(self._writer.info, past=past))

    def recorded(self) -> RecordedRun:
        """The run as its judge sees it."""
        return msgspec.structs.replace(self._frame.recorded(), plan=self._plan, steps=tuple(self._steps))

    def _run_plan(self, nodes: Sequence[str], scratch: Scratch, case: dict[str, str]) -> None:
        deadline = monotonic_s() + self._frame.settings.budget_s
        program = self._program(nodes, scratch)
        request = request_of(
            self._settings,
            self._launch,
            nodes,
            self._frame.facts,
            program=program,
            free_bytes=free_bytes(scratch.place),
            case=case,
        )
        plan = self._launch.plan(request)
        if self._settings.case is not None:
            plan = msgspec.structs.replace(plan, inputs=case_hash(self._settings.case, case))
        self._plan = plan
        self._writer.append(BenchmarkPlanned(plan=plan, request=msgspec.structs.replace(request, case={})))
        self._frame.designed(_design(plan, request))
        if any(step.mpi for step in plan.steps):
            self._try_ranks(nodes, request)
        if self._settings.case is not None:
            copy_case(self._settings.case, scratch.place)
        write_files(scratch.place, plan.files)
        for name in plan.files:
            self._writer.write_log(name.replace("/", "-"), scratch.place / name)
        prepare = [
            (BenchmarkStep(name=f"prepare {node}", argv=self._settings.prepare, mpi=False, judged=False), (node,))
            for node in dict.fromkeys(map(node_of, nodes) if not by_places(nodes) else nodes[:1])
            if self._settings.prepare
        ]
        for step, places in (*prepare, *((step, nodes) for step in plan.steps)):
            result = self._step(step, places, request, scratch, deadline)
            if result.interrupted:
                raise KeyboardInterrupt
            if not result.ok:
                return

    def _program(self, nodes: Sequence[str], scratch: Scratch) -> str:
        """The path of the main program on the first node. Raises LaunchError where it is missing."""
        wanted = (self._settings.program,) if self._settings.program else programs_of(self._launch, self._settings)
        self._frame.progress.stage(f"Looking for {' or '.join(wanted)}")
        shown, errors = scratch.place / "program.out", scratch.place / "program.err"
        command = self._starting().program_command(nodes[:1], ["/bin/sh", "-c", PATHS, "sh", *wanted], 0, scratch.path)
        look = Command(argv=command.argv, output=shown, errors=errors, environment=command.environment)
        ended = run_into(look, timeout_s=LOOK_S, folder=scratch.path)
        if ended.interrupted:
            raise KeyboardInterrupt
        lines = read_beginning(shown, MOST_BYTES).split()
        for path in (shown, errors):
            path.unlink(missing_ok=True)
        program = next((line for line in reversed(lines) if line.startswith("/")), "")
        if program:
            return program
        if word := next((name for name in wanted if name in lines), ""):
            raise LaunchError(
                f"{word} is built into the shell; there is no program of that name on PATH on {nodes[0]}.",
                "Let a shell carry it out: --program bash, or in your own file command = "
                f'["bash", "-c", "{word} ..."].',
            )
        missing = f"None of {', '.join(wanted)} is" if len(wanted) > 1 else f"{wanted[0]} is not"
        package = self._launch.package
        install = f", or install it (apt install {package})" if package else ""
        raise LaunchError(
            f"{missing} on PATH on {nodes[0]}.",
            f"Load the module that has it (`module avail`) or give --environment, name it with --program{install}.",
        )

    def _starting(self) -> StartsPrograms:
        if not isinstance(self._launcher, StartsPrograms):
            raise UsageError(f"The launcher {self._launcher.name} cannot start a benchmark.", "Choose another one.")
        return self._launcher

    def _try_ranks(self, nodes: Sequence[str], request: BenchmarkRequest) -> None:
        """Start the probe as the benchmark will be: it shows in which way ranks form one world, and where they are."""
        ranks = 1 if by_places(nodes) else request.ranks_per_node
        self._frame.progress.stage(f"Starting the probe on {count(len(nodes), 'node')}, {count(request.ranks, 'rank')}")
        self._frame.measurer.begin(StartManner(ranks_per_node=ranks))
        self._frame.measurer.close()

    def _step(
        self, step: BenchmarkStep, nodes: Sequence[str], request: BenchmarkRequest, scratch: Scratch, deadline: float
    ) -> StepResult:
        """Run one program; what it printed is in the logs at once, and in the journal when it has ended."""
        self._frame.progress.stage(f"Running {step.name}")
        places = nodes[:1] if by_places(nodes) or step.single or not step.mpi else nodes
        ranks = 0 if not step.mpi else 1 if step.single else request.ranks_per_node
        command = self._starting().program_command(places, step.argv, ranks, scratch.path)
        name = re.sub(r"[^\w.-]", "-", step.name)
        shown, errors = self._writer.log_file(f"{name}.out"), self._writer.log_file(f"{name}.err")
        program = Command(argv=command.argv, output=shown, errors=errors, environment=command.environment)
        ended = run_into(program, timeout_s=max(deadline - monotonic_s(), 1.0), folder=scratch.path)
        if step.output and (written := newest(scratch.place, step.output)) is not None:
            with contextlib.suppress(ArchiveError):
                self._writer.write_log(written.name, written)
            shown = self._writer.log_file(written.name)
        elif step.output:
            shown = Path()
        result = StepResult(
            name=step.name,
            argv=command.argv,
            **msgspec.structs.asdict(ended),
            output=read_beginning(shown, MOST_BYTES),
            errors=read_end(errors),
            judged=step.judged,
        )
        self._steps.append(result)
        self._writer.append(StepEnded(step=result))
        return result


def _design(plan: BenchmarkPlan, request: BenchmarkRequest) -> Design:
    return Design(
        name="run",
        pairs_at_once=0,
        repetitions=1,
        rounds=len(plan.steps),
        ordered_pairs=0,
        planned_pairs=0,
        statement=" ".join((f"{count(request.ranks, 'rank')} on {count(request.nodes, 'node')}.", *plan.notes)),
    )
