"""A slice ends as soon as a job needs its nodes, or at the end of its minute, and keeps what was measured."""

import time
from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from seatrial.commands.qualify import run as qualify_run
from seatrial.commands.qualify.run import ClusterState, Watcher, measure_guarded, next_slice, request_of
from seatrial.model.errors import LaunchError
from seatrial.model.qualification import NodeScore, QualifyPolicy, QualifySlice
from seatrial.model.run import Ending
from seatrial.model.settings import SlurmRequest
from seatrial.process.process import Completed
from seatrial.slurm import queue
from seatrial.slurm.argv import salloc
from seatrial.slurm.text import parse_sinfo

SINFO = "".join(f"n{number}|idle|main*|none\n" for number in range(1, 7))
POLICY = QualifyPolicy(nodes=4)
SLICE = QualifySlice(nodes=("n1", "n2"), run="slice")


def state(waiting: str = "", happened_s: dict[str, float] | None = None) -> ClusterState:
    lines = parse_sinfo(SINFO)
    return ClusterState(
        lines=lines,
        mine=tuple(line.node for line in lines),
        waiting=queue.parse_waiting(waiting),
        happened_s=happened_s or {},
        drained=frozenset(),
        leaf_of={},
    )


def complete(seconds: float) -> Ending:
    time.sleep(seconds)
    return Ending.COMPLETE


def slurm_says(monkeypatch: pytest.MonkeyPatch, waiting: str, state: str = "allocated") -> None:
    def asked(argv: object) -> Completed:
        text = waiting if argv == queue.WAITING else SINFO.replace("idle", state)
        return Completed(argv=(), returncode=0, stdout=text, stderr="")

    monkeypatch.setattr(qualify_run, "asked", asked)
    monkeypatch.setattr(qualify_run, "ASK_S", 0.01)


def test_a_job_in_need_interrupts_the_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_says(monkeypatch, "2|main|Resources|(null)\n")
    began = time.monotonic()
    measured = measure_guarded(partial(complete, 30), SLICE)
    assert measured == msgspec.structs.replace(SLICE, why="a job that needs 2 nodes waits in main")
    assert time.monotonic() - began < 20


def test_a_job_that_its_nodes_are_not_enough_for_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_says(monkeypatch, "3|main|Resources|(null)\n")
    assert measure_guarded(partial(complete, 0.2), SLICE) == SLICE


def test_a_slice_ends_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_says(monkeypatch, "")
    watcher = Watcher(["n1"], seconds=0.02, pause_s=0.01)
    with pytest.raises(KeyboardInterrupt), watcher:  # on a busy machine while it still enters
        time.sleep(30)
    assert watcher.why == "its 60 s are over"


def interrupted_at_once() -> Ending:
    raise KeyboardInterrupt


@pytest.mark.parametrize("measure", [interrupted_at_once, lambda: Ending.INTERRUPTED])
def test_an_interrupt_of_the_users_own_is_none_of_the_watcher(
    measure: Callable[[], Ending], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that is interrupted after it began closes its run, and returns."""
    slurm_says(monkeypatch, "")
    with pytest.raises(KeyboardInterrupt):
        measure_guarded(measure, SLICE)


@pytest.mark.parametrize(("state", "granted"), [("allocated", False), ("idle", False), ("allocated", True)])
def test_nodes_that_another_job_got_first_are_no_slice(
    state: str, granted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error is one while the nodes are free, and after they were granted: then others may have got them since."""
    slurm_says(monkeypatch, "", state)

    def refused() -> Ending:
        raise LaunchError("no")

    if state == "idle" or granted:
        with pytest.raises(LaunchError):
            measure_guarded(refused, SLICE, lambda: granted)
    else:
        assert measure_guarded(refused, SLICE, lambda: granted).nodes == ()


def test_nothing_is_measured_while_a_job_waits_that_would_fit() -> None:
    assert next_slice(state(), {}, POLICY).nodes
    assert next_slice(state("6|main|Priority|\n"), {}, POLICY).why == "a job that needs 6 nodes waits in main"
    assert next_slice(state("7|main|Resources|\n"), {}, POLICY).nodes


def test_a_node_that_booted_since_its_verdict_has_none() -> None:
    judged = {f"n{number}": NodeScore(node=f"n{number}", judged="2026-11-01T00:00:00Z") for number in range(1, 7)}
    happened = {"n5": 1_900_000_000.0, "n6": 1_000_000_000.0}
    chosen = [next_slice(state(happened_s=happened), judged, POLICY).nodes for _ in range(20)]
    assert all("n5" in nodes for nodes in chosen)
    assert not all("n6" in nodes for nodes in chosen)


def test_the_job_is_short_and_says_what_it_is() -> None:
    request = request_of(SlurmRequest(qos="scavenger", arguments=("--comment=acceptance",)))
    words = salloc(["n1"], 300, "main", "seatrial-1", at_once=True, request=request)
    limits = [word for word in words if word.startswith(("--time", "--comment"))]
    assert limits[-2:] == ["--comment=seatrial-qualify", "--time=2"]
    assert {"--qos=scavenger", "--nice=10000", "--immediate=10"} < set(words)
