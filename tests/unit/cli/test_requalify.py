"""seatrial requalify: which nodes, what is never touched, and what has become of them; Slurm is scripts here."""

import os
import re
from pathlib import Path

import msgspec
import pytest

from seatrial.cli import requalify
from seatrial.commands.check import run as check_run
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome
from seatrial.driver import returning as returning_nodes
from seatrial.driver.progress import Progress
from seatrial.driver.returning import REQUALIFIED, waiting_nodes
from seatrial.launch.collector import PATHS
from seatrial.model.gate import GateAnswer, GatePolicy, Outcome, Step
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, names, record, sail, slow_part
from tests.support.command_line import Seatrial
from tests.support.second_user import OTHER, needs_root
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

STATE = "n3|{}|normal*|{}\n"
OURS = "seatrial: link slow"
WAITS = "requalify : reboot complete"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    monkeypatch.setenv("SEATRIAL_SITE", str(tmp_path / "site.toml"))
    monkeypatch.setenv(PATHS, "")
    (tmp_path / "site.toml").write_text('path = ["/scratch/"]\n')
    scripts = in_place_of_slurm(tmp_path / "bin", tmp_path / "archive", monkeypatch)
    scripts.says("sinfo", STATE.format("idle", "none"))
    return scripts


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[CheckSettings]:
    """The settings of each check that was carried out, which finds n4 slow."""
    settings: list[CheckSettings] = []

    def check(wanted: CheckSettings, _: object) -> CheckOutcome:
        settings.append(wanted)
        recorded = sail(Cluster(nodes=names(6), parts=slow_part("node", "n4", 0.6)))
        info = msgspec.structs.replace(recorded.info, settings=wanted, cluster="demo")
        recorded = msgspec.structs.replace(recorded, info=info)
        return CheckOutcome(folder=tmp_path / "archive" / "run", recorded=recorded, judgement=judge(recorded))

    monkeypatch.setattr(check_run, "run_check", check)
    return settings


