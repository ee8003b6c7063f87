"""kill -9 at any moment loses nothing that was delivered."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.journal import Delivered, NodeLost, PairHung, encode, of_type
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import read_entries, read_info, read_run
from seatrial.archive.recovery import TORN_FILE, partial_folders, recover
from seatrial.archive.writer import RunWriter
from seatrial.model.run import Ending, NodeState
from tests.support.builders import Cluster, info_of, names, record, sail
from tests.support.paths import ROOT
from tests.support.run_archives import cut_off, killed_before_the_last_name

CLUSTER = Cluster(nodes=names(3))

APPENDER = """
import sys
from pathlib import Path
from seatrial.archive.journal import Delivered
from seatrial.archive.writer import RunWriter
from tests.support.builders import Cluster, info_of, names, sail
cluster = Cluster(nodes=names(3))
one = sail(cluster).measurements[5]
writer = RunWriter(Path(sys.argv[1]), info_of(cluster))
number = 0
while True:
    number += 1
    writer.append(Delivered(number=number, measurement=one))
    print(number, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 40, 300])
def test_kill_9_loses_no_line_that_was_acknowledged(tmp_path: Path, acknowledged: int) -> None:
    root = ROOT
    child = subprocess.Popen(
        [sys.executable, "-c", APPENDER, tmp_path], stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert child.stdout is not None
    last = 0
    for line in child.stdout:
        last = int(line)
        if last >= acknowledged:
            break
    child.send_signal(signal.SIGKILL)
    for line in child.stdout:
        last = int(line) if line.endswith("\n") else last
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    (folder,) = partial_folders(tmp_path)
    recovered = recover(folder)
    numbers = [entry.number for entry in of_type(read_entries(Path(recovered.folder)), Delivered)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) in (last, last + 1)
    assert recovered.measurements == len(numbers)
    assert read_info(Path(recovered.folder)).ending is Ending.RECOVERED


def test_a_torn_last_line_is_kept_apart_and_all_others_are_given_back(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    torn = encode(PairHung(source="n1", target="n2"))[:-5]
    with (writer.folder / layout.JOURNAL_FILE).open("ab") as journal:
        journal.write(torn)
    recovered = recover(writer.folder)
    folder = Path(recovered.folder)
    assert recovered.torn_lines == 1
    assert (folder / layout.LOGS_FOLDER / TORN_FILE).read_bytes() == torn
    assert read_run(folder).measurements == sail(CLUSTER).measurements


STRANGE = b'{"entry":"pair-hung","source":"\xff","target":"n1"}\n'


@pytest.mark.parametrize(
    "garbage", [b"\x00" * 512 + b"\n", b"{}\n", b'{"entry":"round-end"}\n', b"\xff\xfe\r\n", STRANGE]
)
def test_garbage_in_the_middle_costs_only_itself(tmp_path: Path, garbage: bytes) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    path = writer.folder / layout.JOURNAL_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:9], garbage, *lines[9:]]))
    recovered = recover(writer.folder)
    assert read_run(Path(recovered.folder)).measurements == sail(CLUSTER).measurements
    assert (Path(recovered.folder) / layout.LOGS_FOLDER / TORN_FILE).read_bytes() == garbage


def test_lost_nodes_and_hanging_pairs_come_from_the_journal(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    state = NodeState(node="n3", reason="stopped answering", fault=True)
    for entry in (NodeLost(state=state), PairHung(source="n1", target="n2"), PairHung(source="n1", target="n2")):
        writer.append(entry)
    info = read_info(Path(recover(writer.folder).folder))
    assert info.lost == (state,)
    assert info.hanging_pairs == (("n1", "n2"),)
    assert info.mpi_library == "Open MPI v4.1.4"


def test_a_closed_run_is_no_run_to_recover(tmp_path: Path) -> None:
    record(CLUSTER, tmp_path)
    assert partial_folders(tmp_path) == []


def test_a_run_cut_off_before_its_first_measurement_is_closed_empty(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info_of(CLUSTER))
    (writer.folder / layout.JOURNAL_FILE).unlink()
    recovered = recover(writer.folder)
    assert (recovered.measurements, recovered.samples, recovered.torn_lines) == (0, 0, 0)
    assert read_run(Path(recovered.folder)).measurements == ()


def test_a_recovery_cut_off_in_mid_work_can_be_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    with killed_before_the_last_name(monkeypatch):
        recover(writer.folder)
    assert read_run(Path(recover(writer.folder).folder)).measurements == sail(CLUSTER).measurements


def test_without_run_json_it_is_a_sentence(tmp_path: Path) -> None:
    writer = cut_off(tmp_path, CLUSTER)
    (writer.folder / layout.RUN_FILE).write_bytes(b"{")
    with pytest.raises(DamagedRun, match=r"run\.json cannot be read"):
        recover(writer.folder)


def test_looking_for_open_runs_takes_a_time_in_proportion_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to an archive can put a hundred thousand there."""
    for number in range(300):
        (tmp_path / f"r{number}.partial").mkdir()
        (tmp_path / f"r{number}.partial" / (layout.RUN_FILE if number % 2 else layout.JOURNAL_FILE)).write_text("x")
    compared: list[int] = []
    equal = Path.__eq__

    def counted(one: Path, other: object) -> bool:
        compared.append(1)
        return equal(one, other)

    monkeypatch.setattr(Path, "__eq__", counted)
    monkeypatch.setattr(Path, "__hash__", lambda path: hash(str(path)))
    assert len(partial_folders(tmp_path)) == 300
    assert len(compared) < 3000
