"""What others plant, exchange or rename in folders that they may write to: nothing of this user's is touched or told.

Exchanges happen at the one moment that counts: right after a file was opened or looked at, as a quick attacker would.
"""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import changed_settings, contents, layout, lease, listing
from seatrial.archive.changed_settings import ChangedByCommand, ChangedFile
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import info_as_written, read_info
from seatrial.archive.run_sets import find_runs
from seatrial.archive.working_folder import remove_leftovers
from seatrial.archive.writer import RunTaken, RunWriter
from seatrial.driver import detached
from seatrial.driver.benchmark.scratch import own_scratch
from seatrial.driver.progress import Silent
from seatrial.driver.reach import writing
from seatrial.driver.submitted import Submitted, find_submitted, submission, write_submitted
from seatrial.files.writing import open_own
from seatrial.frame.command_line import run
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run import Ending
from tests.support.builders import Cluster, abandoned, described_again, fill, info_of, names, record, sail
from tests.support.other_users import FIRST, SECOND, carried_out, give, public
from tests.support.paths import ROOT
from tests.support.run_archives import healthy_run

__all__ = ["public"]  # a fixture
CLUSTER = Cluster(nodes=names(3))
PRIVATE = "of nobody else"


PIPE_FOR_SAMPLES = """
import os, sys
from pathlib import Path
path, real, looked = Path(sys.argv[1]), os.fstat, []
def fstat(handle):
    status = real(handle)
    if path.exists() and path.is_file() and os.path.samestat(status, path.stat()):
        path.rename(path.with_name("away"))
        os.mkfifo(path)
    return status
os.fstat = fstat
from seatrial.frame.command_line import run
code = run(sys.argv[2:])
print("EXCHANGED", path.is_fifo(), code)
"""


def test_a_pipe_in_place_of_samples_that_were_looked_at_blocks_nobody(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path / "archive", "run")
    words = ["runs", "show", "run", "--archive", str(folder.parent)]
    argv = [sys.executable, "-c", PIPE_FOR_SAMPLES, str(folder / layout.SAMPLES_FILE), *words]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=600, check=True, cwd=ROOT)
    assert "EXCHANGED True" in done.stdout


