"""Histories of known truth: what was planted is named, and nothing else."""

import heapq
from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from msgspec.structs import replace

from seatrial.commands.jobs.families import JobStandIns, Names, normalised
from seatrial.commands.jobs.job_table import JobTable, job_table
from seatrial.commands.jobs.joint_nodes import JointModel
from seatrial.commands.jobs.judge import JobsResult, judge_jobs
from seatrial.commands.jobs.single_family import family_named, family_times, job_numbered
from seatrial.importers.accounting import read_accounting
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.verdict import ComparisonOutcome, FindingKind, Verdict
from tests.support.job_histories import RECORDED, History, judged_records, record_of, recorded_spreads, sacct_text

SMALL = History(nodes=24, families=8, jobs=1500)
CHANGED = date(2026, 4, 1)
"""Day 30 of a history."""


def table_of(history: History, names: Names | None = None) -> JobTable:
    return job_table(read_accounting(sacct_text(history).encode().splitlines(keepends=True)), names or Names())


def judged(history: History, changed: date | None = None) -> JobsResult:
    return judge_jobs(table_of(history), changed=changed)


@pytest.mark.parametrize("seed", range(2))
def test_a_healthy_history_names_nobody(seed: int) -> None:
    result = judged(replace(SMALL, seed=seed))
    assert (result.findings, result.verdict, result.exit_code) == ((), Verdict.PASS, ExitCode.PASS)
    assert result.comparison.compared == 24
    assert 0 < result.comparison.detectable < 0.5


@pytest.mark.parametrize("seed", range(2))
def test_a_slow_node_is_named_with_its_size(seed: int) -> None:
    result = judged(replace(SMALL, seed=seed, slow_nodes={"n7": 1.4}))
    (node,) = result.slow
    assert node.node == "n7"
    assert node.low < 1.4 < node.high
    assert node.longer >= node.families - 1
    assert [finding.kind for finding in result.findings] == [FindingKind.SLOW_JOBS]
    assert result.exit_code is ExitCode.FINDINGS


def test_two_slow_nodes_are_named_and_not_their_partners() -> None:
    result = judged(replace(SMALL, slow_nodes={"n7": 1.6, "n11": 2.5}))
    assert [node.node for node in result.slow] == ["n11", "n7"]


def test_the_size_of_a_slow_node_is_that_beside_good_nodes() -> None:
    """On twelve nodes most jobs of others ran on the other slow node, and the first that is named seemed as good."""
    crowded = History(nodes=12, families=8, jobs=4000, slow_nodes={"n7": 1.6, "n11": 2.0})
    result = judged(crowded)
    assert {node.node: node.low < crowded.slow_nodes[node.node] < node.high for node in result.slow} == {
        "n7": True,
        "n11": True,
    }
    assert result.comparison.joint and result.comparison.joint.model is JointModel.SLOWEST


def test_a_node_that_only_gets_one_slow_family_is_not_named() -> None:
    result = judged(replace(SMALL, only={"n5": 2}, slow_families={2: 3.0}, changed=0))
    assert result.slow == ()
    assert result.comparison.alone == ("n5",)


def test_crashes_on_a_node_are_told_from_others() -> None:
    result = judged(replace(SMALL, failing={"n9": 0.4}))
    (node,) = result.failing
    assert (node.node, node.ending.value) == ("n9", "crashed")
    assert node.failed > 2 * node.expected
    assert result.verdict is Verdict.UNSTABLE


def failing_on(places: Sequence[int], state: str, *, nodes: int, elsewhere: float = 0.0) -> JobsResult:
    """Jobs of one node each; those of some nodes end in a state in two of three cases, others in a small share."""
    random = np.random.default_rng(5)
    text = []
    for number in range(40 * nodes):
        time, place = f"2026-03-{2 + number % 20:02}T10:00:00", int(random.integers(1, nodes + 1))
        fails = random.random() < (0.67 if place in places else elsewhere)
        seconds = 600 + int(random.integers(60))
        text.append(record_of(number, place, "a", time=time, seconds=seconds,
                              ended=f"{state if fails else 'COMPLETED'}|0:0"))  # fmt: skip
    return judged_records(text)


@pytest.mark.parametrize("state", ["OUT_OF_MEMORY", "FAILED", "NODE_FAIL"])
@pytest.mark.parametrize(
    ("places", "nodes"), [((17,), 20), ((17,), 40), ((3, 17), 24), ((2, 3, 4, 17), 20), ((2, 3, 4, 5, 6, 17), 40)]
)
def test_nodes_that_alone_have_failures_are_named_among_many(places: Sequence[int], nodes: int, state: str) -> None:
    """All others have fewer failures than expected, alike."""
    result = failing_on(places, state, nodes=nodes)
    assert {node.node for node in result.failing} == {f"n{place}" for place in places}
    assert result.verdict is Verdict.UNSTABLE


