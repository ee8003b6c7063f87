"""Two users work in one archive: each lists what both have, and changes only what is his own."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.writer import RunWriter
from seatrial.driver.benchmark.scratch import own_scratch
from seatrial.files import owners
from seatrial.files.named import named_file
from seatrial.files.writing import Foreign, new_folder, own_folder, shared_folder
from seatrial.frame.command_line import run
from seatrial.model.errors import SeatrialError
from tests.support.builders import Cluster, abandoned, fill, info_of, names, sail
from tests.support.other_users import FIRST, SECOND, carried_out, give, public, snapshot

__all__ = ["public"]  # a fixture
GROUP = 12345
DONE = [0, 0, 2]
"""A search that was begun is incomplete."""
TABLE = "node,run,triad\n" + "".join(
    f"n{node},{number},{100 + node + number}\n" for number in (1, 2, 3) for node in range(1, 6)
)
SHARES: Mapping[str, tuple[int, int, tuple[int, ...]]] = {
    "everybody": (0o1777, 0, ()),
    "a group": (0o2775, GROUP, (GROUP,)),
    "a group, by an owner with a private umask": (0o2775, GROUP, (GROUP,)),
}


def work(archive: Path, name: str, table: Path) -> list[list[str]]:
    """What a user does in an archive: runs, a baseline, a search."""
    lines = [
        ["import", str(table), "--column", "triad", "--unit", "B/s", "--name", name],
        ["baseline", "set", f"of-{name}", f"{name}-0001,{name}-0002,{name}-0003"],
        ["swap", "start", f"search-{name}", "node=n1,card=c1", "node=n2,card=c2"],
    ]
    return [[*line, "--archive", str(archive)] for line in lines]


@pytest.mark.parametrize("share", SHARES)
def test_two_users_work_in_one_archive(public: Path, share: str) -> None:
    mode, group, groups = SHARES[share]
    archive, table = public / "archive", public / "stream.csv"
    table.write_text(TABLE)
    archive.mkdir()
    os.chown(archive, 0, group)
    archive.chmod(mode)
    umask = 0o077 if "private" in share else 0o002
    first = carried_out(FIRST, work(archive, "a", table), public / "first", groups=groups, umask=umask)
    assert [code for code, _, _ in first] == DONE, first
    before = snapshot(archive / "a-0001"), snapshot(archive / "baselines" / "of-a")
    where = ["--archive", str(archive)]
    others = [
        ["baseline", "set", "of-a", "b-0001", "--replace", *where],
        ["baseline", "drop", "of-a", *where],
        ["swap", "record", "search-a", "n1=bad", "n2=good", *where],
        ["swap", "start", "search-a", "node=n1,card=c1", "node=n2,card=c2", "--replace", *where],
    ]
    listed = [["runs", "list", "--json", *where], ["report", "a-0001", *where], ["runs", "recover", *where]]
    own = work(archive, "b", table)
    second = carried_out(SECOND, [*own, *others, *listed], public / "second", groups=groups, umask=0o002)
    assert [code for code, _, _ in second[:3]] == DONE, second
    assert all(code for code, _, _ in second[3:7]), "nobody changes what is another's"
    runs = json.loads(second[7][2])["data"]["runs"]
    assert {row["run"] for row in runs if row["run"]} >= {"b-0001", "b-0002", "b-0003", "a-0001"}
    assert {row["state"] for row in runs if row["run"][0] == "b"} == {"closed"}
    assert {row["state"] for row in runs if row["run"][0] == "a"} == {"damaged" if umask == 0o077 else "closed"}
    assert (snapshot(archive / "a-0001"), snapshot(archive / "baselines" / "of-a")) == before
    for shared in ("baselines", "swaps"):
        status = (archive / shared).stat()
        assert (stat.S_IMODE(status.st_mode), status.st_gid) == (
            mode,
            group or FIRST if mode & 0o2000 else status.st_gid,
        )
    for path in archive.rglob("*"):
        if path.parent != archive:
            assert not path.lstat().st_mode & 0o022, f"others may write to {path}"


def test_root_changes_nothing_of_another_user_either(public: Path) -> None:
    archive, table = public / "archive", public / "stream.csv"
    table.write_text(TABLE)
    archive.mkdir(mode=0o755)
    os.chown(archive, FIRST, FIRST)
    assert [code for code, _, _ in carried_out(FIRST, work(archive, "a", table), public / "first")] == DONE
    writer = RunWriter(archive, info_of(Cluster(nodes=names(2)), run="cut"))
    fill(writer, Cluster(nodes=names(2)), sail(Cluster(nodes=names(2))))
    give(abandoned(writer).folder, FIRST)
    before = snapshot(archive)
    where = ["--archive", str(archive)]
    lines = [
        ["baseline", "set", "of-a", "a-0001", "--replace", *where],
        ["baseline", "drop", "of-a", *where],
        ["swap", "record", "search-a", "n1=bad", "n2=good", *where],
        ["runs", "recover", "cut", *where],
        ["runs", "recover", *where],
        ["runs", "list", *where],
    ]
    done = carried_out(0, lines, public / "root")
    after = {path: found for path, found in snapshot(archive).items() if path not in (".", "baselines")}
    assert after == {path: found for path, found in before.items() if path not in (".", "baselines")}
    assert [code for code, _, _ in done] == [2, 2, 2, 2, 0, 0]
    assert "Only its owner changes a baseline" in done[0][2]
    assert "Only its owner continues a search" in done[2][2]
    assert "runuser -u" in done[3][2]
    assert "cut: left alone, it belongs to" in done[4][2]


def test_a_swapped_folder_is_not_written_into(tmp_path: Path) -> None:
    """Between two writes somebody puts a link in the place of the run's folder, or of a folder in it."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / layout.FACTS_FOLDER).mkdir(parents=True)
    with new_folder(tmp_path / "archive" / "run") as own:
        own.make_folder(layout.FACTS_FOLDER)
        (tmp_path / "archive" / "run").rename(tmp_path / "archive" / "away")
        (tmp_path / "archive" / "run").symlink_to(elsewhere)
        own.replace("run.json", b"{}")
        (tmp_path / "archive" / "away" / layout.FACTS_FOLDER).rmdir()
        (tmp_path / "archive" / "away" / layout.FACTS_FOLDER).symlink_to(elsewhere / layout.FACTS_FOLDER)
        with pytest.raises(OSError, match="facts"):
            own.replace("facts/n1.before.txt", b"")
    with pytest.raises(Foreign, match="is a link"), own_folder(tmp_path / "archive" / "run"):
        pass
    assert [path.name for path in elsewhere.rglob("*")] == [layout.FACTS_FOLDER]


