"""Which files may be executed: as sshd decides it for authorized_keys."""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.files import owners
from seatrial.files.owners import distrust, is_own_alone
from tests.support.second_user import OTHER, THIRD, as_user, folder_for_all, needs_root


@pytest.fixture
def program() -> Iterator[Path]:
    """A program of this user in folders of this user, below /tmp."""
    with folder_for_all() as above:
        folder = above / "shared" / "key"
        folder.mkdir(parents=True)
        for path in (folder.parent, folder):
            path.chmod(0o755)
        path = folder / "program"
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        yield path


def test_what_this_user_alone_can_have_written_is_trusted(program: Path) -> None:
    assert distrust(program) == ""
    assert distrust(program.parent) == ""
    assert distrust(Path("/bin/sh")) == ""


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("bit", [stat.S_IWOTH, stat.S_IWGRP])
def test_nobody_else_may_write_to_it_or_above(
    program: Path, depth: int, bit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "_is_private", lambda _: False)
    path = (program, *program.parents)[depth]
    path.chmod(0o755 | bit)
    assert f"may write to {path} (mode" in distrust(program)


def test_a_sticky_folder_is_fine_above_and_not_at_the_end(program: Path) -> None:
    shared = program.parent.parent
    shared.chmod(0o1777)
    assert distrust(program) == ""
    assert "may write to" in distrust(shared)
    assert "may write to" in distrust(shared / "key" / "..")


def test_a_second_name_in_a_sticky_folder_may_be_planted(program: Path) -> None:
    """Without fs.protected_hardlinks anybody may give a second name to a file of root's."""
    shared = program.parent.parent
    os.link(program, shared / "planted")
    assert distrust(shared / "planted") == ""
    shared.chmod(0o1777)
    assert "has another name" in distrust(shared / "planted")


def test_the_private_group_of_an_owner_is_nobody_else(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "_is_private", lambda _: True)
    for path in (program, program.parent):
        path.chmod(0o775)
    os.link(program, program.with_name("second"))
    assert distrust(program) == ""
    program.parent.chmod(0o777)
    assert "may write to" in distrust(program)


@pytest.mark.parametrize(
    ("user", "group", "private"),
    [
        ("ann:1000:1000", "ann:1000:", True),
        ("ann:1000:1000", "ann:1000:ann", True),
        ("ann:1000:1000", "ann:1000:ann,bob", False),
        ("ann:1000:1000", "users:1000:", False),
        ("ann:1000:100", "ann:1000:", False),
        ("ann:1000:1000 bob:1001:1000", "ann:1000:", False),
    ],
)
def test_a_private_group_has_the_name_of_its_only_member(
    program: Path, user: str, group: str, private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [pwd.struct_passwd((name, "x", int(uid), int(gid), "", "/", "")) for name, uid, gid in rows(user)]
    name, gid, members = group.split(":")
    entry = grp.struct_group((name, "x", int(gid), [member for member in members.split(",") if member]))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: users[0])
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    monkeypatch.setattr(grp, "getgrgid", lambda _: entry)
    program.chmod(0o775)
    assert (distrust(program) == "") is private


def rows(text: str) -> list[list[str]]:
    return [word.split(":") for word in text.split()]


def test_links_are_followed_and_their_folders_count(program: Path) -> None:
    above = program.parents[2]
    aside = above / "aside"
    aside.mkdir(mode=0o755)
    (aside / "one").symlink_to("../shared/key")
    (above / "two").symlink_to(aside / "one")
    assert distrust(above / "two" / "program") == ""
    aside.chmod(0o777)
    assert f"may write to {aside}" in distrust(above / "two" / "program")


def test_loops_and_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo", 0o600)
    assert "more than 40 links" in distrust(tmp_path / "loop")
    assert "cannot be examined: No such file" in distrust(tmp_path / "missing")
    assert "neither a file nor a folder" in distrust(tmp_path / "fifo")
    assert "not a name" in distrust(Path("a\0b"))


