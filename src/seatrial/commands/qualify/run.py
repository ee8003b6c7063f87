"""seatrial qualify: one slice of idle time. The queue says what is free, the archive what is known; no state is kept.

A slice is stopped as soon as another job waits that its nodes would be enough for. A watcher asks the queue each
second, and interrupts the check as Ctrl-C does, so that it keeps what was measured and gives the nodes back.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from random import Random

import msgspec

from seatrial.fabric.slurm_topology import parse_topology
from seatrial.judgement.qualification import Candidate, choose
from seatrial.model.errors import LaunchError, SeatrialError
from seatrial.model.gate import OURS
from seatrial.model.node_list import expand, node_list
from seatrial.model.qualification import NodeScore, QualifyPolicy, QualifySlice
from seatrial.model.run import Ending
from seatrial.model.settings import SlurmRequest
from seatrial.model.words import count, natural_sorted
from seatrial.process.process import run
from seatrial.slurm import argv, queue
from seatrial.slurm.census import EPOCH
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, answer, asked, asked_settled
from seatrial.slurm.queue import WaitingJob, job_in_need
from seatrial.slurm.text import NodeLine, parse_sinfo, partition_lines

SLICE_S = 60.0
"""A slice is stopped after this time, however much is left to be measured."""
BUDGET_S = 40.0
"""The part of that time for measuring; the rest is for being granted the nodes, starting, and reading facts. On four
virtual nodes a slow link is found within 25 s, and not within 15 s."""
SIGNAL = signal.SIGUSR1
"""The watcher sends it. A shell that starts a command in the background lets it ignore SIGINT."""
ASK_S = 1.0
"""Between two looks at the queue."""
NICE = 10_000
"""The job comes after all others of its user's that wait."""


class ClusterState(msgspec.Struct, frozen=True, kw_only=True):
    """What Slurm says. `mine`: nodes of the partition; `happened_s`: node -> its last boot or failure of a job."""

    lines: tuple[NodeLine, ...]
    mine: tuple[str, ...]
    waiting: tuple[WaitingJob, ...]
    happened_s: Mapping[str, float]
    drained: frozenset[str]
    """Nodes that the gate drained."""
    leaf_of: Mapping[str, str]

    @property
    def out_of_service(self) -> tuple[str, ...]:
        """Nodes of the partition that take no job: drained, down, or without an answer."""
        return tuple(natural_sorted({line.node for line in self.lines if line.out_of_service} & {*self.mine}))


def ask_slurm(partition: str, exclude: Collection[str] = ()) -> ClusterState:
    """The state of the cluster; `partition`: empty for the default one; `exclude`: nodes that are left alone.

    Raises LaunchError if Slurm does not answer.
    """
    lines = parse_sinfo(answer(asked_settled(argv.SINFO)))
    mine = dict.fromkeys(line.node for line in partition_lines(lines, partition) if line.node not in exclude)
    if not mine:
        raise LaunchError(f"The partition {partition} has no nodes.", "sinfo lists those that do.")
    happened_s = dict(queue.parse_boots(_printed(argv.SHOW_NODES)))
    for ended_s, nodes in queue.parse_failed(_printed(queue.FAILED)):
        with suppress(ValueError):
            happened_s |= {node: max(happened_s.get(node, 0.0), ended_s) for node in expand(nodes)}
    return ClusterState(
        lines=lines,
        mine=tuple(mine),
        waiting=queue.parse_waiting(answer(asked(queue.WAITING))),
        happened_s=happened_s,
        drained=frozenset(line.node for line in lines if line.reason.startswith(OURS)),
        leaf_of=parse_topology(_printed(argv.TOPOLOGY)).leaf_of,
    )


def _printed(words: Sequence[str]) -> str:
    """What a command prints that only helps to choose, with times in seconds since 1970; empty if it fails."""
    return run(words, timeout_s=COMMAND_TIMEOUT_S, extra_environment=EPOCH).stdout


