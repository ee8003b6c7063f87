"""Each run is recovered on its own: what is wrong with one is listed, and the others are closed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout, reader, recovery
from seatrial.archive.export import samples_file
from seatrial.archive.journal import Delivered, encode
from seatrial.archive.lease import Hold, Holder, claim_of
from seatrial.archive.reader import read_info, read_run
from seatrial.archive.recovery import TORN_FILE, Recovered, recover, recover_runs
from seatrial.archive.samples import query_samples
from seatrial.archive.writer import RunWriter
from seatrial.frame.command_line import run
from seatrial.model.errors import UsageError
from seatrial.model.run import Ending
from tests.support.builders import Cluster, abandoned, fill, info_of, names, record, sail
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed
from tests.support.run_archives import killed_before_the_last_name

CLUSTER = Cluster(nodes=names(3))
ALL = sail(CLUSTER).measurements


def cut_off(archive: Path, run: str = "run") -> Path:
    writer = RunWriter(archive, info_of(CLUSTER, run=run, ending=Ending.RUNNING, ended=""))
    fill(writer, CLUSTER, sail(CLUSTER))
    return abandoned(writer).folder


def append(folder: Path, line: bytes) -> None:
    with (folder / layout.JOURNAL_FILE).open("ab") as journal:
        journal.write(line)


def with_number(field: str, number: int) -> bytes:
    one = ALL[0]
    if field in type(one.shape).__struct_fields__:
        changed = msgspec.structs.replace(one, shape=msgspec.structs.replace(one.shape, **{field: number}))
    else:
        changed = msgspec.structs.replace(one, **{field: number})
    return encode(Delivered(number=7, measurement=changed))


FIELDS = ("repetition", "window", "warmup", "iterations", "message_bytes", "pairs_at_once", "errors")


@pytest.mark.parametrize("field", FIELDS)
def test_a_number_beyond_32_bits_is_kept(tmp_path: Path, field: str) -> None:
    folder = cut_off(tmp_path)
    append(folder, with_number(field, 2**40))
    closed = Path(recover(folder).folder)
    assert len(read_run(closed).measurements) == len(ALL) + 1
    samples = sum(len(one.times_s) for one in (*ALL, ALL[0]))
    assert query_samples([samples_file(closed)], "SELECT count(*) FROM samples WHERE NOT warm") == [(samples,)]


@pytest.mark.parametrize("field", FIELDS)
def test_a_number_beyond_64_bits_costs_its_own_line_only(tmp_path: Path, field: str) -> None:
    folder = cut_off(tmp_path)
    append(folder, with_number(field, 2**63))
    recovered = recover(folder)
    closed = Path(recovered.folder)
    assert (recovered.measurements, recovered.torn_lines) == (len(ALL), 1)
    assert (closed / layout.LOGS_FOLDER / TORN_FILE).read_bytes() == with_number(field, 2**63)
    assert samples_file(closed).exists()


def test_a_line_that_duckdb_refuses_costs_no_measurement(tmp_path: Path) -> None:
    folder = cut_off(tmp_path)
    line = encode(Delivered(number=7, measurement=ALL[0]))
    append(folder, line.replace(b'"number":7,', b'"number":7,"later":"\xff",', 1))
    closed = Path(recover(folder).folder)
    found = read_run(closed)
    assert (len(found.measurements), found.damage) == (len(ALL) + 1, ())
    assert "samples.parquet was left out" in found.info.reason
    assert not (closed / layout.SAMPLES_FILE).exists()


def test_a_torn_line_without_a_folder_for_it(tmp_path: Path) -> None:
    folder = cut_off(tmp_path)
    append(folder, b'{"entry":"meas')
    shutil.rmtree(folder / layout.LOGS_FOLDER)
    recovered = recover(folder)
    assert (recovered.torn_lines, recovered.measurements) == (1, len(ALL))


@pytest.mark.parametrize("kind", ["run", "folder", "file", "link"])
def test_a_name_that_is_taken_costs_the_name_only(tmp_path: Path, kind: str) -> None:
    folder, later = cut_off(tmp_path), cut_off(tmp_path, "later")
    match kind:
        case "run":
            record(CLUSTER, tmp_path / "other")
            (tmp_path / "other" / "run").rename(tmp_path / "run")
        case "folder":
            (tmp_path / "run" / "sub").mkdir(parents=True)
        case "file":
            (tmp_path / "run").write_text("x")
        case "link":
            (tmp_path / "run").symlink_to("nowhere")
    recovered = recover(folder)
    assert (recovered.run, Path(recovered.folder).name) == ("run-recovered", "run-recovered")
    found = read_run(Path(recovered.folder))
    assert (found.measurements, found.damage, found.info.run) == (ALL, (), "run-recovered")
    assert "The name run was taken" in found.info.reason
    assert query_samples([samples_file(Path(recovered.folder))], "SELECT DISTINCT run FROM samples") == [
        ("run-recovered",)
    ]
    assert re.fullmatch(r"run-recovered-[0-9a-f]{8}", recover(later.rename(folder)).run)


def no_run_json(folder: Path) -> None:
    (folder / layout.RUN_FILE).unlink()


def deep_run_json(folder: Path) -> None:
    (folder / layout.RUN_FILE).write_bytes(b'{"format":1,"x":' + b"[" * 20_000)


def run_json_of_tomorrow(folder: Path) -> None:
    (folder / layout.RUN_FILE).write_text('{"format": 99}')


def journal_is_a_folder(folder: Path) -> None:
    (folder / layout.JOURNAL_FILE).unlink()
    (folder / layout.JOURNAL_FILE).mkdir()


def journal_is_a_pipe(folder: Path) -> None:
    (folder / layout.JOURNAL_FILE).unlink()
    os.mkfifo(folder / layout.JOURNAL_FILE)


def a_folder_in_the_way(folder: Path) -> None:
    (folder / layout.FILES_FILE / "x").mkdir(parents=True)


DAMAGES = [
    no_run_json,
    deep_run_json,
    run_json_of_tomorrow,
    journal_is_a_folder,
    journal_is_a_pipe,
    a_folder_in_the_way,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_run_that_cannot_be_closed_is_listed_and_the_others_are(
    tmp_path: Path, damage: Callable[[Path], None], seatrial: Seatrial
) -> None:
    bad = cut_off(tmp_path, "b")
    cut_off(tmp_path, "a")
    cut_off(tmp_path, "c")
    damage(bad)
    before = {path.name for path in bad.iterdir()}
    found = seatrial("runs", "recover", "--archive", tmp_path, "--json", code=2).data
    assert sorted(one["run"] for one in found["recovered"]) == ["a", "c"]
    (listed,) = found["damaged"]
    assert (listed["run"], listed["folder"]) == ("b", str(bad))
    assert listed["what"]
    assert listed["remedy"]
    assert before <= {path.name for path in bad.iterdir()}, "nothing is taken away"
    assert "seatrial: b is not closed: " in seatrial("runs", "recover", "--archive", tmp_path, code=2).err


def test_an_error_that_nobody_thought_of_stops_no_other_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        cut_off(tmp_path, name)

    def sometimes(folder: Path) -> Recovered:
        if folder.name.startswith("b"):
            raise ZeroDivisionError("division by zero")
        return recover(folder)

    monkeypatch.setattr(recovery, "recover", sometimes)
    found = recover_runs(tmp_path)
    assert [one.run for one in found.recovered] == ["a", "c"]
    assert [(one.run, "ZeroDivisionError" in one.what) for one in found.damaged] == [("b", True)]


def test_one_run_alone_can_be_named(tmp_path: Path, seatrial: Seatrial) -> None:
    for name in ("a", "b"):
        cut_off(tmp_path, name)
    assert seatrial("runs", "recover", "b", "--archive", tmp_path).out.startswith("b: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.partial", "b"]
    ran = seatrial("runs", "recover", "b", "--archive", tmp_path)
    assert ran.out == "b: another process is closing it or has closed it\n"
    assert run(["runs", "recover", "nosuch", "--archive", str(tmp_path)]) == 64
    with pytest.raises(UsageError, match="There is no run 'nosuch'"):
        recover_runs(tmp_path, "nosuch")


def claimed(folder: Path) -> Path:
    """The run as another `recover` has it that goes on."""
    claim = folder.rename(claim_of(folder))
    Hold(claim, Holder.RECOVER)
    return claim


def test_who_comes_second_leaves_politely(tmp_path: Path, seatrial: Seatrial) -> None:
    claimed(cut_off(tmp_path))
    ran = seatrial("runs", "recover", "--archive", tmp_path)
    assert ran.out == "run: another process is closing it or has closed it\n"
    assert "closing on " in seatrial("runs", "list", "--archive", tmp_path).out
    seatrial("runs", "show", "run", "--archive", tmp_path, code=2)


def test_a_recover_that_was_killed_blocks_nothing(tmp_path: Path) -> None:
    claim = cut_off(tmp_path)
    living = claim.rename(claim_of(claim))  # the lease is still that of the dead driver
    assert [one.run for one in recover_runs(tmp_path).busy] == ["run"]
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    living.rename(tmp_path / living.name.replace(f"-{os.getpid()}-", f"-{ended.pid}-"))  # killed at once
    (recovered,) = recover_runs(tmp_path).recovered
    assert (recovered.run, recovered.measurements) == ("run", len(ALL))


@pytest.mark.parametrize("when", ["read_info", "_sift", "close_folder"])
def test_who_is_overtaken_leaves_politely_and_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    from seatrial.archive import recovery as module

    folder = cut_off(tmp_path)
    real = getattr(module, when)
    done: list[object] = []

    def overtaken(*given: object) -> object:
        if not done and (claims := list(tmp_path.glob("*.closing"))):
            done.append(True)
            done.append(recover(*claims))
        return real(*given)

    monkeypatch.setattr(module, when, overtaken)
    assert [one.run for one in recover_runs(tmp_path).busy] == ["run"]
    assert done
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert read_run(tmp_path / "run").measurements == ALL
    assert not folder.exists()


def test_many_at_once_close_it_once(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        cut_off(tmp_path, name)
    argv = [sys.executable, "-P", "-m", "seatrial", "runs", "recover", "--archive", str(tmp_path), "--json"]
    children = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    told = [child.communicate(timeout=120) for child in children]
    assert [child.returncode for child in children] == [0] * 4, told
    found = [parsed(out) for out, _ in told]
    assert sorted(one["run"] for each in found for one in each["recovered"]) == ["a", "b", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    for name in ("a", "b", "c"):
        assert read_run(tmp_path / name).measurements == ALL


def test_a_run_that_the_driver_had_described_as_ended_keeps_its_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter(tmp_path, info_of(CLUSTER))
    fill(writer, CLUSTER, sail(CLUSTER))
    with killed_before_the_last_name(monkeypatch):
        writer.close(writer.info)
    abandoned(writer)
    (recovered,) = recover_runs(tmp_path).recovered
    assert read_info(Path(recovered.folder)).ending is Ending.COMPLETE


def test_a_run_that_is_closed_while_the_archive_is_listed_is_listed_once_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    cut_off(tmp_path)
    real = reader.run_folders

    def just_before(archive: Path) -> list[Path]:
        found = real(archive)
        recover(found[0])
        return found

    monkeypatch.setattr(reader, "run_folders", just_before)
    (row,) = seatrial("runs", "list", "--archive", tmp_path, "--json").data["runs"]
    assert (row["run"], row["ending"], row["state"], row["host"]) == ("run", "recovered", "closed", "")
    assert row["samples"] == sum(len(one.times_s) for one in ALL)


def test_the_state_of_every_run_is_listed(tmp_path: Path, seatrial: Seatrial) -> None:
    record(CLUSTER, tmp_path, "closed")
    cut_off(tmp_path, "dead")
    writer = RunWriter(tmp_path, info_of(CLUSTER, run="alive", ending=Ending.RUNNING))
    listed, _, below = seatrial("runs", "list", "--archive", tmp_path).out.partition("\n\n")
    assert below.startswith("1 run cut off; `seatrial runs recover` ")
    told = {line.split()[0]: line for line in listed.splitlines()}
    held = writer._held.lease
    assert f" running on {held.host} since {held.since}, " in told["alive"]
    assert " cut-off, " in told["dead"]
    assert " complete, " in told["closed"]
    ran = seatrial("runs", "list", "--archive", tmp_path, "--json")
    states = {one["run"]: (one["state"], one["host"]) for one in ran.data["runs"]}
    assert states == {"alive": ("running", held.host), "dead": ("cut-off", ""), "closed": ("closed", "")}