def test_a_file_system_of_a_user_says_what_it_wants(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With user_allow_other in fuse.conf anybody may show files of root's to others."""
    shared, real = program.parent.parent, Path.lstat
    shared.chmod(0o1777)

    def lstat(path: Path) -> os.stat_result:
        if path != program.parent:
            return real(path)
        fields = [*real(path)]
        fields[2] = os.makedev(0, 999)
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr(owners, "MOUNTS", tmp_path / "mountinfo")
    line = "36 35 0:999 / {} rw - {} x,user_id=0 rw,user_id={},group_id=0,allow_other\n"
    for kind, user, good in (
        ("tmpfs", 7, True), ("fuse.sshfs", 7, False), ("fuse", 7, False), ("fuse.s3fs", 0, True),
        ("fuse.sshfs", os.geteuid(), True),
    ):  # fmt: skip
        (tmp_path / "mountinfo").write_text(line.format(program.parent, kind, user))
        assert ("another user mounted" not in distrust(program)) is good
        assert owners.is_by_another(os.makedev(0, 999)) is not good
    (tmp_path / "mountinfo").write_text("36 35 0:999 / / rw - fuse x rw\n")
    assert owners.is_by_another(os.makedev(0, 999))


def test_what_a_file_system_of_another_user_says_is_nobodys_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat(tmp_path)
    assert owners.is_own(tmp_path)
    monkeypatch.setattr(os, "lstat", lambda _: os.stat_result([*real[:2], os.makedev(0, 999), *real[3:]]))
    monkeypatch.setattr(owners, "MOUNTS", tmp_path / "mountinfo")
    for user in (0, 7):
        (tmp_path / "mountinfo").write_text(f"36 35 0:999 / / rw - fuse x rw,user_id={user}\n")
        assert owners.is_own(tmp_path) is (user == 0)
        assert owners.is_own_alone(tmp_path) is (user == 0)


def test_what_waits_for_a_program_of_another_user_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not even looked at: a daemon that does not answer would hang whoever lists the folder."""
    archive = tmp_path / "the archive"
    for name in ("mounted here", "deeper", "mine", "roots"):
        (archive / name).mkdir(parents=True)
    monkeypatch.setattr(owners, "MOUNTS", tmp_path / "mountinfo")
    place = str(archive).replace(" ", "\\040")
    lines = (("mounted\\040here", 7), ("deeper/facts/x", 7), ("mine", os.geteuid()), ("roots", 0))
    text = "".join(f"36 35 0:9 / {place}/{name} rw - fuse x rw,user_id={user}\n" for name, user in lines)
    (tmp_path / "mountinfo").write_text(text + "1 2 0:3 / /sys/fs/fuse/connections rw - fusectl x rw\n")
    (tmp_path / "link").symlink_to(archive)
    assert sorted(path.name for path in owners.entries(archive)) == sorted({"mine", "roots"})
    assert sorted(owners.entries(tmp_path / "link")) == [tmp_path / "link" / name for name in ("mine", "roots")]
    assert owners.entries(tmp_path / "none") == []


def test_an_access_list_is_seen(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mask is in the bits of the group, even where that group is private."""
    monkeypatch.setattr(owners, "_is_private", lambda _: True)
    program.chmod(0o775)
    assert distrust(program) == ""
    monkeypatch.setattr(os, "getxattr", lambda *_: b"\2")
    assert "may write to" in distrust(program)


@needs_root
class TestOtherUsers:
    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_what_others_own_is_not_trusted(self, program: Path, depth: int) -> None:
        path = (program, *program.parents)[depth]
        os.chown(path, OTHER, OTHER)
        assert f"{path} belongs to {OTHER}" in distrust(program)
        assert as_user(THIRD, lambda: distrust(program)) == distrust(program)

    def test_a_user_trusts_root_and_the_user_and_root_trusts_root_alone(self, program: Path) -> None:
        assert as_user(OTHER, lambda: distrust(program)) == ""
        for path in (program, program.parent):
            os.chown(path, OTHER, OTHER)
        assert as_user(OTHER, lambda: distrust(program)) == ""
        assert "belongs to" in distrust(program)

    def test_links_of_others_are_not_followed(self, program: Path) -> None:
        shared = program.parent.parent
        shared.chmod(0o1777)
        (shared / "link").symlink_to("key")
        assert distrust(shared / "link" / "program") == ""
        os.chown(shared / "link", OTHER, OTHER, follow_symlinks=False)
        assert f"{shared / 'link'} belongs to" in distrust(shared / "link" / "program")

    def test_an_unknown_user_trusts_nobody_who_looks_the_same(
        self, program: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In a user namespace where this user is unknown, all unknown owners have one number."""
        ids = program.parent / "uid_map"
        ids.write_text(f"0 {THIRD} 1\n")
        monkeypatch.setattr(owners, "USER_MAP", ids)
        os.chown(program, OTHER, OTHER)
        assert "belongs to" in as_user(OTHER, lambda: distrust(program))

    def test_who_owns_the_root_folder_is_not_trusted_in_a_sticky_one(
        self, program: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In a user namespace root of the machine and strangers have one number: that of nobody."""
        real = Path.stat
        root = os.stat_result((*real(Path("/"))[:4], OTHER, *real(Path("/"))[5:]))
        monkeypatch.setattr(Path, "stat", lambda path, **how: root if path == Path("/") else real(path, **how))
        os.chown(program.parent, OTHER, OTHER)
        assert distrust(program) == ""
        program.parent.parent.chmod(0o1777)
        assert f"{program.parent} belongs to" in distrust(program)

    def test_own(self, program: Path) -> None:
        assert is_own_alone(program)
        assert is_own_alone(program.parent)
        assert not as_user(OTHER, lambda: is_own_alone(program)), "root's is not one's own"
        program.chmod(0o777)
        assert not is_own_alone(program)
        (program.parent / "link").symlink_to(program)
        assert not is_own_alone(program.parent / "link")