def next_slice(state: ClusterState, scores: Mapping[str, NodeScore], policy: QualifyPolicy) -> QualifySlice:
    """The nodes to measure next, or none and why."""
    if job := job_in_need(state.waiting, state.lines, ()):
        return QualifySlice(why=_need_of(job))
    partitions: dict[str, list[str]] = {}
    for line in state.lines:
        partitions.setdefault(line.node, []).append(line.partition)
    idle = {line.node for line in state.lines if line.idle}
    candidates = [
        Candidate(
            node=node,
            partitions=tuple(partitions[node]),
            idle=node in idle,
            known_s=_known_s(scores.get(node), state.happened_s.get(node, 0.0)),
            suspected=node in scores and bool(scores[node].findings) and not scores[node].bad,
        )
        for node in partitions
    ]
    nodes = choose(candidates, state.mine, policy, Random())
    return QualifySlice(nodes=nodes, why="" if nodes else "too few nodes are idle beside those that stay free")


def _need_of(job: WaitingJob) -> str:
    return f"a job that needs {count(job.nodes, 'node')} waits in {','.join(job.partitions)}"


def _known_s(score: NodeScore | None, happened_s: float) -> float:
    """When a run last decided on a node; 0 if none did, or if the node booted or failed since."""
    judged_s = datetime.fromisoformat(score.judged).timestamp() if score and score.judged else 0.0
    return judged_s if judged_s >= happened_s else 0.0


def request_of(site: SlurmRequest) -> SlurmRequest:
    """The site's request for a job, with what makes it small and easy to recognise."""
    limit = math.ceil(SLICE_S / 60) + 1
    own = (f"--comment={queue.COMMENT}", f"--nice={NICE}", f"--time={limit}")
    return msgspec.structs.replace(site, arguments=(*site.arguments, *own))


class Watcher:
    """A context that interrupts the main thread when a job needs its nodes, or the time of a slice is over."""

    def __init__(self, nodes: Collection[str], seconds: float = SLICE_S, *, pause_s: float) -> None:
        self.why = ""
        """Why the main thread was interrupted; empty: it was not."""
        self._nodes, self._ends_s, self._pause_s = frozenset(nodes), time.monotonic() + seconds, pause_s
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watcher":
        signal.signal(SIGNAL, signal.default_int_handler)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over.set()
        signal.signal(SIGNAL, signal.SIG_IGN)

    def _watch(self) -> None:
        while not self._over.wait(self._pause_s):
            if why := self._need():
                with self._lock:
                    if not self._over.is_set():
                        self.why = why
                        signal.pthread_kill(threading.main_thread().ident or 0, SIGNAL)
                return

    def _need(self) -> str:
        """Why the slice has to end; a controller that does not answer takes part in no decision."""
        if time.monotonic() > self._ends_s:
            return f"its {SLICE_S:.0f} s are over"
        jobs = queue.parse_waiting(asked(queue.WAITING).stdout)
        job = job_in_need(jobs, parse_sinfo(asked(argv.SINFO).stdout), self._nodes) if jobs else None
        return _need_of(job) if job else ""


def measure_guarded(
    measure: Callable[[], Ending], taken: QualifySlice, granted: Callable[[], bool] = lambda: True
) -> QualifySlice:
    """Carry a slice out; the slice with why it was stopped, or none where another job had got its nodes.

    Raises what `measure` raises, and KeyboardInterrupt where somebody else than the watcher interrupted it. `granted`:
    whether Slurm granted the nodes, asked after an error.
    """
    watcher = Watcher(taken.nodes, pause_s=ASK_S)
    ending = Ending.INTERRUPTED
    try:
        with watcher:
            ending = measure()
    except KeyboardInterrupt:
        pass  # as where `measure` closed its run
    except SeatrialError:
        lines = () if granted() else parse_sinfo(asked(argv.state_of(taken.nodes)).stdout)
        if busy := dict.fromkeys(line.node for line in lines if line.busy):
            return QualifySlice(why=f"another job got {node_list(list(busy))} first")
        raise
    if ending is Ending.INTERRUPTED and not watcher.why:
        raise KeyboardInterrupt
    return msgspec.structs.replace(taken, why=watcher.why)
