"""The order of a trial, with a stage that only pretends."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.faults.base import Parameters, Planted
from seatrial.lab.trial import trial as trial_stage
from seatrial.lab.trial.scenario import Scenario, parse_scenario
from seatrial.lab.trial.trial import ScenarioResult, ScenarioRun, TrialStage, complaints, run_scenario, trial_fields
from seatrial.model.errors import SeatrialError
from seatrial.process.process import Completed
from seatrial.render.json import json_text

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


def said(findings: str = FINDING, exit_code: int = 1, verdict: str = "SLOW") -> Completed:
    text = f'{{"format":1,"run":"r","verdict":"{verdict}","exit_code":{exit_code},"findings":[{findings}]}}'
    return Completed(argv=("check",), returncode=exit_code, stdout=text, stderr="")


class Pretence:
    """Writes down what a trial would do to the world."""

    def __init__(self, check: Callable[[], Completed] = said, *, strikes: int = 0) -> None:
        """`strikes`: a check lasts until something was planted or switched so often."""
        self.done: list[str] = []
        self.struck = threading.Semaphore(0)
        self.begun = threading.Event()
        """The survey has begun: as soon as the check has."""
        self.strikes = strikes
        self.answer = check
        self.ticks = itertools.count(0.0, 2.0)
        self.planting: Exception | None = None

    def stage(self) -> TrialStage:
        return TrialStage(
            plan=lambda one: make_plan(name="t", nodes=one.nodes),
            raise_lab=lambda _plan: self.done.append("raise"),
            raze=lambda _name: self.done.append("raze"),
            plant=self.plant,
            switch=self.switch,
            clear=lambda _name: self.done.append("clear"),
            check=self.check,
            measuring=lambda _plan, _label: self.begun.is_set(),
            hogs=self.hogs,
            keep=self.keep,
            clock=lambda: next(self.ticks),
        )

    def plant(self, name: str, kind: str, subject: str, parameters: Parameters, every_s: float = 0.0) -> Planted:
        self.done.append(f"plant {kind} {subject} {parameters.text}")
        self.struck.release()
        if self.planting:
            raise self.planting
        return Planted(kind=kind, subject=subject, parameters=parameters, every_s=every_s)

    def switch(self, name: str, planted: Planted, on: bool) -> bool:
        self.done.append("on" if on else "off")
        self.struck.release()
        return True

    @contextmanager
    def hogs(self, name: str, count: int) -> Iterator[None]:
        self.done += ["hogs"] * count
        yield
        self.done += ["no hogs"] * count

    def keep(self, plan: LabPlan, label: str, done: Completed) -> str:
        self.done.append(f"keep {label}")
        return f"/kept/{label}"

    def check(self, plan: LabPlan, arguments: Sequence[str], label: str) -> Completed:
        self.done.append("check")
        self.begun.set()
        for _ in range(self.strikes):
            assert self.struck.acquire(timeout=60)
        self.begun.clear()
        return self.answer()


PLANT = "plant link-rate n3 percent=60"


def test_one_lab_serves_all_repetitions() -> None:
    pretence = Pretence()
    result = run_scenario(scenario(), 2, pretence.stage())
    assert pretence.done == ["raise", PLANT, "check", "clear", PLANT, "check", "raze"]
    assert result.right
    assert [one.verdict for one in result.runs] == ["SLOW", "SLOW"]
    counts = {"runs": 2, "hits": 2, "median_seconds": 2.0}
    assert {name: count for name, count in msgspec.structs.asdict(result.counts).items() if count} == counts
    assert result.verdicts == {"SLOW": 2}


def test_a_program_reads_the_counts_beside_the_runs_that_were_not_right() -> None:
    """`lab trial --json` runs as root only."""
    fields = trial_fields([run_scenario(scenario(), 1, Pretence().stage())])
    (row,) = json.loads(json_text(fields))["scenarios"]
    assert (fields.right, row["right"], row["runs"], row["hits"], row["wrong"]) == (True, True, 1, 1, [])
    failed = ScenarioResult(name="s", runs=(ScenarioRun(seconds=1.0, problem="no lab"),))
    fields = trial_fields([failed])
    assert not fields.right
    assert [(wrong.run, bool(wrong.complaints)) for wrong in fields.scenarios[0].wrong] == [(1, True)]


def test_a_fault_that_begins_during_the_check_is_cleared_like_others() -> None:
    pretence = Pretence(strikes=1)
    result = run_scenario(scenario("after_s = 0.05"), 2, pretence.stage())
    assert pretence.done == ["raise", "check", PLANT, "clear", "check", PLANT, "raze"]
    assert result.right
    assert all(one.changes_s and one.changes_s[0] >= 0.05 for one in result.runs)


def test_a_fault_that_ends_lives_during_the_check_gets_a_fresh_lab_each_time() -> None:
    pretence = Pretence(strikes=1)
    hung = parse_scenario((SCENARIO % "after_s = 0").replace("link-rate", "node-hung").replace("percent = 60", ""), "x")
    run_scenario(hung, 2, pretence.stage())
    assert pretence.done == ["raise", "check", "plant node-hung n3 ", "raze"] * 2


def test_the_delay_counts_from_the_first_round_of_the_survey() -> None:
    """While the check starts up, nothing is planted, however long that takes."""
    pretence = Pretence()
    stage = msgspec.structs.replace(pretence.stage(), measuring=lambda _plan, _label: False)
    result = run_scenario(scenario("after_s = 0"), 1, stage)
    assert PLANT not in pretence.done
    assert "before the fault link-rate was planted" in result.runs[0].problem


def test_a_fault_that_flaps_is_turned_off_and_on_until_the_check_ends() -> None:
    pretence = Pretence(strikes=4)
    (result,) = run_scenario(scenario("after_s = 0\nevery_s = 0.5"), 1, pretence.stage()).runs
    begun, turns, ended = pretence.done[:3], pretence.done[3:-1], pretence.done[-1]
    assert (begun, ended) == (["raise", "check", PLANT], "raze")
    assert len(turns) >= 3, "a further one may be due before the end of the check is heard of"
    assert turns == [("off", "on")[place % 2] for place in range(len(turns))]
    apart = [after - before for before, after in itertools.pairwise(result.changes_s)]
    assert len(apart) == len(turns)
    assert min(apart) > 0.05, "a turn that comes late is nearer to the next"


def test_one_that_flaps_from_the_beginning_does_not_wait_for_the_survey() -> None:
    pretence = Pretence(strikes=2)
    stage = msgspec.structs.replace(pretence.stage(), measuring=lambda _plan, _label: False)
    run_scenario(scenario("every_s = 0.5"), 1, stage)
    turns = [word for word in pretence.done if word in ("off", "on")]
    assert turns[:1] == ["off"]
    assert sorted(pretence.done) == sorted(["raise", "check", PLANT, *turns, "raze"])


def test_no_thread_of_a_fault_outlives_a_check_that_fails() -> None:
    def fail() -> Completed:
        raise KeyboardInterrupt

    before = set(threading.enumerate())  # one of an earlier test may just be ending
    with pytest.raises(KeyboardInterrupt):
        run_scenario(scenario("after_s = 0\nevery_s = 0.2"), 1, Pretence(fail, strikes=2).stage())
    assert set(threading.enumerate()) <= before


def test_hogs_run_beside_the_check_alone() -> None:
    pretence = Pretence()
    one = parse_scenario('name = "x"\nnodes = 4\nhogs = 2\n', "x.toml")
    run_scenario(one, 1, pretence.stage())
    assert pretence.done[:-2] == ["raise", "hogs", "hogs", "check", "no hogs", "no hogs"]


HEDGED = SCENARIO.replace("exit_code = 1", 'verdicts = ["SLOW", "INCONCLUSIVE"]')


@pytest.mark.parametrize(
    ("done", "right"),
    [
        (said(), True),
        (said("", 2, "INCONCLUSIVE"), True),
        (said(FINDING, 2, "INCONCLUSIVE"), True),
        (said(FINDING.replace("n3", "n1"), 2, "INCONCLUSIVE"), False),
        (said("", 0, "PASS"), False),
        (said(FINDING, 0, "PASS"), False),
        (said(""), False),
    ],
)
def test_a_check_that_may_be_inconclusive_need_not_name_anything(done: Completed, right: bool) -> None:
    """But it may not pass, nor blame another."""
    pretence = Pretence(lambda: done)
    result = run_scenario(parse_scenario(HEDGED % "", "x.toml"), 1, pretence.stage())
    assert result.right is right
    assert result.runs[0].kept == ("" if right else "/kept/x-1")


def test_a_check_that_takes_too_long_is_wrong() -> None:
    limited = parse_scenario(SCENARIO.replace("exit_code = 1", "exit_code = 1\nwithin_s = 1.5") % "", "x.toml")
    (result,) = run_scenario(limited, 1, Pretence().stage()).runs
    assert (result.right, complaints(result)) == (False, ["took 2 s"])


def test_a_fault_that_came_too_late_is_a_broken_run() -> None:
    pretence = Pretence()
    result = run_scenario(scenario("after_s = 60"), 1, pretence.stage())
    assert "before the fault link-rate was planted" in result.runs[0].problem
    assert pretence.done[-2:] == ["keep x-1", "raze"]


def test_a_fault_that_cannot_be_planted_later_is_a_broken_run() -> None:
    pretence = Pretence(strikes=1)
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
    heard: list[ScenarioRun] = []
    pretence = Pretence(lambda: done)
    result = run_scenario(scenario(), 1, pretence.stage(), lambda _number, one: heard.append(one))
    assert not result.right
    assert any(complaint in line for line in complaints(heard[0]))
    assert "keep x-1" in pretence.done


def test_a_wrong_run_is_kept_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies where it is kept stays, and no link there is followed."""
    archive, keep = tmp_path / "archive", tmp_path / "keep"
    (archive / "run").mkdir(parents=True)
    (archive / "run" / "link").symlink_to("/etc/passwd")
    keep.mkdir()
    (keep / "x-1").symlink_to(archive)
    stage = trial_stage.real_stage(keep)
    plan = make_plan(name="a", nodes=2)
    monkeypatch.setattr(trial_stage, "archive_of", lambda _plan, _label: archive)
    kept = {stage.keep(plan, "x-1", said()) for _ in range(2)}
    assert len(kept) == 2
    for folder in map(Path, kept):
        assert folder.parent == keep
        assert (folder / "run" / "link").is_symlink()
        assert (folder / "check.stdout").read_text() == said().stdout
    assert sorted(path.name for path in archive.iterdir()) == ["run"]
