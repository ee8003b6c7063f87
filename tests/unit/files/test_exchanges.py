"""What others exchange at the one moment that counts, as a quick attacker would: right before or after an opening."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.archive.layout import DamagedRun, read_inside
from seatrial.driver import submitted
from seatrial.files.inputs import BadInput, read_input
from seatrial.files.named import named_file
from seatrial.files.owners import LeadsOut, open_below
from seatrial.files.writing import Foreign, open_own, tentative_folder
from seatrial.model.errors import UsageError
from seatrial.recordings.recording import rebuilt, write_recording
from tests.support.other_users import FIRST, public

__all__ = ["public"]  # a fixture
PRIVATE = "of nobody else"


def at(monkeypatch: pytest.MonkeyPatch, function: str, name: str, then: Callable[[], object]) -> None:
    """Do something once, right before the first call of a function of `os` on that name."""
    real, left = getattr(os, function), [then]

    def called(path: object, *rest: object, **options: object) -> object:
        if left and os.fspath(path).endswith(name):  # type: ignore[call-overload]
            left.pop()()
        return real(path, *rest, **options)

    monkeypatch.setattr(os, function, called)


def write_to(page: Path) -> None:
    with named_file(page) as file:
        file.write(b"text")


def text_below(folder: Path, name: str) -> str:
    with os.fdopen(open_below(folder, Path(name)), "rb") as stream:
        return stream.read().decode()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a file in a sub-folder, beside a folder of the same form that is private."""
    for folder, text in (("run", "ours"), ("private", PRIVATE)):
        (tmp_path / folder / "facts").mkdir(parents=True)
        (tmp_path / folder / "facts" / "n1").write_text(text)
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("place", "target"),
    [
        ("facts/link", "../../private/facts/n1"),
        ("link", "../private/facts/n1"),
        ("link", "/etc/hostname"),
        ("link", "link"),
        ("link", ".."),
        ("link", "facts/../../run/facts/n1"),
    ],
)
def test_no_link_leads_out_of_a_folder(tree: Path, place: str, target: str) -> None:
    (tree / place).symlink_to(target)
    with pytest.raises(LeadsOut):
        open_below(tree, Path(place))


@pytest.mark.parametrize("target", ["facts/n1", "./facts/../facts/n1", "facts/again"])
def test_a_link_that_stays_in_the_folder_is_followed(tree: Path, target: str) -> None:
    (tree / "facts" / "again").symlink_to("../facts/n1")
    (tree / "link").symlink_to(target)
    assert text_below(tree, "link") == "ours"


