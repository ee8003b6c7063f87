"""Real ranks of a real MPI, killed while they measure."""

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from seatrial.archive.journal import SessionLost, of_type
from seatrial.archive.reader import read_entries
from seatrial.archive.writer import RunWriter
from seatrial.commands.check.judge import judge
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Silent
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import Family, find_mpi
from seatrial.launch.probe_build import build, default_folder
from seatrial.launch.session import PipeSession
from seatrial.model.loss import LossCause, Moment, SessionLoss
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.run import RecordedRun
from seatrial.model.verdict import FindingKind
from tests.lab.waiting import eventually
from tests.support.builders import Cluster, info_of
from tests.support.processes import runs

LONG = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=1, iterations=30_000)


class Deadly(LocalLauncher):
    """Kills one rank of each of the first sessions, half a second after it came up."""

    number = signal.SIGKILL
    sessions_to_kill = 1
    rank = 1
    victim = 0
    """The process that is killed, of the session that came up last."""

    @property
    def family(self) -> Family:
        return self._mpi.family

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> PipeSession:
        session = super().start(nodes, log, manner)
        if self.sessions_to_kill:
            self.sessions_to_kill -= 1
            self.victim = session.ranks[self.rank]["pid"]
            threading.Timer(0.5, os.kill, (self.victim, self.number)).start()
        return session


@pytest.fixture(scope="module", params=["mpicc.openmpi", "mpicc.mpich"])
def launcher(request: pytest.FixtureRequest) -> Deadly:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    mpi = find_mpi(request.param)
    return Deadly(mpi, build(mpi, default_folder()), 2, quick_facts=True)


ATTEMPTS = 4


def says_nothing(launcher: Deadly, loss: SessionLoss) -> bool:
    """Hydra trips over the dead rank itself now and then, and prints its own stack: then it names neither rank nor
    signal, or the signal as if it were an exit code."""
    return launcher.family is Family.MPICH and loss.loss.cause in (LossCause.UNKNOWN, LossCause.EXIT)


@contextlib.contextmanager
def measuring(launcher: Deadly, archive: Path) -> Iterator[Measurer]:
    nodes = launcher.hosts().nodes
    measurer = Measurer(launcher, RunWriter(archive, info_of(Cluster(nodes=nodes))), nodes, Silent(), 30)
    try:
        yield measurer
    finally:
        measurer.close(kill=True)


@pytest.fixture
def lost(launcher: Deadly, tmp_path: Path) -> Iterator[Callable[[int, int], tuple[Measurer, Path]]]:
    """Kills a rank by that signal in as many sessions, once more where Hydra did not say of what they ended."""
    with contextlib.ExitStack() as stack:

        def kill(number: int, sessions: int) -> tuple[Measurer, Path]:
            for attempt in range(ATTEMPTS):
                archive = tmp_path / str(attempt)
                archive.mkdir()
                launcher.number, launcher.sessions_to_kill = signal.Signals(number), sessions
                measurer = stack.enter_context(measuring(launcher, archive))
                measure_until_lost(measurer, sessions)
                if not any(says_nothing(launcher, loss) for loss in measurer.losses):
                    break
            return measurer, archive

        yield kill


def measure_until_lost(measurer: Measurer, losses: int) -> None:
    """Round after round, until as many sessions were lost, and one more."""
    first, second = measurer.nodes
    wanted = Round(phase=Phase.SURVEY, repetition=0, shape=LONG, pairs=((first, second),))
    deadline = time.monotonic() + 60
    while len(measurer.losses) < losses and time.monotonic() < deadline:
        measurer.measure(wanted)
    measurer.measure(wanted)


def recorded_of(measurer: Measurer, nodes: tuple[str, ...]) -> RecordedRun:
    return RecordedRun(
        info=info_of(Cluster(nodes=nodes)),
        planned=(),
        facts={},
        facts_after={},
        measurements=tuple(measurer.measurements),
        losses=tuple(measurer.losses),
        sessions=measurer.sessions,
    )


def are_suspects(named: set[str], launcher: Deadly) -> bool:
    """Hydra kills what is left on the host, and names one of all with the signals of all: it may be any of them, except
    where it read the signal of the killed rank before it killed the other."""
    first, second = launcher.hosts().nodes
    return named == {second} or (launcher.family is Family.MPICH and named == {first, second})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_rank_killed_in_mid_round_is_recorded_with_its_place_and_signal(
    launcher: Deadly, lost: Callable[[int, int], tuple[Measurer, Path]], number: signal.Signals
) -> None:
    measurer, archive = lost(number, 1)
    nodes = measurer.nodes
    (entry,) = of_type(read_entries(archive / "run.partial"), SessionLost)
    assert (entry.loss.moment, entry.loss.phase) == (Moment.ROUND, Phase.SURVEY)
    assert entry.loss.loss.cause is LossCause.SIGNAL
    assert are_suspects(set(entry.loss.loss.suspects), launcher)
    first = [death for death in entry.loss.loss.deaths if death.first]
    assert (1, int(number)) in [(death.rank, death.signal) for death in first]
    assert len(first) == len(entry.loss.loss.suspects)
    assert any(one.pair == (nodes[0], nodes[1]) for one in measurer.measurements)
    judged = judge(recorded_of(measurer, nodes))
    assert not [one for one in judged.findings if one.kind is FindingKind.RANK_DIED]
    assert sum("A rank died on" in note and nodes[1] in note for note in judged.notes) == 1


def test_ranks_killed_in_two_sessions_are_a_finding(
    launcher: Deadly, lost: Callable[[int, int], tuple[Measurer, Path]]
) -> None:
    measurer, _ = lost(signal.SIGKILL, 2)
    nodes = measurer.nodes
    (finding,) = (one for one in judge(recorded_of(measurer, nodes)).findings if one.kind is FindingKind.RANK_DIED)
    assert are_suspects({one.name for one in (finding.subject, *finding.ambiguous_with)}, launcher)


def test_a_rank_killed_after_the_last_round_is_recorded(launcher: Deadly, tmp_path: Path) -> None:
    for attempt in range(ATTEMPTS):
        launcher.number, launcher.sessions_to_kill = signal.SIGKILL, 1
        with measuring(launcher, tmp_path / str(attempt)) as measurer:
            measurer.start()
            assert eventually(lambda: not runs(launcher.victim))
            time.sleep(0.5)  # the launcher hears of it by a signal
            measurer.close()
        (one,) = measurer.losses
        if not says_nothing(launcher, one):
            break
    assert one.moment is Moment.END
    assert are_suspects(set(one.loss.suspects), launcher)
