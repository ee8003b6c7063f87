"""The order of a trial, with a stage that only pretends."""

import itertools
import threading
from collections.abc import Callable, Sequence

import pytest

from seatrial.lab.faults.base import Parameters
from seatrial.lab.plan import LabPlan, make_plan
from seatrial.lab.scenario import Scenario, parse_scenario
from seatrial.lab.trial import RunResult, Stage, complaints, run_scenario
from seatrial.launch.process import Completed
from seatrial.model.errors import SeatrialError

FINDING = '{"kind":"slow-link","subject":"node:n3","ambiguous_with":[],"statement":"n3 is slow.","more":1}'
SCENARIO = """
name = "x"
nodes = 4
exit_code = 1
[[faults]]
kind = "link-rate"
subject = "n3"
percent = 60
%s
[[expect]]
kind = "slow-link"
subject = "node:n3"
"""


def scenario(extra: str = "") -> Scenario:
    return parse_scenario(SCENARIO % extra, "x.toml")


def said(findings: str = FINDING, exit_code: int = 1) -> Completed:
    text = f'{{"format":1,"run":"r","verdict":"SLOW","exit_code":{exit_code},"findings":[{findings}]}}'
    return Completed(argv=("check",), returncode=exit_code, stdout=text, stderr="")


class Pretence:
    """Writes down what a trial would do to the world."""

    def __init__(self, check: Callable[[], Completed] = said, *, strikes: bool = False) -> None:
        """`strikes`: a check lasts until something is planted."""
        self.done: list[str] = []
        self.struck = threading.Event()
        self.strikes = strikes
        self.answer = check
        self.ticks = itertools.count(0.0, 2.0)
        self.planting: Exception | None = None

    def stage(self) -> Stage:
        return Stage(
            plan=lambda one: make_plan(name="t", nodes=one.nodes),
            raise_lab=lambda _plan: self.done.append("raise"),
            raze=lambda _name: self.done.append("raze"),
            plant=self.plant,
            clear=lambda _name: self.done.append("clear"),
            check=self.check,
            keep=lambda _plan, label, _done: self.done.append(f"keep {label}"),
            clock=lambda: next(self.ticks),
        )

    def plant(self, name: str, kind: str, subject: str, parameters: Parameters) -> None:
        self.done.append(f"plant {kind} {subject} {parameters.text}")
        self.struck.set()
        if self.planting:
            raise self.planting

    def check(self, plan: LabPlan, arguments: Sequence[str], label: str) -> Completed:
        self.done.append("check")
        if self.strikes:
            assert self.struck.wait(60)
            self.struck.clear()
        return self.answer()


PLANT = "plant link-rate n3 percent=60"


def test_one_lab_serves_all_repetitions() -> None:
    pretence = Pretence()
    result = run_scenario(scenario(), 2, pretence.stage())
    assert pretence.done == ["raise", PLANT, "check", "clear", PLANT, "check", "raze"]
    assert result.right
    assert [one.verdict for one in result.runs] == ["SLOW", "SLOW"]
    assert list(result.counts.values()) == [2, 2, 0, 0, 0, 0, 2.0]


def test_a_fault_that_strikes_later_gets_a_fresh_lab_each_time() -> None:
    pretence = Pretence(strikes=True)
    result = run_scenario(scenario("after_s = 0.05"), 2, pretence.stage())
    assert pretence.done == ["raise", "check", PLANT, "raze"] * 2
    assert result.right


def test_a_fault_that_came_too_late_is_a_broken_run() -> None:
    pretence = Pretence()
    result = run_scenario(scenario("after_s = 60"), 1, pretence.stage())
    assert "before the fault link-rate was planted" in result.runs[0].problem
    assert pretence.done[-2:] == ["keep x-1", "raze"]


def test_a_fault_that_cannot_be_planted_later_is_a_broken_run() -> None:
    pretence = Pretence(strikes=True)
    pretence.planting = SeatrialError("tc failed.")
    result = run_scenario(scenario("after_s = 0"), 1, pretence.stage())
    assert "tc failed" in result.runs[0].problem


def test_the_lab_goes_whatever_happens() -> None:
    pretence = Pretence()
    pretence.planting = SeatrialError("tc failed.")
    with pytest.raises(SeatrialError, match="tc failed"):
        run_scenario(scenario(), 3, pretence.stage())
    assert pretence.done == ["raise", PLANT, "raze"]


@pytest.mark.parametrize(
    ("done", "complaint"),
    [
        (said(""), "missed: slow-link node:n3"),
        (said(FINDING.replace("n3", "n4")), "false name: slow-link node:n4"),
        (said(exit_code=2), "wrong exit code 2"),
        (Completed(argv=("x",), returncode=1, stdout="{", stderr="a\nboom\n"), "boom"),
        (Completed(argv=("x",), returncode=1, stdout="", stderr="", timed_out=True), "did not end in time"),
        (Completed(argv=("x",), returncode=1, stdout=said(exit_code=0).stdout, stderr=""), "ended with 1"),
    ],
)
def test_every_way_to_be_wrong_is_told(done: Completed, complaint: str) -> None:
    heard: list[RunResult] = []
    pretence = Pretence(lambda: done)
    result = run_scenario(scenario(), 1, pretence.stage(), lambda _number, one: heard.append(one))
    assert not result.right
    assert any(complaint in line for line in complaints(heard[0]))
    assert "keep x-1" in pretence.done