@pytest.mark.parametrize("moment", ["facts", "n1"])
def test_a_folder_that_is_exchanged_while_a_file_is_opened(
    tree: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exchange() -> None:
        (tree / "facts").rename(tree / "away")
        (tree / "facts").symlink_to(tree.parent / "private" / "facts")

    at(monkeypatch, "open", moment, exchange)
    try:
        assert read_inside(tree, tree / "facts" / "n1", 100) == b"ours"
    except DamagedRun as error:
        assert "leads out of" in str(error)
    assert (tree / "away").exists()


def test_a_link_that_takes_the_place_of_a_named_file_while_it_is_opened(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, private = public / "page.html", public / "private"
    private.write_text(PRIVATE)
    page.touch()

    def exchange() -> None:
        page.unlink()
        page.symlink_to(private)
        os.chown(page, FIRST, FIRST, follow_symlinks=False)

    at(monkeypatch, "open", "page.html", exchange)
    with pytest.raises(Foreign, match="link of"):
        write_to(page)
    assert private.read_text() == PRIVATE


@pytest.mark.parametrize("opened", [write_to, lambda path: open_own(path, os.O_WRONLY | os.O_TRUNC)])
def test_a_second_name_that_is_taken_away_once_it_was_opened(
    opened: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, private = tmp_path / "page.html", tmp_path / "private"
    private.write_text(PRIVATE)
    page.hardlink_to(private)
    real = os.fstat

    def looked(handle: int) -> os.stat_result:
        page.unlink(missing_ok=True)
        return real(handle)

    monkeypatch.setattr(os, "fstat", looked)
    with pytest.raises((Foreign, FileNotFoundError)):
        opened(page)
    assert private.read_text() == PRIVATE


def test_a_named_file_may_be_a_chain_of_ones_own_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "page").symlink_to("folder/next")
    (tmp_path / "folder" / "next").symlink_to("../target")
    write_to(tmp_path / "page")
    assert (tmp_path / "page").is_symlink()
    assert (tmp_path / "target").read_text() == "text"


@pytest.mark.parametrize(
    ("mode", "owner", "written"), [(0o1777, FIRST, False), (0o1777, 0, True), (0o755, FIRST, True)]
)
def test_a_file_that_was_put_into_a_folder_for_all_does_not_get_a_report(
    public: Path, mode: int, owner: int, written: bool
) -> None:
    folder, page = public / "shared", public / "shared" / "page.html"
    folder.mkdir()
    folder.chmod(mode)
    page.write_text("theirs")
    os.chown(page, owner, owner)
    if written:
        write_to(page)
    else:
        with pytest.raises(Foreign, match="in a folder for all"):
            write_to(page)
    assert (page.read_text() == "theirs") is not written


@pytest.mark.parametrize(("link", "file", "read"), [(FIRST, 0, False), (FIRST, FIRST, True), (0, 0, True)])
@pytest.mark.parametrize("name", ["table", "folder"])
def test_a_link_of_somebody_else_shows_only_what_is_theirs(
    public: Path, name: str, link: int, file: int, read: bool
) -> None:
    target, place = public / "target", public / name
    (target / "inner").mkdir(parents=True)
    (target / "inner" / "table").write_text("values")
    for path in (target / "inner", target / "inner" / "table"):
        os.chown(path, file, file)
    place.symlink_to(target / "inner" / ("table" if name == "table" else ""))
    os.chown(place, link, link, follow_symlinks=False)
    path, folder = (place, None) if name == "table" else (place / "table", place)
    if read:
        assert read_input(path, 100, folder) == b"values"
    else:
        with pytest.raises(BadInput, match="to what is not theirs"):
            read_input(path, 100, folder)


def test_a_recorded_tree_behind_a_link_of_somebody_else_is_not_read(public: Path) -> None:
    (public / "private" / "proc").mkdir(parents=True)
    (public / "tree").symlink_to(public / "private")
    os.chown(public / "tree", FIRST, FIRST, follow_symlinks=False)
    with pytest.raises(UsageError, match="not theirs"), rebuilt(public / "tree"):
        pass


def test_a_link_of_somebody_else_that_is_taken_away_once_it_was_opened(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, private = public / "table", public / "private"
    private.write_text(PRIVATE)
    table.symlink_to(private)

    def exchange() -> None:
        table.unlink()
        table.write_text("theirs")
        os.chown(table, FIRST, FIRST)

    at(monkeypatch, "lstat", "table", exchange)
    with pytest.raises(BadInput, match="not theirs"):
        read_input(table, 100)


def precious(folder: Path) -> Path:
    """A folder of this user's with something in it, which must stay."""
    (folder / "facts").mkdir(parents=True)
    (folder / "facts" / "n1").write_text("ours")
    return folder


def give_name_of(new: Path, other: Path) -> None:
    """As whoever may write to the folder above can: another folder of this user's gets the name of the new one."""
    new.rename(new.with_name("away"))
    other.rename(new)


def test_a_folder_that_fails_is_removed_with_all_in_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError), tentative_folder(tmp_path / "new") as own:
        own.make_folder("facts")
        own.replace("facts/n1", b"")
        raise UsageError("failed")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_got_its_name_stays_whatever_fails_then(tmp_path: Path) -> None:
    with pytest.raises(UsageError), tentative_folder(tmp_path / "new") as own:
        own.replace("n1", b"ours")
        (tmp_path / "new").rename(tmp_path / "final")
        raise UsageError("failed")
    assert (tmp_path / "final" / "n1").read_text() == "ours"


def test_a_recording_that_fails_removes_no_other_folder_that_got_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thesis, target = precious(tmp_path / "thesis"), tmp_path / "recording"

    def exchange() -> None:
        give_name_of(next(tmp_path.glob(".seatrial-whole-*")), thesis)
        target.mkdir()

    at(monkeypatch, "mkdir", "facts", exchange)
    with pytest.raises(UsageError, match="exists already"):
        write_recording(target, {"facts/n1": ""})
    (kept,) = tmp_path.glob(".seatrial-whole-*/facts/n1")
    assert kept.read_text() == "ours"


def test_a_submission_that_fails_removes_no_run_that_got_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = precious(tmp_path / "run")
    cancelled: list[str] = []

    def cancel(name: str, user: str) -> None:
        cancelled.append(name)
        give_name_of(tmp_path / "later.submitted", run)

    monkeypatch.setattr(submitted, "cancel_named", cancel)
    with pytest.raises(KeyboardInterrupt), submitted.submission(tmp_path, "later", "seatrial-1", "0"):
        raise KeyboardInterrupt
    assert cancelled == ["seatrial-1"]
    assert (tmp_path / "later.submitted" / "facts" / "n1").read_text() == "ours"
