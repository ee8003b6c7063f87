"""`check --pair-program` on a lab: stand-ins for osu_bw and sendrecv_perf meet faults of its links and a node on which
they fail."""

import os
from functools import partial
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.reader import read_run
from seatrial.judgement.processor_waits import LEAST_EXCESS
from seatrial.lab.cluster import planting
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.start import needed_folders
from seatrial.lab.trial.scenario import ExpectSpec, Scenario, ScenarioFault
from seatrial.lab.trial.trial import ScenarioResult, archive_of, complaints, real_stage, run_scenario
from seatrial.locate.evidence import waits_of
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from seatrial.process.process import run
from seatrial.statistics.estimates import median
from tests.lab.waiting import decided
from tests.support.paths import ROOT

pytestmark = pytest.mark.lab
SOURCE = ROOT / "tests" / "support" / "pair_stand_in.c"
SLOW = ScenarioFault(kind="link-rate", subject="n3", percent=50)
NAMED = ExpectSpec(kind="slow-link", subject="node:n3", direction=Direction.BOTH)
RUNS = int(os.environ.get("SEATRIAL_PAIR_RUNS", "10"))
"""Checks of each case of the series; both healthy cases together are twice as many."""
SILENT = (Verdict.PASS, Verdict.INCONCLUSIVE)
"""Verdicts of a check that names nobody; on a busy machine noise may withhold the PASS."""
CALM = "200mbit"
"""Rate of links that two ranks fill in both directions at once even on a busy machine, whose processors move the bytes:
their figure has the limit of the path."""
SERIES: dict[str, tuple[str, Scenario]] = {
    "healthy": ("osu_bw", Scenario(name="healthy", nodes=8, verdicts=SILENT)),
    "healthy both ways": ("sendrecv_perf", Scenario(name="healthy", nodes=8, rate=CALM, verdicts=SILENT)),
    "slow node": ("osu_bw", Scenario(name="slow-node", nodes=8, faults=(SLOW,), expect=(NAMED,))),
    "slow node both ways": (
        "sendrecv_perf",
        Scenario(name="slow-node", nodes=8, rate=CALM, faults=(SLOW,), expect=(NAMED,)),
    ),
    "one way": (
        "osu_bw",
        Scenario(
            name="one-way",
            nodes=8,
            faults=(ScenarioFault(kind="one-way-rate", subject="n2", percent=80, direction=Direction.OUT),),
            expect=(ExpectSpec(kind="slow-link", subject="node:n2", direction=Direction.OUT),),
        ),
    ),
    "uplink": (
        "osu_bw",
        Scenario(
            name="uplink",
            nodes=6,
            leaves=3,
            faults=(ScenarioFault(kind="uplink-rate", subject="leaf2", percent=50),),
            expect=(ExpectSpec(kind="slow-uplink", subject="uplink:leaf2"),),
        ),
    ),
    "failing start": (
        "env SEATRIAL_STAND_IN_FAILS=n2 osu_bw",
        Scenario(name="failing-start", nodes=8, expect=(ExpectSpec(kind="rank-died", subject="node:n2"),)),
    ),
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stand-ins, which the nodes of a lab see."""
    made = tmp_path_factory.mktemp("stand-in")
    assert run(["mpicc", "-O2", "-o", str(made / "osu_bw"), str(SOURCE)], timeout_s=120).ok
    (made / "sendrecv_perf").symlink_to("osu_bw")
    return made


def asked(folder: Path, words: str) -> tuple[str, str]:
    """The option for a stand-in."""
    if words == "sendrecv_perf":
        return "--pair-program", f"{folder / words} -b 1M -e 1M"
    return "--pair-program", f"{words.replace('osu_bw', str(folder / 'osu_bw'))} -m 1048576:1048576"


def undecided(result: ScenarioResult) -> bool:
    """Whether the check named nobody, and said itself that it could not decide."""
    return all(one.score and not one.score.false_names and one.verdict == "INCONCLUSIVE" for one in result.runs)


@pytest.mark.series
def test_a_slow_link_is_named(lab4: LabPlan, folder: Path, tmp_path: Path) -> None:
    stage = msgspec.structs.replace(
        real_stage(tmp_path), plan=lambda _: lab4, raise_lab=lambda _: None, raze=planting.clear
    )
    arguments = asked(folder, "osu_bw")
    scenario = Scenario(name="pairs", nodes=4, faults=(SLOW,), expect=(NAMED,), arguments=arguments)
    result = decided(partial(run_scenario, scenario, 1, stage), undecided)
    assert result.right, [complaints(one) for one in result.runs]


@pytest.mark.series
def test_starts_on_busy_cores_name_nobody_and_say_how_long_ranks_waited(
    lab4: LabPlan, folder: Path, tmp_path: Path
) -> None:
    """Programs that use the cores of all nodes slow healthy pairs down: none of their links may be named."""
    stage = msgspec.structs.replace(
        real_stage(tmp_path), plan=lambda _: lab4, raise_lab=lambda _: None, raze=planting.clear
    )
    faults = tuple(ScenarioFault(kind="core-hog", subject=name) for name in lab4.node_names)
    arguments = asked(folder, "osu_bw")
    scenario = Scenario(name="busy", nodes=4, faults=faults, verdicts=SILENT, arguments=arguments)
    result = run_scenario(scenario, 1, stage)
    assert result.right, [complaints(one) for one in result.runs]
    (own,) = archive_of(lab4, "busy-1").glob("*/run.json")
    waits = [max(waits_of(one)) for one in read_run(own.parent).measurements]
    assert median(waits) > LEAST_EXCESS, waits


@pytest.mark.series
@pytest.mark.parametrize("name", SERIES)
def test_each_fault_is_named_in_every_run(folder: Path, tmp_path: Path, name: str) -> None:
    words, scenario = SERIES[name]
    scenario = msgspec.structs.replace(scenario, arguments=asked(folder, words))
    plan = scenario.plan(f"pairs{os.getpid()}", (*needed_folders(), str(folder)))
    stage = msgspec.structs.replace(real_stage(tmp_path), plan=lambda _: plan)
    result = run_scenario(scenario, RUNS, stage)
    assert result.right, [complaints(one) for one in result.runs]
