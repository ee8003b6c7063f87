"""One damaged run, whatever its damage, hides no other run of its archive and blocks no command."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout, listing
from seatrial.archive.layout import DamagedRun, read_inside
from seatrial.archive.listing import list_archive
from seatrial.archive.reader import find_run, read_run
from seatrial.archive.writer import RunWriter
from seatrial.driver.submitted import Submitted, find_submitted, write_submitted
from seatrial.files.inputs import DESCRIPTION_BYTES, read_end
from tests.support.builders import Cluster, abandoned, fill, info_of, names, record, sail
from tests.support.json_objects import parsed
from tests.unit.files.test_inputs import make_fifo, seatrial

CLUSTER = Cluster(nodes=names(2))
DEEP = b'{"format": 1, "later": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
HEALTHY = ("first", "last")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 30)


def link_out(path: Path) -> None:
    path.symlink_to("/etc/hostname")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "pipe": make_fifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link": link_out,
    "loop": lambda path: path.symlink_to(path.name),
    "folder": Path.mkdir,
    "huge": huge,
    "deep": lambda path: path.write_bytes(DEEP),
    "empty": Path.touch,
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 40),
}
PARQUET_DAMAGES = [*DAMAGES, "ends only"]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Runs `first`, `bad` and `last`, begun in that order."""
    folder = tmp_path / "archive"
    recorded = sail(CLUSTER)
    for hour, name in enumerate(("first", "bad", "last")):
        run = record(CLUSTER, folder, name, recorded) / layout.RUN_FILE
        content = msgspec.json.decode(run.read_bytes()) | {"started": f"2026-01-01T0{hour}:00:00Z"}
        run.write_bytes(msgspec.json.encode(content))
    return folder


def damage(path: Path, kind: str) -> None:
    if kind == "ends only":
        path.write_bytes(b"PAR1" + bytes(500) + b"PAR1")
        return
    path.unlink(missing_ok=True)
    DAMAGES[kind](path)


def check_neighbours(archive: Path, problem: str) -> None:
    """The two healthy runs are listed whole, the bad one with what is wrong; `last` is the healthy one."""
    rows = {row.run: row for row in list_archive(archive)}
    assert set(rows) == {"first", "bad", "last"}
    counts = {rows[name].samples for name in HEALTHY}
    assert len(counts) == 1
    assert counts.pop()
    assert all((rows[name].ending, rows[name].problem) == ("complete", "") for name in HEALTHY)
    assert rows["bad"].ending == "damaged"
    assert problem in rows["bad"].problem
    assert find_run(archive, "last") == archive / "last"


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_description_is_isolated(kind: str, archive: Path) -> None:
    damage(archive / "bad" / layout.RUN_FILE, kind)
    check_neighbours(archive, layout.RUN_FILE)
    with pytest.raises(DamagedRun):
        read_run(find_run(archive, "bad"))


@pytest.mark.parametrize("kind", PARQUET_DAMAGES)
def test_damaged_samples_are_isolated(kind: str, archive: Path) -> None:
    damage(archive / "bad" / layout.SAMPLES_FILE, kind)
    check_neighbours(archive, layout.SAMPLES_FILE)


def test_every_one_of_many_damaged_runs_is_named(tmp_path: Path) -> None:
    recorded = sail(CLUSTER)
    folders = [record(CLUSTER, tmp_path, f"run{number}", recorded) for number in range(12)]
    bad = folders[1::3]
    for folder in bad:
        damage(folder / layout.SAMPLES_FILE, "ends only")
    assert {row.run for row in list_archive(tmp_path) if row.problem} == {folder.name for folder in bad}


@pytest.mark.parametrize("kind", ["pipe", "huge", "deep"])
def test_commands_survive_a_damaged_neighbour(kind: str, archive: Path) -> None:
    damage(archive / "bad" / layout.RUN_FILE, kind)
    healthy = (["report"], ["runs", "show"], ["runs", "export"], ["runs", "recover"])
    commands = (["runs", "list"], ["runs", "list", "--json"], *healthy, ["report", "bad"])
    listed, as_json, *others, bad = (seatrial(*words, folder=archive.parent) for words in commands)
    assert listed.returncode == 0, listed.stderr
    assert "\n1 damaged run:\n   bad  " in listed.stdout
    rows = {row["run"]: row for row in parsed(as_json.stdout)["runs"]}
    assert [rows[name]["problem"] for name in HEALTHY] == ["", ""]
    assert layout.RUN_FILE in rows["bad"]["problem"]
    for done in others:
        assert done.returncode in (0, 1), (done.args, done.stderr)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert layout.RUN_FILE in bad.stderr