def test_a_second_name_of_a_private_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    (run / layout.LEASE_FILE).hardlink_to(tmp_path / "private")
    with own_folder(run) as own, pytest.raises(Foreign):
        own.open_file(layout.LEASE_FILE, os.O_RDWR)
    with pytest.raises(Foreign), named_file(run / layout.LEASE_FILE):
        pass
    assert (tmp_path / "private").read_text() == "mine"


@pytest.mark.parametrize("plant", ["link", "folder"])
def test_scratch_and_shared_folders_of_others_are_refused(public: Path, plant: str) -> None:
    archive = public / "archive"
    archive.mkdir()
    for name in (f".scratch-{os.geteuid()}", layout.SWAPS_FOLDER):
        if plant == "link":
            (archive / name).symlink_to(public)
        else:
            (archive / name).mkdir()
        os.chown(archive / name, FIRST, FIRST, follow_symlinks=False)
    with pytest.raises(SeatrialError, match="cannot be used"):
        own_scratch(archive)
    if plant == "link":
        with pytest.raises(NotADirectoryError, match="is a link"), shared_folder(archive / layout.SWAPS_FOLDER):
            pass


def test_links_in_place_of_the_folders_of_an_archive_lead_nothing_out_of_it(public: Path) -> None:
    """Another user put them there, before anybody had a baseline, a search or a scratch folder in the archive."""
    archive, own, table = public / "archive", public / "own", public / "stream.csv"
    table.write_text(TABLE)
    assert [run(line) for line in work(own, "a", table)] == DONE
    leftover = own / ".seatrial-scratch-0123456789abcdef"
    leftover.mkdir()
    os.utime(leftover, (1, 1))
    archive.mkdir()
    for name in ("baselines", "swaps"):
        (archive / name).symlink_to(own / name)
    (archive / f".scratch-{os.geteuid()}").symlink_to(own)
    assert [run(line) for line in work(archive, "b", table)] == [0, 2, 2]
    before = snapshot(own)
    lines = (
        (2, ["baseline", "drop", "of-a"]),
        (2, ["baseline", "set", "of-a", "b-0001", "--replace"]),
        (2, ["swap", "record", "search-a", "n1=bad", "n2=good"]),
        (0, ["runs", "recover"]),
    )
    for code, line in lines:
        assert run([*line, "--archive", str(archive)]) == code, line
    assert snapshot(own) == before


def test_a_link_that_takes_the_place_of_a_shared_folder_later_is_not_followed(tmp_path: Path) -> None:
    """Whoever made the folder can rename it, although it belongs to everybody."""
    (tmp_path / "private").mkdir()
    with shared_folder(tmp_path / "archive" / "baselines") as place:
        (tmp_path / "archive" / "baselines").rename(tmp_path / "archive" / "away")
        (tmp_path / "archive" / "baselines").symlink_to(tmp_path / "private")
        with new_folder(place / "mine"):
            pass
    assert not [*(tmp_path / "private").iterdir()]
    assert (tmp_path / "archive" / "away" / "mine").is_dir()


def test_a_file_server_that_gives_files_to_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS with root_squash: what root creates belongs to nobody. Such a run can be measured by who created it."""
    monkeypatch.setattr(owners, "_owner_on", {})
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(Foreign), own_folder(tmp_path):
        pass
    with new_folder(tmp_path / "run") as own:
        own.replace("run.json", b"{}")
    with own_folder(tmp_path / "run") as own:
        assert own.names() == ["run.json"]


def test_files_named_by_options_are_not_written_through_links_of_others(public: Path) -> None:
    page = public / "page.html"
    private = public / "private"
    private.write_text("mine")
    page.symlink_to(private)
    os.chown(page, FIRST, FIRST, follow_symlinks=False)
    with pytest.raises(Foreign, match="link of"), named_file(page):
        pass
    page.unlink()
    os.mkfifo(page)
    os.chown(page, FIRST, FIRST)
    reader = os.open(page, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(Foreign, match="pipe"), named_file(page):
        pass
    os.close(reader)
    page.unlink()
    page.symlink_to(private)  # of this user
    with named_file(page):
        pass
    assert private.read_text() == ""
    assert page.is_symlink()
