"""The launchers that need no scheduler keep to the contract."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.reader import read_entries, read_facts_texts, read_info, read_run
from seatrial.launch.contract import Launcher, Session
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder
from seatrial.launch.replay import ReplayLauncher
from seatrial.model.errors import RoundRefused
from seatrial.pairs.survey import LATENCY
from tests.support import launcher_contract
from tests.support.builders import Cluster, names, record, sail


def replayed(folder: Path) -> ReplayLauncher:
    texts = read_facts_texts(folder, layout.BEFORE)
    return ReplayLauncher(read_info(folder), texts, texts, read_entries(folder))


def local(mpicc: str) -> LocalLauncher:
    if shutil.which(mpicc) is None:
        pytest.skip(f"{mpicc} is not installed")
    mpi = find_mpi(mpicc)
    return LocalLauncher(mpi, build(mpi, default_folder()), 2)


@pytest.fixture(scope="class", params=["replay", "mpicc.openmpi", "mpicc.mpich"])
def launcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Launcher:
    if request.param == "replay":
        cluster = Cluster(nodes=names(3))
        return replayed(record(cluster, tmp_path_factory.mktemp("archive")))
    return local(request.param)


@pytest.fixture(scope="class")
def session(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    nodes = launcher.hosts().nodes
    launcher.allocate(nodes, 60)
    session = launcher.start(nodes, tmp_path_factory.mktemp("logs") / "launch.err")
    yield session
    session.close()


class TestContract:
    def test_hosts(self, launcher: Launcher) -> None:
        launcher_contract.check_hosts(launcher)

    def test_facts(self, launcher: Launcher) -> None:
        launcher_contract.check_facts(launcher, launcher.hosts().nodes)

    def test_greeting(self, launcher: Launcher, session: Session) -> None:
        launcher_contract.check_greeting(session, launcher.hosts().nodes)

    def test_measuring(self, session: Session) -> None:
        launcher_contract.check_measuring(session)

    def test_refusal(self, session: Session) -> None:
        launcher_contract.check_refusal(session)

    def test_ending(self, launcher: Launcher, tmp_path: Path) -> None:
        launcher_contract.check_ending(launcher, launcher.hosts().nodes, tmp_path)


class TestReplay:
    def test_each_recorded_measurement_comes_once_and_then_again(self, tmp_path: Path) -> None:
        recorded = sail(Cluster(nodes=names(2)))
        small = [one for one in recorded.measurements if one.shape == LATENCY]
        launcher = replayed(record(Cluster(nodes=names(2)), tmp_path, recorded=recorded))
        session = launcher.start(names(2), tmp_path / "log")
        wanted = launcher_contract.round_of(LATENCY, small[0].pair)
        got = [one for _ in range(4) for one in session.measure(wanted, 1)]
        assert got == [*small, small[0]]

    def test_a_pair_that_was_not_recorded_costs_no_other(self, tmp_path: Path) -> None:
        cluster = Cluster(nodes=names(4))
        folder = record(cluster, tmp_path, recorded=sail(cluster, hung=(("n1", "n2"),)))
        (measured,) = {one.pair for one in read_run(folder).measurements if set(one.pair) == {"n3", "n4"}
                       and one.shape == LATENCY}  # fmt: skip
        session = replayed(folder).start(names(4), tmp_path / "log")
        found = []
        with pytest.raises(RoundRefused, match="no pingpong of 8 B from n1 to n2 in its survey"):
            for one in session.measure(launcher_contract.round_of(LATENCY, ("n1", "n2"), measured), 1):
                found.append(one.pair)
        assert found == [measured]

    def test_facts_come_in_the_order_of_their_reading(self) -> None:
        recorded = sail(Cluster(nodes=names(2)))
        launcher = ReplayLauncher(recorded.info, {"n1": "b1", "n2": "b2"}, {"n1": "a1"}, ())
        first, then, ever = (launcher.read_facts(names(2)) for _ in range(3))
        assert (first.texts, first.silent) == ({"n1": "b1", "n2": "b2"}, {})
        assert then == ever
        assert (then.texts, then.silent) == ({"n1": "a1"}, {"n2": "it was not recorded"})
