"""What every launcher must keep to, whatever it launches on: checks to be run against each of them."""

from pathlib import Path

import pytest

from seatrial.driver.measurer import STARTS
from seatrial.launch.contract import PLAIN, Launcher, Session, StartManner
from seatrial.model.errors import LaunchError, RoundRefused
from seatrial.model.loss import LossCause
from seatrial.model.measurement import Phase, Round, Shape
from seatrial.node.node import parse_facts
from seatrial.pairs.survey import BANDWIDTH, LATENCY
from tests.support.summary import repetition_counter

PATIENCE_S = 30.0
KEPT = "the contract is kept"
MPI_CRASHED = "each start crashed within MPI"
"""The two results of a contract that is run in a process of its own."""


def round_of(shape: Shape, *pairs: tuple[str, str]) -> Round:
    """A round of the survey."""
    return Round(phase=Phase.SURVEY, repetition=0, shape=shape, pairs=pairs)


def check_hosts(launcher: Launcher) -> tuple[str, ...]:
    """At least two nodes, each once, none of them left out; returns them."""
    hosts = launcher.hosts()
    assert len(hosts.nodes) >= 2
    assert len(set(hosts.nodes)) == len(hosts.nodes)
    assert all(hosts.nodes)
    assert not {state.node for state in hosts.left_out} & set(hosts.nodes)
    assert all(state.reason for state in hosts.left_out)
    assert set(hosts.fabric.leaf_of) <= set(hosts.nodes) | {state.node for state in hosts.left_out}
    assert launcher.name
    return hosts.nodes


def check_facts(launcher: Launcher, nodes: tuple[str, ...]) -> None:
    """Every node either answers with whole facts or is silent for a reason; never both, never neither."""
    reading = launcher.read_facts(nodes)
    assert set(reading.texts) | set(reading.silent) == set(nodes)
    assert not set(reading.texts) & set(reading.silent)
    assert all(parse_facts(text).complete for text in reading.texts.values())
    assert all(reading.silent.values())


def check_greeting(session: Session, nodes: tuple[str, ...]) -> None:
    """The session is on the nodes asked for, and the probe has said what it is."""
    assert sorted(session.nodes) == sorted(nodes)
    assert session.header["format"] == 2
    assert session.header["mpi_library"]


def check_measuring(session: Session) -> None:
    """Every pair of a round delivers once: in its direction, with all its times, marked with what was asked for."""
    first, second = session.nodes[:2]
    for shape in (LATENCY, BANDWIDTH):
        for pair in ((first, second), (second, first)):
            if shape == LATENCY and pair != (first, second):
                continue
            (one,) = session.measure(round_of(shape, pair), PATIENCE_S)
            assert one.pair == pair
            assert (one.phase, one.shape.kernel, one.shape.message_bytes) == (
                Phase.SURVEY, shape.kernel, shape.message_bytes,
            )  # fmt: skip
            assert len(one.times_s) == one.shape.iterations
            assert all(0 < time_s < PATIENCE_S for time_s in one.times_s)
            assert one.errors == 0


def check_refusal(session: Session) -> None:
    """A round that cannot be carried out is refused, and the session goes on."""
    first, second = session.nodes[:2]
    with pytest.raises(RoundRefused):
        list(session.measure(round_of(LATENCY, (first, first)), PATIENCE_S))
    assert len(list(session.measure(round_of(LATENCY, (first, second)), PATIENCE_S))) == 1


def started(launcher: Launcher, nodes: tuple[str, ...], folder: Path, manner: StartManner = PLAIN) -> Session:
    """A session, after as many attempts as the driver makes: Open MPI 4.1 crashes in some of its starts."""
    for attempt in range(STARTS - 1):
        try:
            return launcher.start(nodes, folder / f"launch-{attempt}.err", manner)
        except LaunchError as error:
            if not error.transient:
                raise
            repetition_counter.add()
    return launcher.start(nodes, folder / "launch.err", manner)


def crashed_on_its_own(error: LaunchError) -> bool:
    """Whether a signal ended a rank while MPI started: the launcher did its part, and says so."""
    return error.transient and error.loss is not None and error.loss.cause is LossCause.SIGNAL


def check_ending(launcher: Launcher, nodes: tuple[str, ...], folder: Path) -> None:
    """A session can be ended kindly and by force, and each twice; another can be started afterwards."""
    for kill in (True, False):
        (folder / str(kill)).mkdir()
        session = started(launcher, nodes, folder / str(kill))
        session.close(kill=kill)
        session.close(kill=kill)
    launcher.close()
    launcher.close()
