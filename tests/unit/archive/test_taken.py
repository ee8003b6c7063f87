"""A driver whose run is taken away ends with a sentence, and everything that it delivered is kept."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout, lease
from seatrial.archive.journal import Delivered, encode, of_type
from seatrial.archive.lease import Held, Holder, new_lease
from seatrial.archive.reader import read_entries, read_info, read_run
from seatrial.archive.recovery import ORIGINAL_FILE, recover, recover_runs
from seatrial.archive.writer import ArchiveError, RunTaken, RunWriter, ended
from seatrial.model.run import Ending
from tests.lab.waiting import eventually
from tests.support.builders import Cluster, abandoned, names, sail
from tests.support.paths import ROOT
from tests.support.run_archives import cut_off

CLUSTER = Cluster(nodes=names(3))
ALL = sail(CLUSTER).measurements


def close(writer: RunWriter, ending: Ending = Ending.COMPLETE, reason: str = "") -> Path:
    return writer.close(ended(writer.info, ending, "2026-11-21T10:01:00Z", reason))


def forced(folder: Path) -> None:
    assert recover_runs(folder.parent, force=True).recovered


def renamed(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def renamed_archive(folder: Path) -> None:
    folder.parent.rename(folder.parent.with_name("moved"))


def in_the_middle(folder: Path) -> None:
    """As `recover` on another host has begun, and this host still knows the folder by its old name."""
    other = msgspec.structs.replace(new_lease(Holder.RECOVER), host="h", user="u")
    (folder / layout.LEASE_FILE).write_bytes(msgspec.json.encode(other))


TAKEN = [forced, renamed, shutil.rmtree, renamed_archive, in_the_middle]


@pytest.mark.parametrize("take", TAKEN)
def test_all_that_was_delivered_is_kept_under_another_name(tmp_path: Path, take: Callable[[Path], None]) -> None:
    writer = cut_off(tmp_path / "archive", CLUSTER)
    take(writer.folder)
    folder = close(writer)
    assert folder.name == "run-rescued"
    found = read_run(folder)
    assert found.measurements == ALL
    assert found.damage == ()
    assert set(found.facts) == set(found.facts_after) == set(CLUSTER.nodes)
    assert (found.info.run, found.info.ending) == ("run-rescued", Ending.COMPLETE)
    assert found.info.reason.startswith("The run run was closed ")
    assert "kept in the run run-rescued" in found.info.reason
    assert not list(folder.glob("*.new"))


@pytest.mark.parametrize("take", TAKEN)
def test_the_next_call_after_the_beat_says_so(tmp_path: Path, take: Callable[[Path], None]) -> None:
    writer = cut_off(tmp_path / "archive", CLUSTER)
    take(writer.folder)
    writer._held.beat()
    one = Delivered(number=99, measurement=ALL[0])
    for call in (
        lambda: writer.append(one),
        lambda: writer.describe(writer.info),
        lambda: writer.write_facts(layout.AFTER, {"n1": "later"}),
        lambda: writer.log_file("launch-9.err"),
    ):
        with pytest.raises(RunTaken, match=r"The run run was closed .* kept in the run run-rescued"):
            call()
    folder = close(writer, Ending.FAILED)
    assert of_type(read_entries(folder), Delivered)[-1] == one, "delivered, and then it was noticed"
    assert layout.facts_file(folder, "n1", layout.AFTER).read_text() == "later"


def test_what_the_driver_still_writes_does_not_reach_the_closed_run(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    closed = Path(recover(writer.folder).folder)
    writer.append(Delivered(number=99, measurement=ALL[0]))
    with pytest.raises(RunTaken):
        writer.describe(writer.info)
    assert read_run(closed).measurements == ALL
    assert read_run(closed).damage == ()
    assert read_run(close(writer)).measurements == (*ALL, ALL[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run-rescued"]


def test_what_a_driver_writes_that_is_killed_before_it_notices_is_in_the_logs(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    closed = Path(recover(writer.folder).folder)
    one = Delivered(number=99, measurement=ALL[0])
    writer.append(one)
    late = (closed / layout.LOGS_FOLDER / ORIGINAL_FILE).read_bytes()
    assert late == (closed / layout.JOURNAL_FILE).read_bytes() + encode(one)


def test_the_journal_of_a_driver_that_has_ended_is_not_copied(tmp_path: Path) -> None:
    writer = abandoned(cut_off(tmp_path, CLUSTER))
    before = (writer.folder / layout.JOURNAL_FILE).stat().st_ino
    closed = Path(recover(writer.folder).folder)
    assert (closed / layout.JOURNAL_FILE).stat().st_ino == before
    assert list((closed / layout.LOGS_FOLDER).iterdir()) == []


def test_the_reason_names_who_took_it(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    in_the_middle(writer.folder)
    assert "by `seatrial runs recover` of u on h" in read_info(close(writer)).reason


def test_a_second_rescue_takes_another_name(tmp_path: Path) -> None:
    for _ in range(2):
        writer = cut_off(tmp_path, CLUSTER)
        shutil.rmtree(writer.folder)
        close(writer)
    first, second = sorted(path.name for path in tmp_path.iterdir())
    assert first == "run-rescued"
    assert re.fullmatch(r"run-rescued-[0-9a-f]{8}", second)


def test_where_nothing_can_be_kept_either_it_is_a_sentence(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    writer = cut_off(archive, CLUSTER)
    shutil.rmtree(archive)
    archive.write_text("a file")
    with pytest.raises(
        ArchiveError, match=r"The run run was closed .* But that failed: The archive .* cannot be written"
    ):
        close(writer)


def test_a_lease_that_somebody_deletes_does_not_end_the_run(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    (writer.folder / layout.LEASE_FILE).unlink()
    writer._held.beat()
    assert writer._held.look() is Held.MISSING
    writer.append(Delivered(number=99, measurement=ALL[0]))
    writer.describe(writer.info)
    assert close(writer).name == "run"


def test_a_name_that_is_taken_when_the_run_is_closed_costs_the_name_only(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "something").touch()
    folder = close(writer)
    assert folder.name == "run-closed"
    assert read_run(folder).measurements == ALL
    assert read_info(folder).run == "run-closed"


@pytest.mark.parametrize("damage", [Path.unlink, partial(os.truncate, length=1000)])
def test_what_a_network_file_system_dropped_or_somebody_removed_is_written_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    damage(writer.folder / layout.JOURNAL_FILE)
    found = read_run(close(writer))
    assert (found.measurements, found.damage) == (ALL, ())


def test_what_was_appended_is_flushed_with_every_beat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An NFS client may keep appended lines for 30 s, and its node may fail meanwhile."""
    monkeypatch.setattr(lease, "BEAT_S", 0.05)
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(str(Path(f"/proc/self/fd/{handle}").readlink())))
    writer = cut_off(tmp_path, CLUSTER)
    journal = str(writer.folder / layout.JOURNAL_FILE)
    assert eventually(lambda: flushed.count(journal) > 1)
    close(writer)


