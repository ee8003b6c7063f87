"""Measurements of kernels that are not pairs: measured, kept, recovered, exported and replayed like those of pairs."""

from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.export import samples_file
from seatrial.archive.journal import GroupDelivered, GroupRoundStarted, RoundEnded, SessionStarted, encode, of_type
from seatrial.archive.reader import read_entries, read_run
from seatrial.archive.recovery import recover
from seatrial.archive.samples import query_samples
from seatrial.archive.writer import RunWriter, ended
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Silent
from seatrial.driver.site import replay_launcher
from seatrial.launch.replay import ReplayLauncher
from seatrial.model.errors import RoundRefused
from seatrial.model.measurement import (
    Corruption,
    GroupMeasurement,
    GroupRound,
    Kernel,
    Phase,
    Round,
    Shape,
    Verification,
)
from seatrial.model.run import Ending
from seatrial.model.settings import CheckSettings
from seatrial.pairs.survey import LATENCY
from tests.support.builders import HEADER, Cluster, info_of, names
from tests.support.scripted import ScriptedLauncher

NODES = names(3)
SHAPE = Shape(kernel=Kernel.BARRIER, message_bytes=0, window=1, warmup=1, iterations=2)
GROUPS = (NODES[:2], NODES[2:])
WRONG = Corruption(source="", target="n3", wrong_bytes=8, first_byte=64)


def measurement(nodes: tuple[str, ...], times_s: tuple[float, ...] = (2e-6, 3e-6)) -> GroupMeasurement:
    wrong = (WRONG,) if nodes == ("n3",) else ()
    return GroupMeasurement(
        phase=Phase.SURVEY, repetition=0, shape=SHAPE, nodes=nodes, times_s=times_s, warmup_times_s=(9e-6,),
        groups_at_once=2, verified=1, errors=8 * len(wrong), corruptions=wrong,
    )  # fmt: skip


MEASURED = tuple(measurement(group) for group in GROUPS)
ROUND = GroupRound(phase=Phase.SURVEY, repetition=0, shape=SHAPE, groups=GROUPS)


def measured(archive: Path, run: str = "run") -> tuple[Measurer, RunWriter]:
    """A run that is still open, with one round of two groups."""
    info = info_of(Cluster(nodes=NODES), run=run)
    writer = RunWriter(archive, info)
    delivered = [GroupDelivered(number=1, measurement=one) for one in MEASURED]
    launcher = ReplayLauncher(info, {}, {}, [SessionStarted(session=1, nodes=NODES, header=HEADER), *delivered])
    measurer = Measurer(launcher, writer, NODES, Silent(), 0.5)
    measurer.attempt(ROUND)
    return measurer, writer


def closed(archive: Path) -> Path:
    _, writer = measured(archive)
    return writer.close(ended(writer.info, Ending.COMPLETE, "2026-11-21T10:01:00Z"))


def test_a_round_of_groups_is_in_the_journal_in_order(tmp_path: Path) -> None:
    measurer, writer = measured(tmp_path)
    entries = read_entries(writer.folder)
    (began,) = of_type(entries, GroupRoundStarted)
    assert (began.number, began.round.groups, began.round.verify) == (1, GROUPS, Verification.ENDS)
    assert [entry.measurement for entry in of_type(entries, GroupDelivered)] == measurer.group_measurements
    assert [entry.measurement.at_s for entry in of_type(entries, GroupDelivered)] == [began.at_s] * 2
    assert [entry.outcome for entry in of_type(entries, RoundEnded)] == ["complete"]
    assert measurer.measurements == []


def test_a_closed_run_has_them_and_counts_them(tmp_path: Path) -> None:
    recorded = read_run(closed(tmp_path))
    assert [one.nodes for one in recorded.group_measurements] == list(GROUPS)
    assert recorded.group_measurements[1].corruptions == (WRONG,)
    assert (recorded.measurements, recorded.damage) == ((), ())
    assert recorded.info.contents is not None
    assert (recorded.info.contents.measurements, recorded.info.contents.samples) == (2, 4)


def test_the_samples_have_a_row_for_each_time(tmp_path: Path) -> None:
    path = samples_file(closed(tmp_path))
    rows = query_samples([path], "SELECT nodes, source, target, warm, time_s, groups_at_once, errors FROM samples")
    assert [(row[0], row[3], row[4]) for row in rows] == [
        (list(group), warm, time_s) for group in GROUPS for warm, time_s in ((True, 9e-6), (False, 2e-6), (False, 3e-6))
    ]
    assert {(source, target, at_once) for _, source, target, _, _, at_once, _ in rows} == {(None, None, 2)}
    assert [row[-1] for row in rows] == [0, 0, 0, 8, 8, 8]


def test_a_run_that_was_cut_off_is_recovered_with_them(tmp_path: Path) -> None:
    _, writer = measured(tmp_path)
    with (writer.folder / layout.JOURNAL_FILE).open("ab") as journal:
        unstorable = measurement(GROUPS[0])
        journal.write(encode(GroupDelivered(number=2**63, measurement=unstorable)))
    writer._held.release()
    recovered = recover(writer.folder)
    assert (recovered.measurements, recovered.samples, recovered.torn_lines) == (2, 4, 1)
    assert [one.nodes for one in read_run(Path(recovered.folder)).group_measurements] == list(GROUPS)


def test_a_replay_delivers_them_again_and_refuses_others(tmp_path: Path) -> None:
    folder = closed(tmp_path)
    launcher = replay_launcher(CheckSettings(replay=folder, archive=tmp_path))
    measurer = Measurer(launcher, RunWriter(tmp_path, info_of(Cluster(nodes=NODES), run="again")), NODES, Silent(), 0.5)
    measurer.attempt(ROUND)
    assert tuple(measurer.group_measurements) == read_run(folder).group_measurements
    other = GroupRound(phase=Phase.SURVEY, repetition=0, shape=SHAPE, groups=(NODES[:2], NODES[1:]))
    with pytest.raises(RoundRefused, match="no barrier of 0 B on n2, n3 in its survey"):
        measurer.attempt(other)
    with pytest.raises(RoundRefused, match="no pingpong"):
        measurer.attempt(Round(phase=Phase.SURVEY, repetition=0, shape=LATENCY, pairs=(("n1", "n2"),)))
    assert len(measurer.group_measurements) == 3, "what had been delivered before the refusal is kept"


def test_a_launcher_of_pairs_alone_refuses_them(tmp_path: Path) -> None:
    cluster = Cluster(nodes=NODES)
    measurer = Measurer(ScriptedLauncher(cluster), RunWriter(tmp_path, info_of(cluster)), NODES, Silent(), 0.5)
    with pytest.raises(RoundRefused, match="barrier is not a kernel of pairs"):
        measurer.attempt(ROUND)
