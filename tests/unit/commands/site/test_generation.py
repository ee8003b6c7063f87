"""The folder of a site: names without escapes, one step from the old site to the new one, nothing of others touched."""

import os
from pathlib import Path

import pytest

from seatrial.commands.site.addresses import LONGEST, file_stem
from seatrial.commands.site.generation import MARKER, Generation, next_generation
from seatrial.files import exchange
from seatrial.model.errors import ErrorKind, SeatrialError, UsageError
from seatrial.render.envelope import failure_of
from tests.support.small_files import largest_file

NAMES = (
    "n1", "n1.cluster", ".", "..", ".hidden", "a/b", "a~2Fb", "a%2Fb", "A", "ä", "\udcff", "n\n1", "<script>", "~", "",
    "x" * 300, "x" * 301,
)  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def render(folder: Path, *pages: str, text: str = "page") -> Generation:
    with next_generation(folder) as made:
        for page in pages:
            if not made.keep(page, "same"):
                made.write(page, "same", text, "{}")
        made.finish()
    return made


def test_stems_differ_and_are_names_of_files_in_their_folder() -> None:
    stems = [file_stem(name) for name in NAMES]
    assert len(set(stems)) == len(stems)
    for stem in stems:
        assert stem and "/" not in stem and not stem.startswith(".") and stem.isascii()
        assert len(stem) <= LONGEST
        assert not set(stem) & set("%?#&\"'<> ")


def test_a_page_that_was_made_from_the_same_stays(tmp_path: Path) -> None:
    assert render(tmp_path / "site", "runs/a", "runs/b").written == 2
    made = render(tmp_path / "site", "runs/a", "runs/c", text="new")
    assert (made.written, made.kept, made.removed) == (1, 1, 1)
    kept = files(tmp_path / "site")
    assert kept["runs/a.html"] == b"page" and kept["runs/c.html"] == b"new" and "runs/b.html" not in kept
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_rendering_that_ends_early_leaves_the_old_site(tmp_path: Path) -> None:
    render(tmp_path / "site", "runs/a")
    before = files(tmp_path / "site")
    with pytest.raises(ZeroDivisionError), next_generation(tmp_path / "site") as made:
        made.write("runs/a", "other", "half", "")
        raise ZeroDivisionError
    assert files(tmp_path / "site") == before


def test_a_killed_rendering_leaves_the_old_site_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    site = tmp_path / "site"
    render(site, "runs/a")
    before = files(site)
    child = os.fork()
    if child == 0:
        with next_generation(site) as made:
            made.write("runs/a", "other", "half", "")
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert files(site) == before
    assert len(list(tmp_path.iterdir())) == 2
    render(site, "runs/a", "runs/b")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert "runs/b.html" in files(site)


def test_of_two_at_a_time_the_later_one_stays_whole(tmp_path: Path) -> None:
    render(tmp_path / "site", "runs/a")
    with next_generation(tmp_path / "site") as slow:
        slow.write("runs/slow", "same", "slow", "{}")
        render(tmp_path / "site", "runs/quick")
        assert "runs/quick.html" in files(tmp_path / "site")
        slow.finish()
    assert {name for name in files(tmp_path / "site") if name.endswith("html")} == {"runs/slow.html"}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_file_system_that_cannot_exchange_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    render(tmp_path / "site", "runs/a")
    monkeypatch.setattr(exchange, "_exchanged", lambda *_: False)
    render(tmp_path / "site", "runs/b")
    assert "runs/b.html" in files(tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("content", ["", "{", '{"format": "x"}'])
def test_a_folder_that_is_not_a_site_is_refused_and_stays_as_it_was(tmp_path: Path, content: str) -> None:
    (tmp_path / "index.html").write_text("somebody's")
    if content:
        (tmp_path / MARKER).write_text(content)
    before = files(tmp_path)
    with pytest.raises(UsageError, match="neither empty nor a site"), next_generation(tmp_path):
        pass
    assert files(tmp_path) == before


def test_a_link_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    for name in ("link", "file", "link/.."):
        with pytest.raises(UsageError, match=r"cannot be a site|not a folder"), next_generation(tmp_path / name):
            pass
    assert files(tmp_path / "real") == {}


def test_a_page_that_became_a_link_is_written_again(tmp_path: Path) -> None:
    site, secret = tmp_path / "site", tmp_path / "secret"
    render(site, "runs/a")
    secret.write_text("secret")
    (site / "runs" / "a.html").unlink()
    (site / "runs" / "a.html").symlink_to(secret)
    render(site, "runs/a", text="again")
    assert (site / "runs" / "a.html").read_text() == "again"
    assert not (site / "runs" / "a.html").is_symlink()
    assert secret.read_text() == "secret"


def test_the_new_site_has_the_mode_of_the_old_one(tmp_path: Path) -> None:
    render(tmp_path / "site", "runs/a")
    (tmp_path / "site").chmod(0o750)
    render(tmp_path / "site", "runs/a")
    assert (tmp_path / "site").stat().st_mode & 0o777 == 0o750


def test_files_that_are_not_pages_stay(tmp_path: Path) -> None:
    render(tmp_path / "site", "runs/a")
    (tmp_path / "site" / ".htaccess").write_text("Require user admin")
    (tmp_path / "site" / "gone.html").write_text("a page of an earlier version")
    render(tmp_path / "site", "runs/b")
    assert (tmp_path / "site" / ".htaccess").read_text() == "Require user admin"
    assert not (tmp_path / "site" / "gone.html").exists()


def test_a_page_that_cannot_be_written_is_a_sentence_with_the_folder(tmp_path: Path) -> None:
    render(tmp_path / "site", "runs/a")
    before = files(tmp_path / "site")
    with (
        largest_file(2000),
        pytest.raises(SeatrialError, match=rf"{tmp_path}/site cannot be written: File too large") as told,
        next_generation(tmp_path / "site") as made,
    ):
        made.write("runs/b", "b", "x" * 2001, "")
    assert failure_of(told.value).kind is ErrorKind.NO_SPACE
    assert files(tmp_path / "site") == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
