"""Accounts, QOS, reservation, constraint and GRES on a Slurm that enforces them, a partition of two rates, and jobs."""

import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.accounted.jobs import differences, run_jobs
from tests.lab.waiting import eventually, wait_until_idle
from tests.support.json_objects import parsed
from tests.support.raised_lab import raised_lab

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not (shutil.which("slurmdbd") and shutil.which("mariadbd")), reason="no slurmdbd or mariadb-server"
    ),
]
SEATRIAL = (sys.executable, "-m", "seatrial")
SEEN = ("JobName", "Account", "QOS", "Reservation", "Features", "TresPerNode", "NodeList")
RESERVED = "maint"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    """Four nodes of two rates; accounts and QOS are enforced; n1 and n2 are reserved for root."""
    shared = tmp_path_factory.getbasetemp()
    with raised_lab("a", shared, nodes=4, accounts=True, second_rate="500mbit") as plan:
        reservation = ("ReservationName=maint", "StartTime=now", "Duration=60", "Users=root", "Nodes=n[1-2]")
        done = run(as_user(plan, ["scontrol", "create", "reservation", *reservation]), timeout_s=60)
        assert done.ok, done.stderr
        yield plan


def end_reservation(lab: LabPlan) -> None:
    """Unless another test has ended it."""
    run(as_user(lab, ["scontrol", "delete", f"ReservationName={RESERVED}"]), timeout_s=60)
    wait_until_idle(lab)


@pytest.fixture
def check(lab: LabPlan, tmp_path: Path) -> Callable[..., Completed]:
    def run_check(*options: str) -> Completed:
        argv = [
            *SEATRIAL,
            "check",
            "--no-nodes",
            "--archive",
            str(tmp_path),
            "--json",
            "--budget",
            "2s",
            "--wait",
            "30s",
            *options,
        ]
        return run(as_user(lab, argv), timeout_s=150)

    return run_check


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--account", "nosuch"), ("account", "nosuch")),
        (("--qos", "nosuch"), ("QOS",)),
        (("--reservation", "nosuch"), ("reservation", "nosuch")),
        (("--constraint", "nosuch"), ("--constraint nosuch",)),
        (("--gres", "instrument:5", "--wait", "3s"), ("instrument:5",)),  # Slurm lets it wait in the queue
    ],
)
def test_what_the_site_does_not_have_is_refused_with_a_sentence(
    check: Callable[..., Completed], options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    done = check(*options)
    assert done.returncode in (2, 64)
    assert not [word for word in words if word.lower() not in done.stderr.lower()], done.stderr


def test_a_job_has_all_that_the_options_say(lab: LabPlan, check: Callable[..., Completed]) -> None:
    asked = ("--account", "ops", "--qos", "short", "--reservation", RESERVED, "--constraint", "1gbit")
    done = check(*asked, "--gres", "instrument:1", "--slurm-arg=--comment=trial")
    found = parsed(done.stdout)
    assert [node["node"] for node in found["nodes"]] == ["n1", "n2"]
    shown = run(as_user(lab, ["scontrol", "--oneliner", "show", "job"]), timeout_s=60).stdout  # kept for a minute
    (job,) = [line for line in shown.splitlines() if "Comment=trial" in line]
    assert {"Account=ops", "QOS=short", f"Reservation={RESERVED}", "NumNodes=2"} <= set(job.split())
    wanted = "--format=jobid,account,qos,allocnodes"

    def accounted() -> str:
        return run(as_user(lab, ["sacct", "-a", "-n", "-X", "-P", wanted]), timeout_s=60).stdout

    assert eventually(lambda: "|ops|short|2" in accounted()), accounted()


def test_nodes_of_two_rates_are_each_judged_by_their_own_limit(lab: LabPlan, check: Callable[..., Completed]) -> None:
    end_reservation(lab)
    found = parsed(check("--account", "science", "--budget", "20s", "--no-loaded").stdout)
    measured = {(pair["source"], pair["target"]): pair["limit_bytes_per_s"] for pair in found["pairs"]}
    limits = {pair: limit for pair, limit in measured.items() if limit}
    assert len(limits) >= 4
    for pair, limit in limits.items():
        rate = 10**9 if set(pair) == {"n1", "n2"} else 5 * 10**8
        assert limit == pytest.approx(0.94 * rate / 8, rel=0.02), pair
    named = {one["kind"] for one in found["findings"]}
    assert not named & {"slow-link", "slow-uplink", "slow-pair", "interface-speed-differs"}, found["findings"]


@pytest.mark.series
def test_accounting_names_the_node_that_gets_half_of_the_processor_time(lab: LabPlan) -> None:
    """Jobs of other tests are in the same database, and are counted alike."""
    end_reservation(lab)
    since = datetime.now(UTC).date().isoformat()
    done = run_jobs(lab, jobs=40, slow="n3")
    assert done.ok, done.stderr
    assert differences(lab, since, "n3") == []
