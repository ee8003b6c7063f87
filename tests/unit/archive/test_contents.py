"""A closed run whose files are not those with which it was closed is INVALID, and what is missing is named."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import read_info, read_run
from seatrial.archive.recovery import recover
from seatrial.archive.writer import RunWriter
from seatrial.commands.check.headline import headline, overall
from seatrial.commands.check.judge import judge
from seatrial.driver.site import replay_launcher
from seatrial.frame.command_line import run
from seatrial.model.errors import ExitCode
from seatrial.model.run import Design, Ending
from seatrial.model.settings import CheckSettings
from seatrial.model.verdict import Verdict
from tests.support.builders import Cluster, abandoned, described_again, fill, info_of, names, record, sail
from tests.support.json_objects import parsed

CLUSTER = Cluster(nodes=names(3))
ALL = len(sail(CLUSTER).measurements)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return record(CLUSTER, tmp_path / "archive")


def journal_lines(folder: Path) -> list[bytes]:
    return (folder / layout.JOURNAL_FILE).read_bytes().splitlines(keepends=True)


def halve(folder: Path) -> str:
    lines = journal_lines(folder)
    kept = lines[: len(lines) // 2]
    (folder / layout.JOURNAL_FILE).write_bytes(b"".join(kept))
    left = sum(b'"entry":"measurement"' in line for line in kept)
    return f"journal.jsonl has {left} of {ALL} measurements"


def cut_in_a_line(folder: Path) -> str:
    (folder / layout.JOURNAL_FILE).write_bytes(b"".join(journal_lines(folder))[:-7])
    return "entries"


def in_journal(change: Callable[[bytes], bytes], complaint: str) -> Callable[[Path], str]:
    def damage(folder: Path) -> str:
        path = folder / layout.JOURNAL_FILE
        path.write_bytes(change(path.read_bytes()))
        return f"journal.jsonl {complaint}"

    return damage


def remove_journal(folder: Path) -> str:
    (folder / layout.JOURNAL_FILE).unlink()
    return f"journal.jsonl has 0 of {ALL} measurements"


def remove_facts(folder: Path) -> str:
    layout.facts_file(folder, "n2", layout.BEFORE).unlink()
    return "facts/n2.before.txt: missing"


def change_facts(folder: Path) -> str:
    layout.facts_file(folder, "n2", layout.AFTER).write_text("login: ")
    return "facts/n2.after.txt: changed after"


def add_facts(folder: Path) -> str:
    layout.facts_file(folder, "n9", layout.AFTER).write_text("login: ")
    return "facts/n9.after.txt: added after"


def change_list(folder: Path) -> str:
    (folder / layout.FILES_FILE).write_text("")
    return "files.sha256 is missing or was changed: it listed 6 files"


DAMAGES = [
    halve, cut_in_a_line, remove_journal, remove_facts, change_facts, add_facts, change_list,
    in_journal(lambda text: text.replace(b'"number":1,', b'"number":2,', 1), "was changed: its checksum differs"),
    in_journal(lambda text: text.replace(b'{"entry":"m', b'["entry":"m', 1), f"has {ALL - 1} of {ALL} measurements"),
    in_journal(lambda text: text * 2, f"has {2 * ALL} of {ALL} measurements"),
]  # fmt: skip


def test_what_was_closed_is_recorded(folder: Path) -> None:
    recorded = sail(CLUSTER)
    contents = read_info(folder).contents
    assert contents is not None
    content = (folder / layout.JOURNAL_FILE).read_bytes()
    assert (contents.journal_bytes, contents.journal_entries) == (len(content), content.count(b"\n"))
    assert (contents.measurements, contents.files) == (ALL, 6)
    assert contents.samples == sum(len(one.times_s) for one in recorded.measurements)
    told = subprocess.run(["sha256sum", "-c", layout.FILES_FILE], cwd=folder, check=False, capture_output=True)  # noqa: S607
    assert told.returncode == 0, told.stderr
    assert read_run(folder).damage == ()


def test_recovering_records_the_same_as_the_driver(folder: Path) -> None:
    writer = RunWriter(folder.parent, info_of(CLUSTER, run="cut"))
    fill(writer, CLUSTER, sail(CLUSTER))
    found = read_run(Path(recover(writer.folder).folder))
    assert found.damage == ()
    assert found.info.contents == read_info(folder).contents


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_run_is_invalid_and_the_missing_part_is_named(folder: Path, damage: Callable[[Path], str]) -> None:
    said = damage(folder)
    recorded = read_run(folder)
    assert any(said in one for one in recorded.damage)
    assert recorded.info.ending is Ending.DAMAGED
    judgement = judge(recorded)
    assert overall(judgement) is judgement.verdict is Verdict.INVALID
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert judgement.complete is False
    first = headline(recorded.info, judgement)
    assert first.word == "INVALID"
    assert said in first.what


@pytest.mark.parametrize(
    ("design", "damage"),
    [
        *((design, halve) for design in ("complete", "curve", "rails", "placement", "transports", "saturation", "")),
        ("complete", remove_journal), ("curve", remove_journal),
    ],
)  # fmt: skip
def test_every_command_says_so(
    folder: Path, design: str, damage: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    planned = Design(
        name=design, pairs_at_once=1, repetitions=1, rounds=1, ordered_pairs=1, planned_pairs=1, statement=""
    )
    described_again(folder, design=planned)
    said = damage(folder)
    archive = ("--archive", str(folder.parent))
    page = folder.parent / "page.html"
    assert run(["report", *archive, "--html", str(page)]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("INVALID the run is damaged: ")
    assert said in out
    assert "PASS" not in out
    assert "INVALID" in page.read_text()
    assert run(["report", "--json", *archive]) == 2
    report = parsed(capsys.readouterr().out)
    assert (report["verdict"], report["exit_code"], report["complete"]) == ("INVALID", 2, False)
    assert any(said in one for one in report["damage"])
    assert run(["runs", "show", "--json", *archive]) == 2
    assert any(said in one for one in parsed(capsys.readouterr().out)["damage"])
    assert run(["runs", "show", *archive]) == 2
    assert said in capsys.readouterr().out
    assert run(["runs", "export", *archive, "--output", str(folder.parent / "all.csv")]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "samples in" in told.out
    assert run(["runs", "list", *archive, "--json"]) == 0
    assert [one["state"] for one in parsed(capsys.readouterr().out)["runs"]] == ["damaged"]


def test_a_damaged_run_is_not_played(folder: Path) -> None:
    halve(folder)
    with pytest.raises(DamagedRun, match=r"is damaged: journal\.jsonl has"):
        replay_launcher(CheckSettings(archive=folder.parent, replay=folder))


def test_samples_and_logs_may_be_deleted(folder: Path) -> None:
    (folder / layout.SAMPLES_FILE).unlink()
    (folder / layout.LOGS_FOLDER).rmdir()
    assert read_run(folder).damage == ()


def test_an_entry_of_a_later_version_is_not_damage_but_is_refused(tmp_path: Path) -> None:
    writer = abandoned(RunWriter(tmp_path, info_of(CLUSTER)))
    fill(writer, CLUSTER, sail(CLUSTER))
    line = b'{"entry":"someday"}\n'
    writer._journal.write(line)
    writer._tally.add_line(line, None)
    folder = writer.close(writer.info)
    with pytest.raises(DamagedRun, match=r"journal\.jsonl cannot be read: .*newer"):
        read_run(folder)
