"""What a check in a user's own job leaves out, how long it measures, and which earlier runs it compares with."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.archive.layout import JOURNAL_FILE
from seatrial.cli import operation
from seatrial.driver import past
from seatrial.driver.past import asked_for, hurry, last_runs, look_at_job, own_past, soon, with_time_left
from seatrial.launch.replay import ReplayLauncher
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.past import OwnJob
from seatrial.model.run import Ending
from seatrial.model.settings import OWN_JOB_ANSWER_S, CheckSettings, SiteSettings
from tests.support.builders import HEALTHY, Cluster, info_of, names, record, sail
from tests.support.other_users import give
from tests.support.second_user import OTHER, needs_root

FOUR = Cluster(nodes=names(4))


def settings(**changes: Any) -> CheckSettings:
    return CheckSettings(**{"archive": Path("x"), "answer_s": OWN_JOB_ANSWER_S, **changes})


class InJob(ReplayLauncher):
    """Inside job 7, of which it can see something."""

    def __init__(self, job: str) -> None:
        super().__init__(info_of(FOUR), {}, {}, ())
        self.job = job

    def own_job(self, nodes: object) -> OwnJob:
        return OwnJob(job=self.job)


def test_only_a_check_inside_an_allocation_that_was_there_is_of_ones_own_job() -> None:
    assert asked_for(settings(), InJob("7"))
    assert not asked_for(settings(), InJob(""))
    assert not asked_for(settings(answer_s=None), InJob("7"))
    assert not asked_for(settings(replay=Path("run")), InJob("7"))


def test_where_the_answer_is_to_come_soon_much_is_left_out_and_a_budget_changes_nothing() -> None:
    quick = soon(settings())
    assert (quick.loaded, quick.round_timeout_s, quick.effect) == (False, past.ROUND_TIMEOUT_S, past.EFFECT)
    assert soon(settings(effect=0.03)).effect == 0.03
    given = settings(answer_s=0.0, budget_s=90.0)
    assert soon(given) == given == with_time_left(given, 0.0)


@pytest.mark.parametrize(("answer_s", "hurried"), [(OWN_JOB_ANSWER_S, True), (0.0, False), (None, False)])
def test_a_silent_node_gets_less_time_where_the_answer_is_to_come_soon(answer_s: float | None, hurried: bool) -> None:
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path("probe"))
    usual_s = launcher._patience_s()
    launcher._starts = 0
    hurry(settings(answer_s=answer_s), launcher)
    assert launcher.hurried is hurried
    assert (launcher._patience_s() < usual_s) is hurried
    assert launcher._patience_s() == usual_s, "the start after the first has as long as ever"


@pytest.mark.parametrize(("gone_s", "left_s"), [(1.0, 18.0), (12.0, 7.0), (60.0, past.LEAST_S)])
def test_what_starting_took_is_taken_from_the_budget(
    gone_s: float, left_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "monotonic_s", lambda: 1000.0 + gone_s)
    assert with_time_left(settings(), 1000.0).budget_s == left_s
    assert with_time_left(settings(budget_s=2.0), 1000.0).budget_s == 2.0


def test_variables_that_tell_of_binding_and_transport_are_kept_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("UCX_TLS", "tcp"), ("SECRET_TOKEN", "x"), ("OMP_NUM_THREADS", "4"), ("UCX_LONG", "y" * 999)):
        monkeypatch.setenv(name, value)
    kept = look_at_job(InJob("7"), names(4)).variables
    assert (kept["UCX_TLS"], kept["OMP_NUM_THREADS"], len(kept["UCX_LONG"])) == ("tcp", "4", past.MOST_VALUE)
    assert "SECRET_TOKEN" not in kept


def test_the_newest_whole_checks_of_these_nodes_are_compared(tmp_path: Path) -> None:
    recorded = sail(FOUR)
    for day in range(1, 6):
        record(FOUR, tmp_path, f"run{day}", recorded, started=f"2026-11-0{day}T10:00:00Z")
    odd: tuple[tuple[str, dict[str, Any]], ...] = (
        ("other-cluster", {"cluster": "another"}),
        ("other-nodes", {"nodes": ("m1", "m2")}),
        ("cut-off", {"ending": Ending.INTERRUPTED}),
        ("local", {"launcher": "local"}),
    )
    for name, changes in odd:
        record(FOUR, tmp_path, name, recorded, started="2026-11-07T10:00:00Z", **changes)
    damaged = record(FOUR, tmp_path, "damaged", recorded, started="2026-11-08T10:00:00Z")
    (damaged / JOURNAL_FILE).write_bytes(b"not json\n" * 3)
    found = last_runs(tmp_path, info_of(FOUR, nodes=("n1", "n2", "n9")))
    assert found is not None
    assert [one.run for one in found.runs] == ["run3", "run4", "run5"]
    assert found.name == "run3,run4,run5"
    newest = found.runs[-1]
    assert set(newest.out_bytes_per_s) == set(newest.latency_s) == {"n1", "n2"}
    assert newest.out_bytes_per_s["n1"] == pytest.approx(HEALTHY, rel=0.02)
    assert last_runs(tmp_path / "none", info_of(FOUR)) is None
    assert last_runs(tmp_path, msgspec.structs.replace(info_of(FOUR), nodes=("n1",))) is None


@needs_root
def test_checks_that_somebody_put_into_a_shared_archive_are_no_past(tmp_path: Path) -> None:
    recorded = sail(FOUR)
    folders = [record(FOUR, tmp_path, f"run{day}", recorded, started=f"2026-11-0{day}T10:00:00Z") for day in (1, 2)]
    for folder in folders:
        operation.judge(folder, 20.0)
    give(folders[1], OTHER)
    last = last_runs(tmp_path, info_of(FOUR))
    assert last is not None and [one.run for one in last.runs] == ["run1"]
    past = own_past(CheckSettings(archive=tmp_path, returning=("n3",)), info_of(FOUR))
    assert past is not None and [run.summary.run for run in past.runs] == ["run1"]


def test_a_returning_node_is_compared_with_good_runs_in_its_mode(tmp_path: Path) -> None:
    recorded = sail(FOUR)
    for day, mode in ((1, "flat"), (2, "cache"), (3, "flat")):
        features = dict.fromkeys(names(4), (mode,))
        started = f"2026-11-0{day}T10:00:00Z"
        operation.judge(record(FOUR, tmp_path, f"run{day}", recorded, started=started, features=features), 20.0)
    features = {"n1": ("flat",), "n3": ("cache",)}
    past = own_past(CheckSettings(archive=tmp_path, returning=("n3",)), info_of(FOUR, features=features))
    assert past is not None and [run.summary.run for run in past.runs] == ["run2"]