def test_reading_takes_memory_for_what_is_there_and_not_for_what_may_be(tmp_path: Path) -> None:
    """A journal may have 16 GiB; a shell, or a kernel that does not overcommit, need not allow that much."""
    writer = RunWriter(tmp_path / "archive", info_of(CLUSTER))
    fill(writer, CLUSTER, sail(CLUSTER))
    abandoned(writer)
    done = seatrial("runs", "recover", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("pipe", "facts/n1.before.txt"),
        ("folder", "facts/n1.before.txt"),
        ("device", layout.JOURNAL_FILE),
        ("link", layout.JOURNAL_FILE),
        ("pipe", layout.FABRIC_FILE),
        ("link", layout.FABRIC_FILE),
    ],
)
def test_report_refuses_what_is_no_file_of_the_run(kind: str, name: str, archive: Path) -> None:
    damage(archive / "bad" / name, kind)
    done = seatrial("report", "bad", folder=archive.parent)
    assert done.returncode == 2, done.stderr
    assert name in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_list_of_checksums_that_is_no_file_is_damage(kind: str, archive: Path) -> None:
    damage(archive / "bad" / layout.FILES_FILE, kind)
    done = seatrial("report", "bad", folder=archive.parent)
    assert done.returncode == 2, done.stderr
    assert f"INVALID  the run is damaged: {layout.FILES_FILE} is missing or was changed" in done.stdout


@pytest.mark.parametrize("kind", ["pipe", "device", "deep"])
def test_a_first_line_that_is_no_file_is_made_again(kind: str, archive: Path) -> None:
    damage(archive / "bad" / listing.FILE, kind)
    done = seatrial("runs", "list", "--json", folder=archive.parent)
    assert done.returncode == 0, done.stderr
    lines = {row["headline"] for row in parsed(done.stdout)["runs"]}
    assert len(lines) == 1
    assert lines.pop()


def test_a_facts_folder_that_is_a_link_out_is_refused(archive: Path, tmp_path: Path) -> None:
    facts = archive / "bad" / layout.FACTS_FOLDER
    facts.rename(tmp_path / "elsewhere")
    facts.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRun, match="leads out of"):
        read_run(archive / "bad")


def test_links_inside_a_run_and_to_a_run_are_followed(archive: Path, tmp_path: Path) -> None:
    bad = archive / "bad"
    (bad / "kept.json").write_bytes((bad / layout.RUN_FILE).read_bytes())
    (bad / layout.RUN_FILE).unlink()
    (bad / layout.RUN_FILE).symlink_to("kept.json")
    bad.rename(tmp_path / "elsewhere")
    bad.symlink_to(tmp_path / "elsewhere")
    assert read_run(bad).info.run == "bad"
    assert [row.problem for row in list_archive(archive)] == ["", "", ""]


@pytest.mark.parametrize("kind", ["ends only", "noise", "empty", "pipe", "device", "link"])
def test_samples_that_are_no_samples_are_made_again(kind: str, archive: Path) -> None:
    damage(archive / "bad" / layout.SAMPLES_FILE, kind)
    done = seatrial("runs", "show", "bad", "--json", folder=archive.parent)
    assert done.returncode == 0, done.stderr
    assert parsed(done.stdout)["kernels"]
    assert [row.problem for row in list_archive(archive)] == ["", "", ""]


def test_a_line_of_a_journal_without_an_end_is_refused(archive: Path) -> None:
    journal = archive / "bad" / layout.JOURNAL_FILE
    os.truncate(journal, 10 << 30)
    done = seatrial("report", "bad", folder=archive.parent)
    assert done.returncode == 2, done.stderr
    assert "at most 64 MiB are read" in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "link", "huge", "deep", "empty"])
def test_a_damaged_job_file_is_isolated(kind: str, tmp_path: Path) -> None:
    for name in ("good", "bad"):
        folder = tmp_path / f"{name}.submitted"
        folder.mkdir()
        write_submitted(folder, Submitted(run=name, job="1", at="2026-01-01T00:00:00Z", nodes=("n1",)))
    damage(tmp_path / "bad.submitted" / "job.json", kind)
    assert find_submitted(tmp_path, "last")[1].run == "good"
    with pytest.raises(DamagedRun, match=r"job\.json"):
        find_submitted(tmp_path, "bad")
    damage(tmp_path / "good.submitted" / "job.json", kind)
    with pytest.raises(DamagedRun, match=r"job\.json"):
        find_submitted(tmp_path, "last")


def test_the_limit_of_a_description_is_that_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.touch()
    os.truncate(path, DESCRIPTION_BYTES)
    assert len(read_inside(tmp_path, path, DESCRIPTION_BYTES)) == DESCRIPTION_BYTES
    os.truncate(path, DESCRIPTION_BYTES + 1)
    with pytest.raises(DamagedRun, match="at most 64 MiB"):
        read_inside(tmp_path, path, DESCRIPTION_BYTES)


def test_the_end_of_a_log_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 100_000 + b"end")
    assert read_end(tmp_path / "log", folder=tmp_path).endswith("end")
    assert len(read_end(tmp_path / "log", folder=tmp_path)) < 100_000
    for name, make in (("pipe", make_fifo), ("link", link_out)):
        make(tmp_path / name)
        assert read_end(tmp_path / name, folder=tmp_path) == ""
    assert read_end(tmp_path / "missing", folder=tmp_path) == ""
