"""Two clusters of one name in one archive: the runs of the other one are no past, and a grown cluster is one."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.run_sets import read_summary
from seatrial.cli import operation
from seatrial.commands.compare.run import run_comparison
from seatrial.commands.history.run import read_history
from seatrial.driver.past import find_past, last_runs, own_past
from seatrial.model.errors import UsageError
from seatrial.model.run import RecordedRun, RunInfo
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import FABRIC
from seatrial.model.verdict import ComparisonOutcome
from tests.support.builders import Cluster, info_of, names, record, sail

FOUR = Cluster(nodes=names(4))
OURS, THEIRS = ("ctl-a", "ctl-b"), ("head",)
pytestmark = pytest.mark.usefixtures("tables_read_once")


@cache
def sailed_once(nodes: tuple[str, ...]) -> RecordedRun:
    return sail(Cluster(nodes=nodes))


def sailed(archive: Path, days: range, controllers: tuple[str, ...], of: Cluster = FOUR, **changes: Any) -> list[str]:
    """Runs at noon of days of November, each named by its day and the first of its controllers."""
    recorded, runs = sailed_once(of.nodes), []
    for day in days:
        run = f"{controllers[0] if controllers else 'old'}-{day:02d}"
        times = {"started": f"2026-11-{day:02d}T12:00:00Z", "ended": f"2026-11-{day:02d}T12:01:00Z"}
        operation.judge(record(of, archive, run, recorded, **times, controllers=controllers, **changes), 20.0)
        runs.append(run)
    return runs


def today(controllers: tuple[str, ...], of: Cluster = FOUR) -> RunInfo:
    return info_of(of, run="today", started="2026-11-28T12:00:00Z", controllers=controllers)


def past_of(archive: Path, info: RunInfo) -> list[str]:
    """Runs of which a check in a user's own job takes the last three, and that of a returning node all."""
    own = own_past(CheckSettings(archive=archive, returning=("n3",)), info)
    past = [run.summary.run for run in own.runs] if own else []
    earlier = last_runs(archive, info)
    assert [run.run for run in earlier.runs] == past[-3:] if earlier else not past
    return past


def histories(archive: Path) -> tuple[list[str], list[str]]:
    """Runs of the history of bandwidth, and notes."""
    notes: list[str] = []
    (history,) = read_history(archive, "bandwidth", FABRIC, notes.append)
    return [run.run for run in history.runs], notes


def test_runs_of_another_cluster_of_the_same_name_and_nodes_are_left_out(tmp_path: Path) -> None:
    ours = sailed(tmp_path, range(2, 10, 2), OURS)
    theirs = sailed(tmp_path, range(3, 11, 2), THEIRS)
    assert past_of(tmp_path, today(OURS)) == ours
    assert past_of(tmp_path, today(THEIRS)) == theirs
    runs, notes = histories(tmp_path)
    assert runs == theirs
    (note,) = notes
    assert note == "4 runs of another cluster of the same name are left out, whose controllers are ctl-a, ctl-b (test)."
    returning = own_past(CheckSettings(archive=tmp_path, returning=("n3",)), today(OURS))
    assert returning is not None and returning.left_out == (note.replace("ctl-a, ctl-b", "head"),)
    mixed = ",".join((ours[0], ours[1], theirs[0]))
    with pytest.raises(UsageError, match="cluster: test"):
        run_comparison(tmp_path, mixed, ",".join(ours[2:]))
    across = run_comparison(tmp_path, mixed, ",".join(ours[2:]), across=("cluster",))
    assert [each.condition for each in across.across] == ["cluster"]
    with pytest.raises(UsageError, match="not measured under the conditions"):
        find_past(CheckSettings(archive=tmp_path, baseline="2026-11-01..2026-11-30"), today(OURS))


def test_runs_of_other_nodes_under_other_controllers_are_of_another_cluster(tmp_path: Path) -> None:
    theirs = sailed(tmp_path, range(2, 5), THEIRS, Cluster(nodes=("m1", "m2", "m3")))
    ours = [*sailed(tmp_path, range(6, 10), OURS), *sailed(tmp_path, range(12, 13), ())]
    runs, notes = histories(tmp_path)
    assert runs == ours
    assert notes[0].startswith("3 runs of another cluster of the same name are left out")
    assert not set(theirs) & set(past_of(tmp_path, today(OURS)))


@pytest.mark.parametrize(
    ("before", "after"),
    [(THEIRS, OURS), (("ctl-a",), OURS), (("ctl-a", "ctl-z"), ("ctl-b", "ctl-a")), ((), OURS), (OURS, ())],
    ids=["renamed", "a second one", "one replaced", "not recorded before", "not recorded after"],
)
def test_a_cluster_with_new_controllers_keeps_its_past(
    before: tuple[str, ...], after: tuple[str, ...], tmp_path: Path
) -> None:
    runs = [*sailed(tmp_path, range(2, 5), before), *sailed(tmp_path, range(6, 8), after)]
    assert past_of(tmp_path, today(after)) == runs
    assert histories(tmp_path) == (runs, [])
    compared = run_comparison(tmp_path, ",".join(runs[:3]), ",".join(runs[3:]))
    assert compared.outcome in (ComparisonOutcome.SAME, ComparisonOutcome.INCONCLUSIVE)
    changed = [note for note in compared.notes if "controllers" in note]
    assert bool(changed) == bool(before and after and not set(before) & set(after))


def test_a_cluster_that_grew_keeps_its_past(tmp_path: Path) -> None:
    runs = sailed(tmp_path, range(2, 5), OURS)
    runs += sailed(tmp_path, range(6, 8), OURS, Cluster(nodes=names(6)))
    assert past_of(tmp_path, today(OURS, Cluster(nodes=names(6)))) == runs
    assert histories(tmp_path) == (runs, [])


def test_the_summary_of_a_run_has_its_controllers(tmp_path: Path) -> None:
    (run,) = sailed(tmp_path, range(2, 3), OURS)
    assert read_summary(tmp_path / run).controllers == OURS
