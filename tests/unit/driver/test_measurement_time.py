"""Every measurement carries the time at which its round began, in new archives and in old ones."""

from pathlib import Path

from seatrial.archive.export import samples_file
from seatrial.archive.journal import Delivered, RoundStarted, of_type
from seatrial.archive.reader import read_entries
from seatrial.archive.samples import query_samples
from seatrial.archive.writer import RunWriter
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Silent
from seatrial.driver.site import replay_launcher
from seatrial.model.measurement import Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.pairs.survey import BANDWIDTH
from tests.support.builders import Cluster, info_of, names, record, sail
from tests.support.clocks import Clock, use_clock
from tests.support.scripted import ScriptedLauncher

CLUSTER = Cluster(nodes=names(3))


def test_the_measurer_gives_each_measurement_the_time_of_its_round(tmp_path: Path) -> None:
    clock = Clock(100.0)
    use_clock(clock)
    launcher = ScriptedLauncher(CLUSTER)
    measurer = Measurer(launcher, RunWriter(tmp_path, info_of(CLUSTER)), CLUSTER.nodes, Silent(), 0.5)
    for number, pair in enumerate((("n1", "n2"), ("n2", "n3"))):
        clock.now_s = 101.5 + number
        measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=(pair,)))
    assert [one.at_s for one in measurer.measurements] == [1.5, 2.5]
    entries = read_entries(measurer._writer.folder)
    assert [one.at_s for one in of_type(entries, RoundStarted)] == [1.5, 2.5]
    assert [one.measurement.at_s for one in of_type(entries, Delivered)] == [1.5, 2.5]


def test_a_replay_keeps_the_recorded_times(tmp_path: Path) -> None:
    recorded = sail(CLUSTER)
    folder = record(CLUSTER, tmp_path, recorded=recorded)
    launcher = replay_launcher(CheckSettings(replay=folder, archive=tmp_path))
    writer = RunWriter(tmp_path, info_of(CLUSTER, run="again"))
    measurer = Measurer(launcher, writer, CLUSTER.nodes, Silent(), 0.5)
    survey = [one for one in recorded.measurements if one.phase is Phase.SURVEY]
    for one in survey:
        measurer.measure(Round(phase=one.phase, repetition=one.repetition, shape=one.shape, pairs=(one.pair,)))
    assert [one.at_s for one in measurer.measurements] == [one.at_s for one in survey]


def test_the_samples_have_the_time_of_their_round(tmp_path: Path) -> None:
    recorded = sail(CLUSTER)
    folder = record(CLUSTER, tmp_path, recorded=recorded)
    rows = query_samples([samples_file(folder)], "SELECT DISTINCT round, at_s FROM samples ORDER BY round")
    assert [at_s for _, at_s in rows] == [one.at_s for one in recorded.measurements]