@pytest.mark.parametrize("elsewhere", [0.0, 0.01, 0.1, 0.5])
def test_failures_anywhere_name_no_node(elsewhere: float) -> None:
    assert failing_on((), "OUT_OF_MEMORY", nodes=24, elsewhere=elsewhere).failing == ()


def bad_mornings(share: float, *, days: int, seed: int, faulty: float = 0.0, usual: float = 0.01) -> JobsResult:
    """Jobs of several families; one has a wrong input each morning and a right one later. `share`: how many of its
    failing jobs follow each other on n7, which is free at once. `faulty`: of all jobs, how many fail on n7 besides."""
    random = np.random.default_rng(seed)
    text: list[str] = []
    for day in range(2, 2 + days):
        for kind in ("bad", "good", "a", "b", "c"):
            for _ in range({"bad": 12, "good": 20}.get(kind, 30)):
                place = 7 if kind == "bad" and random.random() < share else int(random.integers(1, 25))
                fails = kind == "bad" or random.random() < (faulty if place == 7 else usual)
                hour = {"bad": 8, "good": 15}.get(kind, int(random.integers(24)))
                time = f"2026-03-{day:02}T{hour:02}:{int(random.integers(60)):02}:00"
                name = "sim" if kind in ("bad", "good") else kind
                ended = f"{'FAILED' if fails else 'COMPLETED'}|{int(fails)}:0"
                seconds = 600 + int(random.integers(60))
                text.append(record_of(len(text) + 1, place, name, time=time, seconds=seconds, ended=ended))
    return judged_records(text)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize(("days", "usual"), [(4, 0.01), (10, 0.01), (6, 0.1)])
def test_a_campaign_that_fails_everywhere_blames_no_node(share: float, days: int, usual: float) -> None:
    assert bad_mornings(share, days=days, seed=days, faulty=usual, usual=usual).failing == ()


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
@pytest.mark.parametrize(("days", "usual"), [(10, 0.01), (14, 0.1)])
def test_a_node_that_fails_beside_such_a_campaign_is_named(share: float, days: int, usual: float) -> None:
    result = bad_mornings(share, days=days, seed=days, faulty=0.5, usual=usual)
    assert [node.node for node in result.failing] == ["n7"]


def swallowing(bad: Sequence[int], *, days: int, hour: int = 0, seed: int = 1) -> JobsResult:
    """A campaign each day on 24 nodes; on the first days jobs fail soon on the bad nodes, which take more.

    `hour`: when the good part of the campaign starts; before it, at 0, only bad nodes are free and have 18 jobs.
    """
    random = np.random.default_rng(seed)
    text: list[str] = []
    for day in range(1, 11):
        parts = [(hour, range(1, 25), 100)] + ([(0, bad, 18)] if hour and day <= days else [])
        for start, places, jobs in parts:
            free = [(3600 * start + float(random.uniform(0, 5)), place) for place in places]
            for _ in range(jobs):
                time, place = heapq.heappop(free)
                fails = (start == 0 and day <= days and place in bad) or random.random() < 0.01
                seconds = int(random.uniform(200, 300) if fails else random.uniform(1700, 1900))
                hours, rest = divmod(int(time), 3600)
                begun = f"2026-03-{day:02}T{hours:02}:{rest // 60:02}:{rest % 60:02}"
                ended = f"{'FAILED' if fails else 'COMPLETED'}|{int(fails)}:0"
                text.append(record_of(len(text) + 1, place, "a", time=begun, seconds=seconds, ended=ended))
                heapq.heappush(free, (time + seconds + 2, place))
    return judged_records(text)


@pytest.mark.parametrize("bad", [(7,), (7, 8), (2, 11, 20)])
@pytest.mark.parametrize("days", [2, 4])
def test_nodes_that_become_bad_together_do_not_hide_each_other(bad: Sequence[int], days: int) -> None:
    assert {node.node for node in swallowing(bad, days=days).failing} == {f"n{place}" for place in bad}


@pytest.mark.parametrize("free", [(7, 8, 9), (2, 11, 20), (3, 4, 5, 6)])
@pytest.mark.parametrize("days", [1, 4, 8])
def test_a_wrong_input_on_the_few_free_nodes_blames_none(free: Sequence[int], days: int) -> None:
    assert swallowing(free, days=days, hour=15).failing == ()


@pytest.mark.parametrize("size", [(20, 4), (24, 6), (40, 8)])
def test_many_slow_nodes_do_not_hide_each_other(size: tuple[int, int]) -> None:
    nodes, slow = size
    named = {f"n{place}": 1.5 for place in range(3, 3 + slow)}
    result = judged(History(nodes=nodes, families=8, jobs=120 * nodes, slow_nodes=named))
    assert {node.node for node in result.slow} == named.keys()


