"""Runs scenarios: raises a lab, plants, lets `check` measure it, scores what it named, tears down."""

import statistics
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from seatrial.lab.faults.base import Parameters
from seatrial.lab.plan import LabPlan
from seatrial.lab.scenario import FaultSpec, Scenario
from seatrial.lab.score import CheckOutput, Score, score
from seatrial.launch.process import Completed
from seatrial.model.errors import SeatrialError


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial does to the world; `stage.real_stage` for real, fakes in tests."""

    plan: Callable[[Scenario], LabPlan]
    raise_lab: Callable[[LabPlan], None]
    raze: Callable[[str], None]
    plant: Callable[[str, str, str, Parameters], object]
    clear: Callable[[str], object]
    check: Callable[[LabPlan, Sequence[str], str], Completed]
    keep: Callable[[LabPlan, str, Completed], None]
    clock: Callable[[], float]


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one scenario. `problem` says why there is no score, or what else went wrong."""

    seconds: float
    verdict: str = ""
    """The check's own."""
    score: Score | None = None
    exit_code: int | None = None
    exit_code_right: bool = True
    problem: str = ""

    @property
    def right(self) -> bool:
        """Whether this run named what was planted and nothing else."""
        return self.score is not None and self.score.right and self.exit_code_right and not self.problem


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one scenario."""

    name: str
    runs: tuple[RunResult, ...]

    @property
    def right(self) -> bool:
        """Whether every run was right."""
        return all(run.right for run in self.runs)

    @property
    def counts(self) -> dict[str, float]:
        """The figures of the table, by the names of its columns."""
        scores = [run.score for run in self.runs if run.score]
        return {
            "runs": len(self.runs),
            "hits": sum(len(one.hits) for one in scores),
            "misses": sum(len(one.misses) for one in scores),
            "false names": sum(len(one.false_names) for one in scores),
            "wrong exit codes": sum(not run.exit_code_right for run in self.runs),
            "broken runs": sum(run.score is None or bool(run.problem) for run in self.runs),
            "median seconds": statistics.median(run.seconds for run in self.runs),
        }


def run_scenario(
    scenario: Scenario, repeat: int, stage: Stage, said: Callable[[int, RunResult], None] = lambda _n, _r: None
) -> ScenarioResult:
    """Run a scenario `repeat` times, each run from the design state; the lab goes in the end, whatever happens."""
    results: list[RunResult] = []
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
            if scenario.planted_later or result.problem or number == repeat:
                stage.raze(plan.name)
                stands = False
            else:
                stage.clear(plan.name)
    finally:
        if stands:
            stage.raze(plan.name)
    return ScenarioResult(name=scenario.name, runs=tuple(results))


def _run_once(scenario: Scenario, plan: LabPlan, stage: Stage, label: str) -> RunResult:
    for fault in scenario.faults:
        if fault.after_s is None:
            stage.plant(plan.name, fault.kind, fault.subject, fault.parameters)
    strikes = [_Strike(stage, plan.name, fault) for fault in scenario.faults if fault.after_s is not None]
    began = stage.clock()
    for strike in strikes:
        strike.timer.start()
    try:
        done = stage.check(plan, scenario.arguments, label)
    finally:
        seconds = stage.clock() - began
        for strike in strikes:
            strike.timer.cancel()
            strike.timer.join()
    result = judge(scenario, done, seconds, [strike.problem for strike in strikes if strike.problem])
    if not result.right:
        stage.keep(plan, label, done)
    return result


class _Strike:
    """A fault that is planted by a timer."""

    def __init__(self, stage: Stage, name: str, fault: FaultSpec) -> None:
        self.problem = f"the check ended before the fault {fault.kind} was planted"
        self._work = (stage, name, fault)
        self.timer = threading.Timer(fault.after_s or 0.0, self._strike)

    def _strike(self) -> None:
        stage, name, fault = self._work
        try:
            stage.plant(name, fault.kind, fault.subject, fault.parameters)
            self.problem = ""
        except SeatrialError as error:
            self.problem = f"the fault {fault.kind} could not be planted: {error}"


def judge(scenario: Scenario, done: Completed, seconds: float, problems: Sequence[str] = ()) -> RunResult:
    """What one run of the check is worth: pure."""
    output = None
    with suppress(msgspec.MsgspecError):
        output = msgspec.json.decode(done.stdout, type=CheckOutput)
    wrong = list(problems)
    if done.timed_out:
        wrong.append("the check did not end in time")
    if output is None:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        wrong.append(f"the check printed no result, exit status {done.returncode}; it said: {last}")
    elif output.exit_code != done.returncode:
        wrong.append(f"the check printed exit code {output.exit_code} and ended with {done.returncode}")
    return RunResult(
        seconds=seconds,
        verdict=output.verdict if output else "",
        score=score_of(scenario, output) if output else None,
        exit_code=done.returncode,
        exit_code_right=scenario.exit_code in (None, done.returncode),
        problem="; ".join(wrong),
    )


def score_of(scenario: Scenario, output: CheckOutput) -> Score:
    """The findings of a check against the scenario's truth."""
    expected = [spec.expected for spec in scenario.expect]
    return score(expected, output.findings, [spec.expected for spec in scenario.also_allowed])


def complaints(result: RunResult) -> list[str]:
    """What was wrong with a run, one sentence each."""
    lines = [result.problem] if result.problem else []
    if not result.exit_code_right:
        lines.append(f"wrong exit code {result.exit_code}")
    if result.score:
        lines += [f"missed: {expected.text}" for expected in result.score.misses]
        lines += [f"false name: {one.kind} {one.subject} ({one.statement})" for one in result.score.false_names]
    return lines
