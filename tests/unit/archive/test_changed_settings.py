"""Notes of changed settings: written for their user alone, and believed only if nobody else could have written them."""

import os
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import ChangedByCommand, ChangedFile, ChangedSettings
from seatrial.model.errors import LaunchError

FILE = ChangedFile(
    node="n2", fact="interfaces.eth0.mtu_bytes", root="", paths=("/sys/class/net/eth0/mtu",), usual="600",
    changed="1500",
)  # fmt: skip
COMMAND = ChangedByCommand(usual=("set", "a b"), changed=("set", "c"), folder="/", nodes=("n1", "n2"))


def noted(folder: Path, name: str = "one") -> ChangedSettings:
    settings = msgspec.structs.replace(changed_settings.describe(name), changes=(FILE, COMMAND), job="7")
    changed_settings.write(folder, settings)
    return settings


def test_what_is_written_is_read_again_and_is_the_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state/changed"
    before = os.umask(0)
    try:
        settings = noted(folder)
    finally:
        os.umask(before)
    assert changed_settings.read(folder) == [settings]
    assert (folder / "one.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert settings.running
    assert "interfaces.eth0.mtu_bytes of n2 is 1500 in place of 600" in settings.text
    assert "the setting of n[1-2] is that of `set c` in place of `set 'a b'`" in settings.text
    changed_settings.remove(folder, "one")
    changed_settings.remove(folder, "one")
    assert changed_settings.read(folder) == []


@pytest.mark.parametrize("how", ["group may write", "others may read", "a link", "two names", "another name", "torn"])
def test_a_file_that_others_could_have_written_is_not_believed(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    noted(folder)
    file = folder / "one.json"
    match how:
        case "group may write":
            file.chmod(0o620)
        case "others may read":
            file.chmod(0o604)
        case "a link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
        case "two names":
            os.link(file, tmp_path / "elsewhere")
        case "another name":
            file.rename(folder / "two.json")
        case "torn":
            file.write_bytes(file.read_bytes()[:-9])
    assert changed_settings.read(folder) == []


def test_a_folder_that_others_may_enter_is_neither_read_nor_written(tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    noted(folder)
    folder.chmod(0o755)
    assert changed_settings.read(folder) == []
    with pytest.raises(LaunchError, match="Nothing was changed"):
        noted(folder, "two")
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    assert changed_settings.read(folder) == []
    with pytest.raises(LaunchError, match="Nothing was changed"):
        noted(folder, "two")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another user's file")
def test_another_users_file_is_not_believed(tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    noted(folder)
    os.chown(folder / "one.json", 65534, 65534)
    assert changed_settings.read(folder) == []
    os.chown(folder / "one.json", 0, 0)
    assert len(changed_settings.read(folder)) == 1
    os.chown(folder, 65534, 65534)
    assert changed_settings.read(folder) == []
