"""Where the cache is, whatever HOME and XDG_CACHE_HOME say."""

import os
import pwd
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from seatrial.files import owners
from seatrial.files.owners import cache_folder, private_folder, state_folder
from seatrial.model.errors import LaunchError, UsageError


def told(monkeypatch: pytest.MonkeyPatch, *, cache: str | None, home: str | None) -> None:
    for name, value in (("XDG_CACHE_HOME", cache), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)


def entry(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    """What the passwd entry of this user says; None: there is none."""

    def of(user: int) -> SimpleNamespace:
        if home is None:
            raise KeyError(user)
        return SimpleNamespace(pw_dir=home)

    monkeypatch.setattr(pwd, "getpwuid", of)


@pytest.mark.parametrize(
    ("cache", "home", "expected"),
    [
        ("/c", "/h", "/c"),
        (None, "/h", "/h/.cache"),
        ("", "/h", "/h/.cache"),
        ("c", "/h", "/h/.cache"),
        ("./c", "/h", "/h/.cache"),
        ("/c", "", "/c"),
    ],
)
def test_empty_and_relative_paths_are_ignored(
    monkeypatch: pytest.MonkeyPatch, cache: str | None, home: str, expected: str
) -> None:
    told(monkeypatch, cache=cache, home=home)
    assert cache_folder() == Path(expected)


@pytest.mark.parametrize("home", ["", None, "home", "."])
def test_without_a_home_the_passwd_entry_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str | None
) -> None:
    told(monkeypatch, cache="", home=home)
    entry(monkeypatch, str(tmp_path))
    assert cache_folder() == tmp_path / ".cache"


@pytest.mark.parametrize("passwd", [None, "", "/nonexistent", "relative"])
def test_without_that_a_private_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, passwd: str | None) -> None:
    told(monkeypatch, cache=None, home="")
    entry(monkeypatch, passwd)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder == tmp_path / f"seatrial-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cache_folder() == folder


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / f"seatrial-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(LaunchError, match=r"not this user's alone\. Set HOME"):
        private_folder(tmp_path)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(LaunchError, match="not this user's alone"):
        private_folder(tmp_path)
    folder.unlink()
    folder.write_text("")
    with pytest.raises(LaunchError, match="cannot be made"):
        private_folder(tmp_path)
    assert owners.REMEDY.endswith("--probe-dir.")


@pytest.mark.parametrize(
    ("state", "home", "expected"), [("/s", "/h", "/s"), ("", "/h", "/h/.local/state"), ("s", "/h", "/h/.local/state")]
)
def test_the_folder_of_runs(monkeypatch: pytest.MonkeyPatch, state: str, home: str, expected: str) -> None:
    told(monkeypatch, cache=None, home=home)
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert state_folder() == Path(expected)


def test_runs_are_not_kept_in_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, cache=None, home="")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    entry(monkeypatch, None)
    with pytest.raises(UsageError, match=r"no home folder .* --archive"):
        state_folder()


def test_temporary_files_are_where_nobody_can_exchange_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o1777)
    with owners.temporary_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert [*tmp_path.iterdir()] == []
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match=r"others than .* may write"), owners.temporary_folder():
        pass