@pytest.mark.parametrize(
    "command", ["runs show run", "runs export run --output /dev/null", "history bandwidth --runs run"]
)
def test_a_journal_without_lines_is_not_read_to_its_end(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = record(CLUSTER, tmp_path, "run")
    described_again(folder, contents=None)
    (folder / layout.SAMPLES_FILE).unlink()
    os.truncate(folder / layout.JOURNAL_FILE, 0)
    os.truncate(folder / layout.JOURNAL_FILE, 200 << 20)
    assert run([*command.split(), "--archive", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "A line of" in said.out + said.err


def test_facts_are_compared_within_one_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = record(CLUSTER, tmp_path, "run")
    recorded = read_info(folder).contents
    assert recorded is not None
    assert contents.files_damage(folder, recorded) == ()
    monkeypatch.setattr(contents, "ALL_FACTS_BYTES", 0)
    monkeypatch.setattr(contents, "WIRING_BYTES", 10)
    assert "changed after the run was closed" in contents.files_damage(folder, recorded)[0]


def test_a_list_keeps_little_of_large_descriptions(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path, "run")
    described_again(folder, nodes=tuple(f"n{number}" for number in range(10_000)))
    for number in range(20):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / layout.RUN_FILE).hardlink_to(folder / layout.RUN_FILE)

    def peak() -> int:
        tracemalloc.start()
        try:
            assert len(listing.list_archive(tmp_path)) == len([*tmp_path.iterdir()])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    many = peak()
    for number in range(20):
        (tmp_path / f"run{number}" / layout.RUN_FILE).unlink()
        (tmp_path / f"run{number}").rmdir()
    assert many < 2 * peak()


@pytest.fixture
def submitted(public: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive with a job of this user's that Slurm knows no more."""
    archive = public / "archive"
    monkeypatch.setattr(detached, "jobs_of", lambda _: ())
    monkeypatch.setattr(detached, "await_the_last_file", lambda: None)
    queue(archive, "mine", "2026-01-01T00:00:00Z")
    return archive


def queue(archive: Path, name: str, at: str, run_: str = "") -> Path:
    with submission(archive, name, "seatrial-1", "0") as folder:
        write_submitted(folder, Submitted(run=run_ or name, job="1", at=at, nodes=("n1",)))
    return folder


@pytest.mark.parametrize("state", ["closed", "open", "link"])
def test_a_run_of_somebody_else_is_not_the_result_of_ones_job(submitted: Path, state: str) -> None:
    planted = submitted / ("mine" if state != "open" else f"mine{layout.PARTIAL}")
    if state == "link":
        planted.symlink_to(record(CLUSTER, submitted, "elsewhere"))
    else:
        record(CLUSTER, submitted, "theirs").rename(planted)
        give(planted, FIRST)
    found = detached.collect(*find_submitted(submitted, "mine"), Silent())
    assert found.folder is None
    assert "ended without results" in found.state


def test_the_run_of_ones_job_is_collected(submitted: Path) -> None:
    closed = record(CLUSTER, submitted, "mine")
    assert detached.collect(*find_submitted(submitted, "mine"), Silent()).folder == closed


def test_a_job_file_names_no_run_elsewhere(submitted: Path) -> None:
    record(CLUSTER, submitted.parent / "private", "run")
    queue(submitted, "evil", "2026-01-02T00:00:00Z", "../private/run")
    with pytest.raises(DamagedRun, match="names another run"):
        find_submitted(submitted, "evil")


def test_the_last_job_is_ones_own(submitted: Path) -> None:
    give(queue(submitted, "theirs", "9999-01-01T00:00:00Z"), FIRST)
    assert find_submitted(submitted, "last")[1].run == "mine"
    (submitted / "mine.submitted" / "job.json").unlink()
    (submitted / "mine.submitted").rmdir()
    assert find_submitted(submitted, "last")[1].run == "theirs"


def test_a_run_with_the_name_of_a_leftover_is_not_removed(tmp_path: Path) -> None:
    """Members of a group can rename in its folder what they may not change."""
    folder = record(CLUSTER, tmp_path, "run").rename(tmp_path / ".seatrial-scratch-0123456789abcdef")
    os.utime(folder, (1, 1))
    assert remove_leftovers([tmp_path]) == 0
    assert info_as_written(folder).run == "run"


def test_an_imported_run_with_another_name_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.05)
    table = tmp_path / "stream.csv"
    table.write_text("node,triad\n" + "".join(f"n{number},{100 + number}\n" for number in range(1, 6)))
    words = ["import", str(table), "--column", "triad", "--archive", str(tmp_path / "archive"), "--name"]
    assert run([*words, "good"]) == 0
    kept = (tmp_path / "archive" / "good-0001").rename(tmp_path / "archive" / f"other-0001{layout.PARTIAL}")
    os.utime(kept, (1, 1))
    for path in kept.iterdir():
        os.utime(path, (1, 1))
    run([*words, "other"])
    assert info_as_written(kept).run == "good-0001"


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_foreign_folder_in_place_of_the_closed_run(public: Path, mode: int) -> None:
    """It may be empty, or not to be looked into; in a sticky folder nobody else can replace it."""
    archive = public / "archive"
    archive.mkdir()
    archive.chmod(0o1777)
    os.chown(archive, FIRST, FIRST)
    writer = RunWriter(archive, info_of(CLUSTER, run="run", ending=Ending.RUNNING, ended=""))
    fill(writer, CLUSTER, sail(CLUSTER))
    abandoned(writer)
    give(writer.folder, SECOND)
    (archive / "run").mkdir()
    (archive / "run").chmod(mode)
    os.chown(archive / "run", FIRST, FIRST)
    ((code, _, text),) = carried_out(
        SECOND, [["runs", "recover", "run", "--force", "--archive", str(archive)]], public / "home"
    )
    assert code == 0, text
    assert read_info(archive / "run-recovered").ending is Ending.RECOVERED


@pytest.mark.parametrize("reader", [0, SECOND], ids=["root", "user"])
def test_a_cache_that_somebody_can_lead_elsewhere_is_not_used(
    public: Path, reader: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of theirs leads to a folder of the reader's, whose oldest files would be removed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(public / "cache"))
    mine = public / "mine" / "runs"
    mine.mkdir(parents=True)
    for number in range(3):
        (mine / f"data{number}").touch()
        os.truncate(mine / f"data{number}", 2 << 30)
    give(public / "mine", reader)
    (public / "cache").mkdir()
    (public / "cache" / "seatrial").symlink_to(public / "mine")
    give(public / "cache", FIRST)
    give(record(CLUSTER, public / "archive", "run"), FIRST)
    (public / "archive" / "run" / "headline.json").unlink(missing_ok=True)
    line = ["runs", "list", "--archive", str(public / "archive")]
    code, _, text = carried_out(reader, [line], public / "home", cache=public / "cache")[0]
    assert code == 0, text
    assert sorted(path.name for path in mine.iterdir()) == ["data0", "data1", "data2"]


def test_notes_that_somebody_can_lead_elsewhere_are_not_carried_out(public: Path) -> None:
    """An old note of this user's would be executed once more."""
    before = changed_settings.describe("toggle-1")
    change = ChangedByCommand(usual=("true",), changed=("true",), folder="/")
    note = msgspec.structs.replace(before, changes=(change,))
    changed_settings.write(public / "old" / "changed-settings", note)
    assert len(changed_settings.read(public / "old" / "changed-settings")) == 1
    (public / "state").mkdir()
    (public / "state" / "seatrial").symlink_to(public / "old")
    give(public / "state", FIRST)
    assert changed_settings.read(public / "state" / "seatrial" / "changed-settings") == []


@pytest.mark.parametrize("planted", ["", "link"])
def test_a_note_on_a_node_is_written_and_removed_in_its_folder_alone(tmp_path: Path, planted: str) -> None:
    """Names of nodes are those of files in an archive, and may hold anything."""
    setting = tmp_path / "setting"
    setting.write_text("600\n")
    change = ChangedFile(
        node="../../victim", fact="f", root=str(tmp_path), paths=("/setting",), usual="600", changed="1500"
    )
    (tmp_path / "run").mkdir()
    (tmp_path / "var" / "tmp").mkdir(parents=True)
    for value, note in (("1500", "changed"), ("600", "")):
        subprocess.run(writing(change, "proof-1", value), input=note, text=True, check=True)
        notes = [*tmp_path.rglob("*.note")]
        assert [path.parent for path in notes] == [tmp_path / "run" / "seatrial"] * bool(note)
        assert setting.read_text() == f"{value}\n"
    if planted:
        (tmp_path / "private").mkdir()
        (tmp_path / "private" / "%2E%2E%2F%2E%2E%2Fvictim.proof-1.note").write_text("mine")
        (tmp_path / "var" / "tmp" / "seatrial").symlink_to(tmp_path / "private")
        subprocess.run(writing(change, "proof-1", "600"), input="", text=True, check=True)
        assert len([*(tmp_path / "private").iterdir()]) == 1


def test_a_log_is_not_written_into_what_takes_the_place_of_a_run(tmp_path: Path) -> None:
    """In a folder of a group its members can rename a run while it is measured."""
    private = tmp_path / "private"
    (private / layout.LOGS_FOLDER).mkdir(parents=True)
    (private / layout.LOGS_FOLDER / "launch-1.err").write_text(PRIVATE)
    writer = RunWriter(tmp_path / "archive", info_of(CLUSTER, run="run", ending=Ending.RUNNING, ended=""))
    log = writer.log_file("launch-1.err")
    writer.folder.rename(tmp_path / "archive" / "away")
    writer.folder.symlink_to(private)
    os.write(handle := open_own(log, os.O_WRONLY | os.O_CREAT), b"said")
    os.close(handle)
    assert (private / layout.LOGS_FOLDER / "launch-1.err").read_text() == PRIVATE
    assert (tmp_path / "archive" / "away" / layout.LOGS_FOLDER / "launch-1.err").read_text() == "said"


def test_another_run_of_ones_own_that_takes_the_place_of_an_open_one_is_left_alone(tmp_path: Path) -> None:
    other = record(CLUSTER, tmp_path, "other")
    before = (other / layout.RUN_FILE).read_bytes()
    writer = RunWriter(tmp_path, info_of(CLUSTER, run="run", ending=Ending.RUNNING, ended=""))
    writer.folder.rename(tmp_path / "away")
    other.rename(writer.folder)
    with pytest.raises(RunTaken):
        writer.write_log("plan", b"text")
    with pytest.raises(RunTaken):
        writer.describe(writer.info)
    assert (writer.folder / layout.RUN_FILE).read_bytes() == before
    assert not (writer.folder / layout.LOGS_FOLDER / "plan").exists()


@pytest.mark.parametrize(("mode", "usable"), [(0o1777, True), (0o3775, True), (0o2775, False), (0o755, True)])
def test_a_scratch_folder_that_others_can_exchange_is_refused(public: Path, mode: int, usable: bool) -> None:
    """Programs read their inputs there, which may say what is executed."""
    archive = public / "archive"
    archive.mkdir()
    archive.chmod(mode)
    os.chown(archive, -1, FIRST)
    if usable:
        assert own_scratch(archive).parent == archive
    else:
        with pytest.raises(SeatrialError, match="others than root may write to") as refused:
            own_scratch(archive)
        assert f"chmod +t {archive}" in refused.value.remedy


@pytest.mark.parametrize(("of_link", "of_run", "listed"), [(FIRST, 0, 1), (0, FIRST, 2), (FIRST, FIRST, 2)])
def test_a_link_of_somebody_else_shows_no_private_run(public: Path, of_link: int, of_run: int, listed: int) -> None:
    archive = public / "archive"
    private = record(CLUSTER, public / "private", "run")
    give(private, of_run)
    record(CLUSTER, archive, "other")
    (archive / "run").symlink_to(private)
    os.chown(archive / "run", of_link, of_link, follow_symlinks=False)
    assert len(listing.list_archive(archive)) == listed


def test_a_baseline_with_the_name_of_a_run_takes_nobodys_place(tmp_path: Path) -> None:
    """`baseline set` refuses such names; whoever may write to the archive can put a folder there all the same."""
    archive = tmp_path / "archive"
    for number in (1, 2):
        healthy_run(archive, number, nodes=2)
    last = find_runs(archive, "last").summaries
    for name in ("h1", "last"):
        (archive / "baselines" / name / "0007").mkdir(parents=True)
    with pytest.raises(UsageError, match="both a run and a baseline") as refusal:
        find_runs(archive, "h1")
    assert refusal.value.remedy == f"Write {archive / 'h1'} for the run, h1@7 for the baseline."
    assert [run.run for run in find_runs(archive, str(archive / "h1")).summaries] == ["h1"]
    assert find_runs(archive, "last").summaries == last


def test_a_folder_of_baselines_that_nobody_may_read_hides_no_run(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    healthy_run(archive, 1, nodes=2)
    (archive / "baselines").symlink_to("baselines")  # a loop: root may read everything
    assert [run.run for run in find_runs(archive, "h1").summaries] == ["h1"]
    with pytest.raises(DamagedRun):
        find_runs(archive, "unknown")
