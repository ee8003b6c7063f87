"""Runs scenarios: raises a lab, plants, lets `check` measure it, scores what it named, tears down.

The stage does that on this machine, with labs of unique names and the command `seatrial check`.
"""

import itertools
import os
import secrets
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import astuple

from seatrial.archive.journal import RoundStarted, decode
from seatrial.archive.layout import JOURNAL_FILE, PARTIAL
from seatrial.files.writing import new_folder
from seatrial.lab.cluster import planting, state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.lab.cluster.stop import raze
from seatrial.lab.faults.base import Planted
from seatrial.lab.trial.disturbances import Strike, hogs
from seatrial.lab.trial.scenario import Scenario, ScenarioFault
from seatrial.lab.trial.score import CheckOutput, TrialScore, score
from seatrial.model.errors import ExitCode
from seatrial.model.measurement import Phase
from seatrial.model.verdict import Verdict
from seatrial.process.process import Completed, own_program, run
from seatrial.render.json import filled
from seatrial.render.report import Report, rows_table

CHECK_TIMEOUT_S = 900.0


class TrialStage(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of a trial; `stage.real_stage` for real, fakes in tests."""

    plan: Callable[[Scenario], LabPlan]
    raise_lab: Callable[[LabPlan], None]
    raze: Callable[[str], None]
    plant: Callable[..., Planted]
    """`planting.plant`."""
    switch: Callable[[str, Planted, bool], bool]
    """`planting.switch`."""
    clear: Callable[[str], object]
    check: Callable[[LabPlan, Sequence[str], str], Completed]
    measuring: Callable[[LabPlan, str], bool]
    """Whether the check of that label has begun its survey."""
    hogs: Callable[[str, int], AbstractContextManager[None]]
    keep: Callable[[LabPlan, str, Completed], str]
    """Keeps what a run left and returns where; empty if nothing is to be kept."""
    clock: Callable[[], float]


class ScenarioRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one scenario. `problem`: why there is no score, or what else went wrong."""

    seconds: float
    verdict: str = ""
    """The check's own."""
    score: TrialScore | None = None
    exit_code: int | None = None
    exit_code_right: bool = True
    verdict_right: bool = True
    in_time: bool = True
    problem: str = ""
    changes_s: tuple[float, ...] = ()
    """When faults were turned on or off during the check, in seconds since it began."""
    kept: str = ""
    """Folder with the archive and the output of a run that was not right."""

    @property
    def right(self) -> bool:
        """Whether this run named the planted faults and nothing else, as the scenario requires."""
        fits = self.exit_code_right and self.verdict_right and self.in_time
        return self.score is not None and self.score.right and fits and not self.problem


class ScenarioCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of all runs of one scenario; their names are the columns of the table."""

    runs: int
    hits: int
    misses: int
    false_names: int
    wrong_intervals: int
    wrong_verdicts: int
    wrong_exit_codes: int
    late: int
    broken_runs: int
    median_seconds: float


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one scenario."""

    name: str
    runs: tuple[ScenarioRun, ...]

    @property
    def right(self) -> bool:
        """Whether every run was right."""
        return all(run.right for run in self.runs)

    @property
    def counts(self) -> ScenarioCounts:
        """The figures of the table."""
        scores = [run.score for run in self.runs if run.score]
        return ScenarioCounts(
            runs=len(self.runs),
            hits=sum(len(one.hits) for one in scores),
            misses=sum(len(one.misses) for one in scores),
            false_names=sum(len(one.false_names) for one in scores),
            wrong_intervals=sum(len(one.wrong_intervals) for one in scores),
            wrong_verdicts=sum(not run.verdict_right for run in self.runs),
            wrong_exit_codes=sum(not run.exit_code_right for run in self.runs),
            late=sum(not run.in_time for run in self.runs),
            broken_runs=sum(run.score is None or bool(run.problem) for run in self.runs),
            median_seconds=statistics.median(run.seconds for run in self.runs),
        )

    @property
    def verdicts(self) -> dict[str, int]:
        """How often the check came to each verdict."""
        return dict(Counter(run.verdict or "none" for run in self.runs))


def run_scenario(
    scenario: Scenario, repeat: int, stage: TrialStage, said: Callable[[int, ScenarioRun], None] = lambda _n, _r: None
) -> ScenarioResult:
    """Run a scenario `repeat` times, each run from the design state; the lab is always removed at the end."""
    results: list[ScenarioRun] = []
    plan = stage.plan(scenario)
    stands = False
    try:
        for number in range(1, repeat + 1):
            if not stands:
                stage.raise_lab(plan)
                stands = True
            result = _run_once(scenario, plan, stage, f"{scenario.name}-{number}")
            results.append(result)
            said(number, result)
            if scenario.ends_lives or result.problem or number == repeat:
                stage.raze(plan.name)
                stands = False
            else:
                stage.clear(plan.name)
    finally:
        if stands:
            stage.raze(plan.name)
    return ScenarioResult(name=scenario.name, runs=tuple(results))


def _run_once(scenario: Scenario, plan: LabPlan, stage: TrialStage, label: str) -> ScenarioRun:
    for fault in scenario.faults:
        if not fault.during:
            stage.plant(plan.name, fault.kind, fault.subject, fault.parameters)
    strikes = [_strike(fault, plan, stage, label) for fault in scenario.faults if fault.during]
    began = stage.clock()
    with ExitStack() as beside:
        beside.enter_context(stage.hogs(plan.name, scenario.hogs))
        for strike in strikes:
            beside.enter_context(strike)
        done = stage.check(plan, scenario.words, label)
        seconds = stage.clock() - began
    result = judge(scenario, done, seconds, [strike.problem for strike in strikes if strike.problem])
    changes_s = sorted(round(second, 2) for strike in strikes for second in strike.changes_s)
    kept = "" if result.right else stage.keep(plan, label, done)
    return msgspec.structs.replace(result, changes_s=tuple(changes_s), kept=kept)


def _strike(fault: ScenarioFault, plan: LabPlan, stage: TrialStage, label: str) -> Strike:
    return Strike(
        fault.kind,
        partial(stage.plant, plan.name, fault.kind, fault.subject, fault.parameters, fault.every_s),
        partial(stage.switch, plan.name),
        None if fault.after_s is None else partial(stage.measuring, plan, label),
        fault.after_s or 0.0,
    )


def judge(scenario: Scenario, done: Completed, seconds: float, problems: Sequence[str] = ()) -> ScenarioRun:
    """What one run of the check is worth: pure."""
    output = None
    with suppress(msgspec.MsgspecError):
        output = msgspec.json.decode(done.stdout, type=CheckOutput)
    wrong = list(problems)
    if done.timed_out:
        wrong.append("the check did not end in time")
    if output is None:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        wrong.append(f"the check printed no result, exit status {done.returncode}; it printed: {last}")
    elif output.exit_code != done.returncode:
        wrong.append(f"the check printed exit code {output.exit_code} and ended with {done.returncode}")
    verdict = output.verdict if output else ""
    return ScenarioRun(
        seconds=seconds,
        verdict=verdict,
        score=score_of(scenario, output) if output else None,
        exit_code=done.returncode,
        exit_code_right=scenario.exit_code in (None, done.returncode),
        verdict_right=not scenario.verdicts or verdict in scenario.verdicts,
        in_time=scenario.within_s is None or seconds <= scenario.within_s,
        problem="; ".join(wrong),
    )


def score_of(scenario: Scenario, output: CheckOutput) -> TrialScore:
    """The findings of a check against the scenario's truth."""
    expected = [spec.expected for spec in scenario.expect]
    allowed = [spec.expected for spec in scenario.also_allowed]
    if output.verdict == Verdict.INCONCLUSIVE and output.verdict in scenario.verdicts:
        expected, allowed = [], [*expected, *allowed]
    return score(expected, output.findings, allowed)


def complaints(result: ScenarioRun) -> list[str]:
    """What was wrong with a run, one sentence each."""
    lines = [result.problem] if result.problem else []
    if not result.verdict_right:
        lines.append(f"wrong verdict {result.verdict or 'none'}")
    if not result.exit_code_right:
        lines.append(f"wrong exit code {result.exit_code}")
    if not result.in_time:
        lines.append(f"took {result.seconds:.0f} s")
    if result.score:
        lines += [f"missed: {expected.text}" for expected in result.score.misses]
        lines += [f"false name: {one.kind} {one.subject} ({one.statement})" for one in result.score.false_names]
        lines += [f"wrong interval: {what}" for what in result.score.wrong_intervals]
    return lines


def real_stage(keep_in: Path | None) -> TrialStage:
    """A stage that raises real labs; archives and outputs of runs that were not right go to `keep_in`."""
    numbers = itertools.count(1)

    def plan(scenario: Scenario) -> LabPlan:
        return scenario.plan(f"t{os.getpid()}-{next(numbers)}", needed_folders())

    def check(plan: LabPlan, words: Sequence[str], label: str) -> Completed:
        archive = str(archive_of(plan, label))
        argv = [*own_program(), words[0], "--json", "--archive", archive, *words[1:]]
        return run(as_user(plan, argv), timeout_s=CHECK_TIMEOUT_S)

    def keep(plan: LabPlan, label: str, done: Completed) -> str:
        if keep_in is None:
            return ""
        target = keep_in / f"{label}-{secrets.token_hex(2)}"
        keep_run(archive_of(plan, label), target, done)
        return str(target)

    return TrialStage(
        plan=plan,
        raise_lab=raise_lab,
        raze=raze,
        plant=planting.plant,
        switch=planting.switch,
        clear=planting.clear,
        check=check,
        measuring=lambda plan, label: survey_begun(archive_of(plan, label)),
        hogs=hogs,
        keep=keep,
        clock=time.monotonic,
    )


def archive_of(plan: LabPlan, label: str) -> Path:
    """The archive of one run's check: a folder that every host of the lab sees, and that goes with the lab."""
    return state.folder(plan.name) / "work" / label


def survey_begun(archive: Path) -> bool:
    """Whether the run that grows in this archive has begun its survey: a round of it is in the journal."""
    for journal in archive.glob(f"*{PARTIAL}/{JOURNAL_FILE}"):
        with suppress(OSError, msgspec.MsgspecError), journal.open("rb") as lines:
            if any(isinstance(one, RoundStarted) and one.round.phase is Phase.SURVEY for one in decode(lines)):
                return True
    return False


def keep_run(archive: Path, target: Path, done: Completed) -> None:
    """Copy the archive of a run, and what the check printed, out of the lab, into a folder of this run alone."""
    with new_folder(target) as own:
        if archive.is_dir():
            shutil.copytree(archive, own.for_libraries, symlinks=True, dirs_exist_ok=True)
        own.replace("check.stdout", done.stdout.encode())
        own.replace("check.stderr", done.stderr.encode())


class WrongRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was not right, by its number from 1."""

    run: int
    kept: str
    complaints: tuple[str, ...]


class ScenarioRow(ScenarioCounts, frozen=True, kw_only=True):
    """All runs of one scenario."""

    name: str
    right: bool
    verdicts: dict[str, int]
    wrong: tuple[WrongRun, ...]
    results: tuple[ScenarioRun, ...]


class LabTrialFields(msgspec.Struct, frozen=True, kw_only=True):
    """Scenarios that were played, and their scores; docs/lab.md describes each field."""

    right: bool
    scenarios: tuple[ScenarioRow, ...]


def trial_fields(results: Sequence[ScenarioResult]) -> LabTrialFields:
    """What programs read of the scenarios."""
    rows = [
        filled(
            ScenarioRow,
            result.counts,
            result,
            wrong=[
                WrongRun(run=number, kept=run.kept, complaints=tuple(complaints(run)))
                for number, run in enumerate(result.runs, 1)
                if not run.right
            ],
            results=result.runs,
        )
        for result in results
    ]
    return filled(LabTrialFields, right=all(result.right for result in results), scenarios=rows)


def trial_report(results: Sequence[ScenarioResult]) -> Report:
    """The figures of each scenario in a row."""
    fields = trial_fields(results)
    heads = ("scenario", *(f"#{name.replace('_', ' ')}" for name in ScenarioCounts.__struct_fields__))
    rows = [(one.name, *(f"{count:.0f}" for count in astuple(one.counts))) for one in results]
    return Report(
        payload=lambda: fields,
        terminal=lambda _: [rows_table(heads, rows, None)],
        exit_code=ExitCode.PASS if fields.right else ExitCode.FINDINGS,
    )