@pytest.fixture
def paths(asked: list[CheckSettings], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What each of these checks lets the collector ask for."""
    seen: list[str] = []
    carry_out = check_run.run_check

    def check(wanted: CheckSettings, progress: Progress) -> CheckOutcome:
        seen.append(os.environ[PATHS])
        return carry_out(wanted, progress)

    monkeypatch.setattr(check_run, "run_check", check)
    return seen


def test_a_node_that_an_administrator_drained_is_kept_and_not_measured(
    slurm: SlurmScripts, asked: list[CheckSettings], paths: list[str], seatrial: Seatrial
) -> None:
    slurm.says("sinfo", STATE.format("drained", "bad DIMM") + f"n5|drained|normal*|{OURS}\n")
    assert seatrial("requalify", "n3", code=2).out == "NOT_RUN  n3 kept: drained: bad DIMM\n"
    assert (asked, slurm.all_asked("scontrol")) == ([], [])
    both = seatrial("requalify", "n3,n5", code=1).out
    assert both.startswith("SLOW  n5 may return: 8 pairs, the worst at 99 % of its limit\nbesides: n4: link")
    assert "; n3 kept: drained: bad DIMM\n" in both
    assert asked[0].returning == ("n5",)
    assert paths == ["/scratch"], "of the site's file"
    seatrial("requalify", "n3", "--launcher", "ssh", code=1)
    assert asked[1].returning == ("n3",), "over ssh nothing of Slurm's is changed"


class Gate:
    """A gate that resumes good nodes and drains bad ones, in the scripts' cluster of a node."""

    def __init__(self, slurm: SlurmScripts, folder: Path, node: str, before: tuple[str, str]) -> None:
        self.slurm, self.node, self.steps = slurm, node, folder / "steps"
        self.state(*before)
        slurm.runs("scontrol", f'echo "$4" >>{self.steps}')
        (folder / "gate").mkdir()
        (folder / "site.toml").write_text(f'[gate]\nfolder = "{folder}/gate"\n')

    def state(self, state: str, reason: str) -> None:
        self.slurm.says("sinfo", f"{self.node}|{state}|normal*|{reason}\n")

    def __call__(self, _: GatePolicy, node: str, step: Step) -> GateAnswer:
        assert (node, step) == (self.node, Step.DRAIN)
        with self.steps.open("a") as file:
            file.write("asked\n")
        if node == "n3":
            self.state("idle", "none")
            return GateAnswer(outcome=Outcome.GOOD, text="run r1; resumed")
        self.state("drained", OURS)
        return GateAnswer(outcome=Outcome.BAD, text="link at 60 %, run r1; drained")


@pytest.mark.parametrize(
    ("node", "before", "line", "steps"),
    [
        ("n3", ("drained", OURS), "SLOW  n3 resumed: 8 pairs, the worst", ["left", "asked"]),
        ("n3", ("down", WAITS), "SLOW  n3 resumed: 8 pairs", ["Reason=seatrial: requalified", "left", "asked"]),
        ("n3", ("idle", "none"), "SLOW  n3 stays in service: 8 pairs, the worst", ["left", "asked"]),
        ("n4", ("idle", "none"), "SLOW  n4 drained: link at 60 % of its limit", ["left", "asked"]),
        ("n4", ("drained", WAITS), "SLOW  n4 kept: link at 60 %",
         ["left", "Reason=seatrial: link at 60 % of its limit", "asked"]),
    ],
)  # fmt: skip
def test_the_gate_acts_and_the_first_line_says_what_has_become_of_the_node(
    slurm: SlurmScripts, asked: list[CheckSettings], seatrial: Seatrial, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, node: str, before: tuple[str, str], line: str, steps: list[str],
) -> None:  # fmt: skip
    gate = Gate(slurm, tmp_path, node, before)
    monkeypatch.setattr(returning_nodes, "ask_gate", gate)
    monkeypatch.setattr(requalify, "leave_verdicts", lambda _: gate.steps.open("a").write("left\n"))
    printed = seatrial("requalify", node, code=1).out
    assert printed.startswith(line)
    assert re.search(rf"^ +gate +{node}: .*run r1; ", printed, re.MULTILINE)
    assert "State=RESUME" not in printed
    assert gate.steps.read_text().splitlines() == steps


@needs_root
def test_a_gate_of_another_user_takes_no_node_over(
    slurm: SlurmScripts, asked: list[CheckSettings], seatrial: Seatrial, tmp_path: Path
) -> None:
    """The reason would be one of the gate's, which sees no verdict, and the node would wait no longer."""
    gate = Gate(slurm, tmp_path, "n3", ("down", WAITS))
    os.chown(tmp_path / "gate", OTHER, OTHER)
    printed = seatrial("requalify", "n3", code=1)
    assert printed.out.startswith("SLOW  n3 may return")
    assert "State=RESUME" in printed.out
    assert "belongs to another user" in printed.err
    assert not gate.steps.exists()


def test_json_has_each_node(slurm: SlurmScripts, asked: list[CheckSettings], seatrial: Seatrial) -> None:
    printed = seatrial("requalify", "n[3-4]", "--json", code=1).object
    assert (printed["kind"], printed["verdict"]) == ("requalify", "SLOW")
    assert [(node["node"], node["verdict"]) for node in printed["data"]["nodes"]] == [("n3", "good"), ("n4", "bad")]


def test_without_names_those_that_wait_or_started_since_they_were_judged(slurm: SlurmScripts) -> None:
    """All but n7 and the last ones booted at 08:00 after they were judged; the gate did not answer for n10 yet."""
    states = {
        "n1": f"down|main*|{WAITS}", "n2": f"down*|main*|{WAITS}", "n3": f"draining|main*|{WAITS}",
        "n4": f"drained|main*|{OURS}", "n5": "idle|main*|none", "n6": "allocated|main*|none", "n7": "idle|main*|none",
        "n8": "drained|main*|bad DIMM", "n9": "idle|main*|none", "n10": f"drained|main*|{REQUALIFIED}",
        "n11": f"drained|main*|{REQUALIFIED}ly",
    }  # fmt: skip
    slurm.says("sinfo", "".join(f"{name}|{state}\n" for name, state in states.items()))
    shown = [f"NodeName={name} Arch=x OS=Linux BootTime=1764230400 LastBusyTime=5" for name in states]
    slurm.says("scontrol", "\n".join(shown))
    later = dict.fromkeys(("n7", "n10", "n11"), "2025-11-27T09:00:00+00:00")
    judged = dict.fromkeys(states, "2025-11-27T07:00:00Z") | later
    del judged["n9"]
    assert waiting_nodes(judged) == ("n1", "n4", "n5", "n10")


def test_nothing_waits(slurm: SlurmScripts, asked: list[CheckSettings], seatrial: Seatrial) -> None:
    assert seatrial("requalify").out == "PASS  no node waits to be requalified\n"
    assert asked == []


def test_the_history_counts_by_node_and_mode(slurm: SlurmScripts, seatrial: Seatrial, tmp_path: Path) -> None:
    for number, (share, mode) in enumerate([(0.6, "flat"), (1.0, "flat"), (1.0, "cache")]):
        cluster = Cluster(nodes=names(4), parts=slow_part("node", "n3", share))
        wanted = CheckSettings(archive=tmp_path, returning=("n2", "n3"))
        features = dict.fromkeys(names(4), (mode, "partition=main"))
        record(cluster, tmp_path / "archive", f"r{number}", settings=wanted, features=features)
    record(Cluster(nodes=names(4)), tmp_path / "archive", "ordinary")
    printed = seatrial("requalify", "--history").out
    assert printed.startswith("1 of 6 requalifications of nodes failed\n")
    (first, *_) = seatrial("requalify", "n3", "--history", "--json").object["data"]["history"]
    assert first == {"node": "n3", "mode": "flat", "times": 2, "failed": 1}