SLOW_CHECK = """
import itertools, sys, time
from pathlib import Path
from seatrial.archive import lease
from seatrial.frame import entry
from seatrial.launch import replay

open_run, real, rounds = Path(sys.argv.pop(1)), replay.ReplaySession.measure, itertools.count(1)

def measure(*given):
    time.sleep(0.2)
    if next(rounds) > 8:
        while open_run.exists():
            time.sleep(0.02)
    return real(*given)

replay.ReplaySession.measure = measure
lease.BEAT_S = 0.1
sys.argv[0] = "seatrial"
entry.main()
"""
"""It takes eight rounds, and the others once the folder of its run is gone: then it notices that with its next beat."""


def test_a_check_whose_run_is_taken_away_exits_as_one_that_is_incomplete(tmp_path: Path) -> None:
    """The whole command, playing a recorded run that waits to be interrupted."""
    source = close(cut_off(tmp_path / "source", CLUSTER))
    archive = tmp_path / "archive"
    partial = archive / "x.partial"
    words = ["check", "--replay", str(source), "--archive", str(archive), "--run", "x"]
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW_CHECK, partial, *words], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        journal = partial / layout.JOURNAL_FILE
        while not (journal.exists() and journal.read_bytes().count(b'"measurement"') > 4):
            assert child.poll() is None
            time.sleep(0.02)
        assert [one.run for one in recover_runs(archive).running] == ["x"]
        forced(partial)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 2, err
    assert "Traceback" not in err
    assert "kept in the run x-rescued" in " ".join(out.split())
    assert f"Archive: {archive / 'x-rescued'}" in out
    first, rescued = read_run(archive / "x"), read_run(archive / "x-rescued")
    assert rescued.measurements[: len(first.measurements)] == first.measurements
    assert len(rescued.measurements) >= len(first.measurements) > 1
    assert rescued.info.ending is Ending.FAILED