def test_the_partners_of_a_failing_node_are_not_blamed() -> None:
    """Jobs of two neighbours crash where one of them does: half of those of n19 and of n21."""
    text = []
    for number in range(1200):
        first = number % 59 + 1
        ended = "FAILED|0:11" if first in (19, 20) and number % 3 else "COMPLETED|0:0"
        pair = f"[{first}-{first + 1}]"
        text.append(record_of(number, pair, "a", time="2026-03-02T10:00:00", seconds=600, ended=ended))
    assert [node.node for node in judged_records(text).failing] == ["n20"]


def test_families_that_became_slower_are_named_with_their_size() -> None:
    often = replace(SMALL, families=6, jobs=4000, nodes=60)
    result = judged(replace(often, slow_families={1: 2.0, 4: 4.0}), CHANGED)
    assert result.change
    slower = result.change.changed(ComparisonOutcome.SLOWER)
    assert {each.family[:11] for each in slower} == {"user1/codeb", "user4/codee"}
    factors = {"user1/codeb": 2.0, "user4/codee": 4.0}
    assert all(each.low < factors[each.family[:11]] < each.high for each in slower)
    assert result.slow == ()


def test_the_day_is_found_where_all_jobs_become_slower() -> None:
    result = judged(replace(SMALL, slow_families=dict.fromkeys(range(8), 1.8)))
    assert result.change and not result.change.given
    assert abs((date.fromisoformat(result.change.date) - CHANGED).days) <= 2
    assert 1.6 < result.change.ratio < 2.0


def test_a_day_without_a_change_is_a_pass_or_undecided_but_never_slow() -> None:
    result = judged(SMALL, CHANGED)
    assert result.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)
    assert result.change and result.change.changed(ComparisonOutcome.SLOWER) == ()


def test_no_records_are_no_pass() -> None:
    result = judged(replace(SMALL, jobs=0))
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)


def test_every_record_is_used_or_counted() -> None:
    table = table_of(SMALL)
    assert len(table.jobs) + sum(table.left_out.values()) == table.records
    assert {"cancelled", "pre-empted", "requeued"} == set(table.left_out)


def test_stand_ins_are_the_same_for_the_same_name() -> None:
    table, scrubbed = table_of(SMALL), table_of(SMALL, JobStandIns())
    assert {family.user for family in scrubbed.families} == {f"user{number}" for number in range(1, 8)}
    assert all(family.name.startswith("job") for family in scrubbed.families)
    assert all(name.startswith("node") for name in scrubbed.nodes)
    assert len(scrubbed.nodes) == len(table.nodes) == 24


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sbatch /home/a/run12/in_2026-11-02.sh", "sbatch in_#-#-#.sh"),
        ("vasp-4711", "vasp-#"),
        ("a  \n b 3.5", "a b #"),
        ("run_20261102T1200_x", "run_#T#_x"),
        ("seatrial-3ebd12d4", "seatrial-#"),
        ("seatrial-12345678", "seatrial-#"),
        ("fit-0b9e4c1a-77aa-4f3a-8d21-0123456789ab.sh", "fit-#.sh"),
        ("face1 defaced_case2a effaced", "face# defaced_case#a effaced"),
    ],
)
def test_names_without_numbers_paths_and_dates(text: str, expected: str) -> None:
    assert normalised(text) == expected


def test_a_family_and_the_place_of_a_job_in_it() -> None:
    table = table_of(replace(SMALL, slow_nodes={"n7": 3.0}))
    largest = max(table.families, key=lambda family: family.jobs)
    number = family_named(table, largest.label)
    times = family_times(table, number)
    assert sum(times.endings.values()) == largest.jobs
    assert sum(each.jobs for each in times.bins) == times.endings["completed"]
    assert times.nodes[0].node == "n7"
    job = int((table.family == number).argmax())
    place = family_times(table, number, job_numbered(table, table.jobs[job].job)).job
    assert place and 0 <= place.longer_than <= 1


@pytest.mark.parametrize("name", ["nobody", "user"])
def test_a_family_that_is_not_one_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        family_named(table_of(SMALL), name)


@pytest.mark.skipif(not RECORDED.exists(), reason="no recorded accounting beside the project")
@pytest.mark.parametrize("planted", [[], ["n7"]])
def test_with_run_times_that_scatter_as_recorded_ones(planted: Sequence[str]) -> None:
    history = replace(SMALL, spreads=recorded_spreads(), slow_nodes=dict.fromkeys(planted, 1.3))
    assert [node.node for node in judged(history).slow] == planted
