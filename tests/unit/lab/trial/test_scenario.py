"""Scenario files: the project's own all read, wrong ones are refused by name."""

from pathlib import Path

import pytest

from seatrial.lab.trial.scenario import parse_scenario, read_scenario
from seatrial.model.errors import UsageError
from seatrial.model.subject import Direction
from tests.series.__main__ import HIDDEN, SCENARIOS, unsure
from tests.support.paths import ROOT

FILES = sorted((ROOT / "tests" / "scenarios").glob("*.toml"))
FAULT = '[[faults]]\nkind = "link-rate"\nsubject = "n3"\npercent = 60\n'
EXPECT = '[[expect]]\nkind = "slow-link"\nsubject = "node:n3"\n'
HEAD = 'name = "x"\nnodes = 4\n'


def test_the_scenarios_of_the_series_are_there() -> None:
    assert {*SCENARIOS, *HIDDEN} <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scenarios_of_the_project_are_sound(path: Path, tmp_path: Path) -> None:
    scenario = read_scenario(path)
    busy = read_scenario(unsure(path, tmp_path / "busy", 2, ["--seed", "3"]))
    assert (busy.hogs, busy.arguments) == (2, (*scenario.arguments, "--seed", "3"))
    assert scenario.name == path.stem
    assert len(scenario.expect) == len(scenario.faults)
    assert scenario.faults or scenario.exit_code == 0 or scenario.verdicts


def test_a_scenario_in_full() -> None:
    scenario = parse_scenario(
        f'{HEAD}leaves = 1\nrate = "500mbit"\nuplink_rate = "1gbit"\narguments = ["--seed", "3"]\n'
        '[[faults]]\nkind = "one-way-rate"\nsubject = "n1"\nrate = "100mbit"\ndirection = "in"\n'
        "after_s = 2.5\nevery_s = 2\n"
        '[[expect]]\nkind = "slow-link"\nsubject = ["node:n1", "uplink:leaf1"]\n'
        '[[also_allowed]]\nkind = "high-latency"\nsubject = "fabric:all"\n',
        "x.toml",
    )
    parameters = scenario.faults[0].parameters
    assert (parameters.rate_bit_per_s, parameters.direction) == (10**8, Direction.IN)
    assert (scenario.faults[0].during, scenario.faults[0].every_s, scenario.ends_lives) == (True, 2.0, False)
    assert scenario.expect[0].expected.subjects == ("node:n1", "uplink:leaf1")
    plan = scenario.plan("t1", ("/tmp/x",))
    assert (plan.rate_bit_per_s, plan.uplink_rate_bit_per_s, plan.folders) == (5 * 10**8, 10**9, ("/tmp/x",))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{HEAD}nods = 4\n", "nods"),
        ('name = "x"\nnodes = "four"\n', "nodes"),
        ('name = "x"\n', "nodes"),
        (HEAD.replace("x", "../x"), "'../x'"),
        (HEAD + FAULT.replace("link-rate", "fire"), "'fire'"),
        (HEAD + FAULT.replace("n3", "n9"), "'n9'"),
        (HEAD + FAULT.replace("percent = 60", ""), "percent or rate"),
        (HEAD + FAULT.replace("percent = 60", 'rate = "quick"'), "'quick'"),
        (HEAD + FAULT + "after_s = -1\n", "-1"),
        (HEAD + FAULT + "after_s = nan\n", "nan"),
        (HEAD + FAULT + "after_s = inf\n", "inf"),
        (HEAD + FAULT + "every_s = 0.01\n", "0.01"),
        (HEAD + FAULT.replace("percent = 60", "every_s = 2").replace("link-rate", "node-hung"), "cannot flap"),
        (HEAD + FAULT + "percentage = 1\n", "percentage"),
        (f"{HEAD}hogs = -1\n", "-1"),
        (f"{HEAD}hogs = 100\n", "100"),
        (f"{HEAD}within_s = 0\n", "0 s"),
        (f'{HEAD}verdicts = ["FINE"]\n', "FINE"),
        (f"{HEAD}{EXPECT}of_peers = 93\n", "93"),
        (HEAD + EXPECT.replace('"slow-link"', "[]"), "no kind"),
        (HEAD + FAULT + 'direction = "up"\n', "up"),
        (HEAD + EXPECT.replace("slow-link", "slow"), "'slow'"),
        (HEAD + EXPECT.replace("node:n3", "n3"), "'n3'"),
        (HEAD + EXPECT.replace("node:n3", "node:n7"), "'node:n7'"),
        (HEAD + EXPECT.replace('"node:n3"', "[]"), "no subject"),
        ("nodes = ", "x.toml"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scenario(text, "x.toml")
    assert named in str(caught.value)
    assert "x.toml" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.toml"):
        read_scenario(tmp_path / "gone.toml")


def test_a_fault_that_ends_lives_during_the_check_uses_the_lab_up() -> None:
    hung = FAULT.replace("percent = 60", "").replace("link-rate", "node-hung")
    assert parse_scenario(f"{HEAD}{hung}after_s = 2\n", "x.toml").ends_lives
    assert not parse_scenario(f"{HEAD}{hung}", "x.toml").ends_lives
    assert not parse_scenario(f"{HEAD}{FAULT}after_s = 2\n", "x.toml").ends_lives


def test_several_kinds_and_an_interval_can_be_expected() -> None:
    several = EXPECT.replace('"slow-link"', '["slow-link", "unstable-link"]')
    (spec,) = parse_scenario(f"{HEAD}{several}of_peers = 0.93\n", "x.toml").expect
    assert (spec.expected.kinds, spec.expected.of_peers) == (("slow-link", "unstable-link"), 0.93)
